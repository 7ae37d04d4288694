import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canMountDisk, mountTinyDisk, readAll, useTestDirectory } from '../../test/support/outputs.ts';
import { LIMITS } from '../base/limits.ts';
import { createSink } from './sink.ts';
import { openSource } from './source.ts';

const directory = useTestDirectory();

const text = (path: string): string => readFileSync(path, 'latin1');

describe('createSink', () => {
  it('makes an empty file that only its owner can read, and nothing else', () => {
    const path = join(directory.path, 'stdout');
    const sink = createSink(path, { limitBytes: 10, tailBytes: 4 });
    sink.close();
    sink.close();
    expect(text(path)).toBe('');
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
    expect(existsSync(`${path}.tail`)).toBe(false);
    expect({ total: sink.totalBytes(), problem: sink.problem() }).toEqual({ total: 0, problem: undefined });
  });

  it.each([
    { written: 9, file: '012345678', tail: undefined },
    { written: 10, file: '0123456789', tail: undefined },
    { written: 11, file: '0123456789', tail: '11\n0' },
    { written: 14, file: '0123456789', tail: '14\n0123' },
    { written: 15, file: '0123456789', tail: '15\n1234' },
    { written: 37, file: '0123456789', tail: '37\n3456' },
  ])(
    'keeps exactly 10 bytes and the last 4 of what follows when $written come',
    ({ written, file, tail }) => {
      for (const chunkBytes of [1, 3, 7, 100]) {
        const path = join(directory.path, `stdout${chunkBytes}`);
        const all = Buffer.from('0123456789'.repeat(4).slice(0, written));
        const counts: number[] = [];
        const sink = createSink(path, {
          limitBytes: 10,
          tailBytes: 4,
          onWrite: (count) => counts.push(count),
        });
        for (let at = 0; at < all.length; at += chunkBytes) sink.write(all.subarray(at, at + chunkBytes));
        sink.close();
        sink.write(Buffer.from('too late'));
        expect(text(path)).toBe(file);
        expect(existsSync(`${path}.tail`) ? text(`${path}.tail`) : undefined).toBe(tail);
        expect(sink.totalBytes()).toBe(written);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(written);
        expect(sink.unsavedTail()).toBeUndefined();
      }
    },
  );

  it('writes the tail at most once a second while more is coming, and has the newest in memory', () => {
    const path = join(directory.path, 'stdout');
    let now = 0;
    const sink = createSink(path, { limitBytes: 1, tailBytes: 3, now: () => now });
    sink.write(Buffer.from('ab'));
    expect(text(`${path}.tail`)).toBe('2\nb');
    now = 999;
    sink.write(Buffer.from('c'));
    expect(text(`${path}.tail`)).toBe('2\nb');
    expect(sink.unsavedTail()).toEqual({ totalBytes: 3, bytes: Buffer.from('bc') });
    now = 1000;
    sink.write(Buffer.from('d'));
    expect(text(`${path}.tail`)).toBe('4\nbcd');
    sink.write(Buffer.from('e'));
    sink.close();
    expect(text(`${path}.tail`)).toBe('5\ncde');
  });

  it.each(['link', 'directory'])(
    'does not throw, and writes nowhere, where there is a %s in its place',
    (kind) => {
      const target = join(directory.path, 'target');
      const path = join(directory.path, 'stdout');
      writeFileSync(target, 'mine');
      if (kind === 'link') symlinkSync(target, path);
      else mkdirSync(path);
      const sink = createSink(path, { limitBytes: 10, tailBytes: 4 });
      sink.write(Buffer.from('hello'));
      expect(sink.problem()).toMatch(/^E[A-Z]+: /);
      expect(sink.totalBytes()).toBe(5);
      sink.close();
      expect(text(target)).toBe('mine');
    },
  );

  it.skipIf(!canMountDisk())(
    'goes on counting on a full disk, and still has the last bytes (skipped where tmpfs cannot be mounted: needs root)',
    () => {
      const disk = mountTinyDisk(directory.path);
      try {
        const path = join(disk.path, 'stdout');
        const sink = createSink(path, { limitBytes: 1_000_000, tailBytes: 8192 });
        const source = directory.keep(openSource(path, { unsavedTail: () => sink.unsavedTail() }));
        for (let chunk = 0; chunk < 100; chunk++) sink.write(Buffer.alloc(1000, chunk));
        const kept = statSync(path).size;
        expect(kept).toBeGreaterThan(32_000);
        expect(sink.problem()).toMatch(/^ENOSPC: /);
        expect(sink.totalBytes()).toBe(100_000);

        expect(source.size()).toBe(100_000);
        expect(source.gaps()).toEqual([{ from: kept, to: 100_000 - 8192 }]);
        expect(source.read(99_999, 10)).toEqual(Buffer.from([99]));

        sink.close();
        expect(source.size()).toBe(100_000);
        expect(source.gaps()).toEqual([{ from: kept, to: 100_000 - LIMITS.unsavedTailBytes }]);
        expect(readAll(source).subarray(-1000)).toEqual(Buffer.alloc(1000, 99));
      } finally {
        disk.unmount();
      }
    },
  );
});
