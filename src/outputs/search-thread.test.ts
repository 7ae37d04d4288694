import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { ROOT } from '../../test/support/root.ts';
import { LIMITS } from '../base/limits.ts';
import { type SearchRequest, searchLines } from './search.ts';
import { createSearchThread, type OwnedSearchThread } from './search-thread.ts';

const directory = useTestDirectory();
const open: OwnedSearchThread[] = [];
const request = (pattern: string, partial: Partial<SearchRequest> = {}): SearchRequest => ({
  pattern,
  contextLines: 0,
  maxMatches: 200,
  fromOffset: 0,
  deadlineMs: 30_000,
  encoding: 'utf-8',
  ...partial,
});

function useThread(
  path = join(ROOT, 'dist/search-worker.js'),
  times?: Parameters<typeof createSearchThread>[1],
): OwnedSearchThread {
  const thread = createSearchThread(path, times);
  open.push(thread);
  return thread;
}

/** A program that does something else than search. */
function program(text: string): string {
  const path = join(directory.path, 'program.mjs');
  writeFileSync(path, `import { parentPort } from 'node:worker_threads';\n${text}`);
  return path;
}

function log(lines: number): string {
  return Array.from(
    { length: lines },
    (_, line) => `${line} ${line % 9973 === 0 ? 'Ünusual' : 'ordinary'} line\r\n`,
  ).join('');
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((thread) => thread.dispose()));
});

describe('a search in another thread', () => {
  it.each(['9973 ', 'Ünusual', '(?i)ünus', '\\b1994\\d Ü?', '[^ ]ary line$', 'l[i]ne$', '^$', 'a.{900}b'])(
    'finds for %j what it finds in this one',
    async (pattern) => {
      const source = directory.source(`${log(60_000)}${'x'.repeat(2_500_000)} ordinary line\nlast 9973 line`);
      const thread = useThread();
      for (const partial of [
        {},
        { contextLines: 2, maxMatches: 3 },
        { fromOffset: 700_001 },
        { encoding: 'latin1' },
      ]) {
        const asked = request(pattern, partial);
        expect(await searchLines(source, asked, thread)).toEqual(await searchLines(source, asked));
      }
    },
  );

  it('leaves this one free, several at once', async () => {
    const source = directory.source('a'.repeat(8_000_000));
    const thread = useThread();
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    const slow = ['(a?){300}a{300}b', '(?:a|b)*a(?:a|b){900}$'].map((pattern) =>
      searchLines(source, request(pattern, { deadlineMs: 1000 }), thread),
    );
    const found = await Promise.all([...slow, searchLines(source, request('nothing'), thread)]);
    clearInterval(timer);
    expect(found[0]).toMatchObject({ matchCount: 0 });
    expect(found[2]).toMatchObject({ matchCount: 0, hasMore: false });
    // In this thread one of these tests alone would take several hundred milliseconds.
    expect(turns).toBeGreaterThan(20);
  });

  it('stops when its time is over, and gets on from there', async () => {
    const line = `${'ab'.repeat(40)}\n`;
    const source = directory.source(`${line.repeat(30_000)}${'ab'.repeat(20)}c\n`);
    const thread = useThread();
    const pattern = 'a[ab]{18}b[ab]{20}c$';
    let found = await searchLines(source, request(pattern, { deadlineMs: -1 }), thread);
    expect(found).toMatchObject({ stoppedBy: 'time', hasMore: true });
    while (found.nextOffset !== undefined) {
      const fromOffset = found.nextOffset;
      found = await searchLines(source, request(pattern, { deadlineMs: 20, fromOffset }), thread);
    }
    expect(found.content).toMatch(/^30001: (ab)+c$/);
  });

  it('is cancelled at once', async () => {
    // As good as random: each place in it needs a state of its own.
    const text = Array.from({ length: 125_000 }, (_, n) =>
      (Math.imul(n + 1, 2654435761) >>> 0).toString(2),
    ).join('');
    const source = directory.source(text);
    const thread = useThread();
    const controller = new AbortController();
    const search = searchLines(source, request('1[01]{900}x', { signal: controller.signal }), thread);
    setTimeout(() => controller.abort(new Error('cancelled')), 200);
    await expect(search).rejects.toThrow('cancelled');
    const already = searchLines(source, request('b+', { signal: controller.signal }), thread);
    await expect(already).rejects.toThrow('cancelled');
    expect(await searchLines(source, request('b+'), thread)).toMatchObject({ matchCount: 0 });
  });

  it('does not use a thread for what is small', async () => {
    const thread = useThread(program('process.exit(1)'));
    expect(await searchLines(directory.source('a\nb\n'), request('[b]'), thread)).toMatchObject({
      content: '2: b',
    });
  });

  it.each([
    ['ends', 'parentPort.on("message", () => process.exit(3));'],
    ['throws', 'parentPort.on("message", () => { throw new Error("no"); });'],
    ['cannot be loaded', 'import "./nowhere.mjs";'],
    [
      'needs too much memory',
      'parentPort.on("message", () => { const all = []; for (;;) all.push(Array(1e5).fill({})); });',
    ],
    ['does not come back', 'parentPort.on("message", () => { for (;;); });'],
  ])('is an error where the thread %s, and the next one is searched again', async (_, text) => {
    const source = directory.source('x\n'.repeat(LIMITS.searchPieceBytes));
    const lost = useThread(program(text), { idleMs: 1000, answerMs: 3000 });
    for (let round = 0; round < 2; round++) {
      await expect(searchLines(source, request('y+'), lost)).rejects.toMatchObject({ code: 'SYSTEM_001' });
    }
  });

  it('ends the thread when nothing was searched for a while, and starts another', async () => {
    const source = directory.source('x\n'.repeat(LIMITS.searchPieceBytes));
    const told = join(directory.path, 'started');
    const path = program(
      `import { appendFileSync } from 'node:fs';
       appendFileSync(${JSON.stringify(told)}, '+');
       await import(${JSON.stringify(join(ROOT, 'dist/search-worker.js'))});`,
    );
    const thread = useThread(path, { idleMs: 50, answerMs: 10_000 });
    for (let round = 1; round <= 2; round++) {
      expect(await searchLines(source, request('y+'), thread)).toMatchObject({ matchCount: 0 });
      expect(readFileSync(told, 'utf8')).toBe('+'.repeat(round));
      await sleep(500);
    }
  });
});
