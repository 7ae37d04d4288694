import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAll, useTestDirectory } from '../../test/support/outputs.ts';
import { systemClock } from '../base/clock.ts';
import { createId } from '../base/ids.ts';
import { silentLog } from '../base/log.ts';
import { createOutputs } from './outputs.ts';
import type { Bundle, BundleSpec, OutputStorage, Sink, StreamType } from './types.ts';

const directory = useTestDirectory();

function create(
  changes: Partial<BundleSpec> = {},
  maxOutputBytes = 1_000_000,
  parent = join(directory.path, 'executions'),
) {
  const outputs = createOutputs({
    directory: parent,
    limits: { maxOutputBytes, tailBytes: 100 },
    retention: { maxAgeHours: 1, maxTotalBytes: 1e9, maxCount: 100 },
    clock: systemClock,
    log: silentLog,
  });
  const bundle = outputs.createBundle({
    id: createId('exec'),
    owner: 'ann',
    name: 'a command',
    createdAtMs: Date.now(),
    streams: ['stdout', 'stderr'],
    isRunning: () => false,
    isSpooled: true,
    ...changes,
  });
  const sinks = bundle.openSinks();
  const write = (type: StreamType, text: string): void => sinkOf(sinks, type).write(Buffer.from(text));
  const close = (): void => {
    for (const sink of sinks.values()) sink.close();
  };
  return { outputs, bundle, sinks, write, close };
}

const sinkOf = (sinks: ReadonlyMap<StreamType, Sink>, type: StreamType): Sink => {
  const sink = sinks.get(type);
  if (sink === undefined) throw new Error(`there is no ${type}`);
  return sink;
};

function textOf(bundle: Bundle, type: StreamType): string | undefined {
  const source = bundle.source(type);
  if (source === undefined) return undefined;
  try {
    return readAll(source).toString('utf8');
  } finally {
    source.close();
  }
}

describe('outputs that are small', () => {
  it('have no files, and are read from memory in their order', () => {
    const { bundle, write, close, outputs } = create();
    write('stdout', 'one ');
    write('stderr', 'two ');
    write('stdout', 'three');
    close();
    expect(existsSync(bundle.directory)).toBe(false);
    expect(textOf(bundle, 'stdout')).toBe('one three');
    expect(textOf(bundle, 'stderr')).toBe('two ');
    expect(textOf(bundle, 'combined')).toBe('one two three');
    expect(
      outputs.list('ann', { limit: 10 }).outputs.map(({ type, sizeBytes }) => [type, sizeBytes]),
    ).toEqual([
      ['stdout', 9],
      ['stderr', 4],
      ['combined', 13],
    ]);
    expect(outputs.totals('ann')).toEqual({ count: 3, bytes: 13 });
  });

  it('are read from where they are kept afterwards, and deleted there', () => {
    const { bundle, write, close, outputs } = create();
    write('stdout', 'out');
    write('stderr', 'err');
    close();
    const content = bundle.content();
    const forgotten: StreamType[] = [];
    let loads = 0;
    const sizes = new Map([...(content?.streams ?? [])].map(([type, bytes]) => [type, bytes.length]));
    const storage: OutputStorage = {
      sizes,
      load: () => {
        loads++;
        return content;
      },
      forget(type) {
        forgotten.push(type);
        sizes.delete(type);
      },
    };
    bundle.keepIn(storage);
    expect(textOf(bundle, 'combined')).toBe('outerr');
    expect(loads).toBe(0);
    const again = outputs.adoptBundle(
      {
        id: bundle.id,
        owner: 'ann',
        name: 'a command',
        createdAtMs: 1,
        streams: ['stdout', 'stderr'],
        isRunning: () => false,
        storageOf: () => storage,
      },
      { isChanged: true },
    );
    expect(textOf(again, 'combined')).toBe('outerr');
    expect(loads).toBeGreaterThan(0);
    const id = again.outputId('stderr') ?? '';
    expect(outputs.delete('ann', [id])).toEqual({ deleted: [id], failed: [] });
    expect(forgotten).toEqual(['stderr']);
    expect(() => outputs.open('ann', id)).toThrow('There is no output');
    expect(outputs.list('ann', { limit: 10 }).outputs.map(({ type }) => type)).toEqual(['stdout']);
  });
});

describe('outputs that grow or last', () => {
  it('come to lie in files, whole and in their order', () => {
    const { bundle, write, close } = create();
    let expected = '';
    for (let line = 0; line < 3000; line++) {
      const type = line % 3 === 0 ? 'stderr' : 'stdout';
      write(type, `line ${line}\n`);
      expected += `line ${line}\n`;
    }
    close();
    expect(bundle.content()).toBeUndefined();
    expect(readdirSync(bundle.directory).toSorted()).toEqual(['arrival', 'stderr', 'stdout']);
    expect(textOf(bundle, 'combined')).toBe(expected);
  });

  it('are on disk from the next byte on once they last', () => {
    const { bundle, write, close } = create();
    bundle.outlast();
    expect(existsSync(bundle.directory)).toBe(false);
    write('stdout', 'a');
    expect(readdirSync(bundle.directory).toSorted()).toEqual(['arrival', 'stderr', 'stdout']);
    write('stdout', 'b');
    close();
    expect(textOf(bundle, 'stdout')).toBe('ab');
  });

  it('are on disk before they are read while more may come', () => {
    const { bundle, write, close } = create();
    write('stdout', 'shown');
    expect(textOf(bundle, 'stdout')).toBe('shown');
    expect(existsSync(join(bundle.directory, 'stdout'))).toBe(true);
    close();
  });

  it('keep exactly the limit, however small', () => {
    const { bundle, write, close } = create({ streams: ['stdout'] }, 10);
    for (let n = 0; n < 8; n++) write('stdout', 'abcd');
    close();
    const source = bundle.source('stdout');
    expect(source?.size()).toBe(32);
    expect(source?.read(0, 100).toString()).toBe('abcd'.repeat(8));
    source?.close();
  });
});

describe('a disk that refuses', () => {
  it('leaves what is in memory, counts the rest and says why', () => {
    const { bundle, write, sinks, close } = create({}, 1_000_000, '/proc/none');
    write('stdout', 'x'.repeat(10_000));
    write('stdout', 'y'.repeat(10_000));
    expect(sinkOf(sinks, 'stdout').problem()).toMatch(/^E[A-Z]+: /);
    expect(sinkOf(sinks, 'stdout').totalBytes()).toBe(20_000);
    close();
    const source = bundle.source('stdout');
    expect(source?.size()).toBe(20_000);
    expect(source?.read(0, 10_000).toString()).toBe('x'.repeat(10_000));
    expect(source?.gaps()).toEqual([{ from: 16_384, to: 20_000 }]);
  });
});
