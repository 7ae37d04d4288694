import { encode } from 'gpt-tokenizer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type World } from '../../test/support/world.ts';
import { defaultSettings } from '../base/config/defaults.fixture.ts';
import { createId, renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { describeExecution } from './execution-answer.ts';
import { answerBytes } from './known-clients.ts';
import type { ClientInfo } from './tool.ts';

const MIB = LIMITS.inlineOutputBytesMax;

let world: World;
beforeAll(() => {
  const { limits } = defaultSettings('/');
  world = createWorld({ settings: { limits: { ...limits, maxOutputBytes: 8 * MIB } } });
});
afterAll(() => world[Symbol.asyncDispose]());

async function answerTo(
  command: string,
  perStreamBytes: number | undefined,
  {
    mergeStderr = false,
    client = 'any',
    folds = false,
    detail = false,
    workingDirectory = undefined as string | undefined,
  } = {},
) {
  const { execution } = await world.run(command, { mergeStderr, workingDirectory });
  const { data, text } = await describeExecution(execution, {
    inlineBytes: 2000,
    perStreamBytes,
    mostBytes: answerBytes({ name: client } as ClientInfo),
    folds,
    why: undefined,
    detail,
    now: Date.now(),
    signal: new AbortController().signal,
  });
  return { data, text, status: /^\[(?:completed|failed), .*\]$/m.exec(text)?.[0] ?? '' };
}

const print = (bytes: number): string => `yes | head -c ${bytes}`;
const both = (bytes: number): string => `${print(bytes)}; ${print(bytes)} >&2`;

describe('the text names outputs', () => {
  const NONE = /^\[\w+, exit code \d, [\d.]+ m?s\]$/;
  const IDS = /, output_id out_\w+\]$/;

  test.each([
    ['that was shown whole', 'echo a', {}, false],
    ['that was shown whole, on both streams', 'echo a; echo b >&2', {}, false],
    ['of a failure', 'echo b >&2; exit 3', {}, false],
    ['that was cut', print(9000), {}, true],
    ['that is not UTF-8', String.raw`printf '\377\376a'`, {}, true],
    ['that is binary', 'head -c 3000 /dev/urandom', {}, true],
    ['whose ids were asked for', 'echo a', { detail: true }, true],
  ])('%s', async (_, command, options, isNamed) => {
    const { status } = await answerTo(command, undefined, options);
    expect(status).toMatch(isNamed ? IDS : NONE);
  });
});

describe('the structured part', () => {
  const WHOLE = ['execution_id', 'status', 'success', 'exit_code', 'output_id'];

  test.each([
    ['a command that succeeded', 'echo a', [...WHOLE, 'stdout']],
    ['a command that printed nothing', 'true', [...WHOLE, 'stdout']],
    ['a failure', 'exit 3', [...WHOLE, 'stdout']],
    ['errors', 'echo a >&2', [...WHOLE, 'stderr_output_id', 'stderr', 'stdout']],
    ['output that was cut', print(9000), [...WHOLE, 'output_truncated', 'stdout']],
    [
      'a kill',
      'kill -9 $$',
      [...WHOLE, 'signal', 'termination_reason', 'execution_time_ms', 'partial_output', 'stdout'],
    ],
    [
      'another directory',
      'cd /',
      [...WHOLE, 'working_directory', 'default_working_directory', 'working_directory_changed', 'stdout'],
      '/',
    ],
  ])('leaves out what says nothing: %s', async (_, command, names, directory?: string) => {
    const { data } = await answerTo(command, undefined, { workingDirectory: directory });
    expect(Object.keys(data).toSorted()).toEqual(names.toSorted());
  });

  test('has everything where detail was asked for', async () => {
    const { data } = await answerTo('echo a', undefined, { detail: true });
    expect(data).toMatchObject({
      stderr: '',
      output_truncated: false,
      working_directory_changed: false,
      working_directory: data.default_working_directory,
      termination_reason: 'exit',
      stderr_output_id: expect.stringMatching(/^out_/),
      process_id: expect.any(Number),
      execution_time_ms: expect.any(Number),
      created_at: expect.any(String),
      completed_at: expect.any(String),
    });
  });

  test('costs at most 70 tokens for two letters, and the text at most 40, whatever the ids are', async () => {
    const { data, text } = await answerTo('echo hi', undefined);
    expect(encode(text).length).toBeLessThanOrEqual(40);
    for (let n = 0; n < 300; n++) {
      const id = createId('exec');
      const other = { ...data, execution_id: id, output_id: `${renameId(id, 'out')}s` };
      expect(encode(JSON.stringify(other)).length, id).toBeLessThanOrEqual(70);
    }
  });
});

