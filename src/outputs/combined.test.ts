import { appendFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAll, useTestDirectory } from '../../test/support/outputs.ts';
import { type ArrivalStream, createArrivalLog } from './arrival.ts';
import { openCombined } from './combined.ts';
import { createSink } from './sink.ts';
import { openSource } from './source.ts';
import type { ByteSource } from './types.ts';

const directory = useTestDirectory();

interface Pair {
  write(stream: ArrivalStream, text: string): void;
  flushOrder(): void;
  close(): void;
  open(): ByteSource;
}

/** stdout and stderr of one execution, with their order of arrival. */
function createPair(options: { limitBytes?: number; tailBytes?: number; maxEntries?: number } = {}): Pair {
  const at = (name: string): string => join(directory.path, name);
  const order = createArrivalLog(at('arrival'), options.maxEntries);
  const createOne = (stream: ArrivalStream) =>
    createSink(at(stream), {
      limitBytes: options.limitBytes ?? 1_000_000,
      tailBytes: options.tailBytes ?? 1000,
      onWrite: (count) => order.record(stream, count),
    });
  const sinks = { stdout: createOne('stdout'), stderr: createOne('stderr') };
  return {
    write: (stream, text) => sinks[stream].write(Buffer.from(text)),
    flushOrder: () => order.flush(),
    close: () => {
      sinks.stdout.close();
      sinks.stderr.close();
      order.close();
    },
    open: () => {
      const stdout = openSource(at('stdout'));
      const stderr = openSource(at('stderr'));
      if (stdout === undefined || stderr === undefined) throw new Error('A stream is missing.');
      return directory.keep(openCombined(stdout, stderr, at('arrival')));
    },
  };
}

function writeAlternately(pair: Pair, rounds: number): string {
  let expected = '';
  for (let round = 0; round < rounds; round++) {
    const [out, error] = [`out ${round}\n`, `error number ${round}\n`];
    pair.write('stdout', out);
    pair.write('stderr', error);
    expected += out + error;
  }
  return expected;
}

describe('openCombined', () => {
  it('puts stdout and stderr together in the order in which they came', () => {
    const pair = createPair();
    const expected = writeAlternately(pair, 1000);
    pair.close();
    const combined = pair.open();
    expect(combined.size()).toBe(expected.length);
    expect(readAll(combined).toString()).toBe(expected);
    for (const [offset, length] of [
      [0, 1],
      [5, 40],
      [12_345, 100],
      [expected.length - 3, 10],
      [expected.length, 10],
      [-1, 10],
    ] as const) {
      const wanted = offset < 0 ? '' : expected.slice(offset, offset + length);
      expect(combined.read(offset, length).toString()).toBe(wanted);
    }
  });

  it('is empty where both are, and is the one that is not', () => {
    const pair = createPair();
    expect(readAll(pair.open()).toString()).toBe('');
    pair.write('stderr', 'only this');
    pair.close();
    expect(readAll(pair.open()).toString()).toBe('only this');
  });

  it('shows all that is written while the order is still in memory, and the order once that is written', () => {
    const pair = createPair();
    const combined = pair.open();
    pair.write('stderr', 'e1 ');
    pair.write('stdout', 'o1 ');
    pair.write('stderr', 'e2 ');
    expect(readAll(combined).toString()).toBe('o1 e1 e2 ');
    pair.flushOrder();
    expect(readAll(combined).toString()).toBe('e1 o1 e2 ');
    pair.write('stderr', 'e3 ');
    pair.write('stdout', 'o2 ');
    expect(readAll(combined).toString()).toBe('e1 o1 e2 o2 e3 ');
    pair.close();
    expect(readAll(combined).toString()).toBe('e1 o1 e2 e3 o2 ');
  });

  it('lays a gap where it begins, and keeps the other stream in order around it', () => {
    const pair = createPair({ limitBytes: 10, tailBytes: 4 });
    pair.write('stdout', '0123456789');
    pair.write('stderr', 'a');
    pair.write('stdout', 'xxxxx');
    pair.write('stderr', 'b');
    pair.write('stdout', 'xxxTA');
    pair.write('stderr', 'c');
    pair.write('stdout', 'IL');
    pair.write('stderr', 'd');
    pair.close();
    const combined = pair.open();
    expect(combined.size()).toBe(26);
    expect(combined.gaps()).toEqual([{ from: 11, to: 19 }]);
    expect(readAll(combined).toString()).toBe('0123456789abTAcILd');
    expect(combined.read(10, 100).toString()).toBe('a');
    expect(combined.read(15, 100).toString()).toBe('');
    expect(combined.read(19, 100).toString()).toBe('bTAcILd');
  });

  it('has a gap for each stream that passed its limit', () => {
    const pair = createPair({ limitBytes: 3, tailBytes: 2 });
    pair.write('stdout', 'ooo....oo');
    pair.write('stderr', 'eee.....ee');
    pair.close();
    const combined = pair.open();
    expect(combined.gaps()).toEqual([
      { from: 3, to: 7 },
      { from: 12, to: 17 },
    ]);
    expect(readAll(combined).toString()).toBe('oooooeeeee');
  });

  it('bounds the list of arrivals: the beginning is exact, the rest is all there', () => {
    const maxEntries = 100;
    const pair = createPair({ maxEntries });
    const expected = writeAlternately(pair, 5000);
    pair.close();
    const file = statSync(join(directory.path, 'arrival'));
    expect(file.size).toBeLessThanOrEqual(maxEntries * 7);
    const combined = readAll(pair.open()).toString();
    expect(combined.slice(0, 500)).toBe(expected.slice(0, 500));
    expect(combined.length).toBe(expected.length);
    const sorted = (all: string): string => all.split('\n').sort().join('\n');
    expect(sorted(combined)).toBe(sorted(expected));
  });

  it('reads what a crashed writer left: a torn entry, and an order that knows more than the files', () => {
    const pair = createPair();
    pair.write('stdout', 'abc');
    pair.write('stderr', 'def');
    pair.close();
    appendFileSync(join(directory.path, 'arrival'), Buffer.from([0, 0, 0, 0, 0, 0, 99, 1, 0]));
    appendFileSync(join(directory.path, 'stderr'), 'ghi');
    expect(readAll(pair.open()).toString()).toBe('abcdefghi');
  });

  it('is not there without the order', () => {
    const pair = createPair();
    pair.close();
    rmSync(join(directory.path, 'arrival'));
    expect(() => pair.open()).toThrow('There is no source.');
  });
});
