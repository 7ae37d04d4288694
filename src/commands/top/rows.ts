/** What `top` shows: rows, and where they come from. */
import { systemClock } from '../../base/clock.ts';
import { createObserver, type ObservedExecution } from '../../executions/executions.ts';
import type { Tone } from '../paint.ts';
import { recordAsOperator } from '../read-record.ts';

export interface TopRow {
  readonly id: string;
  /** One word, such as "running". */
  readonly state: string;
  readonly tone: Tone;
  readonly owner: string;
  readonly pid: number | undefined;
  readonly startedAtMs: number;
  readonly endedAtMs: number | undefined;
  /** How long it ran, or has run. */
  readonly durationMs: number;
  readonly cpuPercent: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly processes: number | undefined;
  readonly command: string;
  /** More about it, for the line at the bottom. */
  readonly detail: string;
  readonly canEnd: boolean;
}

export interface TopSource {
  look(): Promise<{ readonly rows: readonly TopRow[]; readonly servers: number }>;
  /** Ends one of its rows with all that belongs to it; a sentence about how that went. */
  end(id: string): Promise<string>;
}

export function createSource(stateDir: string): TopSource {
  const observer = createObserver({ stateDir, clock: systemClock });
  return {
    async look() {
      const { executions, servers } = await observer.look();
      return { servers, rows: executions.map(toRow) };
    },
    async end(id) {
      const result = await observer.end(id, () => recordEnd(stateDir, id));
      switch (result) {
        case 'ended':
          return `${id} was ended with everything it had started.`;
        case 'requested':
          return `${id} has not ended yet; its server was asked to end it.`;
        case 'over':
          return `${id} had ended already.`;
        case 'unknown':
          return `There is no execution ${id}.`;
      }
    },
  };
}

const TONES = {
  running: 'good',
  lost: 'warn',
  completed: 'quiet',
  failed: 'bad',
  timeout: 'warn',
} as const satisfies Record<ObservedExecution['state'], Tone>;

function toRow(execution: ObservedExecution): TopRow {
  const { id, owner, pid, state, command, createdAtMs, endedAtMs, usage, mode, directory, sessionName } =
    execution;
  const { durationMs } = execution;
  const how = execution.signal ?? (execution.exitCode === undefined ? '' : `exit code ${execution.exitCode}`);
  return {
    id,
    state,
    tone: TONES[state],
    owner,
    pid,
    startedAtMs: createdAtMs,
    endedAtMs,
    durationMs,
    cpuPercent: usage?.cpuPercent,
    memoryBytes: usage?.memoryBytes,
    processes: usage?.processes,
    command: sessionName === undefined ? command : `[terminal ${sessionName}] ${command}`,
    detail: [id, mode, how, directory].filter((part) => part !== '').join('  '),
    // What is left of one that was lost, if anything is.
    canEnd: state === 'running' || (state === 'lost' && (usage?.processes ?? 0) > 0),
  };
}

/** No server is left to record why it was ended. */
function recordEnd(stateDir: string, executionId: string): void {
  try {
    recordAsOperator(stateDir, { event: 'end_requested', executionId });
  } catch {
    // Only what is to run must be recorded first.
  }
}
