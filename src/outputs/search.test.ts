import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { LIMITS } from '../base/limits.ts';
import { type SearchRequest, searchLines } from './search.ts';
import type { ByteSource } from './types.ts';

const directory = useTestDirectory();
const request = (pattern: string, partial: Partial<SearchRequest> = {}): SearchRequest => ({
  pattern,
  contextLines: 0,
  maxMatches: 200,
  fromOffset: 0,
  deadlineMs: 5000,
  encoding: 'utf-8',
  ...partial,
});

/** All matches, with as many calls as it takes. */
async function searchOn(source: ByteSource, first: SearchRequest): Promise<string[]> {
  const contents: string[] = [];
  for (let fromOffset: number | undefined = 0; fromOffset !== undefined; ) {
    const result = await searchLines(source, { ...first, fromOffset });
    if (result.nextOffset !== undefined && result.nextOffset <= fromOffset)
      throw new Error('It does not get on.');
    if (result.content !== '') contents.push(result.content);
    fromOffset = result.nextOffset;
  }
  return contents;
}

const poem = 'alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\niota\nkappa\n';

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('searchLines', () => {
  // The same lines by a literal and by an expression: two ways that must agree.
  it.each(['eta', '(?:eta)', 'et[a]'])(
    'shows the lines that match %j with their numbers',
    async (pattern) => {
      expect(await searchLines(directory.source(poem), request(pattern))).toEqual({
        content: '2: beta\n6: zeta\n7: eta\n8: theta',
        matchCount: 4,
        hasMore: false,
        totalBytes: poem.length,
        encoding: 'utf-8',
      });
    },
  );

  it.each(['eta', 'e(?:ta)'])(
    'shows the lines around matches of %j, merged, with a sign between groups',
    async (pattern) => {
      const result = await searchLines(directory.source(poem), request(pattern, { contextLines: 1 }));
      expect(result.content.split('\n')).toEqual([
        '1- alpha',
        '2: beta',
        '3- gamma',
        '--',
        '5- epsilon',
        '6: zeta',
        '7: eta',
        '8: theta',
        '9- iota',
      ]);
      const wide = await searchLines(directory.source(poem), request(pattern, { contextLines: 20 }));
      expect(wide.content.split('\n')).toHaveLength(10);
    },
  );

  it.each(['eta', 'e(?:ta)'])(
    'goes on where it stopped at a number of matches of %j: nothing twice, nothing missing',
    async (pattern) => {
      const source = directory.source(poem);
      const first = await searchLines(source, request(pattern, { contextLines: 1, maxMatches: 1 }));
      expect(first).toMatchObject({
        content: '1- alpha\n2: beta\n3- gamma',
        matchCount: 1,
        hasMore: true,
        stoppedBy: 'matches',
        nextOffset: poem.indexOf('delta'),
      });
      expect(await searchOn(source, request(pattern, { contextLines: 1, maxMatches: 1 }))).toEqual([
        '1- alpha\n2: beta\n3- gamma',
        '5- epsilon\n6: zeta',
        '7: eta',
        '8: theta\n9- iota',
      ]);
      const exact = await searchLines(source, request(pattern, { maxMatches: 4 }));
      expect(exact).toMatchObject({ matchCount: 4, hasMore: false });
    },
  );

  it('stops at a number of bytes, but shows at least one match', async () => {
    const source = directory.source(poem);
    expect(await searchLines(source, request('eta', { maxBytes: 20 }))).toMatchObject({
      content: '2: beta\n6: zeta',
      stoppedBy: 'bytes',
      nextOffset: poem.indexOf('eta\ntheta'),
    });
    expect((await searchOn(source, request('eta', { maxBytes: 1 }))).join('\n')).toBe(
      '2: beta\n6: zeta\n7: eta\n8: theta',
    );
  });

  it('stops when its time is over, and gets on all the same', async () => {
    const lines = Array.from(
      { length: 6000 },
      (_, index) => `${index} ${index % 7 === 0 ? 'seven' : 'x'.repeat(20)}`,
    );
    const source = directory.source(lines.join('\n'));
    const hurried = await searchLines(source, request('s.ven$', { deadlineMs: -1 }));
    expect(hurried).toMatchObject({ hasMore: true, stoppedBy: 'time' });
    const found = await searchOn(
      source,
      request('s.ven$', { deadlineMs: -1, maxMatches: 100_000, maxBytes: 10_000_000 }),
    );
    expect(found.join('\n').split('\n')).toEqual(
      lines.flatMap((line, index) => (line.endsWith('seven') ? [`${index + 1}: ${line}`] : [])),
    );
  });

  it.each([
    ['(?i)BETA', '2: beta'],
    ['^.eta$', '2: beta\n6: zeta'],
    ['^$', ''],
    ['\\.', ''],
    ['a\\nb', ''],
    ['a\nb', ''],
  ])('finds %j', async (pattern, content) => {
    expect((await searchLines(directory.source(poem), request(pattern))).content).toBe(content);
  });

  it.each(['end', 'end$'])('takes CRLF as the end of a line and shows it without: %j', async (pattern) => {
    const source = directory.source('the end\r\nendless\r\nno\r\n');
    const { content } = await searchLines(source, request(pattern));
    expect(content).toBe(pattern === 'end' ? '1: the end\n2: endless' : '1: the end');
  });

  it('matches every line with an empty pattern, and nothing in an empty output', async () => {
    expect((await searchLines(directory.source('a\nb'), request(''))).content).toBe('1: a\n2: b');
    expect(await searchLines(directory.source(''), request('a'))).toMatchObject({
      content: '',
      hasMore: false,
    });
    expect(await searchLines(directory.source('a'), request('a', { fromOffset: 99 }))).toMatchObject({
      content: '',
    });
    expect((await searchLines(directory.source(poem), request('a', { fromOffset: -6 }))).content).toBe(
      '10: kappa',
    );
  });

  it('shows the part of a long line that matched', async () => {
    const source = directory.source(`${'x'.repeat(50_000)}NEEDLE${'é'.repeat(50_000)}\nnext NEEDLE\n`);
    for (const pattern of ['NEEDLE', 'NEED[L]E']) {
      const [long, short] = (await searchLines(source, request(pattern))).content.split('\n');
      expect(long).toMatch(
        /^1: \[… 48,\d{3} bytes of this line\] x+NEEDLEé+ \[… [\d,]+ bytes more of this line\]$/,
      );
      expect(Buffer.byteLength(long ?? '')).toBeLessThan(LIMITS.lineBytes + 200);
      expect(short).toBe('2: next NEEDLE');
    }
  });

  it.each(['needle', 'need(?:le)', 'l?e?needle\\b'])(
    'finds %j once in a line that is read in pieces, wherever it is',
    async (pattern) => {
      for (const at of [0, 1, LIMITS.searchPieceBytes - 3, LIMITS.searchPieceBytes + 5000, 2_500_000]) {
        const line = `${'.'.repeat(at)}needle${'.'.repeat(3_000_000 - at)}`;
        const source = directory.source(`first\n${line} needle\nlast needle`);
        const result = await searchLines(source, request(pattern, { contextLines: 1 }));
        expect(result.content.split('\n').map((text) => text.slice(0, 2))).toEqual(['1-', '2:', '3:']);
        expect(result.matchCount).toBe(2);
      }
    },
  );

  it('does not take the border of a piece for the beginning or the end of a line', async () => {
    const source = directory.source(`b${'a'.repeat(3_000_000)}b\n`);
    for (const pattern of ['^a', 'a$', '^a+$']) {
      expect((await searchLines(source, request(pattern))).matchCount).toBe(0);
    }
    expect((await searchLines(source, request('^b'))).matchCount).toBe(1);
    expect((await searchLines(source, request('b$'))).matchCount).toBe(1);
  });

  it.each(['(a+)+$', '(a|a)*b', '(a?){300}a{300}b', '(?:a|b)*a(?:a|b){900}$'])(
    'is not held up by %j on a line of two million letters, nor holds up others',
    async (pattern) => {
      const source = directory.source('a'.repeat(2_000_000));
      // By the processor's time: a busy machine holds up everybody.
      const began = process.cpuUsage();
      let last = began;
      let longestMs = 0;
      const takeTurn = (): void => {
        longestMs = Math.max(longestMs, cpuMsSince(last));
        last = process.cpuUsage();
      };
      const timer = setInterval(takeTurn, 5);
      await searchLines(source, request(pattern, { deadlineMs: 1000 }));
      clearInterval(timer);
      takeTurn();
      expect(cpuMsSince(began)).toBeLessThan(3000);
      expect(longestMs).toBeLessThan(1500);
    },
  );

  it('searches on both sides of what was not kept', async () => {
    const source = directory.source('hit 1\nhit', { totalBytes: 5000, bytes: ' hit?\nhit 2\n' });
    const result = await searchLines(source, request('hit', { contextLines: 0 }));
    expect(result.content).toBe('1: hit 1\n2: hit\n3:  hit?\n4: hit 2');
    expect(result.note).toContain('were not kept');
    const onwards = await searchOn(source, request('h(?:it)', { maxMatches: 1 }));
    expect(onwards).toEqual(['1: hit 1', '2: hit', '3:  hit?', '4: hit 2']);
  });

  it('searches other encodings', async () => {
    const sjis = directory.source(Buffer.from('83650a835c8365310a5c0a', 'hex'));
    expect((await searchLines(sjis, request('テ\\d', { encoding: 'cp932' }))).content).toBe('2: ソテ1');
    expect((await searchLines(sjis, request('\\\\', { encoding: 'shift_jis' }))).content).toBe('3: \\');
    const utf16 = directory.source(Buffer.from('ab\r\ncd\nab', 'utf16le'));
    expect((await searchLines(utf16, request('ab', { encoding: 'utf-16le' }))).content).toBe('1: ab\n3: ab');
    const latin1 = directory.source(Buffer.from('caf\xe9\nthe\n', 'latin1'));
    expect((await searchLines(latin1, request('é', { encoding: 'latin1' }))).content).toBe('1: café');
  });

  it.each(['(', '(?=x)', 'x'.repeat(LIMITS.patternLength + 1)])(
    'refuses a pattern that is not one',
    async (pattern) => {
      await expect(searchLines(directory.source(poem), request(pattern))).rejects.toMatchObject({
        code: 'PARAM_002',
        details: { parameter: 'pattern' },
      });
    },
  );

  it('stops when it is aborted', async () => {
    const signal = AbortSignal.abort();
    await expect(searchLines(directory.source(poem), request('a', { signal }))).rejects.toThrow(/abort/i);
  });
});
