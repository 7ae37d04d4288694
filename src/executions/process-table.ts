/**
 * What the kernel knows about processes. A pid alone is never an identity: it is reused; a pid with its start time
 * is not (and across reboots, with the boot id).
 */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { attempt, attemptOr } from '../base/attempt.ts';
import { findBootId } from '../base/boot.ts';
import { errnoOf } from '../base/errors.ts';
import { once } from '../base/once.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot on Linux, seconds since the epoch elsewhere; only compared, never shown. */
  readonly startTime: number;
}

export interface ProcessEntry extends ProcessIdentity {
  readonly parentPid: number;
  readonly groupId: number;
  readonly sessionId: number;
  /** The group that its terminal's input goes to; -1 where it has none, or it cannot be told. */
  readonly foregroundGroupId: number;
  /** R, S, D, T, Z as ps shows them. */
  readonly state: string;
  /** Dead but not yet collected by its parent: it cannot be signalled and does nothing. */
  readonly isZombie: boolean;
  readonly name: string;
  readonly cpuTicks: number;
  /** Of children that ended and were waited for, and of theirs. */
  readonly childTicks: number;
  readonly residentBytes: number;
  readonly threads: number;
  /** Where its stack begins, which differs with each program that is executed; 0 where it cannot be told. */
  readonly stackStart: number;
}

const PAGE_BYTES = 4096;
/** USER_HZ, which is 100 on every architecture Node runs on. */
export const TICKS_PER_SECOND = 100;
const isLinux = process.platform === 'linux';

/** All processes that can be seen. */
export function listProcesses(): ProcessEntry[] {
  return isLinux ? readdirSync('/proc').flatMap((name) => findProcess(Number(name)) ?? []) : listWithPs();
}

/** One process, or undefined where there is none of that number. */
export function findProcess(pid: number): ProcessEntry | undefined {
  if (!(pid > 0)) return undefined;
  if (!isLinux) return listWithPs().find((entry) => entry.pid === pid);
  return attempt(() => {
    const entry = parseStat(readSmall(`/proc/${pid}/stat`));
    return entry.state === 'Z' && !entry.isZombie
      ? { ...entry, residentBytes: residentOfThreads(pid) }
      : entry;
  });
}

/** Of a process whose first thread has ended, which the kernel then counts with nothing. */
function residentOfThreads(pid: number): number {
  const resident = readdirSync(`/proc/${pid}/task`).map(
    (thread) => attempt(() => parseStat(readSmall(`/proc/${pid}/task/${thread}/stat`)).residentBytes) ?? 0,
  );
  return Math.max(0, ...resident);
}

/** The very process that was meant, as it is now; undefined where it has ended. */
export function findAlive({ pid, startTime }: ProcessIdentity): ProcessEntry | undefined {
  const entry = findProcess(pid);
  return entry?.startTime === startTime && !entry.isZombie ? entry : undefined;
}

export const isAlive = (identity: ProcessIdentity): boolean => findAlive(identity) !== undefined;

/** True where there is a process of this number, or with a negative one a member of that group; zombies count. */
export const exists = (pid: number): boolean =>
  attemptOr(
    () => process.kill(pid, 0),
    (error) => errnoOf(error) === 'EPERM',
  );

/** True where the process was started with this variable in its environment (Linux; elsewhere never). */
export function hasEnvironmentEntry(pid: number, entry: string): boolean {
  const name = entry.slice(0, entry.indexOf('=') + 1);
  return readEnvironmentEntries(pid, [name])?.includes(entry) ?? false;
}

/**
 * The entries of a process's environment that begin with one of these ("NAME="). Undefined where there is nothing to
 * read: another user's process, one with no environment at all, or one that is just executing a program.
 */
export function readEnvironmentEntries(pid: number, prefixes: readonly string[]): string[] | undefined {
  if (!isLinux) return undefined;
  const environment = attempt(() => readFileSync(`/proc/${pid}/environ`, 'latin1')) ?? '';
  if (environment === '') return undefined;
  return prefixes.flatMap((prefix) => {
    const found: string[] = [];
    for (let at = environment.indexOf(prefix); at !== -1; at = environment.indexOf(prefix, at + 1)) {
      if (at !== 0 && environment[at - 1] !== '\0') continue;
      const end = environment.indexOf('\0', at);
      found.push(environment.slice(at, end === -1 ? undefined : end));
    }
    return found;
  });
}

/** True where the process was started with no environment at all, as `env -i` does. */
export const hasEmptyEnvironment = (pid: number): boolean =>
  attempt(() => readFileSync(`/proc/${pid}/environ`).length) === 0;

/** True where the process has one of these open, as its descriptors link to them: a pipe nearly always by inheritance. */
export const holdsOpen = (pid: number, links: ReadonlySet<string>): boolean =>
  links.size > 0 &&
  (attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? []).some((fd) =>
    links.has(attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''),
  );
/** Pids of a process's children; undefined where the kernel does not list them. */
export function listChildren(pid: number): number[] | undefined {
  if (!isLinux) return undefined;
  return attempt(() => readdirSync(`/proc/${pid}/task`).flatMap((task) => listChildrenOf(pid, task)));
}

