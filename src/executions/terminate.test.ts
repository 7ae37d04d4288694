import { closeSync, existsSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { lacks, needs } from '../../test/setup/needs.ts';
import { createWorld, outcomeOf, untilPrinted, type World } from '../../test/support/world.ts';
import { findProcess, isAlive, listChildren, listProcesses, type ProcessEntry } from './process-table.ts';
import { terminateTree } from './terminate.ts';
import { createTree, sendSignal } from './tree.ts';

/** The eight ways to get away from one's parent; each leaves its pid in a file of its own. */
const ESCAPEES = `
note() { echo "$2" > "pid-$1"; }
sleep 300 & note plain $!
setsid sh -c 'echo $$ > pid-setsid; exec sleep 300' &
(setsid sh -c 'echo $$ > pid-deep; sleep 300 & echo $! > pid-deep-child; wait' &)
nohup sh -c 'echo $$ > pid-nohup; exec sleep 300' > /dev/null 2>&1 &
env -i setsid sh -c 'echo $$ > pid-cleared; exec sleep 300' &
python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("pid-double", "w").write(str(os.getpid()))
        time.sleep(300)
    os._exit(0)
' &
sh -c 'trap "" TERM; echo $$ > pid-stubborn; while :; do sleep 1; done' &
sh -c 'echo $$ > pid-stopped; kill -STOP $$; sleep 300' &
`;
const NAMES = ['plain', 'setsid', 'deep', 'deep-child', 'nohup', 'cleared', 'double', 'stubborn', 'stopped'];

async function pidsOf(world: World, names: readonly string[]): Promise<Map<string, number>> {
  const pids = new Map<string, number>();
  for (let tries = 0; tries < 200 && pids.size < names.length; tries++) {
    for (const name of names) {
      const path = join(world.settings.defaultWorkdir, `pid-${name}`);
      const pid = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
      if (pid > 0) pids.set(name, pid);
    }
    await sleep(25);
  }
  return pids;
}

function alive(pids: ReadonlyMap<string, number>): string[] {
  return [...pids].flatMap(([name, pid]) => {
    const entry = findProcess(pid);
    return entry === undefined || entry.isZombie ? [] : [name];
  });
}

const pidsIn = (entries: readonly ProcessEntry[]): number[] =>
  entries.map(({ pid }) => pid).toSorted((a, b) => a - b);

function namespaceOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return '';
  }
}

const lacksBubblewrap = lacks(process.platform !== 'linux', 'bubblewrap is for Linux') || needs('bwrap');

