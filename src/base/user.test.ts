import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { ROOT } from '../../test/support/root.ts';
import { currentUser } from './user.ts';

const known = ((): ReturnType<typeof userInfo> | undefined => {
  try {
    return userInfo();
  } catch {
    return undefined;
  }
})();
test.skipIf(lacks(known === undefined, 'no user of this number'))('the user is who the system says', () => {
  expect(currentUser()).toEqual({
    username: known?.username,
    homedir: known?.homedir,
    uid: known?.uid,
    gid: known?.gid,
  });
});

const canChange = spawnSync('setpriv', ['--reuid=54321', '--clear-groups', 'true']).status === 0;
test.skipIf(lacks(!canChange, 'no right to become another user'))(
  'a number that no user database knows is a user too',
  () => {
    const directory = mkdtempSync(join(realpathSync(tmpdir()), 'user-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const program = join(directory, 'user.mjs');
    const esbuild = join(ROOT, 'node_modules/.bin/esbuild');
    execFileSync(esbuild, [
      join(ROOT, 'src/base/user.ts'),
      '--bundle',
      '--platform=node',
      '--format=esm',
      `--outfile=${program}`,
      '--log-level=error',
    ]);
    // Given on stdin: the directory is the other user's.
    const source = `${readFileSync(program, 'utf8')}\nconsole.log(JSON.stringify(currentUser()));`;
    const { stdout } = spawnSync(
      'setpriv',
      ['--reuid=54321', '--clear-groups', process.execPath, '--input-type=module', '-'],
      { input: source, encoding: 'utf8', cwd: '/', env: { HOME: '/home/of-nobody' } },
    );
    expect(JSON.parse(stdout)).toEqual({
      username: '54321',
      homedir: '/home/of-nobody',
      uid: 54_321,
      gid: process.getgid?.(),
    });
    expect(homedir()).not.toBe('/home/of-nobody');
  },
);
