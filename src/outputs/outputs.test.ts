import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canMountDisk, mountTinyDisk, readAll, useTestDirectory } from '../../test/support/outputs.ts';
import { createId } from '../base/ids.ts';
import { silentLog } from '../base/log.ts';
import { createOutputs, type Outputs, type OutputsOptions } from './outputs.ts';
import type { Bundle, BundleSpec, StreamType } from './types.ts';

const directory = useTestDirectory();
const HOUR = 3_600_000;
const START = 1_700_000_000_000;

interface World {
  readonly outputs: Outputs;
  readonly path: string;
  nowMs: number;
  readonly running: Set<string>;
  create(partial?: Partial<BundleSpec>): Bundle;
  /** A bundle that has printed these and ended. */
  print(texts: Partial<Record<StreamType, string>>, partial?: Partial<BundleSpec>): Bundle;
  /** The same directory after a restart. */
  restart(specs: readonly BundleSpec[]): Outputs;
  specOf(partial?: Partial<BundleSpec>): BundleSpec;
}

function createWorld(options: Partial<OutputsOptions> = {}): World {
  const path = join(directory.path, 'state', 'executions');
  const running = new Set<string>();
  const build = (): Outputs =>
    createOutputs({
      directory: path,
      limits: { maxOutputBytes: 1000, tailBytes: 100 },
      retention: { maxAgeHours: 10, maxTotalBytes: 1_000_000, maxCount: 1000 },
      clock: { now: () => world.nowMs },
      log: silentLog,
      ...options,
    });
  const specOf = (partial: Partial<BundleSpec> = {}): BundleSpec => {
    const id = partial.id ?? createId('exec');
    return {
      id,
      owner: 'local',
      name: 'echo hello',
      createdAtMs: world.nowMs++,
      streams: ['stdout', 'stderr'],
      isRunning: () => running.has(id),
      ...partial,
    };
  };
  const world: World = {
    outputs: build(),
    path,
    nowMs: START,
    running,
    specOf,
    create: (partial) => world.outputs.createBundle(specOf(partial)),
    print: (texts, partial) => {
      const bundle = world.create(partial);
      const sinks = bundle.openSinks();
      for (const [type, text] of Object.entries(texts))
        sinks.get(type as StreamType)?.write(Buffer.from(text));
      for (const sink of sinks.values()) sink.close();
      return bundle;
    },
    restart: (specs) => {
      const outputs = build();
      for (const spec of specs) outputs.adoptBundle(spec);
      return outputs;
    },
  };
  return world;
}

function read(outputs: Outputs, outputId: string | undefined, owner = 'local'): string {
  const { source } = outputs.open(owner, outputId ?? '');
  const text = readAll(source).toString();
  source.close();
  return text;
}

const notFound = expect.objectContaining({ code: 'RESOURCE_003' });

