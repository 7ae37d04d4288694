/** `mcp-shell-server executions`: what runs and what has run on a state directory, over all of its servers. */
import { isoTime, systemClock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { renameId } from '../base/ids.ts';
import { createObserver, type ObservedExecution } from '../executions/executions.ts';
import { escapeText } from '../security/security.ts';
import type { CommandContext } from './context.ts';
import { print } from './json.ts';
import { createPaint, type Tone } from './paint.ts';
import { type Column, renderTable } from './text-table.ts';
import { rangeOf, showBytes, showClock, showTime } from './when.ts';

export interface ExecutionsOptions {
  readonly running?: boolean;
  readonly ended?: boolean;
  readonly status?: string;
  readonly principal?: string;
  readonly since?: string;
  readonly limit: number;
  readonly json?: boolean;
}

export async function listExecutions(
  context: CommandContext,
  text: string | undefined,
  options: ExecutionsOptions,
): Promise<void> {
  const observer = createObserver({ stateDir: context.settings().stateDir, clock: systemClock });
  const matches = createMatcher(text, options);
  const found = (await observer.look()).executions.filter(matches);
  const shown = found.slice(0, options.limit);
  print(context, options, { total: found.length, executions: shown.map(toJson) }, () => {
    if (found.length === 0) return 'No executions.\n';
    const table = renderTable(COLUMNS, shown, context);
    if (shown.length === found.length) return table;
    const cut = `The newest ${shown.length} of ${found.length}; --limit shows more.\n`;
    return table + createPaint(context)('quiet', cut);
  });
}

function createMatcher(
  text: string | undefined,
  options: ExecutionsOptions,
): (execution: ObservedExecution) => boolean {
  const { sinceMs = -Infinity } = rangeOf(options);
  const wanted = text?.toLowerCase() ?? '';
  const is = (value: string, want: string | undefined): boolean => want === undefined || value === want;
  return ({ state, owner, createdAtMs, command, sessionName }) =>
    (options.running !== true || state === 'running') &&
    (options.ended !== true || state !== 'running') &&
    is(state, options.status) &&
    is(owner, options.principal) &&
    createdAtMs >= sinceMs &&
    `${sessionName ?? ''} ${command}`.toLowerCase().includes(wanted);
}

/** Enough to name one of many; the whole id is in --json. */
const SHORT_ID = 'exec_'.length + 8;

const TONES: Readonly<Record<ObservedExecution['state'], Tone>> = {
  running: 'good',
  lost: 'warn',
  completed: 'plain',
  failed: 'bad',
  timeout: 'warn',
};

const COLUMNS: readonly Column<ObservedExecution>[] = [
  { title: 'EXECUTION', show: ({ id }) => id.slice(0, SHORT_ID) },
  { title: 'STATE', show: ({ state }) => ({ text: state, tone: TONES[state] }) },
  { title: 'EXIT', isRight: true, show: ({ exitCode }) => (exitCode === undefined ? '' : String(exitCode)) },
  {
    title: 'STARTED',
    show: ({ createdAtMs }, width) => {
      const time = showTime(isoTime(createdAtMs));
      return width < 100 ? `${time.slice(5, 16)}Z` : time;
    },
  },
  { title: 'TIME', isRight: true, show: ({ durationMs }) => showClock(durationMs) },
  { title: 'CPU%', isRight: true, minWidth: 110, show: ({ usage }) => usage?.cpuPercent?.toFixed(1) ?? '' },
  {
    title: 'MEMORY',
    isRight: true,
    minWidth: 110,
    show: ({ usage }) => (usage?.memoryBytes === undefined ? '' : showBytes(usage.memoryBytes)),
  },
  { title: 'WHO', minWidth: 110, show: ({ owner }) => escapeText(owner) },
  {
    title: 'COMMAND',
    show: ({ command, sessionName }) =>
      escapeText(sessionName === undefined ? command : `[terminal ${sessionName}] ${command}`),
  },
];

function toJson(execution: ObservedExecution) {
  const { id, mode, sessionName, usage, endedAtMs } = execution;
  return {
    execution_id: id,
    ...(mode === 'terminal' && { terminal_id: renameId(id, 'term'), session_name: sessionName }),
    owner: execution.owner,
    status: execution.state,
    command: execution.command,
    execution_mode: mode,
    working_directory: execution.directory,
    created_at: isoTime(execution.createdAtMs),
    ...(endedAtMs !== undefined && { ended_at: isoTime(endedAtMs) }),
    duration_ms: Math.round(execution.durationMs),
    process_id: execution.pid,
    exit_code: execution.exitCode,
    signal: execution.signal,
    cpu_percent: usage?.cpuPercent,
    memory_bytes: usage?.memoryBytes,
    processes: usage?.processes,
  };
}

/** The one that is meant: by its id, that of its terminal or of an output of it, or the beginning of one. */
export function chooseExecution(executions: readonly ObservedExecution[], asked: string): ObservedExecution {
  const [, key = ''] = /^(?:exec|term|out)_([a-z0-9]{4,27})$/.exec(asked) ?? [];
  // The id of an output has one letter more than that of its execution.
  const start = `exec_${key.slice(0, 26)}`;
  const found = key === '' ? [] : executions.filter(({ id }) => id.startsWith(start));
  const [one] = found;
  if (one !== undefined && found.length === 1) return one;
  throw new ShellServerError(
    'RESOURCE_001',
    one === undefined
      ? `There is no execution ${JSON.stringify(asked.slice(0, 64))}.`
      : `${asked} matches ${found.length} executions.`,
    {
      hint:
        one === undefined
          ? '`mcp-shell-server executions` lists them; four characters after "exec_" are enough.'
          : 'Write more of its id.',
    },
  );
}
