/**
 * What reaches the model behind Claude Code, Codex and Gemini CLI: the real clients from npm, each with our server as
 * `install` writes it (over stdio and over HTTP) or as the server prints it (over HTTP), and a model that plays a script.
 */
import { networkInterfaces } from 'node:os';
import { encode } from 'gpt-tokenizer';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectStdio } from '../e2e/support/clients.ts';
import { createPlace } from '../e2e/support/product.ts';
import { lacks } from '../setup/needs.ts';
import { AGENTS, type Agent } from './support/agents.ts';
import { converse, type Held, type Way } from './support/conversation.ts';
import type { Step } from './support/model.ts';
import { comparable, playPlainly } from './support/plain.ts';

/** Of all that reached the model before. */
const found = (pattern: RegExp, results: readonly string[]): string => {
  const [, first = ''] = pattern.exec(results.at(-1)?.replaceAll('\\"', '"') ?? '') ?? [];
  return first;
};
const terminalOf = (results: readonly string[]): string =>
  /term_[a-z0-9]+/.exec(results.join('\n'))?.[0] ?? 'none';

const STEPS = {
  hello: { tool: 'shell_execute', args: { command: 'echo hi' } },
  failed: { tool: 'shell_execute', args: { command: 'echo out; ls /nonexistent; exit 3' } },
  refused: { tool: 'shell_execute', args: { command: 'true', working_directory: '/nowhere' } },
  colours: {
    tool: 'shell_execute',
    args: { command: String.raw`printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\n'` },
  },
  limited: { tool: 'shell_execute', args: { command: 'seq 1 2000', max_output_size: 1024 } },
  long: { tool: 'shell_execute', args: { command: 'seq 1 200000', max_output_size: 1024 * 1024 } },
  leftOut: {
    tool: 'read_execution_output',
    args: (results) => ({
      output_id: found(/left out.*?output_id "(\w+)"/s, results),
      offset: Number(found(/left out.*?offset (\d+)/s, results)),
      size: 100,
    }),
  },
  background: {
    tool: 'shell_execute',
    args: { command: 'sleep 1; echo ended', execution_mode: 'background' },
  },
  waited: {
    tool: 'process_get_execution',
    args: (results) => ({ execution_id: found(/(exec_[a-z0-9]+)/, results), wait_seconds: 40 }),
  },
  terminal: { tool: 'terminal_create', args: { shell_type: 'bash' } },
  lineEnd: {
    tool: 'terminal_send_input',
    args: (results) => ({
      terminal_id: terminalOf(results),
      input: 'echo one$((1+1))\n',
      timeout_seconds: 40,
    }),
  },
  longScreen: {
    tool: 'terminal_send_input',
    args: (results) => ({
      terminal_id: terminalOf(results),
      input: 'seq 1 5000',
      execute: true,
      timeout_seconds: 40,
    }),
  },
  leftOutLines: {
    tool: 'terminal_get_output',
    args: (results) => ({
      terminal_id: terminalOf(results),
      start_line: Number(found(/left out.*?start_line (\d+)/s, results)),
      line_count: 3,
    }),
  },
  closed: { tool: 'terminal_close', args: (results) => ({ terminal_id: terminalOf(results) }) },
} satisfies Record<string, Step>;

const STEP_NAMES = Object.keys(STEPS) as (keyof typeof STEPS)[];

const canRun = !lacks(
  Object.keys(networkInterfaces()).some((name) => name !== 'lo'),
  'real clients run only where there is no network; npm run test:clients takes care of that',
);

let plain: Readonly<Record<string, string>>;
beforeAll(async () => {
  if (canRun) plain = await playPlainly(STEPS);
});

for (const agent of AGENTS) {
  const isSkipped = !canRun || lacks(!agent.isInstalled, `${agent.title} is not in node_modules/.clients`);
  for (const way of ['install', 'install --http', 'printed for HTTP'] as const)
    describe.skipIf(isSkipped)(`${agent.title}, ${way}`, () => {
      declare(agent, way);
    });
}

