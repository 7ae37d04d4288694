/** What the terminal tools have in common: parameters, fields and words. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { compilePattern } from '../base/pattern.ts';
import { describeAppeared, listPaths, type Outcome, TERMINATION_REASONS } from '../executions/executions.ts';
import { escapeText } from '../security/security.ts';
import {
  type ReadResult,
  SHELL_TYPES,
  type TerminalState,
  WAIT_REASONS,
  type Waited,
  type WaitSpec,
} from '../terminals/terminals.ts';
import { describeReason } from './describe-reason.ts';
import { patienceMs } from './known-clients.ts';
import type { Call, DataOf } from './tool.ts';

const width = () => z.number().int().min(2).max(LIMITS.terminalWidth);
const height = () => z.number().int().min(1).max(LIMITS.terminalHeight);

export const dimensionsInput = () =>
  z.strictObject({ width: width().default(120), height: height().default(30) });
export const dimensionsRequired = () => z.strictObject({ width: width(), height: height() });
export const dimensionsOutput = () => z.object({ width: z.number(), height: z.number() });

/** Those of Windows are taken where they exist, and not listed. */
export const shellInput = () => z.enum(SHELL_TYPES).meta({ enum: SHELL_TYPES.slice(0, 4) });

export const waitSeconds = () => z.number().min(0.1).max(LIMITS.terminalWaitSecondsMax).optional();

/** Each of them makes the call wait. */
export const waitInput = () => ({
  wait_for: z
    .string()
    .min(1)
    .optional()
    .describe('Answer when this regular expression matches the new output'),
  wait_idle_ms: z
    .number()
    .int()
    .min(10)
    .max(60_000)
    .optional()
    .describe('Answer after so long without output'),
  timeout_seconds: waitSeconds().describe(
    'Wait at most so long (max 300) for the command to end or to want input',
  ),
});

export const frontOutput = () =>
  z.array(z.object({ process_id: z.number(), name: z.string(), path: z.string().optional() }));

/** Of a terminal that has ended. */
export const endOutput = () => ({
  exit_code: z.number(),
  termination_reason: z.enum(TERMINATION_REASONS),
  output_id: z.string(),
});

export const waitOutput = () => ({
  wait_reason: z.enum(WAIT_REASONS),
  matched: z.boolean(),
  matched_line: z.string(),
  secret_prompt: z.boolean(),
  ...endOutput(),
});

export const terminalFields = () => ({
  terminal_id: z.string(),
  execution_id: z.string(),
  session_name: z.string(),
  shell_type: z.string(),
  dimensions: dimensionsOutput(),
  process_id: z.number(),
  created_at: z.string(),
});

export const terminalDetails = () => ({
  ...terminalFields(),
  status: z.enum(['active', 'idle', 'exited']),
  working_directory: z.string(),
  foreground_process: frontOutput(),
  last_activity: z.string(),
  last_exit_code: z.number(),
  title: z.string(),
  full_screen: z.boolean(),
  viewers: z.number(),
  ...endOutput(),
});

/** Undefined where nothing says that it should wait. */
export function waitOf(
  input: z.output<z.ZodObject<ReturnType<typeof waitInput>>>,
  call: Call,
): WaitSpec | undefined {
  const { wait_for: pattern, wait_idle_ms: idleMs, timeout_seconds: seconds } = input;
  if (pattern === undefined && idleMs === undefined && seconds === undefined) return undefined;
  // Before anything is typed: a mistake in it should not cost the input.
  if (pattern !== undefined) compilePattern('wait_for', pattern);
  const asked = (seconds ?? LIMITS.terminalWaitSecondsDefault) * 1000;
  const patience = patienceMs(call.client, call.modules.settings.limits.maxWaitSeconds);
  return { pattern, idleMs, timeoutMs: Math.min(asked, patience) };
}

export function describeWait(waited: Waited | undefined, isSecretPrompt = false) {
  if (waited === undefined) return {};
  return {
    wait_reason: waited.reason,
    matched: waited.reason === 'matched',
    ...(waited.matched !== undefined && { matched_line: waited.matched }),
    ...(waited.exitCode !== undefined && { exit_code: waited.exitCode }),
    ...(isSecretPrompt && { secret_prompt: true }),
  };
}

const REASONS: Readonly<Record<Waited['reason'], string>> = {
  command_done: 'the command has ended',
  matched: 'the pattern matched',
  awaiting_input: 'it waits for input',
  quiet: 'nothing more came',
  timeout_still_running: 'still running',
  exited: 'the program has ended, and the terminal with it',
};