describe('bundles', () => {
  it('touch nothing on disk before the first one is made', () => {
    const world = createWorld();
    expect(world.outputs.list('local', { limit: 10 })).toEqual({ outputs: [], total: 0 });
    expect(world.outputs.totals()).toEqual({ count: 0, bytes: 0 });
    expect(existsSync(world.path)).toBe(false);
    const bundle = world.create();
    expect(bundle.directory).toBe(join(world.path, bundle.id));
    expect((statSync(bundle.directory).mode & 0o777).toString(8)).toBe('700');
  });

  it('have ids for their outputs that follow from their own, and a combined one where both streams are', () => {
    const world = createWorld();
    const id = createId('exec');
    const bundle = world.create({ id });
    const key = id.slice('exec_'.length);
    const idsOf = (of: Bundle) =>
      ['stdout', 'stderr', 'combined', 'log'].map((type) => of.outputId(type as StreamType));
    expect(idsOf(bundle)).toEqual([`out_${key}s`, `out_${key}e`, `out_${key}c`, undefined]);
    const defined = (streams: StreamType[]) =>
      idsOf(world.create({ streams })).map((value) => value !== undefined);
    expect(defined(['stdout'])).toEqual([true, false, false, false]);
    expect(defined(['combined'])).toEqual([false, false, true, false]);
    expect(defined(['log'])).toEqual([false, false, false, false]);
  });

  it('of a terminal have a transcript from when it was written until it was deleted', () => {
    const world = createWorld();
    const bundle = world.create({ streams: ['log', 'cast'] });
    const listed = () => world.outputs.list('local', { limit: 10 }).outputs.map(({ type }) => type);
    expect([listed(), bundle.outputId('log'), bundle.source('log')]).toEqual([[], undefined, undefined]);
    writeFileSync(join(bundle.directory, 'log'), 'words\n');
    expect(listed()).toEqual(['log']);
    const outputId = bundle.outputId('log') ?? '';
    expect(world.outputs.delete('local', [outputId])).toMatchObject({ deleted: [outputId] });
    expect([listed(), bundle.outputId('log')]).toEqual([[], undefined]);
  });

  it.each([
    '../../etc',
    'exec_',
    'exec_short',
    `exec_${'a'.repeat(27)}`,
    `exec_${'a'.repeat(25)}/`,
    `EXEC_${'a'.repeat(26)}`,
  ])('refuse the id %j', (id) => {
    const world = createWorld();
    expect(() => world.create({ id })).toThrow('is not the id of a bundle');
    expect(() => world.outputs.adoptBundle(world.specOf({ id }))).toThrow('is not the id of a bundle');
  });

  it('are made once, and written once', () => {
    const world = createWorld();
    const bundle = world.create();
    expect(() => world.create({ id: bundle.id })).toThrow('already');
    for (const sink of bundle.openSinks().values()) sink.close();
    expect(() => bundle.openSinks()).toThrow('already');
  });

  it('fail with the reason where their directory cannot be made', () => {
    const world = createWorld();
    mkdirSync(join(directory.path, 'state'));
    writeFileSync(world.path, 'a file where the directory should be');
    expect(() => world.create()).toThrow(
      expect.objectContaining({ code: 'SYSTEM_001', message: expect.stringContaining('ENOTDIR') }),
    );
  });

  it.skipIf(!canMountDisk())(
    'say that the disk is full, and leave nothing behind (skipped where tmpfs cannot be mounted: needs root)',
    () => {
      const disk = mountTinyDisk(directory.path);
      try {
        const world = createWorld({ directory: disk.path });
        const bundle = world.print({ stdout: 'fits' });
        expect(() => world.create()).not.toThrow();
        expect(() => world.create()).toThrow(expect.objectContaining({ code: 'EXECUTION_004' }));
        expect(readdirSync(disk.path)).toHaveLength(2);
        expect(read(world.outputs, bundle.outputId('stdout'))).toBe('fits');
      } finally {
        disk.unmount();
      }
    },
  );

  it('are read while they are written, with stderr in its place', () => {
    const world = createWorld();
    const bundle = world.create();
    world.running.add(bundle.id);
    const sinks = bundle.openSinks();
    sinks.get('stdout')?.write(Buffer.from('one\n'));
    sinks.get('stderr')?.write(Buffer.from('two\n'));
    sinks.get('stdout')?.write(Buffer.from('three\n'));
    expect(read(world.outputs, bundle.outputId('stdout'))).toBe('one\nthree\n');
    expect(read(world.outputs, bundle.outputId('combined'))).toBe('one\ntwo\nthree\n');
    sinks.get('stdout')?.write(Buffer.alloc(2000, 120));
    const { info, source } = world.outputs.open('local', bundle.outputId('stdout') ?? '');
    expect(info).toMatchObject({ sizeBytes: 2010, isRunning: true, exactOrder: true });
    expect(source.gaps()).toEqual([{ from: 1000, to: 1910 }]);
    sinks.get('stdout')?.write(Buffer.from('end'));
    expect(source.size()).toBe(2013);
    expect(source.read(2010, 10).toString()).toBe('end');
    for (const sink of sinks.values()) sink.close();
    expect(source.read(source.size() - 3, 10).toString()).toBe('end');
    source.close();
    expect(readFileSync(join(bundle.directory, 'stdout.tail'), 'latin1').startsWith('2013\n')).toBe(true);
  });

  it('hold no descriptor open once they are written and read', () => {
    const world = createWorld();
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let count = 0; count < 20; count++) {
      const bundle = world.print({ stdout: 'x'.repeat(2000), stderr: 'y' });
      read(world.outputs, bundle.outputId('combined'));
      world.outputs.delete('local', [bundle.outputId('stdout') ?? '']);
    }
    expect(open()).toBe(before);
  });
});

