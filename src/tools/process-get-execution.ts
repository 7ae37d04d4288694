/** process_get_execution: how an execution is doing, or how it ended. */
import { z } from 'zod';
import { isoTime } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Execution } from '../executions/executions.ts';
import { EXECUTION_MODES } from '../executions/executions.ts';
import { escapeText, maskBeginning } from '../security/security.ts';
import { describeBytes } from './describe.ts';
import { type AnswerOptions, executionFields } from './execution-answer.ts';
import { answerBytes, patienceMs } from './known-clients.ts';
import { type Answer, type Call, defineTool } from './tool.ts';
import { usedFields } from './used.ts';
import { describeMany, describeSeen, waitDataOf, waitFields, waitIn, waitWords } from './wait-answer.ts';
import { checkConditions, parseConditions } from './wait-input.ts';

/** The caller knows its command; a hundred kilobytes of it at each look would be a waste. */
const COMMAND_CHARS = 4000;

const outputSchema = () =>
  z.object({
    ...executionFields(),
    ...waitFields(),
    command: z.string().optional(),
    execution_mode: z.enum(EXECUTION_MODES).optional(),
    session_id: z.string().optional(),
    environment_variables: z.record(z.string(), z.string()).optional(),
    memory_usage_mb: z.number().optional(),
    peak_memory_mb: z.number().optional(),
    cpu_seconds: z.number().optional(),
    cpu_usage_percent: z.number().optional(),
    process_count: z.number().optional(),
    started_at: z.string().optional(),
    stdout_size: z.number().optional(),
    stderr_size: z.number().optional(),
  });

export const processGetExecution = defineTool({
  name: 'process_get_execution',
  title: 'Look at an execution',
  description:
    'State, exit code, last output and resource usage of executions. Instead of polling, wait_seconds (max 300) waits for the end, or for wait_for; then only new output is shown.',
  input: () =>
    z.strictObject({
      execution_id: z.string().optional(),
      execution_ids: z.array(z.string()).optional(),
      wait_seconds: z.number().min(0).max(300).optional(),
      wait_for: z.array(z.looseObject({})).optional().describe('As in shell_execute'),
      wait_mode: z.enum(['any', 'all']).default('any'),
      fold: z.boolean().default(true),
    }),
  output: outputSchema,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const ids = idsOf(input);
    const [id] = ids;
    if (input.execution_ids !== undefined || input.wait_for !== undefined || id === undefined)
      return waitAndDescribe(ids, input, call);
    const { executions } = call.modules;
    const waitMs = Math.min((input.wait_seconds ?? 0) * 1000, patienceOf(call));
    const execution = await executions.waitFor(call.principal, id, waitMs, call.signal);
    call.signal.throwIfAborted();
    return describeOne(execution, call, { folds: input.fold, onlyNew: false });
  },
});

const patienceOf = ({ client, modules }: Call): number =>
  patienceMs(client, modules.settings.limits.maxWaitSeconds);

interface WaitInput {
  readonly execution_id?: string | undefined;
  readonly execution_ids?: readonly string[] | undefined;
  readonly wait_seconds?: number | undefined;
  readonly wait_for?: readonly object[] | undefined;
  readonly wait_mode: 'any' | 'all';
  readonly fold: boolean;
}

const MAX_EXECUTIONS = 50;

function idsOf({ execution_id: id, execution_ids: more = [] }: WaitInput): string[] {
  const ids = [...new Set([...(id === undefined ? [] : [id]), ...more])];
  if (ids.length === 0)
    throw new ShellServerError('PARAM_001', 'execution_id or execution_ids is missing.', {
      hint: 'process_list shows the executions.',
      details: { name: 'InvalidParameters' },
    });
  if (ids.length > MAX_EXECUTIONS)
    throw new ShellServerError('PARAM_002', `${ids.length} executions were named.`, {
      hint: `Name at most ${MAX_EXECUTIONS} in one call.`,
      details: { parameter: 'execution_ids' },
    });
  return ids;
}

