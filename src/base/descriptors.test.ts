import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../test/support/root.ts';

/** The module as a program of its own: in here it would close what belongs to the test's worker. */
let directory = '';
let program = '';
beforeAll(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'descriptors-'));
  program = join(directory, 'descriptors.mjs');
  execFileSync(join(ROOT, 'node_modules/.bin/esbuild'), [
    join(ROOT, 'src/base/descriptors.ts'),
    '--bundle',
    '--platform=node',
    '--format=esm',
    `--outfile=${program}`,
    '--log-level=error',
  ]);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/**
 * Runs a script with these descriptors too many. Node itself marks the first few that it was started with, so that
 * they end with it; the others it does not look at.
 */
function runWith(
  fds: readonly number[],
  script: string,
): { stdout: string; stderr: string; status: number | null } {
  const source = `import { closeInherited } from ${JSON.stringify(program)};
    import { execFileSync } from 'node:child_process';
    import { openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
    const zeros = () => readdirSync('/proc/self/fd').filter((fd) => {
      try { return readlinkSync('/proc/self/fd/' + fd) === '/dev/zero'; } catch { return false; }
    }).map(Number).sort((a, b) => a - b);
    const inherits = () => execFileSync('/bin/ls', ['-l', '/proc/self/fd'], { encoding: 'utf8' }).includes('/dev/zero');
    ${script}`;
  const opening = fds.map((fd) => `exec ${fd}</dev/zero; `).join('');
  return spawnSync(
    '/bin/bash',
    ['-c', `${opening}exec "$0" --input-type=module -e "$1"`, process.execPath, source],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  );
}

describe.skipIf(process.platform !== 'linux')('descriptors that a program was started with', () => {
  test('are open before and closed after', () => {
    const { stdout, stderr } = runWith(
      [60, 100, 255],
      'const before = zeros(); closeInherited(); console.log(before, zeros());',
    );
    expect(stderr).toBe('');
    expect(stdout).toBe('[ 60, 100, 255 ] []\n');
  });

  test('are not in what it starts, as they would be otherwise', () => {
    expect(runWith([60], 'console.log(inherits()); closeInherited(); console.log(inherits());').stdout).toBe(
      'true\nfalse\n',
    );
    expect(runWith([3, 4, 9, 60], 'closeInherited(); console.log(inherits());').stdout).toBe('false\n');
  });

  test('are closed alone: stdin, stdout, stderr and what Node opened stay', () => {
    const script = `const own = openSync('/dev/zero', 'r');
      closeInherited();
      const bytes = readSync(own, Buffer.alloc(4));
      await new Promise((resolve) => setTimeout(resolve, 1));
      console.log(bytes, zeros().length, [0, 1, 2].every((fd) => readlinkSync('/proc/self/fd/' + fd) !== ''));
      console.error('still there');`;
    const { stdout, stderr } = runWith([60, 61], script);
    expect(stdout).toBe('4 1 true\n');
    expect(stderr).toBe('still there\n');
  });

  test('may be none, and it may be called twice', () => {
    const { stdout, status } = runWith([], 'closeInherited(); closeInherited(); console.log(zeros());');
    expect([stdout, status]).toEqual(['[]\n', 0]);
  });
});
