/** How much a directory takes on its disk, found without holding up anybody else. */
import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const BLOCK_BYTES = 512;
/** Asked for at once. */
const BATCH = 64;

/**
 * Nothing where there is no such directory. Links are not followed; what vanishes meanwhile is not counted. `isPartial` where
 * there is more than was looked at.
 */
export async function measureDirectory(path: string, maxFiles = Infinity) {
  const waiting = [path];
  let bytes = 0;
  let files = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const directory = next;
    const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
    for (let at = 0; at < entries.length; at += BATCH) {
      if (files >= maxFiles) return { bytes, files, isPartial: true };
      const batch = entries.slice(at, at + BATCH);
      waiting.push(...batch.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name)));
      const found = await Promise.all(
        batch.map(({ name }) => lstat(join(directory, name)).catch(() => undefined)),
      );
      for (const stat of found) bytes += (stat?.blocks ?? 0) * BLOCK_BYTES;
      files += batch.filter((entry) => !entry.isDirectory()).length;
    }
  }
  return { bytes, files, isPartial: false };
}
