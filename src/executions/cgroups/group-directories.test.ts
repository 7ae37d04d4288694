import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { findProcess } from '../process-table.ts';
import { joining, openGroup } from './group.ts';
import { makeGroup, makePlace } from './group-directories.ts';
import { findHierarchies, type Hierarchy, listDirectories, readText, readWords } from './hierarchies.ts';

// Any controller will do: the rules about processes beside groups are the same for all that are not about threads.
const unified = findHierarchies().find(({ version }) => version === 2);
const mount = unified?.mount ?? '';
const controller = readWords(join(mount, 'cgroup.controllers')).find((name) =>
  ['memory', 'hugetlb', 'io'].includes(name),
);
const cannot = lacks(
  process.getuid?.() !== 0 || controller === undefined,
  'no controller of cgroup v2 that may be handed down',
);

// As a server that is alive: others remove what dead ones left.
const NAME = `mcp-shell-${process.pid}-${findProcess(process.pid)?.startTime}`;

/** This very process goes into a group of the test's own and comes back afterwards. */
describe.skipIf(cannot)('a place in version 2', () => {
  const wanted = [controller ?? ''];
  const ours = join(mount, `mcp-shell-test-${process.pid}`);
  const before = { own: unified?.own ?? '', isHandedDown: false };

  beforeEach(() => {
    before.isHandedDown = readWords(join(mount, 'cgroup.subtree_control')).includes(wanted[0] ?? '');
    writeFileSync(join(mount, 'cgroup.subtree_control'), `+${wanted[0]}`);
    mkdirSync(ours);
    writeFileSync(join(ours, 'cgroup.procs'), '0');
  });

  afterEach(async () => {
    writeFileSync(join(before.own, 'cgroup.procs'), '0');
    writeFileSync(join(ours, 'cgroup.kill'), '1');
    for (let tries = 0; tries < 100 && openGroup(ours).members()?.length !== 0; tries++) await sleep(10);
    openGroup(ours).remove();
    openGroup(join(mount, NAME)).remove();
    if (existsSync(ours)) throw new Error('the group of the test could not be removed');
    if (before.isHandedDown) return;
    try {
      writeFileSync(join(mount, 'cgroup.subtree_control'), `-${wanted[0]}`);
    } catch {
      // Another run uses it.
    }
  });

  const own = (): Hierarchy => {
    const found = findHierarchies().find(({ version }) => version === 2);
    if (found === undefined) throw new Error('no cgroup v2');
    return found;
  };

  test('is in our own group, where the server is alone and can step aside with its children', () => {
    const { pid } = spawn('sleep', ['60']);
    expect(own().own).toBe(ours);
    const place = makePlace(own(), NAME, wanted);
    expect(place).toEqual({ version: 2, directory: join(ours, NAME), controllers: wanted });
    expect(readText(join(ours, 'cgroup.procs'))).toBe('');
    expect(own().own).toBe(join(ours, `${NAME}-server`));
    expect(new Set(openGroup(own().own).members())).toEqual(new Set([process.pid, pid]));
    // Again, as by another part of the server: it does not step aside any further.
    expect(makePlace(own(), NAME, wanted)).toEqual(place);
    expect(listDirectories(ours).toSorted()).toEqual([NAME, `${NAME}-server`]);
  });

  test('is beside our own group, where another process is in it', async () => {
    // A grandchild: nobody that the server may move.
    spawn('sh', ['-c', 'sleep 60 & wait']);
    await expect.poll(() => readWords(join(ours, 'cgroup.procs')).length).toBe(3);
    expect(makePlace(own(), NAME, wanted)).toEqual({
      version: 2,
      directory: join(mount, NAME),
      controllers: wanted,
    });
    expect(own().own).toBe(ours);
    expect(listDirectories(ours)).toEqual([]);
  });

  test('is in our own group and has no controllers, where none is wanted that there is', () => {
    const place = makePlace(own(), NAME, ['no-such-controller']);
    expect(place).toEqual({ version: 2, directory: join(ours, NAME), controllers: [] });
    expect(own().own).toBe(ours);
  });
});

const split = findHierarchies().find(({ controllers }) => controllers.includes('pids'));
const isHybrid = process.getuid?.() === 0 && unified !== undefined && split?.version === 1;

test.skipIf(lacks(!isHybrid, 'no cgroups of both versions'))(
  'a group can be in both versions at once',
  async () => {
    const places = [unified, split].flatMap((tree) => (tree && makePlace(tree, NAME, ['pids'])) ?? []);
    const group = makeGroup(places, 'both', { processes: 4 });
    try {
      expect(group.path.split('\n')).toHaveLength(2);
      expect(group.held()).toMatchObject({ processes: 'cgroup v1' });
      const [file = '', ...args] = joining(group, ['/bin/sh', '-c', 'sleep 60 & setsid env -i sleep 60']);
      const process = spawn(file, args, { stdio: 'ignore' });
      const ended = once(process, 'exit');
      await expect.poll(() => group.members()?.length).toBe(3);
      const usage = group.usage();
      expect([usage?.processes(), usage?.memoryBytes(), usage?.oomKills()]).toEqual([
        3,
        undefined,
        undefined,
      ]);
      expect(group.usage()?.cpuSeconds()).toBeGreaterThan(0);
      group.kill();
      expect(await ended).toEqual([null, 'SIGKILL']);
      await expect.poll(() => group.members()).toEqual([]);
      group.remove();
      expect(group.members()).toBeUndefined();
    } finally {
      group.kill();
      for (const { directory } of places) openGroup(directory).remove();
    }
    expect(places.filter(({ directory }) => existsSync(directory))).toEqual([]);
  },
);
