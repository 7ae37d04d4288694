/** An execution as it lies on disk. The record is the truth; what is in memory is an index of it. */
import * as z from 'zod';
import { ticks } from '../base/clock.ts';

export const EXECUTION_MODES = ['foreground', 'background', 'detached', 'adaptive', 'terminal'] as const;
export type ExecutionMode = (typeof EXECUTION_MODES)[number];

export const TERMINATION_REASONS = [
  'exit',
  'signal',
  'timeout',
  'terminated',
  'memory_limit',
  'cpu_limit',
  'protection_lost',
  'server_shutdown',
  'server_lost',
] as const;

export type Status = 'running' | 'completed' | 'failed' | 'timeout';

const survivor = z.object({ pid: z.number(), name: z.string() });

export const outcomeSchema = z.object({
  status: z.enum(['completed', 'failed', 'timeout']),
  reason: z.enum(TERMINATION_REASONS),
  exitCode: z.number().optional(),
  signal: z.string().optional(),
  errorCode: z
    .enum(['EXECUTION_001', 'EXECUTION_002', 'EXECUTION_003', 'EXECUTION_004', 'EXECUTION_005'])
    .optional(),
  endedAtMs: z.number(),
  /** By a clock that nobody sets; absent where nobody was there to measure it. */
  durationMs: z.number().optional(),
  /** The most memory the tree was seen to have. */
  peakMemoryBytes: z.number().optional(),
  /** Of all processes together. */
  cpuSeconds: z.number().optional(),
  /** The most that were seen at once; absent where it was over before the first look. */
  processes: z.number().optional(),
  /** Which limits it came near to. */
  nearLimits: z.array(z.enum(['memory', 'cpu', 'processes'])).optional(),
  /** Files that programs outside execute or trust, and that did not exist when it began. */
  appeared: z.array(z.string()).optional(),
  /** Protected files that were replaced from outside while it ran, so that it could write to them. */
  unprotected: z.array(z.string()).optional(),
  /** Why it failed, and what to do about it. */
  explanation: z.string().optional(),
  /** What the audit log marks. */
  securityEvent: z.enum(['command_not_found', 'permission_denied', 'stopped_by_sandbox']).optional(),
  /** How often the kernel refused it another process. */
  refusedForks: z.number().optional(),
  /** What each process could have of private memory, where it failed and had such a limit. */
  dataLimitBytes: z.number().optional(),
  /** Its last pipeline, where a stage failed and the command succeeded all the same. */
  pipeline: z.array(z.object({ command: z.string(), exitCode: z.number() })).optional(),
  /** What could not be ended. */
  survivors: z.array(survivor),
  /** What the shell left running when it ended, and was ended with it. */
  endedLeftovers: z.array(survivor),
});
export type Outcome = Readonly<z.infer<typeof outcomeSchema>>;

const recordSchema = z.object({
  format: z.literal(1),
  id: z.string(),
  owner: z.string(),
  /** The server that is responsible for it. */
  instance: z.string(),
  command: z.string(),
  mode: z.enum(EXECUTION_MODES),
  sessionId: z.string().optional(),
  directory: z.string(),
  defaultDirectory: z.string(),
  /** What the caller set, secrets masked. */
  environment: z.record(z.string(), z.string()),
  /** Of one with a screen. */
  terminal: z.object({ sessionName: z.string(), shell: z.string(), autoSaves: z.boolean() }).optional(),
  streams: z.array(z.enum(['stdout', 'stderr', 'combined', 'log', 'cast'])),
  createdAtMs: z.number(),
  /** The same by `ticks`, of the boot it began in. */
  createdTicks: z.number().optional(),
  timeoutMs: z.number().optional(),
  /** Known before the process is, so that one is found whose server died in between. */
  marker: z.string(),
  process: z
    .object({
      pid: z.number(),
      startTime: z.number(),
      bootId: z.string(),
      marker: z.string(),
      group: z.string().optional(),
      /** The process is bubblewrap, and the command runs inside. */
      isSandboxed: z.boolean().optional(),
      /** The name of `isSandboxed` in records of version 0.1. */
      isWalled: z.boolean().optional(),
      /** The program in a terminal, where a sandbox is around it. */
      program: z.number().optional(),
      /** The wrapper of a detached execution, or the host of a terminal: it may outlive the server. */
      wrapper: z.object({ pid: z.number(), startTime: z.number() }).optional(),
    })
    .transform(({ isWalled, ...rest }) =>
      isWalled === undefined ? rest : { ...rest, isSandboxed: isWalled },
    )
    .optional(),
  outcome: outcomeSchema.optional(),
});
export type ExecutionRecord = Readonly<z.infer<typeof recordSchema>>;

/** The number that callers know it by. */
export function pidOf(process: ExecutionRecord['process']): number | undefined {
  return process?.program ?? process?.pid;
}

/** When something began and ended, as far as it is known. */
export interface Span {
  readonly createdAtMs: number;
  readonly createdTicks?: number | undefined;
  readonly endedAtMs?: number | undefined;
  readonly durationMs?: number | undefined;
}

/** How long it ran, or has run so far. Times of day are only compared where there is nothing better. */
export function durationOf(span: Span, nowMs: number): number {
  const { createdAtMs, createdTicks, endedAtMs, durationMs } = span;
  if (endedAtMs !== undefined) return durationMs ?? Math.max(0, endedAtMs - createdAtMs);
  const elapsed = createdTicks === undefined ? -1 : ticks() - createdTicks;
  return elapsed >= 0 ? elapsed : Math.max(0, nowMs - createdAtMs);
}

export function spanOf({ createdAtMs, createdTicks, outcome }: ExecutionRecord): Span {
  return { createdAtMs, createdTicks, endedAtMs: outcome?.endedAtMs, durationMs: outcome?.durationMs };
}

/** The record with its end, which is never before its beginning: the clock may have been set back in between. */
export function withOutcome(record: ExecutionRecord, outcome: Outcome): ExecutionRecord {
  const { endedAtMs, durationMs = 0 } = outcome;
  const isBackwards = endedAtMs < record.createdAtMs;
  return {
    ...record,
    outcome: isBackwards ? { ...outcome, endedAtMs: record.createdAtMs + durationMs } : outcome,
  };
}

/** Undefined where this version cannot read it. */
export function parseRecord(value: unknown): ExecutionRecord | undefined {
  return recordSchema.safeParse(value).data;
}
