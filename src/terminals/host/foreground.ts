/**
 * The foreground process group: the one that the terminal's input goes to, and whether it is waiting for it. Asked of the
 * kernel each time, never remembered: between two looks another program may have come to the front.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { findProcess, listChildren, listProcesses, type ProcessEntry } from '../../executions/processes.ts';
import type { FrontInfo } from '../protocol.ts';

export type FrontProcess = ReturnType<typeof describeProcess>;

/** The terminal's own processes. */
export interface Program {
  /** The first one. */
  readonly shell: number;
  /** All others descend from it: the shell, or the first process of the sandbox around it. */
  readonly root: number;
  /** What the first one was started as. */
  readonly argv: readonly string[];
}

export function isShellInFront({ shell }: Program): boolean {
  const entry = findProcess(shell);
  return entry !== undefined && !entry.isZombie && entry.groupId === entry.foregroundGroupId;
}

/**
 * The group's leader first. Without a sandbox an orphan is only found by looking at all processes, which is
 * `isThorough`.
 */
export function lookAtFront({ shell, root }: Program, isThorough = false): FrontProcess[] {
  const groupId = findProcess(shell)?.foregroundGroupId ?? 0;
  return groupId <= 0 ? [] : membersOf(groupId, isThorough ? undefined : root).map(describeProcess);
}

function membersOf(groupId: number, root: number | undefined): ProcessEntry[] {
  const isMember = (entry: ProcessEntry): boolean => entry.groupId === groupId && !entry.isZombie;
  const found = root === undefined ? [] : descendantsOf(root).filter(isMember);
  return (found.length > 0 ? found : listProcesses().filter(isMember)).sort(
    (a, b) => Number(b.pid === groupId) - Number(a.pid === groupId) || a.startTime - b.startTime,
  );
}

/** With itself. */
function descendantsOf(root: number): ProcessEntry[] {
  const pids = [root];
  // It grows while it is walked.
  for (const pid of pids) pids.push(...(listChildren(pid) ?? []));
  return pids.flatMap((pid) => findProcess(pid) ?? []);
}

export function describeProcess(entry: ProcessEntry) {
  const argv = readText(`/proc/${entry.pid}/cmdline`)?.split('\0')[0];
  return {
    pid: entry.pid,
    /** As the kernel has it, cut at 15 characters. */
    name: entry.name,
    /** The program's file; undefined where it cannot be told. */
    path: readLink(`/proc/${entry.pid}/exe`),
    /** The name by which it was called, without its directory. */
    calledAs: argv === undefined || argv === '' ? undefined : basename(argv.replace(/^-/, '')),
  };
}

export const describeFront = (front: readonly FrontProcess[]): FrontInfo[] =>
  front.map(({ pid, name, path }) => ({ pid, name, path }));

type Activity =
  /** Blocked in a read of the terminal. */
  | 'reading'
  /** Waiting for one of several things, of which the terminal is one. */
  | 'listening'
  | 'busy'
  /** Asleep; for what, the kernel does not say. */
  | 'asleep';

/** Numbers of system calls, which differ by architecture. */
const CALLS: Readonly<Record<string, { read: readonly number[]; poll: readonly number[] }>> = {
  x64: { read: [0, 19], poll: [7, 23, 232, 270, 271, 281, 441] },
  arm64: { read: [63, 65], poll: [22, 72, 73, 441] },
};

export type FrontActivity = NonNullable<ReturnType<typeof readActivity>>;

/** What the foreground processes are doing now. */
export function readActivity({ shell, root }: Program) {
  const groupId = findProcess(shell)?.foregroundGroupId ?? 0;
  if (groupId <= 0) return undefined;
  const members = membersOf(groupId, root);
  if (members.length === 0) return undefined;
  const activities = members.map(activityOf);
  // Unchanged means that none did anything.
  const cpuTicks = members.reduce((total, entry) => total + entry.cpuTicks, 0);
  // One that reads is what a person would type to; one that works is what they would wait for.
  const order: readonly Activity[] = ['reading', 'busy', 'listening', 'asleep'];
  const activity = order.find((candidate) => activities.includes(candidate)) ?? 'asleep';
  const readers = members.flatMap((entry, index) => {
    const own = activities[index];
    return own === 'reading' || own === 'listening' ? [{ entry, activity: own }] : [];
  });
  return { activity, cpuTicks, groupId, readers };
}

/** Of many threads, one that reads or listens is enough. */
function activityOf(entry: ProcessEntry): Activity {
  if (entry.state !== 'S') return 'busy';
  const tasks = attempt(() => readdirSync(`/proc/${entry.pid}/task`)) ?? [];
  const activities = tasks.slice(0, MAX_TASKS).map((task) => activityOfTask(entry.pid, task));
  return (['reading', 'listening', 'asleep'] as const).find((each) => activities.includes(each)) ?? 'busy';
}

/** A program with more is no less asleep. */
const MAX_TASKS = 64;

function activityOfTask(pid: number, task: string): Activity {
  const calls = CALLS[process.arch];
  const text = readText(`/proc/${pid}/task/${task}/syscall`);
  if (calls === undefined || text === undefined) return 'asleep';
  const [number = '', first = ''] = text.split(' ');
  if (calls.read.includes(Number(number)))
    return isTerminal(pid, Number.parseInt(first, 16)) ? 'reading' : 'busy';
  if (calls.poll.includes(Number(number))) return readsTerminal(pid) ? 'listening' : 'busy';
  return 'busy';
}

/** Its stdin is the terminal, or it has opened it besides: fzf reads what to choose from elsewhere. */
function readsTerminal(pid: number): boolean {
  if (isTerminal(pid, 0)) return true;
  const fds = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return fds.some((fd) => Number(fd) > 2 && isTerminal(pid, Number(fd)));
}

function isTerminal(pid: number, fd: number): boolean {
  const link = readLink(`/proc/${pid}/fd/${fd}`);
  return link !== undefined && /^\/dev\/(?:pts\/\d+|tty|console)$/.test(link);
}

const readText = (path: string): string | undefined => attempt(() => readFileSync(path, 'utf8').trimEnd());

const readLink = (path: string): string | undefined => attempt(() => readlinkSync(path));

/** The directory that a process is in, as it sees it. */
export const directoryOf = (pid: number): string | undefined => readLink(`/proc/${pid}/cwd`);