describe('a complete kill', () => {
  test('a timeout ends everything that tried to get away', async () => {
    await using world = createWorld();
    const execution = await world.start(`${ESCAPEES}\nsleep 300`, { timeoutMs: 2000 });
    const pids = await pidsOf(world, NAMES);
    expect([...pids.keys()].toSorted()).toEqual(NAMES.toSorted());
    const outcome = await outcomeOf(execution);
    expect(outcome).toMatchObject({
      status: 'timeout',
      reason: 'timeout',
      errorCode: 'EXECUTION_002',
      survivors: [],
    });
    expect(alive(pids)).toEqual([]);
  });

  test('what a shell leaves behind when it ends is ended with it and named', async () => {
    await using world = createWorld();
    const execution = await world.start(`${ESCAPEES}\nsleep 1; exit 3`);
    const isComplete = execution.live?.tree.isComplete === true;
    const outcome = await outcomeOf(execution);
    const pids = await pidsOf(world, NAMES);
    // Without a cgroup nothing ties an orphan to us that has cleared its environment: it is named, and left.
    const left = isComplete ? [] : ['cleared'];
    const survivors = left.map((name) => ({ pid: pids.get(name), name: 'sleep' }));
    expect(outcome).toMatchObject({ status: 'failed', reason: 'exit', exitCode: 3, survivors });
    expect(outcome.endedLeftovers.length).toBeGreaterThanOrEqual(8);
    expect(alive(pids)).toEqual(left);
    for (const { pid = 0 } of survivors) process.kill(pid, 'SIGKILL');
    expect(execution.live).toBeUndefined();
  });

  test('a child in the background does not hold the answer', async () => {
    await using world = createWorld();
    const { outcome, stdout } = await world.run('sleep 300 & echo hi');
    expect({ stdout, status: outcome.status }).toEqual({ stdout: 'hi\n', status: 'completed' });
    expect(outcome.endedLeftovers).toHaveLength(1);
  });

  test('without a cgroup the marker, the session and the descendants find all but a cleared environment', async () => {
    await using world = createWorld();
    const execution = await world.start(`${ESCAPEES}\nsleep 300`);
    const pids = await pidsOf(world, NAMES);
    const { live } = execution;
    if (live === undefined) throw new Error('not running');
    const blind = createTree({
      leader: live.tree.leader,
      marker: live.process.marker,
      group: undefined,
    });
    const found = new Set(blind.members().map(({ pid }) => pid));
    const missed = [...pids].filter(([, pid]) => !found.has(pid)).map(([name]) => name);
    expect(missed.filter((name) => name !== 'cleared')).toEqual([]);
    await live.end('terminated', 'SIGKILL');
    await outcomeOf(execution);
    expect(alive(pids)).toEqual([]);
  });

  test('without a cgroup many ladders at once end all but a cleared environment', async () => {
    await using world = createWorld();
    const started = await Promise.all(
      Array.from({ length: 8 }, () =>
        world.start(
          'sleep 300 & setsid sleep 300 & (setsid sh -c "sleep 300 & wait" &) ; trap "" TERM; echo up; while :; do sleep 300; done',
        ),
      ),
    );
    const trees = await Promise.all(
      started.map(async (execution) => {
        await untilPrinted(execution, 'up');
        const { live } = execution;
        if (live === undefined) throw new Error('not running');
        const blind = createTree({ leader: live.tree.leader, marker: live.process.marker, group: undefined });
        // The shell, what it sleeps with, two children, and an orphan with a child of its own.
        await expect.poll(() => blind.members().length).toBe(6);
        expect(pidsIn(await blind.membersTogether())).toEqual(pidsIn(blind.members()));
        expect(pidsIn(await blind.membersForCertain())).toEqual(pidsIn(blind.members()));
        return blind;
      }),
    );
    const members = trees.map((tree) => tree.members());
    const survivors = await Promise.all(
      trees.map((tree) => terminateTree(tree, { signal: 'SIGTERM', graceMs: 100 })),
    );
    expect(survivors.flat()).toEqual([]);
    expect(members.flat().filter((entry) => isAlive(entry))).toEqual([]);
    for (const execution of started) await outcomeOf(execution);
  });

  test.skipIf(lacksBubblewrap)('a sandbox has everybody, whatever they did, and leaves nobody', async () => {
    await using world = createWorld({ settings: { security: { sandbox: 'required' } } });
    const execution = await world.start(`${ESCAPEES}\nsleep 300`);
    const pids = await pidsOf(world, NAMES);
    expect([...pids.keys()].toSorted()).toEqual(NAMES.toSorted());
    const { live } = execution;
    if (live === undefined) throw new Error('not running');
    const members = live.tree.members();
    const own = namespaceOf(process.pid);
    const member = members.find(({ pid }) => !['', own].includes(namespaceOf(pid)))?.pid ?? 0;
    const namespace = namespaceOf(member);
    // While it is open, no other namespace gets its number.
    const held = openSync(`/proc/${member}/ns/pid`, 'r');
    // Its first process keeps its namespaces to itself before all but root.
    const [init = 0] = listChildren(live.tree.leader.pid) ?? [];
    expect([namespace, '']).toContain(namespaceOf(init));
    const isInside = (pid: number): boolean => pid === init || namespaceOf(pid) === namespace;
    const inside = listProcesses().filter(({ pid, isZombie }) => !isZombie && isInside(pid));
    expect(inside.length).toBeGreaterThanOrEqual(NAMES.length + 2);
    // Besides, there is the process outside that waits for the namespace.
    const outside = members.filter(({ pid }) => !isInside(pid));
    expect(pidsIn(outside)).toEqual([live.tree.leader.pid]);
    expect(pidsIn(members)).toEqual([live.tree.leader.pid, ...pidsIn(inside)].toSorted((a, b) => a - b));
    await live.end('terminated', 'SIGKILL');
    expect(await outcomeOf(execution)).toMatchObject({ reason: 'terminated', survivors: [] });
    expect(members.filter((entry) => isAlive(entry))).toEqual([]);
    const left = listProcesses().filter(({ pid, isZombie }) => !isZombie && namespaceOf(pid) === namespace);
    closeSync(held);
    expect(left).toEqual([]);
  });

  test('a trap on TERM has time to clean up', async () => {
    await using world = createWorld();
    const execution = await world.start(
      `trap 'echo cleaned > trapped; exit 7' TERM; echo up; while :; do sleep 0.05; done`,
    );
    await untilPrinted(execution, 'up');
    await execution.live?.end('terminated');
    const outcome = await outcomeOf(execution);
    expect(outcome).toMatchObject({ status: 'failed', reason: 'terminated', exitCode: 7 });
    expect(readFileSync(join(world.settings.defaultWorkdir, 'trapped'), 'utf8')).toBe('cleaned\n');
  });
});