describe('an answer whose output is cut', () => {
  test.each<[string, string, 'stdout' | 'stderr', string?]>([
    ['only stdout', `${print(9000)}; echo a >&2`, 'stdout'],
    ['both streams', `${print(9000)}; ${print(9000)} >&2`, 'stdout'],
    ['only stderr', `echo a; ${print(9000)} >&2`, 'stderr'],
    ['only stderr, of two', `${print(9000)} >&2`, 'stderr'],
    [
      'only stderr, which is not kept whole',
      `echo a; ${print(9 * MIB)} >&2`,
      'stderr',
      'what was kept of it',
    ],
  ])('names the output first that has more: %s', async (_, command, first, has = 'all of it') => {
    const { data, status } = await answerTo(command, undefined);
    expect(data.output_truncated).toBe(true);
    const ids = [`, output_id ${data.output_id}`, `, stderr_output_id ${data.stderr_output_id}`];
    const [stdoutAt = -1, stderrAt = -1] = ids.map((id) => status.indexOf(id));
    expect(Math.min(stdoutAt, stderrAt)).toBeGreaterThan(0);
    expect(stdoutAt < stderrAt).toBe(first === 'stdout');
    const sentence = `Only stderr is cut: read_execution_output with output_id "${data.stderr_output_id}" has ${has}.`;
    expect(data.message ?? '').toBe(first === 'stderr' ? sentence : '');
  });

  test('says nothing of stderr where it is merged, or nothing is cut', async () => {
    expect(
      (await answerTo(`${print(9000)} >&2`, undefined, { mergeStderr: true })).data.message,
    ).toBeUndefined();
    expect((await answerTo('echo a; echo b >&2', undefined)).data.message).toBeUndefined();
  });

  test.each([
    ['as much as was asked for', print(4 * MIB), MIB / 2, MIB / 2, false],
    ['as much as there may be', print(4 * MIB), MIB, MIB, false],
    ['no more than there may be', print(4 * MIB), 3 * MIB, MIB, true],
    ['as much as was asked for of both streams', both(4 * MIB), MIB / 4, MIB / 2, false],
    ['no more than there may be of both streams', both(4 * MIB), 1_000_000, MIB, true],
    ['both streams whole', both(MIB / 2), 1_000_000, MIB, false],
  ])('has %s, and says where that is less', async (_, command, asked, bytes, isSaid) => {
    const { data } = await answerTo(command, asked);
    const shownBytes = `${data.stdout}${data.stderr ?? ''}`.length;
    expect(shownBytes).toBeLessThanOrEqual(bytes + 2000);
    expect(shownBytes).toBeGreaterThan(bytes * 0.9);
    expect(data.message).toBe(
      isSaid
        ? 'An answer holds at most 1.0 MiB of output, both streams together, also where max_output_size allows more.'
        : undefined,
    );
  });

  test.each([
    ['claude-code', 50_000],
    ['codex-mcp-client', 12_700],
    ['gemini-cli-mcp-client', 40_000],
  ])('fits what %s passes on, as JSON too', async (client, characters) => {
    const { data, text } = await answerTo(`${print(MIB)}; ${print(MIB)} >&2`, MIB, { client });
    expect(JSON.stringify(data).length).toBeLessThan(characters * 1.25);
    expect(text.length).toBeLessThan(characters);
    expect(data.message).toContain('also where max_output_size allows more');
  });

  test('leads on before the output comes', async () => {
    const names = Object.keys((await answerTo(`${print(9000)}; ${print(9000)} >&2`, undefined)).data);
    expect(names.slice(-2)).toEqual(['stderr', 'stdout']);
  });

  test('speaks of its limit where folds leave something out', async () => {
    const { data } = await answerTo(both(2 * MIB), 3 * MIB, { detail: true, folds: true });
    expect(data.stdout).toMatch(/\[× [\d,]+, lines 1–\d+\][^]*left out/);
    expect(data.message).toContain('also where max_output_size allows more');
  });

  test.each([
    ['fits', print(2000), 3 * MIB, false],
    ['is folded and fits then', print(300_000), 200_000, true],
  ])(
    'does not speak of a limit that cut nothing of output that %s',
    async (_, command, size, isShortened) => {
      const { data } = await answerTo(command, size, { detail: true, folds: true });
      expect([data.output_truncated, data.message]).toEqual([isShortened, undefined]);
    },
  );
});