/** What becomes of an answer to a password prompt. Under a list of commands what may be one is recorded. */
export function promptWords(
  { modules, principal }: Call,
  { isSecretPrompt, facts }: Pick<ReadResult, 'isSecretPrompt' | 'facts'>,
): string[] {
  if (!isSecretPrompt) return [];
  const isKept = facts?.isPasswordProgram !== true && modules.security.hasLists(principal);
  return [`password prompt: your input is ${isKept ? '' : 'not '}recorded`];
}

/** The line under an output. */
export function waitWords(waited: Waited | undefined, prompt: readonly string[]): string[] {
  if (waited === undefined) return [];
  const code = waited.exitCode === undefined ? '' : `, exit code ${waited.exitCode}`;
  return [
    `${REASONS[waited.reason]}${code} (${waited.waitedMs} ms)`,
    ...prompt,
    ...(waited.reason === 'timeout_still_running'
      ? ['terminal_get_output with timeout_seconds goes on waiting']
      : []),
  ];
}

export const toDimensions = (asked: { width: number; height: number }) => ({
  columns: asked.width,
  rows: asked.height,
});

/** How it ended, with its transcript, once it has; and in words what more there is to say of that. */
export async function describeEnd(call: Call, terminalId: string, hasEnded: boolean): Promise<TerminalEnd> {
  if (!hasEnded) return { ended: {}, words: [] };
  const { executions } = call.modules;
  const { record, bundle } = await executions.get(call.principal, renameId(terminalId, 'exec'));
  const outputId = bundle.outputId('log');
  const { outcome } = record;
  const ended = {
    ...(outcome?.exitCode !== undefined && { exit_code: outcome.exitCode }),
    ...(outcome !== undefined && { termination_reason: outcome.reason }),
    ...(outputId !== undefined && { output_id: outputId }),
  };
  return { ended, words: outcome === undefined ? [] : endWords(outcome, record.timeoutMs) };
}

export interface TerminalEnd {
  readonly ended: DataOf<() => z.ZodObject<ReturnType<typeof endOutput>>>;
  /** Without a full stop, as parts of a line. */
  readonly words: readonly string[];
}

function endWords(outcome: Outcome, timeoutMs: number | undefined): string[] {
  const { reason, unprotected } = outcome;
  return [
    reason === 'exit' ? '' : describeReason(outcome, timeoutMs),
    unprotected === undefined
      ? ''
      : `Replaced or removed from outside while it ran, which ends their protection: ${listPaths(unprotected)}.`,
    describeAppeared(outcome),
  ]
    .filter((words) => words !== '')
    .map((words) => words.replace(/\.$/, ''));
}

export function describeTerminal(state: TerminalState) {
  return {
    terminal_id: state.id,
    execution_id: renameId(state.id, 'exec'),
    session_name: state.sessionName,
    shell_type: state.shell,
    dimensions: { width: state.dimensions.columns, height: state.dimensions.rows },
    process_id: state.processId,
    created_at: isoTime(state.createdAtMs),
  };
}

export function describeDetails(state: TerminalState) {
  return {
    ...describeTerminal(state),
    status: statusOf(state),
    ...(state.workingDirectory !== undefined && { working_directory: state.workingDirectory }),
    foreground_process: describeFront(state.front),
    last_activity: isoTime(state.lastActivityMs),
    ...(state.lastExitCode !== undefined && { last_exit_code: state.lastExitCode }),
    ...(state.title !== '' && { title: state.title }),
    full_screen: state.isAlternate,
    ...(state.viewers > 0 && { viewers: state.viewers }),
    ...(state.outcome?.exitCode !== undefined && { exit_code: state.outcome.exitCode }),
    ...(state.outcome !== undefined && { termination_reason: state.outcome.reason }),
  };
}

export const statusOf = (state: TerminalState): 'active' | 'idle' | 'exited' => {
  if (state.outcome !== undefined) return 'exited';
  return state.isIdle ? 'idle' : 'active';
};

export function describeFront(front: TerminalState['front']) {
  return front.map(({ pid, name, path }) => ({
    process_id: pid,
    name,
    ...(path !== undefined && { path }),
  }));
}

export function foregroundText(front: TerminalState['front']): string {
  if (front.length === 0) return 'none';
  return front.map(({ pid, name }) => `${escapeText(name)} (${pid})`).join(', ');
}
