/**
 * A cgroup of the server's own, from the systemd of its user: a scope with `Delegate=yes` into which systemd moves the
 * server. Only systemd can do that from a login session, because a process is moved by someone who may write to the
 * group above both, and that one belongs to root.
 *
 * The scope ends with the user's systemd. So nothing moves whose life that would shorten: in a login session the user
 * has to linger. Nothing moves that a service of systemd follows, and limits of the group that is left go along.
 */
import { execFile } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { attempt } from '../../base/attempt.ts';
import { ancestorsOf } from '../orphans.ts';
import { findProcess, listChildren } from '../process-table.ts';
import { findHierarchies, type Hierarchy, readText, readWords } from './hierarchies.ts';

/** A scope that was made for a server, which is alone in it with everything that it has started. */
export const OWN_SCOPE = /\/mcp-shell-server-\d+-\d+\.scope$/;

/** Of all of it. systemd answers within 20 ms, unless the machine is very busy. */
const MOVE_MS = 5000;
const LOOK_MS = 5;
/** Of children that were forked in the old group while we were moved. */
const ATTACH_ROUNDS = 3;
const BUSCTL = '/usr/bin/busctl';
const LINGERING = '/var/lib/systemd/linger';

/**
 * What moves this process and its children, once; undefined where there is nothing to move or nobody to ask. Resolves to
 * false where children stayed behind: what they start may not be able to join a group in the scope.
 */
export function planMove(): (() => Promise<boolean>) | undefined {
  const uid = process.getuid?.();
  const self = findProcess(process.pid);
  if (process.platform !== 'linux' || uid === undefined || uid === 0 || self === undefined) return undefined;
  const hierarchies = findHierarchies();
  const unified = hierarchies.find(({ version }) => version === 2);
  if (
    unified === undefined ||
    hierarchies.some(({ controllers, version }) => version === 1 && controllers.includes('memory'))
  )
    return undefined;
  const lingers = existsSync(join(LINGERING, userInfo().username));
  if (!mayLeave(pathOf(unified), uid, lingers) || isAlone(unified)) return undefined;
  const runtimeDirectory = `/run/user/${uid}`;
  if (!existsSync(BUSCTL) || !isTrustedBus(runtimeDirectory, uid)) return undefined;
  const name = `mcp-shell-server-${self.pid}-${self.startTime}.scope`;
  const limits = limitsAround(unified, uid);
  return () => move(name, limits, runtimeDirectory);
}

/** Whether a process in that group may move to a scope: it lives as long there, and nobody loses track of it. */
export function mayLeave(path: string, uid: number, lingers: boolean): boolean {
  const user = `/user.slice/user-${uid}.slice/`;
  if (!path.startsWith(user) || !path.endsWith('.scope') || OWN_SCOPE.test(path)) return false;
  const below = path.slice(user.length);
  return below.startsWith(`user@${uid}.service/`) || (lingers && /^session-[^/]+\.scope$/.test(below));
}

/** Where another user could have made the socket, commands would get what that user says. */
export function isTrustedBus(runtimeDirectory: string, uid: number): boolean {
  const directory = attempt(() => lstatSync(runtimeDirectory));
  const socket = attempt(() => lstatSync(join(runtimeDirectory, 'bus')));
  return (
    directory?.isDirectory() === true &&
    directory.uid === uid &&
    (directory.mode & 0o077) === 0 &&
    socket?.isSocket() === true &&
    socket.uid === uid
  );
}

const pathOf = ({ own, mount }: Hierarchy): string => own.slice(mount.length);

/** Then the group can be divided as it is. */
function isAlone({ own }: Hierarchy): boolean {
  return readWords(join(own, 'cgroup.procs'))
    .map(Number)
    .every((pid) => pid === process.pid || ancestorsOf(pid).includes(process.pid));
}

function descendantsOf(ancestor: number): number[] {
  const found = [ancestor];
  for (const pid of found) found.push(...(listChildren(pid) ?? []));
  return found.slice(1);
}

