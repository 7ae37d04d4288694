/**
 * Clients that use the SDK of today close the connection at a line of more than 10 MiB, and with it all of their work ends:
 * no answer is longer, what is left out of it is said, and reading on from there gives all of it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import type { ClientKind, ToolAnswer } from './support/clients.ts';
import { type Product, startProduct } from './support/product.ts';
import { openProduct } from './support/product-here.ts';

const MIB = 1024 * 1024;
/** The envelope and news come on top. */
const LINE_BYTES = LIMITS.answerBytes + 100_000;
const CONTROLS = `head -c ${2 * MIB} /dev/zero | tr '\\0' '\\1'`;
/** Escapes that a terminal would not obey stay in what is shown. */
const ESCAPES = `head -c ${2 * MIB} /dev/zero | tr '\\0' '\\33'`;

/** Of 8 bytes each. */
const lines = (line: string): string => `yes "$(printf '${line}')" | head -c ${2 * MIB}`;

let product: Product;
beforeAll(async () => {
  product = await openProduct({ args: ['--tools', 'all'] });
});
afterAll(() => product.close());

const bytesOf = (answer: ToolAnswer): number => Buffer.byteLength(JSON.stringify(answer));

async function callTool(name: string, args: Record<string, unknown>): Promise<ToolAnswer> {
  const answer = await product.client.callTool(name, args);
  expect(bytesOf(answer)).toBeLessThan(LINE_BYTES);
  return answer;
}

const outputOf = async (command: string): Promise<string> => (await product.execute(command)).data.output_id;

describe.each<ClientKind>(['v2 modern', 'v2 legacy', 'sdk 1.32', 'sdk 1.12'])('to %s', (kind) => {
  test('the connection and background work survive the largest answers', async () => {
    const started = await startProduct({ kind, args: ['--tools', 'all'] });
    try {
      const { data } = await started.execute('sleep 60', { execution_mode: 'background' });
      const { output_id } = (await started.execute(CONTROLS)).data;
      expect((await started.call('shell', { command: 'seq 600000' })).data.output_truncated).toBe(true);
      expect((await started.call('shell_exec', { command: CONTROLS })).data.truncated).toBe(true);
      const read = await started.call('read_execution_output', { output_id, size: MIB });
      expect(read.data.is_truncated).toBe(true);
      const { execution_id } = data;
      expect((await started.call('process_get_execution', { execution_id })).data.status).toBe('running');
      expect(started.client.errors).toEqual([]);
    } finally {
      await started.close();
    }
  });
});

describe('read_execution_output', () => {
  test.each([
    ['control characters', CONTROLS, 'utf-8', '\u0001'],
    ['control characters', CONTROLS, 'latin1', '\u0001'],
    ['control characters', CONTROLS, 'iso-8859-2', '\u0001'],
    ['bytes that are not UTF-8', `head -c ${2 * MIB} /dev/zero | tr '\\0' '\\377'`, 'utf-8', '\ufffd'],
    ['longer characters', lines('\\1\\1\\1\\1日'), 'utf-8', '\u0001\u0001\u0001\u0001日\n'],
    [
      'longer characters',
      lines('\\1\\1\\1\\1\\1\\223\\372'),
      'shift_jis',
      '\u0001\u0001\u0001\u0001\u0001日\n',
    ],
  ])('gives all of an output page by page: %s, by %s in %s', async (_, command, encoding, piece) => {
    const output_id = await outputOf(command);
    let end = 0;
    let text = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const asked = { output_id, size: MIB, offset, encoding };
      const { structuredContent: page = {}, content } = await callTool('read_execution_output', asked);
      expect(page).toMatchObject({ offset: end, is_truncated: page['next_offset'] !== undefined });
      const size = Number(page['size']);
      expect(content[0]?.text).toContain(`[bytes ${end} to ${end + size} of ${2 * MIB}`);
      text += String(page['content']);
      end += size;
      offset = page['next_offset'] as number | undefined;
      expect(offset ?? end).toBe(end);
    }
    expect(end).toBe(2 * MIB);
    // Compared apart, since what differs in two megabytes takes long to print.
    expect(text === piece.repeat(text.length / piece.length)).toBe(true);
  });

  test('from the end begins where it was asked for', async () => {
    const output_id = await outputOf(CONTROLS);
    const { structuredContent } = await callTool('read_execution_output', {
      output_id,
      size: MIB,
      offset: -MIB,
    });
    expect(structuredContent).toMatchObject({ offset: MIB, is_truncated: true });
    const { size, next_offset } = structuredContent as { size: number; next_offset: number };
    expect(size).toBeLessThan(MIB);
    expect(next_offset).toBe(MIB + size);
  });

  test('by its earlier name', async () => {
    const file_id = await outputOf(CONTROLS);
    const { structuredContent } = await callTool('file_read', { file_id, size: MIB });
    const { size, next_offset } = structuredContent as { size: number; next_offset: number };
    expect(next_offset).toBe(size);
  });
});