async function waitAndDescribe(
  ids: readonly string[],
  input: WaitInput,
  call: Call,
): Promise<Answer<z.input<ReturnType<typeof outputSchema>>>> {
  const { executions } = call.modules;
  const targets = await Promise.all(
    ids.map(async (id) => {
      const execution = await executions.get(call.principal, id);
      const given = input.wait_for ?? [{ exit: true }];
      const conditions = parseConditions(given, execution.record.directory, call);
      checkConditions(conditions, execution, call);
      return { execution, conditions };
    }),
  );
  const [first] = targets;
  // Who names conditions wants to wait; who names executions alone may want to look.
  const seconds = input.wait_seconds ?? (input.wait_for === undefined ? 0 : Number.POSITIVE_INFINITY);
  const timeoutMs = Math.min(seconds * 1000, patienceOf(call));
  const report = await waitIn(targets, { mode: input.wait_mode, timeoutMs }, call);
  call.signal.throwIfAborted();
  const wait = waitDataOf(report);
  const isMany = input.execution_ids !== undefined;
  const about = { many: isMany, again: 'The same call' };
  const words =
    timeoutMs === 0 && report.result === 'timeout' ? '' : waitWords(report, first?.conditions ?? [], about);
  if (!isMany && first !== undefined) {
    const { data, text } = await describeOne(first.execution, call, { folds: input.fold, onlyNew: true });
    return { data: { ...data, wait }, text: joinLines(text, words) };
  }
  const options = answerOptions(call, await executions.commandPath(), input.fold);
  const all = targets.map(({ execution }) => execution);
  const { data, text } = await describeMany(all, options, call);
  return { data: { executions: data, wait }, text: joinLines(text, words) };
}

const joinLines = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');

const answerOptions = ({ client, modules, signal }: Call, path: string, folds: boolean): AnswerOptions => ({
  detail: true,
  inlineBytes: modules.settings.limits.inlineOutputBytes,
  perStreamBytes: undefined,
  mostBytes: answerBytes(client),
  folds,
  why: undefined,
  path,
  now: modules.clock.now(),
  signal,
});

async function describeOne(
  execution: Execution,
  call: Call,
  { folds, onlyNew }: { readonly folds: boolean; readonly onlyNew: boolean },
) {
  const { executions } = call.modules;
  const { record } = execution;
  const usage = execution.usage();
  const command = maskBeginning(record.command, COMMAND_CHARS);
  const options = answerOptions(call, await executions.commandPath(), folds);
  const { data, text } = await describeSeen(execution, options, call, onlyNew);
  const more = {
    command,
    execution_mode: record.mode,
    ...(record.sessionId !== undefined && { session_id: record.sessionId }),
    environment_variables: record.environment,
    ...(usage !== undefined && {
      memory_usage_mb: Math.round((usage.memoryBytes / 1024 / 1024) * 10) / 10,
      cpu_usage_percent: usage.cpuPercent,
      process_count: usage.processes,
    }),
    ...usedFields(execution),
    started_at: isoTime(record.createdAtMs),
    ...sizes(execution),
  };
  const using =
    usage === undefined
      ? ''
      : ` It uses ${describeBytes(usage.memoryBytes)} of memory and ${usage.cpuPercent} % of a processor in ${usage.processes} processes.`;
  return {
    data: { ...data, ...more },
    // Who waits knows what for.
    text: `${text}${using}${onlyNew ? '' : `\nCommand: ${showLines(command.slice(0, 1000))}`}`,
  };
}

function sizes({ bundle, record }: Execution): { stdout_size?: number; stderr_size?: number } {
  const sizeOf = (type: 'stdout' | 'stderr' | 'combined' | 'log'): number | undefined => {
    if (!record.streams.includes(type)) return undefined;
    const source = bundle.source(type);
    const size = source?.size;
    source?.close();
    return size;
  };
  const stdout = sizeOf('stdout') ?? sizeOf('combined') ?? sizeOf('log');
  const stderr = sizeOf('stderr');
  return {
    ...(stdout !== undefined && { stdout_size: stdout }),
    ...(stderr !== undefined && { stderr_size: stderr }),
  };
}

/** Its lines stay lines; nothing else of it that a terminal would obey does. */
const showLines = (text: string): string => text.split('\n').map(escapeText).join('\n');
