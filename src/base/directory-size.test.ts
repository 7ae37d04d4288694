import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measureDirectory } from './directory-size.ts';

test('a directory is measured with all that is in it, links and absent ones aside', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'size-'));
  try {
    expect(await measureDirectory(join(directory, 'nowhere'))).toEqual({
      bytes: 0,
      files: 0,
      isPartial: false,
    });
    mkdirSync(join(directory, 'a/b'), { recursive: true });
    for (let n = 0; n < 100; n++) writeFileSync(join(directory, 'a/b', `${n}`), 'x'.repeat(5000));
    symlinkSync('/', join(directory, 'root'));
    const { bytes, files, isPartial } = await measureDirectory(directory);
    expect({ files, isPartial }).toEqual({ files: 101, isPartial: false });
    expect(bytes).toBeGreaterThanOrEqual(100 * 5000);
    expect(await measureDirectory(directory, 10)).toMatchObject({ isPartial: true });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
