import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { createLineCounter } from './line-count.ts';
import { createLineIndex } from './line-index.ts';
import { createPace } from './scan.ts';
import { createSink } from './sink.ts';
import { openSource } from './source.ts';
import type { ByteSource } from './types.ts';

const directory = useTestDirectory();
const NEWLINE = Buffer.from('\n');
const MIB = 1024 * 1024;

/** Where each line begins, and how many end: the plain way. */
function linesOf(source: ByteSource, all: Buffer): { starts: number[]; ended: number } {
  const size = source.size();
  const starts: number[] = [];
  let ended = 0;
  let from = 0;
  for (const gap of [...source.gaps(), { from: size, to: size }]) {
    for (let at = from; at < gap.from; ) {
      starts.push(at);
      const newline = all.subarray(0, gap.from).indexOf(10, at);
      if (newline !== -1 || gap.from < size) ended++;
      at = newline === -1 ? gap.from : newline + 1;
    }
    from = gap.to;
  }
  return { starts, ended };
}

describe('createLineCounter', () => {
  it('keeps what it counted while the output grows, and passes its limit', async () => {
    const path = join(directory.path, 'stream');
    const sink = createSink(path, { limitBytes: 3 * MIB + 12_345, tailBytes: MIB + 5 });
    const lineIndex = createLineIndex();
    const parts: Buffer[] = [];
    for (let round = 0; round < 14; round++) {
      const part = Buffer.from(
        'some text without its end\n'.repeat(15_000 + round).slice(0, -1 - (round % 7)),
      );
      sink.write(part);
      parts.push(part);
      const all = Buffer.concat(parts);
      const source = openSource(path, { unsavedTail: sink.unsavedTail, lineIndex });
      if (source === undefined) throw new Error('There is no source.');
      const { starts, ended } = linesOf(source, all);
      const counter = createLineCounter(source, NEWLINE, createPace());
      expect(await counter.count(0, source.size())).toMatchObject({ ended });
      for (const line of [1, 2, 40_000, 90_001, starts.length - 1, starts.length]) {
        expect(await counter.find(line, source.size())).toBe(starts[line - 1]);
      }
      expect(await counter.find(starts.length + 1, source.size())).toBeUndefined();
      const middle = Math.floor(starts.length / 2);
      const { ended: between } = await counter.count(starts[7] ?? 0, starts[middle] ?? 0);
      expect(between).toBe(middle - 7);
      source.close();
    }
    sink.close();
    expect(lineIndex.newlines.length).toBeGreaterThanOrEqual(3);
  });
});