describe('open', () => {
  it('finds no output by a hostile, unknown or foreign id', () => {
    const world = createWorld();
    const bundle = world.print({ stdout: 'secret' }, { owner: 'alice' });
    const own = bundle.outputId('stdout') ?? '';
    expect(read(world.outputs, own, 'alice')).toBe('secret');
    const key = bundle.id.slice('exec_'.length);
    for (const id of [
      '../../etc/passwd',
      `out_${'../'.repeat(8)}etcs`,
      '',
      'out_',
      bundle.id,
      `out_${key}`,
      `out_${key}l`,
      `out_${key}x`,
      `${own}/../stdout`,
      `${own}\0`,
      `${own}\n`,
      own.toUpperCase(),
      `out_${'a'.repeat(26)}s`,
      '__proto__',
      'x'.repeat(1_000_000),
    ]) {
      expect(() => world.outputs.open('alice', id)).toThrow(notFound);
    }
    expect(() => world.outputs.open('mallory', own)).toThrow(notFound);
    expect(() => world.outputs.open('', own)).toThrow(notFound);
  });

  it('does not follow a link that was put in place of a file', () => {
    const world = createWorld();
    const bundle = world.print({ stdout: 'mine' });
    rmSync(join(bundle.directory, 'stdout'));
    symlinkSync('/etc/passwd', join(bundle.directory, 'stdout'));
    expect(() => world.outputs.open('local', bundle.outputId('stdout') ?? '')).toThrow(notFound);
    const restarted = world.restart([world.specOf({ id: bundle.id })]);
    expect(restarted.list('local', { limit: 10 }).outputs.map((output) => output.type)).toEqual(['stderr']);
  });

  it('finds nothing where another server has removed the bundle, and forgets it', () => {
    const world = createWorld();
    const gone = world.print({ stdout: 'a' });
    const listed = world.print({ stdout: 'b' });
    rmSync(gone.directory, { recursive: true });
    rmSync(listed.directory, { recursive: true });
    expect(gone.source('stdout')).toBeUndefined();
    expect(() => world.outputs.open('local', gone.outputId('stdout') ?? '')).toThrow(notFound);
    expect(world.outputs.list('local', { limit: 10 })).toEqual({ outputs: [], total: 0 });
    expect(world.outputs.totals()).toEqual({ count: 0, bytes: 0 });
  });
});

describe('list', () => {
  it('shows the newest first, whole objects, and counts all', () => {
    const world = createWorld();
    world.print({ stdout: 'first' }, { name: 'npm test', streams: ['stdout'] });
    const second = world.print({ stdout: 'out', stderr: 'error' }, { name: 'make' });
    const both = world.outputs.list('local', { limit: 10 });
    expect(both.total).toBe(4);
    expect(both.outputs.map(({ name, type, sizeBytes }) => `${name} ${type} ${sizeBytes}`)).toEqual([
      'make stdout 3',
      'make stderr 5',
      'make combined 8',
      'npm test stdout 5',
    ]);
    expect(both.outputs[2]).toEqual({
      outputId: second.outputId('combined'),
      executionId: second.id,
      type: 'combined',
      name: 'make',
      sizeBytes: 8,
      createdAtMs: START + 1,
      exactOrder: false,
      isRunning: false,
    });
    const some = world.outputs.list('local', { limit: 2 });
    expect({ shown: some.outputs.length, total: some.total }).toEqual({ shown: 2, total: 4 });
  });

  it('filters by type, execution, name and owner', () => {
    const world = createWorld();
    const test = world.print({ stdout: '1' }, { name: 'npm test' });
    world.print({ stdout: '2' }, { name: 'npm run build' });
    world.print({ combined: '3' }, { name: 'other', streams: ['combined'] });
    world.print({ stdout: '4' }, { name: 'npm test', owner: 'another principal' });
    const count = (filter: object): number => world.outputs.list('local', { limit: 100, ...filter }).total;
    expect(count({})).toBe(7);
    expect(count({ types: undefined })).toBe(7);
    expect(count({ types: ['combined'] })).toBe(3);
    expect(count({ types: ['log'] })).toBe(0);
    expect(count({ executionId: test.id })).toBe(3);
    expect(count({ executionId: '../..' })).toBe(0);
    expect(count({ namePattern: '^npm (test|run)' })).toBe(6);
    expect(count({ namePattern: '(?i)NPM TEST', types: ['stdout'] })).toBe(1);
    expect(() => count({ namePattern: '(' })).toThrow(
      expect.objectContaining({ code: 'PARAM_002', details: { parameter: 'name_pattern' } }),
    );
  });

  it('shows the size of a stream that passed its limit as what came', () => {
    const world = createWorld();
    world.print({ stdout: 'x'.repeat(5000) });
    expect(world.outputs.list('local', { limit: 10 }).outputs.map((output) => output.sizeBytes)).toEqual([
      5000, 0, 5000,
    ]);
    expect(world.outputs.totals()).toEqual({ count: 3, bytes: 1100 });
    expect(world.outputs.totals('nobody')).toEqual({ count: 0, bytes: 0 });
  });

  it('cuts a name that is too long', () => {
    const world = createWorld();
    world.print({ stdout: '' }, { name: 'x'.repeat(100_000), streams: ['stdout'] });
    expect(world.outputs.list('local', { limit: 1 }).outputs[0]?.name).toBe('x'.repeat(200));
  });
});

