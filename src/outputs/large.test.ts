import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { createId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { silentLog } from '../base/log.ts';
import { createOutputs } from './outputs.ts';
import { createSink } from './sink.ts';
import { openSource } from './source.ts';
import type { ByteSource } from './types.ts';
import { headAndTail, readLines, readRange, searchLines } from './views.ts';

const directory = useTestDirectory();
const outputId = 'out_23456789abcdefghijkmnpqrsts';
const SEQ_BYTES = 14_888_896;

/** What `seq 1 2000000` prints. */
function writeSeq(): ByteSource {
  const path = join(directory.path, 'seq');
  const sink = createSink(path, { limitBytes: LIMITS.outputBytes, tailBytes: LIMITS.outputTailBytes });
  let text = '';
  for (let number = 1; number <= 2_000_000; number++) {
    text += `${number}\n`;
    if (text.length > 60_000 || number === 2_000_000) {
      sink.write(Buffer.from(text));
      text = '';
    }
  }
  sink.close();
  return directory.keep(openSource(path));
}

/** What is in use, without what only has yet to be collected. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  // Buffers that the first one found are given back by then.
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Checks what is held while it is being read: with every 4 MB. */
function watchedSource(source: ByteSource): {
  readonly source: ByteSource;
  looks(): number;
  /** More than before, at most. */
  most(): number;
} {
  const before = heldBytes();
  const held: number[] = [];
  let unseen = 0;
  return {
    looks: () => held.length,
    most: () => Math.max(...held) - before,
    source: {
      size: () => source.size(),
      gaps: () => source.gaps(),
      read(offset, length, into) {
        const bytes = source.read(offset, length, into);
        unseen += bytes.length;
        if (unseen > 4_000_000) {
          unseen = 0;
          held.push(heldBytes());
        }
        return bytes;
      },
      close: () => source.close(),
    },
  };
}

describe('a large output', () => {
  it('of two million lines is shown, read, counted and searched', async () => {
    const source = writeSeq();
    expect(source.size()).toBe(SEQ_BYTES);

    const shown = await headAndTail(source, 40_000, { outputId });
    expect(Buffer.byteLength(shown.text)).toBeLessThanOrEqual(40_000);
    expect(shown.text.startsWith('1\n2\n3\n')).toBe(true);
    expect(shown.text.endsWith('1999999\n2000000\n')).toBe(true);
    expect(shown.text.split('\n').length - 2 + shown.omittedLines).toBe(2_000_000);

    const found = await searchLines(source, {
      pattern: '^1999999$',
      contextLines: 1,
      maxMatches: 10,
      fromOffset: 0,
      deadlineMs: 60_000,
      encoding: 'utf-8',
    });
    expect(found.content).toBe('1999998- 1999998\n1999999: 1999999\n2000000- 2000000');

    const lines = await readLines(source, {
      startLine: 1_234_567,
      lineCount: 2,
      maxBytes: 100,
      encoding: 'utf-8',
    });
    expect(lines).toMatchObject({ content: '1234567\n1234568', totalLines: 2_000_000 });

    let expected = 1;
    let bytes = 0;
    let rest = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const range = readRange(source, { offset, size: LIMITS.readBytesMax, encoding: 'utf-8' });
      bytes += range.sizeBytes;
      const numbers = (rest + range.content).split('\n');
      rest = numbers.pop() ?? '';
      for (const number of numbers)
        if (number !== String(expected++)) throw new Error(`${number} is out of order.`);
      if (range.nextOffset !== undefined && range.nextOffset <= offset)
        throw new Error('It does not get on.');
      offset = range.nextOffset;
    }
    expect({ bytes, rest, expected }).toEqual({ bytes: SEQ_BYTES, rest: '', expected: 2_000_001 });
  });

  it('of one line of 20 MB is shown, read and searched without being held', async () => {
    const path = join(directory.path, 'line');
    const sink = createSink(path, { limitBytes: LIMITS.outputBytes, tailBytes: LIMITS.outputTailBytes });
    for (let megabyte = 0; megabyte < 20; megabyte++) sink.write(Buffer.alloc(1_000_000, 'abcdefghi '));
    sink.close();
    const held = watchedSource(directory.keep(openSource(path)));
    const { source } = held;
    const shown = await headAndTail(source, 10_000, { outputId });
    expect(shown).toMatchObject({ truncated: true, binary: false, omittedLines: 0 });
    expect(shown.text.split('\n')).toHaveLength(3);
    const lines = await readLines(source, {
      startLine: 1,
      lineCount: 5,
      maxBytes: 100_000,
      encoding: 'utf-8',
    });
    expect(lines).toMatchObject({ totalLines: 1, isTruncated: false });
    expect(Buffer.byteLength(lines.content)).toBeLessThan(LIMITS.lineBytes + 200);
    const found = await searchLines(source, {
      pattern: 'nowhere|not here',
      contextLines: 3,
      maxMatches: 10,
      fromOffset: 0,
      deadlineMs: 30_000,
      encoding: 'utf-8',
    });
    expect(found).toMatchObject({ content: '', hasMore: false });
    expect(held.looks()).toBeGreaterThan(10);
    expect(held.most()).toBeLessThan(10_000_000);
  });
});

describe('many small outputs', () => {
  it('of a thousand executions cost less than 20 MB of memory', () => {
    const outputs = createOutputs({
      directory: directory.path,
      limits: { maxOutputBytes: LIMITS.outputBytes, tailBytes: LIMITS.outputTailBytes },
      retention: { maxAgeHours: 1, maxTotalBytes: 1e9, maxCount: 10_000 },
      clock: { now: () => 0 },
      log: silentLog,
    });
    const before = heldBytes();
    for (let count = 0; count < 1000; count++) {
      const name = `command ${count} ${'x'.repeat(10_000)}`;
      const spec = { owner: 'local', name, createdAtMs: count, isRunning: () => false };
      const bundle = outputs.createBundle({ ...spec, id: createId('exec'), streams: ['stdout', 'stderr'] });
      for (const sink of bundle.openSinks().values()) {
        sink.write(Buffer.from('hello'));
        sink.close();
      }
    }
    expect(outputs.totals()).toEqual({ count: 3000, bytes: 10_000 });
    expect(heldBytes() - before).toBeLessThan(5_000_000);
    expect(outputs.list('local', { limit: 1000 }).outputs).toHaveLength(1000);
  });
});