/** A property of systemd's with its type and value. */
type Property = readonly [name: string, type: string, ...value: (string | number)[]];

const LIMITS = {
  'memory.max': 'MemoryMax',
  'memory.high': 'MemoryHigh',
  'memory.swap.max': 'MemorySwapMax',
  'pids.max': 'TasksMax',
} as const;

/** The tightest of the groups that are left, up to the one of the user, in which the scope is as well. */
function limitsAround({ own, mount }: Hierarchy, uid: number): Property[] {
  const groups: string[] = [];
  const top = join(mount, 'user.slice', `user-${uid}.slice`);
  for (let group = own; group !== top && group.length > top.length; group = dirname(group))
    groups.push(group);
  return tightest(groups.map((group) => (file: string) => readText(join(group, file))));
}

export function tightest(groups: readonly ((file: string) => string | undefined)[]): Property[] {
  const least = (file: string, parse: (text: string) => number): number =>
    Math.min(...groups.map((read) => parse(read(file) ?? 'max')).filter((limit) => !Number.isNaN(limit)));
  const properties = Object.entries(LIMITS).map(([file, name]): Property => [name, 't', least(file, Number)]);
  const share = least('cpu.max', (text) => {
    const [quota, period] = text.split(' ').map(Number);
    return (quota ?? Number.NaN) / (period ?? Number.NaN);
  });
  const cpu: Property = ['CPUQuotaPerSecUSec', 't', Math.round(share * 1_000_000)];
  return [...properties, cpu].filter(([, , limit]) => limit !== Number.POSITIVE_INFINITY);
}

async function move(name: string, limits: readonly Property[], runtimeDirectory: string): Promise<boolean> {
  const deadline = AbortSignal.timeout(MOVE_MS);
  const call = (method: string, signature: string, ...args: readonly (string | number)[]) =>
    callManager(runtimeDirectory, [method, signature, ...args.map(String)], deadline);
  await call('StartTransientUnit', 'ssa(sv)a(sa(sv))', name, 'fail', ...describeUnit(limits));
  // The answer comes when the job is queued.
  while (!isIn(process.pid, name)) await sleep(LOOK_MS, undefined, { signal: deadline });
  for (let round = 0; round < ATTACH_ROUNDS; round++) {
    const left = descendantsOf(process.pid).filter((pid) => !isIn(pid, name));
    if (left.length === 0) return true;
    for (const pid of left) {
      // One that has ended meanwhile cannot be moved.
      await call('AttachProcessesToUnit', 'ssau', name, '', 1, pid).catch(() => undefined);
    }
  }
  return false;
}

export function describeUnit(limits: readonly Property[]): (string | number)[] {
  const properties: Property[] = [
    ['Description', 's', 'Commands of mcp-shell-server'],
    ['PIDs', 'au', 1, process.pid],
    ['Delegate', 'b', 'true'],
    ['CollectMode', 's', 'inactive-or-failed'],
    ...limits,
  ];
  return [properties.length, ...properties.flat(), 0];
}

/** The environment is ours: a variable could name another bus. */
async function callManager(
  runtimeDirectory: string,
  call: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const manager = [
    'org.freedesktop.systemd1',
    '/org/freedesktop/systemd1',
    'org.freedesktop.systemd1.Manager',
  ];
  const environment = {
    PATH: '/usr/bin:/bin',
    XDG_RUNTIME_DIR: runtimeDirectory,
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${runtimeDirectory}/bus`,
  };
  await execFileAsync(BUSCTL, ['--user', '--quiet', 'call', ...manager, ...call], {
    env: environment,
    cwd: '/',
    signal,
  });
}

const execFileAsync = promisify(execFile);

const isIn = (pid: number, scope: string): boolean =>
  readText(`/proc/${pid}/cgroup`)?.includes(`/${scope}`) ?? true;