/** A process is the child of the thread that forked it. */
function listChildrenOf(pid: number, task: number | string): number[] {
  const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** These and all that descend from them and are alive; undefined where the kernel does not list children. */
export function listDescendants(roots: readonly ProcessEntry[]): ProcessEntry[] | undefined {
  if (!listsChildren()) return undefined;
  const found = new Map(roots.map((entry) => [entry.pid, entry]));
  // A map is walked in the order in which it grows.
  for (const { pid, threads } of found.values()) {
    const children = threads === 1 ? attempt(() => listChildrenOf(pid, pid)) : listChildren(pid);
    for (const child of children ?? []) {
      const entry = found.has(child) ? undefined : findProcess(child);
      if (entry !== undefined) found.set(child, entry);
    }
  }
  return [...found.values()];
}

/** Since Linux 3.5, if it was built with it. */
const listsChildren = once(() => isLinux && existsSync(`/proc/self/task/${process.pid}/children`));

/** The number of the process that was made last: while it stays the same, nobody has forked. */
export const readLastPid = (): number =>
  Number(
    attempt(() => readSmall('/proc/loadavg'))
      ?.trim()
      .split(' ')
      .at(-1),
  );

/** What a process has in memory without files and shared memory; with what it shares with those it forked. */
export function readAnonymousBytes(pid: number): number {
  const text = attempt(() => readSmall(`/proc/${pid}/statm`)) ?? '';
  const [, resident = 0, shared = 0] = text.split(' ').map(Number);
  return (resident - shared) * PAGE_BYTES;
}

/** The most memory that a process ever had; undefined where it has ended. */
export function readPeakBytes(pid: number): number | undefined {
  const text = attempt(() => readSmall(`/proc/${pid}/status`)) ?? '';
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/**
 * What a process has mapped of shared memory, files in memory included. Where it is about to end, that may be all that it
 * had when it was looked at.
 */
export function readSharedMemoryBytes({ pid, residentBytes }: ProcessEntry): number {
  const text = attempt(() => readSmall(`/proc/${pid}/status`)) ?? '';
  if (!text.includes('\nVmRSS:')) return residentBytes;
  return Number(/^RssShmem:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}

/** Changes with every boot, so that a pid and start time of an earlier one are not mistaken. */
export function readBootId(): string {
  const id = findBootId();
  if (id !== undefined) return id;
  const boot = spawnSync('/usr/sbin/sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8', env: {} });
  return boot.status === 0 ? boot.stdout.trim() : 'unknown';
}

/** In which namespace our pids mean something; empty where there are none. */
export const readPidNamespace = (): string => attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '';

/** A file of the kernel that is shorter than this: one read, where `readFileSync` needs three calls more. */
const SMALL_BYTES = 4096;

function readSmall(path: string): string {
  const fd = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(SMALL_BYTES);
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, SMALL_BYTES, 0));
  } finally {
    closeSync(fd);
  }
}

/** Fields of /proc/<pid>/stat after the last ")": a process may have put anything in its name. */
function parseStat(stat: string): ProcessEntry {
  const nameEnd = stat.lastIndexOf(')');
  const nameStart = stat.indexOf('(');
  const fields = stat.slice(nameEnd + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    pid: Number(stat.slice(0, nameStart - 1)),
    name: stat.slice(nameStart + 1, nameEnd),
    // Its first thread may have ended while others go on.
    isZombie: (fields[0] === 'Z' && field(20) <= 1) || fields[0] === 'X',
    parentPid: field(4),
    groupId: field(5),
    sessionId: field(6),
    foregroundGroupId: field(8),
    state: fields[0] ?? '',
    cpuTicks: field(14) + field(15),
    childTicks: field(16) + field(17),
    startTime: field(22),
    residentBytes: field(24) * PAGE_BYTES,
    threads: field(20),
    stackStart: field(28),
  };
}

/** macOS and the BSDs: one `ps` for everything. Not tried by the authors. */
function listWithPs(): ProcessEntry[] {
  const columns = 'pid=,ppid=,pgid=,tpgid=,stat=,rss=,time=,lstart=,ucomm=';
  const ps = spawnSync('/bin/ps', ['-axo', columns], { encoding: 'utf8', env: { LC_ALL: 'C' } });
  if (ps.status !== 0) return [];
  return ps.stdout.split('\n').flatMap((line): ProcessEntry[] => {
    const match =
      /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(\S+)\s+(\d+)\s+(\S+)\s+(\w{3} \w{3}\s+\d+ [\d:]+ \d{4})\s+(.*)$/.exec(
        line,
      );
    if (match === null) return [];
    const [, pid, parentPid, groupId, front, state = '', residentKib, time = '', started = '', name = ''] =
      match;
    return [
      {
        pid: Number(pid),
        parentPid: Number(parentPid),
        groupId: Number(groupId),
        // Sessions have no numbers there; the group is what is left.
        sessionId: Number(groupId),
        foregroundGroupId: Number(front),
        state: state.slice(0, 1),
        isZombie: state.startsWith('Z'),
        residentBytes: Number(residentKib) * 1024,
        threads: 1,
        stackStart: 0,
        cpuTicks: parsePsTime(time) * TICKS_PER_SECOND,
        // `ps` does not report it.
        childTicks: 0,
        startTime: Math.floor(Date.parse(started) / 1000),
        name,
      },
    ];
  });
}

/** "[[dd-]hh:]mm:ss.cc" in seconds. */
function parsePsTime(text: string): number {
  const [clock = '', days] = text.split('-').reverse();
  const seconds = clock.split(':').reduce((total, part) => total * 60 + Number(part), 0);
  return seconds + Number(days ?? 0) * 86_400;
}