describe('delete', () => {
  it('removes the files of one output and takes the derived one with it, also after a restart', () => {
    const world = createWorld();
    const bundle = world.print({ stdout: 'x'.repeat(2000), stderr: 'error' });
    writeFileSync(join(bundle.directory, 'record.json'), '{}');
    writeFileSync(join(bundle.directory, 'stdout.tail.abc.tmp'), 'left by a crash');
    const [stdout, combined] = [bundle.outputId('stdout') ?? '', bundle.outputId('combined') ?? ''];
    expect(world.outputs.delete('local', [stdout, combined, stdout])).toEqual({
      deleted: [stdout],
      failed: [
        { outputId: combined, reason: 'not found' },
        { outputId: stdout, reason: 'not found' },
      ],
    });
    expect(readdirSync(bundle.directory).sort()).toEqual(['record.json', 'stderr']);
    for (const outputs of [world.outputs, world.restart([world.specOf({ id: bundle.id })])]) {
      expect(() => outputs.open('local', stdout)).toThrow(notFound);
      expect(() => outputs.open('local', combined)).toThrow(notFound);
      expect(outputs.list('local', { limit: 10 }).total).toBe(1);
      expect(outputs.totals()).toEqual({ count: 1, bytes: 5 });
    }
    expect(read(world.outputs, bundle.outputId('stderr'))).toBe('error');
    expect([bundle.outputId('stdout'), bundle.source('stdout')]).toEqual([undefined, undefined]);
  });

  it('hides the derived output and leaves its streams, also after a restart', () => {
    const world = createWorld();
    const bundle = world.print({ stdout: 'out', stderr: 'error' });
    const combined = bundle.outputId('combined') ?? '';
    expect(world.outputs.delete('local', [combined])).toEqual({ deleted: [combined], failed: [] });
    for (const outputs of [world.outputs, world.restart([world.specOf({ id: bundle.id })])]) {
      expect(() => outputs.open('local', combined)).toThrow(notFound);
      expect(read(outputs, bundle.outputId('stdout'))).toBe('out');
      expect(outputs.list('local', { limit: 10 }).total).toBe(2);
    }
  });

  it('refuses what is running, foreign or unknown, and says why', () => {
    const world = createWorld();
    const mine = world.print({ stdout: 'mine' });
    const foreign = world.print({ stdout: 'theirs' }, { owner: 'bob' });
    world.running.add(mine.id);
    const ids = [mine.outputId('stdout') ?? '', foreign.outputId('stdout') ?? '', '../../etc/passwd'];
    expect(world.outputs.delete('local', ids)).toEqual({
      deleted: [],
      failed: [
        { outputId: ids[0], reason: 'still running; end the execution first' },
        { outputId: ids[1], reason: 'not found' },
        { outputId: ids[2], reason: 'not found' },
      ],
    });
    expect(read(world.outputs, ids[0])).toBe('mine');
    expect(read(world.outputs, ids[1], 'bob')).toBe('theirs');
  });
});

