/** The group of one execution: joined before anything is forked, listed, measured, ended and removed. */
import { existsSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt, succeeds } from '../../base/attempt.ts';
import { type GroupDirectory, readControl } from './control-files.ts';
import {
  type Counters,
  type Enforcement,
  type GroupUsage,
  hasFile,
  NO_COUNTERS,
  readEnforcement,
  readForkRefusals,
  readUsage,
} from './controls.ts';
import { listDirectories, readText } from './hierarchies.ts';

export type ExecutionGroup = ReturnType<typeof createGroup>;

/** No group can have it in its name, since /proc/<pid>/cgroup could not be read then. */
const SEPARATOR = '\n';

const encodePath = (directories: readonly GroupDirectory[]): string =>
  directories.map(({ path }) => path).join(SEPARATOR);

/** A group that is there already. */
export function openGroup(path: string): ExecutionGroup {
  // Version 1 alone lists threads in a file of this name.
  const directories = path.split(SEPARATOR).map(
    (directory): GroupDirectory => ({
      path: directory,
      version: existsSync(join(directory, 'tasks')) ? 1 : 2,
    }),
  );
  return createGroup(directories, () => readEnforcement(directories));
}

/** The first directory has the list of members; the others are there for their limits. */
export function createGroup(
  directories: readonly GroupDirectory[],
  held: () => Enforcement,
  before: Counters = NO_COUNTERS,
) {
  const [main] = directories;
  if (main === undefined) throw new Error('a group without a directory');
  /** Ending in version 1 refuses forks, which are no hits of the limit. */
  let hitsBeforeKill: number | undefined;
  const countHits = (): number | undefined => {
    const hits = readForkRefusals(directories);
    return hits && hits - before.forkRefusals;
  };

  return {
    /** What `openGroup` finds it by after a restart. */
    path: encodePath(directories),
    /** For a shell with one thread that is about to become the command: `echo 0` into each joins the group. */
    joinFiles: directories.map(({ path, version }) => `${path}/${version === 1 ? 'tasks' : 'cgroup.procs'}`),
    /** It has limits: where a file of `joinFiles` cannot be written, nothing may be run. */
    mustJoin: Object.values(held()).some((by) => by !== undefined),
    /** Where the kernel kills one for lack of memory it kills all. */
    killsTogether: directories.some((directory) => hasFile(directory, 'memory.oom.group')),
    /** Pids of everything inside; undefined where the group is gone. */
    members: (): number[] | undefined => (countsNone(main) ? [] : listMembers(main)),
    /** Which limits the kernel keeps for this group. */
    held,
    /** What everything inside uses and has used; undefined where the group is gone. */
    usage: (): GroupUsage | undefined =>
      main.opened !== undefined || existsSync(main.path) ? readUsage(directories, before) : undefined,
    /** How often a limit was hit that refuses instead of killing. */
    limitHits: (): { readonly processes: number | undefined } => ({
      processes: hitsBeforeKill ?? countHits(),
    }),
    /** Ends everything inside at once. */
    kill(): void {
      if (hasFile(main, 'cgroup.kill') && tryWrite(join(main.path, 'cgroup.kill'), '1')) return;
      hitsBeforeKill ??= countHits();
      killOneByOne(main);
    },
    /** Gives it up: its directories go or serve another execution, unless something is left inside. */
    remove(): void {
      for (const directory of directories) removeWithInner(directory.path);
    },
  };
}

/**
 * The argv that joins the group and then becomes the given one: nothing is forked before it is a member. Where the group
 * has limits and cannot be joined, nothing is run (exit code 125).
 *
 * A thread that moves itself needs no lock, whereas a move by `cgroup.procs` waits until no fork is under way anywhere,
 * which takes some 10 ms. A shell has one thread, but only version 1 lets a single one leave its process.
 */
export function joining(
  { joinFiles, mustJoin }: { readonly joinFiles: readonly string[]; readonly mustJoin: boolean },
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): string[] {
  const writes = joinFiles.map((_, index) => `echo 0 > "\${${index + 1}}"`).join(' && ');
  // No variables: an exported one of the same name would be changed. The process stays the same through exec.
  const script = `${writes}${mustJoin ? ' || exit 125' : ''}; shift ${joinFiles.length}; exec "$@"`;
  // A shell drops what cannot be a variable of its own, such as exported functions; env(1) puts it back.
  const odd = Object.entries(environment).filter(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  const restored =
    odd.length === 0 ? [] : ['/usr/bin/env', '--', ...odd.map(([name, value]) => `${name}=${value}`)];
  return ['/bin/sh', '-c', script, 'sh', ...joinFiles, ...restored, ...argv];
}

/** With those of the groups inside, which a server makes that was started by a command. */
function listMembers(directory: GroupDirectory): number[] | undefined {
  const { path, version } = directory;
  try {
    // Not "threads": a process is listed once, and a zombie is not listed at all.
    // Opened each time: version 1 shows the same list again as long as it is open.
    const text = readText(`${path}/cgroup.procs`);
    if (text === undefined) return undefined;
    const own = text === '' ? [] : text.split('\n').map(Number);
    if (!hasInner(path)) return own;
    const inner = listDirectories(path).map((name) => ({ path: join(path, name), version }));
    return [...own, ...inner.flatMap((each) => listMembers(each) ?? [])];
  } catch {
    return undefined;
  }
}

/** What is in it. */
export function contentOf(directories: readonly GroupDirectory[]): 'processes' | 'groups' | 'nothing' {
  if (directories.some(hasProcesses)) return 'processes';
  return directories.some(({ path }) => hasInner(path)) ? 'groups' : 'nothing';
}

const hasProcesses = (directory: GroupDirectory): boolean =>
  !countsNone(directory) && readText(`${directory.path}/cgroup.procs`) !== '';

/** Where they are counted, zombies and those of the groups inside included: cheaper to see than in their list. */
const countsNone = (directory: GroupDirectory): boolean =>
  hasFile(directory, 'pids.current') && readControl(directory, 'pids.current') === '0';

/** A directory is linked from its parent, from itself and from each one inside. */
const hasInner = (path: string): boolean => statSync(path).nlink !== 2;

/** What cgroup.kill does, for version 1: nothing can fork any more, so that two scans find every process. */
function killOneByOne(directory: GroupDirectory): void {
  tryWrite(join(directory.path, 'pids.max'), '0');
  for (let round = 0; round < 2; round++) {
    for (const pid of listMembers(directory) ?? []) {
      if (!(pid > 1) || pid === process.pid || pid === process.ppid) continue;
      // It may have ended by itself.
      attempt(() => process.kill(pid, 'SIGKILL'));
    }
  }
}

export const tryWrite = (path: string, text: string): boolean => succeeds(() => writeFileSync(path, text));

export function removeWithInner(path: string): void {
  for (const inner of listDirectories(path)) removeWithInner(join(path, inner));
  removeQuietly(path);
}

/** Unless it is still populated, or gone already. */
export const removeQuietly = (path: string): void => attempt(() => rmdirSync(path));
