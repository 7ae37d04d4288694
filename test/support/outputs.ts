/** What the tests of this folder share: a directory that is removed again, and outputs made of literals. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { openSource } from '../../src/outputs/source.ts';
import { encodeTail, tailPath } from '../../src/outputs/tail.ts';
import type { ByteSource } from '../../src/outputs/types.ts';

export interface TestDirectory {
  readonly path: string;
  /** A source over a file with this content; with `tail`, over a stream that passed its limit. */
  source(content: string | Uint8Array, tail?: { totalBytes: number; bytes: string | Buffer }): ByteSource;
  /** Closed after the test. */
  keep<S extends ByteSource>(source: S | undefined): S;
}

export function useTestDirectory(): TestDirectory {
  let path: string | undefined;
  let files = 0;
  let open: ByteSource[] = [];

  afterEach(() => {
    for (const source of open) source.close();
    open = [];
    if (path !== undefined) rmSync(path, { recursive: true, force: true });
    path = undefined;
  });

  function directory(): string {
    path ??= mkdtempSync(join(tmpdir(), 'outputs-'));
    return path;
  }

  function keep<S extends ByteSource>(source: S | undefined): S {
    if (source === undefined) throw new Error('There is no source.');
    open.push(source);
    return source;
  }

  return {
    get path() {
      return directory();
    },
    source: (content, tail) => {
      const file = join(directory(), `file${files++}`);
      writeFileSync(file, content);
      if (tail !== undefined) {
        writeFileSync(
          tailPath(file),
          encodeTail({ totalBytes: tail.totalBytes, bytes: Buffer.from(tail.bytes as string) }),
        );
      }
      return keep(openSource(file));
    },
    keep,
  };
}

/** Everything that can be read, in order, with the gaps left out. */
export function readAll(source: ByteSource): Buffer {
  const parts: Buffer[] = [];
  const size = source.size();
  let offset = 0;
  while (offset < size) {
    const bytes = source.read(offset, 64 * 1024);
    parts.push(bytes);
    offset = bytes.length > 0 ? offset + bytes.length : endOfGap(source, offset, size);
  }
  return Buffer.concat(parts);
}

function endOfGap(source: ByteSource, offset: number, size: number): number {
  return source.gaps().find((gap) => gap.from <= offset && offset < gap.to)?.to ?? size;
}

/** Tried, not assumed: root in a container may lack the right to mount. */
export function canMountDisk(): boolean {
  const parent = mkdtempSync(join(tmpdir(), 'outputs-'));
  try {
    mountTinyDisk(parent).unmount();
    return true;
  } catch {
    return false;
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

/** A disk of 64 KiB with room for eight files. */
export function mountTinyDisk(parent: string): { path: string; unmount(): void } {
  const path = mkdtempSync(join(parent, 'disk-'));
  const options = 'size=64k,nr_inodes=9';
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
  // Lazily: a source of the test may still be open.
  return { path, unmount: () => void execFileSync('umount', ['-l', path]) };
}
