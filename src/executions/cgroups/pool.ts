/**
 * Groups that served an execution and can serve another one. To make and remove the directories of a group costs more
 * than all the rest of it, and commands in a row nearly always have the same limits.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { succeeds } from '../../base/attempt.ts';
import { closeControls, type GroupDirectory, writeControl } from './control-files.ts';
import {
  type Counters,
  enforcementOf,
  hasFile,
  NO_COUNTERS,
  readForkRefusals,
  readUsage,
  type TreeLimits,
  writeLimits,
} from './controls.ts';
import { contentOf, createGroup, type ExecutionGroup, removeWithInner } from './group.ts';
import { makeDirectories, type Place } from './group-directories.ts';

interface Idle {
  readonly key: string;
  readonly directories: readonly GroupDirectory[];
  readonly before: Counters;
}

/** Given up, and looked at so often. */
interface Given {
  readonly one: Idle;
  readonly limits: TreeLimits;
  readonly looks: number;
}

/** As many as a principal may have running. */
const MAX_IDLE = 50;
/** Of those, how many keep their files open: each has eight. */
const MAX_OPEN = 6;
/** Page cache stays charged to the group that filled it: with more than this the next peak would not be its own. */
const MAX_LEFT_BYTES = 1024 * 1024;
/** What the kernel charges ahead for each processor, and takes back at its leisure. */
const AHEAD_BYTES = 256 * 1024 * availableParallelism();
/** After this, and then twice as long each time: the mounts of a sandbox go with its last process, which takes a while. */
const LOOK_AGAIN_MS = 5;
const MAX_LOOKS = 6;
const REMOVE_ATTEMPTS = 60;
const REMOVE_PAUSE_MS = 10;
/** Writing to it makes the peak what is used now. Version 2 cannot do that, so that no such group is used again. */
const PEAK = 'memory.max_usage_in_bytes';

export function createPool() {
  let idle: readonly Idle[] = [];
  /** Not removed: something was left inside, or had not quite gone. */
  let stuck: readonly string[] = [];
  const given = createGiven(giveBack);

  function remove(directories: readonly GroupDirectory[]): void {
    for (const directory of directories) closeControls(directory);
    const paths = [...stuck, ...directories.map(({ path }) => path)];
    for (const path of paths) removeWithInner(path);
    stuck = paths.filter((path) => existsSync(path));
  }

  function takeIdle(key: string, limits: TreeLimits): Idle | undefined {
    const found = idle.find((one) => one.key === key);
    if (found === undefined) return undefined;
    idle = idle.filter((one) => one !== found);
    if (succeeds(() => renew(found, limits))) return found;
    // It was removed meanwhile.
    remove(found.directories);
    return undefined;
  }

  /** The last process of a sandbox reports its end a moment before it is gone. */
  function giveBack({ one, limits, looks }: Given): void {
    const { key, directories } = one;
    const content = contentOf(directories);
    if (looks < MAX_LOOKS && content === 'processes')
      return given.add({ one, limits, looks: looks + 1 }, LOOK_AGAIN_MS * 2 ** looks);
    if (idle.length >= MAX_IDLE || content !== 'nothing' || !isReusable(directories))
      return remove(directories);
    idle = [...idle, { key, directories, before: readCounters(directories, limits) }];
    if (idle.length > MAX_OPEN) for (const directory of directories) closeControls(directory);
  }

  const lend = (one: Idle, limits: TreeLimits): ExecutionGroup =>
    lendGroup(one, limits, (isKilled) => {
      if (isKilled) remove(one.directories);
      else given.add({ one, limits, looks: 0 });
    });

  return {
    /** A group of these places with these limits, made under that name where none is left. Throws where it is refused. */
    take(places: readonly Place[], name: string, limits: TreeLimits): ExecutionGroup {
      given.lookAtDue();
      const key = JSON.stringify([places.map(({ directory }) => directory), limits]);
      return lend(takeIdle(key, limits) ?? make(key, places, name, limits), limits);
    },
    dispose(): void {
      given.lookAtAll();
      remove(idle.flatMap(({ directories }) => directories));
      idle = [];
      for (let attempt = 0; stuck.length > 0 && attempt < REMOVE_ATTEMPTS; attempt++) {
        pause();
        remove([]);
      }
    },
  };
}

/** Those that were given up, and when each is to be looked at: an answer does not wait for that. */
function createGiven(look: (given: Given) => void) {
  let all: readonly { readonly given: Given; readonly dueMs: number }[] = [];
  function lookAtDue(nowMs = performance.now()): void {
    const due = all.filter(({ dueMs }) => dueMs <= nowMs);
    all = all.filter(({ dueMs }) => dueMs > nowMs);
    for (const { given } of due) look(given);
  }
  return {
    add(given: Given, pauseMs = 0): void {
      all = [...all, { given, dueMs: pauseMs === 0 ? 0 : performance.now() + pauseMs }];
      if (pauseMs === 0) setImmediate(lookAtDue);
      // Timers count whole milliseconds.
      else setTimeout(lookAtDue, pauseMs + 1).unref();
    },
    lookAtDue,
    lookAtAll(): void {
      while (all.length > 0) lookAtDue(Number.POSITIVE_INFINITY);
    },
  };
}

/** A process that was killed leaves its group a moment after it was reported dead. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, REMOVE_PAUSE_MS);
}

function make(key: string, places: readonly Place[], name: string, limits: TreeLimits): Idle {
  const directories = makeDirectories(places, name).map((each) => ({ ...each, opened: new Map() }));
  for (const directory of directories) writeLimits(directory, limits);
  return { key, directories, before: NO_COUNTERS };
}

/** Limits are written even so: a command without a sandbox may have changed those of its own group. */
function renew({ directories }: Idle, limits: TreeLimits): void {
  for (const directory of directories) {
    writeLimits(directory, limits);
    if (hasFile(directory, PEAK)) writeControl(directory, PEAK, 0);
  }
}

/** For one execution: an object that is used afterwards must not reach the next one's processes. */
function lendGroup(
  { directories, before }: Idle,
  limits: TreeLimits,
  onRemoved: (isKilled: boolean) => void,
): ExecutionGroup {
  const held = enforcementOf(directories, limits);
  const group = createGroup(directories, () => held, before);
  let isKilled = false;
  let isOver = false;
  return {
    ...group,
    members: () => (isOver ? undefined : group.members()),
    usage: () => (isOver ? undefined : group.usage()),
    limitHits: () => (isOver ? { processes: undefined } : group.limitHits()),
    kill() {
      isKilled = true;
      if (!isOver) group.kill();
    },
    remove() {
      if (isOver) return;
      isOver = true;
      onRemoved(isKilled);
    },
  };
}

/** As it was made, and with next to nothing charged to it. */
function isReusable(directories: readonly GroupDirectory[]): boolean {
  if (directories.some((directory) => hasFile(directory, 'memory.current'))) return false;
  return (readUsage(directories).memoryBytes() ?? 0) <= MAX_LEFT_BYTES + AHEAD_BYTES;
}

function readCounters(directories: readonly GroupDirectory[], limits: TreeLimits): Counters {
  const usage = readUsage(directories);
  return {
    oomKills: (limits.memoryBytes === undefined ? undefined : usage.oomKills()) ?? 0,
    forkRefusals: (limits.processes === undefined ? undefined : readForkRefusals(directories)) ?? 0,
    cpuSeconds: (limits.cpuSeconds === undefined ? undefined : usage.cpuSeconds()) ?? 0,
  };
}
