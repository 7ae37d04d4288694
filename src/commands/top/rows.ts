/** What `top` shows: rows, and where they come from. */
import { attempt } from '../../base/attempt.ts';
import { systemClock } from '../../base/clock.ts';
import type { Settings } from '../../base/settings.ts';
import { createObserver, type ObservedExecution } from '../../executions/executions.ts';
import type { Tone } from '../paint.ts';
import { recordAsOperator } from '../read-record.ts';

export type TopRow = ReturnType<typeof toRow>;
export type TopSource = ReturnType<typeof createSource>;

export function createSource(settings: Settings) {
  const observer = createObserver({ stateDir: settings.stateDir, clock: systemClock });
  return {
    async look() {
      const { executions, servers } = await observer.look();
      return { servers, rows: executions.map(toRow) };
    },
    /** Ends one of its rows with all that belongs to it; a sentence about how that went. */
    async end(id: string): Promise<string> {
      const result = await observer.end(id, () => recordEnd(settings, id));
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

function toRow(execution: ObservedExecution) {
  const { id, state, command, usage, sessionName, signal, exitCode } = execution;
  const how = signal ?? (exitCode === undefined ? '' : `exit code ${exitCode}`);
  return {
    id,
    state,
    tone: TONES[state],
    owner: execution.owner,
    pid: execution.pid,
    startedAtMs: execution.createdAtMs,
    endedAtMs: execution.endedAtMs,
    durationMs: execution.durationMs,
    cpuPercent: usage?.cpuPercent,
    memoryBytes: usage?.memoryBytes,
    processes: usage?.processes,
    command: sessionName === undefined ? command : `[terminal ${sessionName}] ${command}`,
    /** More about it, for the line at the bottom. */
    detail: [id, execution.mode, how, execution.directory].filter((part) => part !== '').join('  '),
    // What is left of one that was lost, if anything is.
    canEnd: state === 'running' || (state === 'lost' && (usage?.processes ?? 0) > 0),
  };
}

/** No server is left to record why it was ended. */
function recordEnd(settings: Settings, executionId: string): void {
  // Only what is to run must be recorded first.
  attempt(() => recordAsOperator(settings, { event: 'end_requested', executionId }));
}