function declare(agent: Agent, way: Way): void {
  let held: Held;
  beforeAll(async () => {
    held = await converse(agent, way, STEPS);
  });
  const read = (step: keyof typeof STEPS): string => held.results[step] ?? '';

  test('the client reports no error of the server', () => {
    expect(held.said).not.toMatch(/MCP ERROR|disconnected/i);
    expect(held.said).toContain('done');
  });

  test('the model is offered every tool, with its whole description and every parameter', async () => {
    const listed = await listTools();
    const offered = held.tools.map(({ name, description, schema }) => ({
      name,
      description,
      // Gemini CLI adds one.
      parameters: propertiesOf(schema).filter((parameter) => parameter !== 'wait_for_previous'),
    }));
    expect(offered.toSorted(byName)).toEqual(listed);
  });

  test('every answer reaches the model as the server writes it for any client', () => {
    // These depend on how much a client shows, and have a test of their own.
    const fitted: string[] = ['long', 'leftOut', 'longScreen', 'leftOutLines'];
    const names = STEP_NAMES.filter((name) => !fitted.includes(name));
    expect(names.map((name) => [name, comparable(read(name))])).toEqual(
      names.map((name) => [name, comparable(plain[name] ?? '')]),
    );
  });

  test('a command that printed two letters costs at most 40 tokens', () => {
    expect(read('hello').replace(/[\d.]+ m?s(?=\])/, 'N ms')).toBe('hi\n[completed, exit code 0, N ms]');
    expect(encode(held.raw['hello'] ?? '').length).toBeLessThanOrEqual(40);
  });

  test('a failure shows both streams and the exit code', () => {
    expect(read('failed')).toContain('out\n');
    expect(read('failed')).toContain('/nonexistent');
    expect(read('failed')).toMatch(/\b3\b/);
  });

  test('an error says what happened and what to do', () => {
    expect(read('refused')).toContain('working_directory /nowhere does not exist.');
    expect(read('refused')).toContain('The nearest directory that exists is /.');
  });

  test('colours are left out, and progress shows its last state', () => {
    expect(read('colours')).toMatch(/^red\n100%\n/);
  });

  test('a command that printed past max_output_size and ended has ended', () => {
    expect(read('limited')).toContain('completed');
    expect(read('limited').length).toBeLessThan(2048);
  });

  test('a long answer is shortened by the server alone, and leads to the rest', () => {
    const shown = read('long');
    expect(shown).toMatch(/^1\n2\n3\n/);
    expect(shown).toContain('\n199999\n200000\n');
    expect(read('long')).toMatch(/out_[a-z0-9]+/);
    const last = Number(/\n(\d+)\n\[…/.exec(shown)?.[1]);
    expect(read('leftOut')).toContain(`${last + 1}\n${last + 2}\n`);
  });

  test('a background command is waited for', () => {
    expect(read('background')).toContain('running');
    expect(read('waited')).toMatch(/^ended\n\[completed, exit code 0/);
  });

  test('a line end presses Enter in a terminal', () => {
    expect(read('lineEnd')).toMatch(/^one2\n/);
  });

  test('a long screen shows its first and last lines, and leads to those between', () => {
    const shown = read('longScreen');
    expect(shown).toMatch(/^1\n2\n3\n/);
    expect(shown).toContain('\n4999\n5000\n');
    const [, before, count, after] = /\n(\d+)\n\[… (\d+) lines left out.*\]\n(\d+)\n/.exec(shown) ?? [];
    expect(Number(after)).toBe(Number(before) + Number(count) + 1);
    expect(read('leftOutLines')).toContain(`${Number(before) + 1}\n${Number(before) + 2}\n`);
  });
}

interface Listed {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly string[];
}

/** As a client without opinions sees them. */
async function listTools(): Promise<Listed[]> {
  const place = createPlace();
  const client = await connectStdio('v2 legacy', place.command());
  try {
    const tools = (await client.listTools()) as {
      name: string;
      description?: string;
      inputSchema: unknown;
    }[];
    return tools
      .map(({ name, description = '', inputSchema }) => ({
        name,
        description,
        parameters: propertiesOf(inputSchema),
      }))
      .toSorted(byName);
  } finally {
    await client.close();
    place.remove();
  }
}

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

const propertiesOf = (schema: unknown): string[] =>
  Object.keys((schema as { properties?: object }).properties ?? {}).toSorted();
