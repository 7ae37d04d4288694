import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { createWorld, outcomeOf, untilPrinted, type World } from '../../test/support/world.ts';
import { type KeptMounts, watchMounts } from './mount-watch.ts';
import { createRounds } from './rounds.ts';

const sandboxed = (): World => createWorld({ settings: { security: { sandbox: 'required' } } });

function write(world: World, name: string): string {
  const path = join(world.settings.defaultWorkdir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'mine');
  return path;
}

/** As `git config` and editors save. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, 'saved');
  renameSync(`${path}.new`, path);
}

describe.skipIf(needs('bwrap'))('a protected file that is replaced from outside while a command runs', () => {
  const WRITES = (path: string): string =>
    `echo ready; while :; do { echo evil >> ${path}; } 2> /dev/null && echo written; sleep 0.01; done`;

  test.for([
    ['.git/config', 'replaced', replace],
    ['.mcp.json', 'replaced', replace],
    ['.envrc', 'removed', (path: string) => rmSync(path)],
    [
      '.git/config',
      'removed and linked again',
      (path: string) => {
        linkSync(path, `${path}.other`);
        unlinkSync(path);
        renameSync(`${path}.other`, path);
      },
    ],
    [
      '.git/hooks/pre-commit',
      'in a directory that is exchanged',
      (path: string) => {
        const hooks = dirname(path);
        rmSync(hooks, { recursive: true });
        mkdirSync(hooks);
      },
    ],
  ] as const)('%s, %s: the command is ended and the file named', async ([name, , change]) => {
    await using world = sandboxed();
    const path = write(world, name);
    const execution = await world.start(WRITES(name));
    await untilPrinted(execution, 'ready');
    await sleep(150);
    change(path);
    const outcome = await outcomeOf(execution);
    const kept = name.includes('hooks') ? dirname(path) : path;
    expect(outcome).toMatchObject({
      status: 'failed',
      reason: 'protection_lost',
      unprotected: [kept],
      survivors: [],
    });
  });

  test.for([
    ['.git/config', '.git'],
    ['.git/modules/inner/config', '.git/modules'],
    ['.hg/hgrc', '.hg'],
    ['inner/.git/config', 'inner'],
    ['a/b/inner/.git/config', 'a'],
  ] as const)(
    '%s, with %s renamed and another one in its place: not left to the next look',
    async ([name, moved]) => {
      await using world = sandboxed();
      const path = write(world, name);
      if (name.endsWith('/config'))
        for (const other of ['HEAD', 'objects/x', 'refs/x']) write(world, join(dirname(name), other));
      const execution = await world.start(`echo ready; sleep 3; echo evil >> ${name}`);
      await untilPrinted(execution, 'ready');
      await sleep(150);
      const directory = join(world.settings.defaultWorkdir, moved);
      renameSync(directory, `${directory}.old`);
      write(world, name);
      expect(await outcomeOf(execution)).toMatchObject({ reason: 'protection_lost', survivors: [] });
      expect(readFileSync(path, 'utf8')).toBe('mine');
    },
  );

  test('is named where the command ends before anybody has looked', async () => {
    await using world = sandboxed();
    const path = write(world, '.mcp.json');
    const running = world.run('echo > ready; until [ -e go ]; do :; done; echo evil >> .mcp.json');
    await expect.poll(() => readFileSync(join(dirname(path), 'ready'), 'utf8'), { interval: 1 }).toBe('\n');
    replace(path);
    writeFileSync(join(dirname(path), 'go'), '');
    const { outcome } = await running;
    expect(outcome).toMatchObject({ unprotected: [path] });
  });

  test.for(['.vscode/settings.json', '.claude/settings.local.json', '.cursor/mcp.json'])(
    '%s stays protected: its directory is what is mounted',
    async (name) => {
      await using world = sandboxed();
      const path = write(world, name);
      const execution = await world.start(
        `echo ready; until [ -e go ]; do sleep 0.01; done; echo evil >> ${name}; echo evil > ${dirname(name)}/tasks.json`,
      );
      await untilPrinted(execution, 'ready');
      await sleep(150);
      replace(path);
      await sleep(150);
      writeFileSync(join(world.settings.defaultWorkdir, 'go'), '');
      const outcome = await outcomeOf(execution);
      expect(outcome).toMatchObject({ reason: 'exit', exitCode: 1 });
      expect(outcome.unprotected).toBeUndefined();
      expect(readFileSync(path, 'utf8')).toBe('saved');
    },
  );

  test('is no loss where the file is written in place, or others around it change', async () => {
    await using world = sandboxed();
    const path = write(world, '.git/config');
    const execution = await world.start('echo ready; sleep 1.4');
    await untilPrinted(execution, 'ready');
    await sleep(150);
    appendFileSync(path, 'mine too');
    replace(write(world, '.git/HEAD'));
    const outcome = await outcomeOf(execution);
    expect(outcome).toMatchObject({ status: 'completed', reason: 'exit' });
    expect(outcome.unprotected).toBeUndefined();
  });
});

describe('the looks', () => {
  const MOUNTED = '1 0 8:1 / /kept ro - ext4 /dev/x rw\n';

  function kept(tables: readonly (string | undefined)[], identities: Map<string, string>): KeptMounts {
    let at = 0;
    return { identities, above: [], read: () => tables[Math.min(at++, tables.length - 1)] };
  }

  test('find a loss of which nothing was announced', async () => {
    const lost = await new Promise<boolean>((resolve) => {
      const mounts = kept([MOUNTED, ''], new Map([['/kept', 'none']]));
      watchMounts(mounts, createRounds(), () => resolve(true));
    });
    expect(lost).toBe(true);
  });

  test('take another mount that comes or goes for no loss', async () => {
    const other = '2 0 8:1 / /other ro - ext4 /dev/x rw\n';
    let calls = 0;
    const mounts = kept([`${MOUNTED}${other}`, MOUNTED], new Map([['/kept', 'none']]));
    const watch = watchMounts(mounts, createRounds(), () => calls++);
    await sleep(1300);
    expect(watch.conclude()).toEqual([]);
    expect(calls).toBe(0);
  });

  test('are none where there is nothing to keep', async () => {
    const mounts: KeptMounts = {
      identities: new Map(),
      above: [],
      read: () => {
        throw new Error('looked');
      },
    };
    const watch = watchMounts(mounts, createRounds(), () => undefined);
    await sleep(150);
    expect(watch.conclude()).toEqual([]);
  });
});
