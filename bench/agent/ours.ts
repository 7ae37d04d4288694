/** This server as Claude Code shows it to a model, before and after the changes that this benchmark is about. */
import { type LineClient, openServer } from '../line-client.ts';
import { type Job, looksFailed, type Meter, type Seen, type Shell } from './shell.ts';

const WAIT_SECONDS = 30;

export async function createOurs(
  cli: string,
  place: { readonly cwd: string; readonly version: 'before' | 'now' },
  meter: Meter,
): Promise<Shell> {
  const client: LineClient = await openServer(
    [process.execPath, cli],
    {
      MCP_SHELL_LIMITS_MAX_WAIT_SECONDS: String(WAIT_SECONDS),
      MCP_SHELL_DEFAULT_WORKDIR: place.cwd,
      MCP_SHELL_SECURITY_SANDBOX: 'off',
    },
    'claude-code',
  );
  return place.version === 'now' ? createNow(client, meter) : createBefore(client, meter);
}

interface Called extends Seen {
  readonly executionId: string;
  readonly outputId: string;
  readonly terminalId: string;
  readonly isRunning: boolean;
}

/** One call, read as Claude Code shows it: the structured part where there is one, otherwise the text. */
function caller(client: LineClient, meter: Meter) {
  return async (name: string, args: object): Promise<Called> => {
    const { structuredContent, content } = await client.call(name, args);
    const text = meter.read(
      structuredContent === undefined
        ? content.map((part) => part.text).join('\n')
        : JSON.stringify(structuredContent),
    );
    const id = (prefix: string): string => new RegExp(`${prefix}_[a-z0-9]+`).exec(text)?.[0] ?? '';
    const code = /"exit_code":(\d+)|exit code (\d+)/.exec(text);
    const exitCode = code === null ? undefined : Number(code[1] ?? code[2]);
    return {
      text: text.replaceAll('\\n', '\n'),
      failed: looksFailed(text.replaceAll('\\n', '\n'), exitCode),
      executionId: id('exec'),
      outputId: id('out'),
      terminalId: id('term'),
      isRunning: /"status":"running"|\[running,/.test(text),
    };
  };
}

/** What both have. `opening` waits for the first question of a program. */
function createCommon(client: LineClient, meter: Meter, opening: { readonly timeout_seconds?: number } = {}) {
  const call = caller(client, meter);
  const run = (command: string): Promise<Called> => meter.turn(() => call('shell_execute', { command }));
  const stop = async (job: Job): Promise<void> => {
    await meter.turn(() => call('process_terminate', { execution_id: job.id }));
  };
  async function interact(command: string, answer: (shown: string) => string | undefined): Promise<Seen> {
    const opened = await meter.turn(() => call('terminal_create', { command, ...opening }));
    let seen: Seen = opened;
    for (let turns = 0; turns < 10; turns++) {
      const reply = answer(seen.text);
      if (reply === undefined) return seen;
      const { terminalId } = opened;
      seen = await meter.turn(() =>
        reply === ''
          ? call('terminal_get_output', { terminal_id: terminalId, timeout_seconds: 5 })
          : call('terminal_send_input', {
              terminal_id: terminalId,
              input: reply,
              execute: true,
              timeout_seconds: 20,
            }),
      );
    }
    return seen;
  }
  async function find(command: string, text: string): Promise<Seen> {
    const first = await run(command);
    if (first.text.includes(text)) return first;
    return meter.turn(() => call('read_execution_output', { output_id: first.outputId, pattern: text }));
  }
  return { call, run, stop, interact, find, close: client.close };
}

function createNow(client: LineClient, meter: Meter): Shell {
  const common = createCommon(client, meter, { timeout_seconds: 20 });
  const { call } = common;
  const background = (command: string, more: object = {}): Promise<Called> =>
    call('shell_execute', { command, execution_mode: 'background', ...more });

  async function waitOn(seen: Called): Promise<Called> {
    let last = seen;
    while (last.isRunning) {
      const { executionId } = last;
      last = await meter.turn(() =>
        call('process_get_execution', { execution_id: executionId, wait_for: [{ exit: true }] }),
      );
    }
    return last;
  }

  return {
    ...common,
    long: async (command) => waitOn(await common.run(command)),
    async serve(command, { port }) {
      const seen = await meter.turn(() => background(command, { wait_for: [{ port }] }));
      return { id: seen.executionId, seen };
    },
    async later(command) {
      const seen = await meter.turn(() => background(command));
      return { id: seen.executionId, seen };
    },
    async check(job, had) {
      // Answers have told of it, if it has ended.
      const line = had.split('\n').find((each) => each.includes(job.id) && each.includes('finished'));
      if (line !== undefined) return { text: line, failed: !/exit 0|"exit_code":0/.test(line) };
      return meter.turn(() => call('process_get_execution', { execution_id: job.id }));
    },
    async many(commands) {
      const started = await meter.turn(() => Promise.all(commands.map((command) => background(command))));
      const ids = started.map(({ executionId }) => executionId);
      const { text } = await meter.turn(() =>
        call('process_get_execution', { execution_ids: ids, wait_for: [{ exit: true }], wait_mode: 'all' }),
      );
      return ids.map((id) => ({ text, failed: failedIn(text, id) }));
    },
    next: (job, text) =>
      meter.turn(() => call('process_get_execution', { execution_id: job.id, wait_for: [{ output: text }] })),
  };
}

/** Of several in one answer. */
function failedIn(text: string, id: string): boolean {
  const structured = new RegExp(`"execution_id":"${id}","status":"(\\w+)"`).exec(text)?.[1];
  if (structured !== undefined) return structured !== 'completed';
  const part = text.slice(text.indexOf(`${id}: `));
  return /^\[(\w+),/m.exec(part)?.[1] !== 'completed';
}

function createBefore(client: LineClient, meter: Meter): Shell {
  const common = createCommon(client, meter);
  const { call } = common;
  const background = (command: string): Promise<Called> =>
    call('shell_execute', { command, execution_mode: 'background' });
  const wait = (id: string, seconds: number): Promise<Called> =>
    call('process_get_execution', { execution_id: id, wait_seconds: seconds });

  async function poll(id: string, isDone: (seen: Called) => boolean, seconds = 0.5): Promise<Called> {
    for (let looks = 0; ; looks++) {
      const seen = await meter.turn(() => wait(id, Math.min(seconds * 2 ** looks, WAIT_SECONDS)));
      if (!seen.isRunning || isDone(seen) || looks > 20) return seen;
    }
  }

  return {
    ...common,
    async long(command) {
      const seen = await common.run(command);
      return seen.isRunning ? poll(seen.executionId, () => false, WAIT_SECONDS) : seen;
    },
    async serve(command, { line }) {
      const { executionId } = await meter.turn(() => background(command));
      return { id: executionId, seen: await poll(executionId, ({ text }) => text.includes(line)) };
    },
    async later(command) {
      const seen = await meter.turn(() => background(command));
      return { id: seen.executionId, seen };
    },
    check: (job) => meter.turn(() => wait(job.id, 0)),
    async many(commands) {
      const started = await meter.turn(() => Promise.all(commands.map(background)));
      return meter.turn(() => Promise.all(started.map(({ executionId }) => wait(executionId, WAIT_SECONDS))));
    },
    next: (job, text) => poll(job.id, (seen) => seen.text.includes(text)),
  };
}
