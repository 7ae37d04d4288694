import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { LIMITS } from '../base/limits.ts';
import { type LinesRequest, readLines } from './read-lines.ts';

const directory = useTestDirectory();
const request = (partial: Partial<LinesRequest>): LinesRequest => ({
  startLine: 1,
  lineCount: 100,
  maxBytes: 8192,
  encoding: 'utf-8',
  ...partial,
});

describe('readLines', () => {
  it('reads lines by number and says where to go on', async () => {
    const source = directory.source('one\ntwo\nthree\nfour\n');
    expect(await readLines(source, request({ startLine: 2, lineCount: 2 }))).toEqual({
      content: 'two\nthree',
      firstLine: 2,
      lastLine: 3,
      totalLines: 4,
      totalBytes: 19,
      isTruncated: true,
      encoding: 'utf-8',
      nextStartLine: 4,
    });
    expect(await readLines(source, request({ startLine: 4 }))).toEqual({
      content: 'four',
      firstLine: 4,
      lastLine: 4,
      totalLines: 4,
      totalBytes: 19,
      isTruncated: false,
      encoding: 'utf-8',
    });
  });

  it.each([
    [-1, 'four', 4],
    [-2, 'three\nfour', 3],
    [-100, 'one\ntwo\nthree\nfour', 1],
    [0, 'one\ntwo\nthree\nfour', 1],
  ])('begins at line %d', async (startLine, content, firstLine) => {
    for (const end of ['', '\n']) {
      const source = directory.source(`one\ntwo\nthree\nfour${end}`);
      expect(await readLines(source, request({ startLine }))).toMatchObject({
        content,
        firstLine,
        totalLines: 4,
      });
    }
  });

  it.each([
    ['', 0, ''],
    ['\n', 1, ''],
    ['\n\n', 2, '\n'],
    ['a', 1, 'a'],
    ['a\n\nb', 3, 'a\n\nb'],
    ['a\r\nb\r\n', 2, 'a\nb'],
    ['a\rb\n', 1, 'a\rb'],
  ])('counts the lines of %j: %d', async (text, totalLines, content) => {
    expect(await readLines(directory.source(text), request({}))).toMatchObject({ totalLines, content });
  });

  it('reads nothing beyond the end', async () => {
    expect(await readLines(directory.source('a\nb\n'), request({ startLine: 3 }))).toEqual({
      content: '',
      totalLines: 2,
      totalBytes: 4,
      isTruncated: false,
      encoding: 'utf-8',
    });
  });

  it('stops before the budget is passed, but shows at least one line', async () => {
    const source = directory.source('0123456789\n'.repeat(10));
    expect(await readLines(source, request({ maxBytes: 35 }))).toMatchObject({
      lastLine: 3,
      nextStartLine: 4,
    });
    expect(await readLines(source, request({ maxBytes: 1 }))).toMatchObject({
      content: '0123456789',
      nextStartLine: 2,
    });
  });

  it('cuts long lines and says so', async () => {
    const result = await readLines(directory.source(`short\n${'é'.repeat(100_000)}\nend\n`), request({}));
    expect(result.content.split('\n')).toEqual([
      'short',
      `${'é'.repeat(LIMITS.lineBytes / 2)} [… 195,904 bytes more of this line]`,
      'end',
    ]);
    expect(result.note).toContain('Lines longer than 4,096 bytes are cut');
  });

  it('ends a line where something was not kept', async () => {
    const source = directory.source('one\ntw', { totalBytes: 1000, bytes: 'ast\nlast' });
    const result = await readLines(source, request({}));
    expect(result).toMatchObject({ content: 'one\ntw\nast\nlast', totalLines: 4, lastLine: 4 });
    expect(result.note).toBe(
      '986 bytes were not kept, because the output passed its limit or the disk was full; lines are counted without them.',
    );
    expect(await readLines(source, request({ startLine: 3, lineCount: 1 }))).toMatchObject({
      content: 'ast',
    });
    expect(await readLines(source, request({ startLine: -1 }))).toMatchObject({
      content: 'last',
      firstLine: 4,
    });
  });

  it('finds every line across the chunks it reads', async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index + 1} ${'.'.repeat(index % 37)}`);
    const source = directory.source(`${lines.join('\n')}\n`);
    for (const startLine of [1, 2, 9999, 20_000, 37_451, 59_999, 60_000]) {
      const result = await readLines(source, request({ startLine, lineCount: 1 }));
      expect(result.content).toBe(lines[startLine - 1]);
    }
    const all: string[] = [];
    for (let startLine: number | undefined = 1; startLine !== undefined; ) {
      const result = await readLines(source, request({ startLine, lineCount: 10_000, maxBytes: 1_000_000 }));
      all.push(result.content);
      startLine = result.nextStartLine;
    }
    expect(all.join('\n')).toBe(lines.join('\n'));
  });

  it('reads lines of other encodings, and refuses base64', async () => {
    const utf16 = directory.source(Buffer.from('\u0a41\u4100a\r\nb\u000a', 'utf16le'));
    expect(await readLines(utf16, request({ encoding: 'utf-16le' }))).toMatchObject({
      content: '\u0a41\u4100a\nb',
      totalLines: 2,
    });
    const sjis = directory.source(Buffer.from('83650a835c0a', 'hex'));
    expect(await readLines(sjis, request({ encoding: 'cp932', startLine: 2 }))).toMatchObject({
      content: 'ソ',
    });
    await expect(readLines(sjis, request({ encoding: 'base64' }))).rejects.toMatchObject({
      code: 'PARAM_002',
    });
  });
});