describe('shell', () => {
  test.each([
    ['seq 700000', 700_000],
    [`yes | head -c 3000000; yes | head -c 3000000 >&2`, 6_000_000],
  ])('%s: head, tail and how to read the rest, three times', async (command) => {
    const { content, structuredContent = {} } = await callTool('shell', { command });
    const { output_id, output_truncated } = structuredContent;
    const stdout = String(structuredContent['stdout']);
    const marker = /^\[… [\d,]+ bytes \([\d,]+ lines\) left out; to read them: .*offset (\d+)\]$/m.exec(
      stdout,
    );
    expect(output_truncated).toBe(true);
    expect(content[1]?.text).toContain(marker?.[0]);
    expect(content[1]?.text?.startsWith(stdout)).toBe(true);
    expect(content.at(-1)?.text).toBe('The output was truncated.');
    const rest = await callTool('read_execution_output', {
      output_id,
      offset: Number(marker?.[1]),
      size: 100,
    });
    const before = stdout.slice(0, marker?.index).split('\n').at(-2);
    const after = String(rest.structuredContent?.['content']).split('\n')[0];
    expect(after).toBe(before === 'y' ? 'y' : String(Number(before) + 1));
  });
});

test('shell: of binary data a description, and as much of it as fits', async () => {
  const binary = `head -c 1500000 /dev/zero | tr '\\0' '\\377'`;
  const { content, structuredContent = {} } = await callTool('shell', { command: binary });
  expect(content[1]?.text).toMatch(/^\[binary data: 1,500,000 bytes/);
  expect(structuredContent['output_truncated']).toBe(true);
  expect(String(structuredContent['stdout']).length).toBeGreaterThan(1_000_000);
});

describe('shell_exec', () => {
  test('says how much of each stream it has', async () => {
    const { content, structuredContent = {} } = await callTool('shell_exec', {
      command: `${CONTROLS}; echo e >&2`,
    });
    const { length } = String(structuredContent['stdout']);
    expect(structuredContent).toMatchObject({ stderr: 'e', truncated: true, success: true });
    expect(length).toBeGreaterThan(500_000);
    expect(content[0]?.text).toContain(`[only the first ${length} bytes of each stream]`);
  });
});

describe('shell_execute and process_get_execution', () => {
  test('show less, and what comes next is not skipped', async () => {
    const asked = { command: `${ESCAPES}; echo; echo end`, max_output_size: MIB, fold: false };
    const { structuredContent = {} } = await callTool('shell_execute', asked);
    const stdout = String(structuredContent['stdout']);
    expect(structuredContent['output_truncated']).toBe(true);
    expect(stdout.length).toBeLessThan(MIB);
    expect(stdout).toMatch(/bytes \(part of a line\) left out; to read them: .* and offset \d+\]/);
    expect(stdout.endsWith('end\n')).toBe(true);
  });

  test('what was left out is not taken for seen', async () => {
    const escapes = (count: number): string => `head -c ${count} /dev/zero | tr '\\0' '\\33'`;
    const { structuredContent = {} } = await callTool('shell_execute', {
      command: `${escapes(400_000)}; echo; echo middle; ${escapes(600_000)}; sleep 60`,
      max_output_size: MIB,
      fold: false,
      foreground_timeout_seconds: 1,
    });
    const { execution_id, status } = structuredContent;
    expect(status).toBe('running');
    expect(structuredContent['stdout']).not.toContain('middle');
    const wait_for = [{ output: 'middle' }];
    const waited = await callTool('process_get_execution', { execution_id, wait_for, wait_seconds: 1 });
    expect(waited.structuredContent).toMatchObject({ wait: { result: 'met' } });
    await callTool('process_terminate', { execution_id });
  });
});