describe('discard', () => {
  it('takes a bundle back, with its directory', () => {
    const world = createWorld();
    const bundle = world.create();
    world.outputs.discard(bundle.id);
    expect(readdirSync(world.path)).toEqual([]);
    expect(world.outputs.list('local', { limit: 1 }).total).toBe(0);
    expect(() => world.outputs.discard('../../etc')).toThrow('is not the id of a bundle');
  });
});

describe('adoptBundle', () => {
  it('finds what is on disk again', () => {
    const world = createWorld();
    const bundle = world.print({ stdout: 'x'.repeat(1101), stderr: 'e' });
    const outputs = world.restart([world.specOf({ id: bundle.id, name: 'again' })]);
    expect(outputs.list('local', { limit: 10 }).outputs.map((output) => output.sizeBytes)).toEqual([
      1101, 1, 1102,
    ]);
    const { source } = outputs.open('local', bundle.outputId('stdout') ?? '');
    expect(source.gaps()).toEqual([{ from: 1000, to: 1001 }]);
    source.close();
  });

  it('returns one that is known as it is', () => {
    const world = createWorld();
    const bundle = world.create();
    expect(world.outputs.adoptBundle(world.specOf({ id: bundle.id, owner: 'mallory' }))).toBe(bundle);
    expect(world.outputs.list('mallory', { limit: 1 }).total).toBe(0);
  });

  it('takes a bundle that is gone as one without outputs', () => {
    const world = createWorld();
    const outputs = world.restart([world.specOf()]);
    expect(outputs.list('local', { limit: 10 })).toEqual({ outputs: [], total: 0 });
  });
});

describe('collect', () => {
  it('removes whole bundles that are too old, and never one that runs', async () => {
    const world = createWorld();
    const old = world.print({ stdout: 'old' });
    const running = world.print({ stdout: 'running' });
    world.running.add(running.id);
    world.nowMs += 11 * HOUR;
    const young = world.print({ stdout: 'young' });
    expect(await world.outputs.collect()).toEqual([old.id]);
    expect(readdirSync(world.path).sort()).toEqual([running.id, young.id].sort());
    expect(() => world.outputs.open('local', old.outputId('stdout') ?? '')).toThrow(notFound);
    expect(read(world.outputs, running.outputId('stdout'))).toBe('running');
  });

  it('counts the age of what ran long from when it was last seen running', async () => {
    const world = createWorld();
    const bundle = world.print({ stdout: 'x' });
    world.running.add(bundle.id);
    world.nowMs += 100 * HOUR;
    expect(await world.outputs.collect()).toEqual([]);
    world.running.delete(bundle.id);
    world.nowMs += 9 * HOUR;
    expect(await world.outputs.collect()).toEqual([]);
    world.nowMs += 2 * HOUR;
    expect(await world.outputs.collect()).toEqual([bundle.id]);
  });

  it('removes the oldest above a count or a size', async () => {
    const byCount = createWorld({ retention: { maxAgeHours: 10, maxTotalBytes: 1e9, maxCount: 2 } });
    const bundles = [1, 2, 3, 4].map((number) => byCount.print({ stdout: `${number}` }));
    expect(await byCount.outputs.collect()).toEqual([bundles[0]?.id, bundles[1]?.id]);
    const bySize = createWorld({ retention: { maxAgeHours: 10, maxTotalBytes: 1500, maxCount: 100 } });
    const large = [1, 2, 3].map(() => bySize.print({ stdout: 'x'.repeat(600) }));
    expect(await bySize.outputs.collect()).toEqual([large[0]?.id]);
    expect(bySize.outputs.totals()).toEqual({ count: 6, bytes: 1200 });
  });

  it('leaves alone what lies beside, and does not mind what is gone already', async () => {
    const world = createWorld();
    const bundle = world.print({ stdout: 'x' });
    mkdirSync(join(world.path, 'not-ours'));
    rmSync(bundle.directory, { recursive: true });
    world.nowMs += 11 * HOUR;
    expect(await world.outputs.collect()).toEqual([bundle.id]);
    expect(readdirSync(world.path)).toEqual(['not-ours']);
  });
});