describe('an answer to a pipeline', () => {
  test.each([
    ['(exit 3) | cat', "(exit 3) exited 3; the exit code 0 is cat's."],
    [
      'echo a; sh -c "exit 1" | tail -5',
      'sh -c "exit 1" exited 1; the exit code 0 is tail\'s. What tail dropped was not kept: without "| tail" all output is kept, and can be read and searched.',
    ],
    ['false | (exit 2) |\n sort', "false exited 1, (exit 2) exited 2; the exit code 0 is sort's."],
  ])('says which stage failed: %j', async (command, sentence) => {
    const { data, text } = await answerTo(command, undefined);
    expect(data.pipeline?.map(({ exit_code }) => exit_code).at(-1)).toBe(0);
    expect(data.message).toBe(sentence);
    expect(text.endsWith(sentence)).toBe(true);
  });

  test('says nothing where no stage failed, or where the command did', async () => {
    for (const command of ['echo a | cat', 'yes | head -1', 'true | false']) {
      const { data } = await answerTo(command, undefined);
      expect([data.pipeline, data.message]).toEqual([undefined, undefined]);
    }
  });
});

describe('an answer to a failed command', () => {
  const diagnostic = 'src/a.ts(1,7): error TS2322: Type.';

  test.each([
    ['on stdout', `echo '${diagnostic}'; exit 2`],
    ['on stderr', `echo '${diagnostic}' >&2; exit 2`],
    ['in the middle of more than is shown', `seq 2000; echo '${diagnostic}'; seq 2000; exit 2`],
  ])('ends with a count of what it reports %s', async (_, command) => {
    const { data, text } = await answerTo(command, undefined);
    const id = `${data.output_id?.slice(0, -1)}c`;
    const sentence = `1 error, 0 warnings in 1 file (tsc): src/a.ts:1:7; read_execution_output with output_id "${id}" and extract "diagnostics" has them.`;
    expect(text.endsWith(sentence)).toBe(true);
    expect(data.message?.endsWith(sentence)).toBe(true);
  });

  test('counts the tests that failed', async () => {
    const { text } = await answerTo(
      `printf 'FAILED a.py::b - x\\n1 failed, 213 passed in 1.2s\\n'; exit 1`,
      undefined,
    );
    expect(text).toMatch(
      /\n1 of 214 tests failed \(pytest\): b; read_execution_output with .* extract "tests" has them\.$/,
    );
  });

  test.each([`echo '${diagnostic}'`, 'echo nothing; exit 1', `echo '${diagnostic}'; kill -9 $$`])(
    'counts nothing after %s',
    async (command) => {
      expect((await answerTo(command, undefined)).text).not.toContain('extract');
    },
  );
});