describe('signals', () => {
  test('never go to ourselves, to our parent, to init, or to a number that means a group', () => {
    for (const pid of [process.pid, process.ppid, 1, 0, -1]) {
      const startTime = findProcess(pid)?.startTime ?? 0;
      expect(sendSignal({ pid, startTime }, 'SIGCONT'), String(pid)).toBe(false);
    }
  });

  test('never go to a process that merely has the number of one we knew', async () => {
    await using world = createWorld();
    const execution = await world.start('sleep 300');
    const leader = execution.live?.tree.leader ?? { pid: 0, startTime: 0 };
    expect(sendSignal({ pid: leader.pid, startTime: leader.startTime - 1 }, 'SIGKILL')).toBe(false);
    expect(sendSignal(leader, 'SIGKILL')).toBe(true);
    expect(await outcomeOf(execution)).toMatchObject({
      status: 'failed',
      reason: 'signal',
      signal: 'SIGKILL',
    });
  });
});

test('a tree whose leader is not known has no members but those that carry its marker', async () => {
  await using world = createWorld();
  const execution = await world.start('sleep 300');
  const leader = { pid: 0, startTime: 0 };
  const nobody = createTree({
    leader,
    marker: 'MCP_SHELL_EXECUTION=nobody',
    group: undefined,
  });
  expect(nobody.members()).toEqual([]);
  const marker = execution.live?.process.marker ?? '';
  const found = createTree({ leader, marker, group: undefined }).members();
  expect(found.map(({ pid }) => pid)).toEqual([execution.record.process?.pid]);
});

test('a cgroup has everything that was started, from the first fork on, and goes with the server', async () => {
  let path: string | undefined;
  {
    await using world = createWorld();
    for (let round = 0; round < 5; round++) {
      const execution = await world.start('sleep 300 & env -i setsid sleep 300 > /dev/null 2>&1 & wait');
      path = execution.live?.process.group;
      if (path === undefined) return;
      await expect.poll(() => execution.live?.tree.members().length).toBe(3);
      expect(readFileSync(join(path, 'cgroup.procs'), 'utf8').trim().split('\n')).toHaveLength(3);
      await execution.live?.end('terminated', 'SIGKILL');
      await outcomeOf(execution);
      expect(existsSync(path)).toBe(false);
    }
  }
  expect(existsSync(join(path ?? '', '..'))).toBe(false);
});
