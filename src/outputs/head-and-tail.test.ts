import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { headAndTail } from './head-and-tail.ts';

const directory = useTestDirectory();
const outputId = 'out_23456789abcdefghijkmnpqrsts';

const numbered = (from: number, to: number): string => {
  let text = '';
  for (let line = from; line <= to; line++) text += `line ${line}\n`;
  return text;
};

describe('headAndTail', () => {
  it.each(['', 'no newline', 'with newline\n', 'crlf\r\nlines\r\n', '日本語\n', 'e\u0301\n'])(
    'shows %j whole',
    async (text) => {
      expect(await headAndTail(directory.source(text), 100, { outputId })).toEqual({
        text,
        truncated: false,
        binary: false,
        invalidBytes: 0,
        isCut: false,
        omittedBytes: 0,
        omittedLines: 0,
      });
    },
  );

  it('shows what fits exactly, and cuts what is one byte longer', async () => {
    expect(await headAndTail(directory.source('x'.repeat(1000)), 1000, { outputId })).toMatchObject({
      truncated: false,
      text: 'x'.repeat(1000),
    });
    const cut = await headAndTail(directory.source('x'.repeat(1001)), 1000, { outputId });
    expect(cut.truncated).toBe(true);
    expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(1000);
  });

  it('shows the beginning and more of the end, cut between lines, and one line that counts the rest', async () => {
    const all = numbered(1, 5000);
    const result = await headAndTail(directory.source(all), 4000, { outputId });
    const lines = result.text.trimEnd().split('\n');
    const at = lines.findIndex((line) => line.startsWith('[… '));
    const [head, marker, tail] = [lines.slice(0, at), lines[at], lines.slice(at + 1)];
    expect(head).toEqual(numbered(1, head.length).trimEnd().split('\n'));
    expect(tail).toEqual(
      numbered(5001 - tail.length, 5000)
        .trimEnd()
        .split('\n'),
    );
    expect(result.omittedLines).toBe(5000 - head.length - tail.length);
    const shown = numbered(1, head.length).length + numbered(5001 - tail.length, 5000).length;
    expect(result.omittedBytes).toBe(all.length - shown);
    expect(marker).toBe(
      `[… ${result.omittedBytes.toLocaleString('en-US')} bytes (${result.omittedLines.toLocaleString('en-US')} lines) left out; ` +
        `to read them: read_execution_output with output_id "${outputId}" and offset ${numbered(1, head.length).length}]`,
    );
    expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(4000);
    expect(tail.length).toBeGreaterThan(head.length);
    expect(shown).toBeGreaterThan(3600);
  });

  it('cuts a single line between characters, with the marker on a line of its own', async () => {
    for (let shift = 0; shift < 4; shift++) {
      const result = await headAndTail(directory.source('x'.repeat(shift) + '😀日é'.repeat(1000)), 2000, {
        outputId,
      });
      expect(result).toMatchObject({ truncated: true, binary: false, invalidBytes: 0, omittedLines: 0 });
      expect(result.text).not.toContain('\ufffd');
      expect(result.text.split('\n')).toHaveLength(3);
      expect(result.text).toContain('(part of a line) left out');
    }
  });

  it('says which part was not kept, and shows all around it where there is room', async () => {
    const gap = { totalBytes: 1_000_000, bytes: 'the end\n' };
    const whole = await headAndTail(directory.source('the beginning\n', gap), 10_000, { outputId });
    expect(whole).toMatchObject({ truncated: true, omittedBytes: 1_000_000 - 22, omittedLines: 0 });
    expect(whole.text).toBe(
      'the beginning\n[… 999,978 bytes were not kept, because the output passed its limit or the disk was full; ' +
        `to read the rest: read_execution_output with output_id "${outputId}"]\nthe end\n`,
    );

    const part = await headAndTail(directory.source(numbered(1, 1000), gap), 2000, { outputId });
    expect(part.text).toMatch(
      /\n\[… [\d,]+ bytes left out: [\d,]+ bytes \([\d,]+ lines\) can be read by read_execution_output with output_id "[^"]+" and offset \d+; [\d,]+ bytes were not kept, because the output passed its limit or the disk was full\]\nthe end\n$/,
    );
    expect(part.text.startsWith('line 1\n')).toBe(true);
  });

  it('replaces what is not UTF-8 and counts it', async () => {
    const ended = await headAndTail(directory.source(Buffer.from('e38182e381', 'hex')), 100, { outputId });
    expect(ended).toMatchObject({ text: 'あ\ufffd', binary: false, invalidBytes: 2, truncated: false });
    const latin1 = await headAndTail(directory.source(Buffer.from('café au lait\n', 'latin1')), 100, {
      outputId,
    });
    expect(latin1).toMatchObject({ text: 'caf\ufffd au lait\n', binary: false, invalidBytes: 1 });
  });

  it('describes binary data instead of showing it', async () => {
    const data = Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01\x00'), Buffer.alloc(5000, 0xfe)]);
    const sha = createHash('sha256').update(data).digest('hex');
    expect(await headAndTail(directory.source(data), 1000, { outputId })).toMatchObject({
      text:
        '[binary data: 5,008 bytes, beginning with 7f 45 4c 46 02 01 01 00 fe fe fe fe fe fe fe fe, ' +
        `sha256 ${sha}; to read it: read_execution_output with output_id "${outputId}" and encoding "base64"]`,
      binary: true,
      truncated: true,
      omittedBytes: 5008,
    });
  });

  it.each([
    ['a NUL within the first 8 KB', Buffer.from(`${'x'.repeat(8191)}\0`), true],
    ['a NUL after them', Buffer.from(`${'x'.repeat(8192)}\0`), false],
    [
      'a tenth that cannot be decoded',
      Buffer.concat([Buffer.alloc(900, 97), Buffer.alloc(100, 0xff)]),
      false,
    ],
    ['more than a tenth', Buffer.concat([Buffer.alloc(900, 97), Buffer.alloc(101, 0xff)]), true],
    ['a few odd bytes and nothing else', Buffer.from([0xff, 0xfe, 0xfd]), false],
  ])('takes %s as binary or not', async (_name, data, binary) => {
    expect((await headAndTail(directory.source(data), 20_000, { outputId })).binary).toBe(binary);
  });

  it.each([
    [
      'text',
      numbered(1, 1000),
      undefined,
      /\n\[… [\d,]+ bytes \([\d,]+ lines\) left out; to read them, redirect /,
    ],
    [
      'text that was not kept',
      'a\n',
      { totalBytes: 50, bytes: 'b\n' },
      /\n\[… 46 bytes \(.*\) left out; to read /,
    ],
    ['binary data', 'a\0b', undefined, /^\[binary data: 3 bytes, beginning with 61 00 62, sha256 \w+\]$/],
  ])('names no tool to callers that have none: %s', async (_, data, gap, text) => {
    const shown = await headAndTail(directory.source(data, gap), 2000, { outputId: undefined });
    expect(shown.text).toMatch(text);
    expect(shown.text).not.toContain('output_id');
  });

  it('stops counting when it is aborted', async () => {
    const signal = AbortSignal.abort();
    await expect(headAndTail(directory.source('x'.repeat(5000)), 1000, { outputId, signal })).rejects.toThrow(
      /abort/i,
    );
  });
});
