/** What one command prepares for the next: a directory that cannot be looked into must not lose its protection. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { lacks, needs } from '../setup/needs.ts';
import { createDeveloper, type Developer, isRoot, NOBODY } from './support/developer.ts';

const cannot =
  lacks(process.platform !== 'linux', 'bubblewrap is for Linux') ||
  lacks(!isRoot, 'it is tried as two users, which takes root') ||
  needs('bwrap', 'git', 'setpriv');

let developer: Developer;
afterEach(() => developer?.remove());

/** Each in a place of its own, and what is protected in it. */
const SHUT = [
  ['.git', '.git/config'],
  ['.claude', '.claude/settings.json'],
  ['inner', 'inner/.git/config'],
  ['second/.git', 'second/.git/config'],
  ['around', 'around/third/.git/config'],
  ['modules/.git/modules', 'modules/.git/modules/sub/config'],
] as const;

describe.skipIf(cannot).each([
  ['root', undefined],
  ['an ordinary user', NOBODY],
])('as %s', (_, uid) => {
  test.each(['000', '600', '300'])(
    'a directory that was shut (%s) does not open what is protected in it',
    async (mode) => {
      developer = createDeveloper({ uid });
      for (const name of ['', 'inner', 'second', 'around/third', 'modules'])
        execFileSync('git', ['init', '-q', join(developer.work, name)]);
      for (const name of ['config', 'HEAD']) developer.put(`work/modules/.git/modules/sub/${name}`, 'x\n');
      developer.put('work/.claude/settings.json', '{}\n');
      const read = (): string[] => SHUT.map(([, file]) => readFileSync(join(developer.work, file), 'utf8'));
      const before = read();
      const shut = SHUT.map(([directory]) => `chmod ${mode} ${directory}`).join('; ');
      const change = SHUT.map(
        ([directory, file]) => `chmod 755 ${directory}; echo EVIL >> ${file}; echo EVIL > ${file}`,
      ).join('; ');
      const server = await developer.start();
      await server.execute(shut);
      expect((await server.execute(`${change}; echo tried`)).data.stdout).toBe('tried\n');
      // By the next one nobody remembers what is in there.
      await server.execute(shut);
      const next = await developer.start();
      expect((await next.execute(`${change}; echo tried`)).data.stdout).toBe('tried\n');
      for (const [directory] of SHUT) execFileSync('chmod', ['755', join(developer.work, directory)]);
      expect(read()).toEqual(before);
    },
  );

  test('nor what is hidden, where the home directory is the workspace', async () => {
    developer = createDeveloper({ uid });
    developer.put('.config/gh/hosts.yml', 'PRIVATE\n');
    developer.put('.gradle/gradle.properties', 'token=PRIVATE\n');
    const server = await developer.start(`allowed_directories = ["${developer.home}"]`, {
      cwd: developer.home,
    });
    await server.execute('chmod 000 .config .gradle');
    const { data } = await server.execute(
      'chmod 755 .config .gradle; cat .config/gh/hosts.yml .gradle/gradle.properties; echo tried',
    );
    expect(data.stdout).toBe('tried\n');
  });
});
