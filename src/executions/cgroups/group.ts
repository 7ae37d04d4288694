/** The group of one execution: joined before anything is forked, listed, measured, ended and removed. */
import { existsSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Enforcement,
  type GroupDirectory,
  type GroupUsage,
  readEnforcement,
  readForkRefusals,
  readUsage,
} from './controls.ts';
import { listDirectories } from './hierarchies.ts';

export interface ExecutionGroup {
  /** What `openGroup` finds it by after a restart. */
  readonly path: string;
  /**
   * The argv that joins the group and then becomes the given one: nothing is forked before it is a member. Where the
   * group has limits and cannot be joined, nothing is run (exit code 125).
   */
  joining(argv: readonly string[], environment?: Readonly<Record<string, string>>): string[];
  /** Into each of them a process writes "0" before it does anything else. */
  readonly joinFiles: readonly string[];
  /** It has limits, without which nothing must run. */
  readonly mustJoin: boolean;
  /** Pids of everything inside; undefined where the group is gone. */
  members(): number[] | undefined;
  /** Which limits the kernel keeps for this group. */
  held(): Enforcement;
  /** What everything inside uses and has used; undefined where the group is gone. */
  usage(): GroupUsage | undefined;
  /** How often a limit was hit that refuses instead of killing. */
  limitHits(): { readonly processes: number | undefined };
  /** Ends everything inside at once. */
  kill(): void;
  /** Takes the directories away; does nothing while something is left inside. */
  remove(): void;
}

/** No group can have it in its name, since /proc/<pid>/cgroup could not be read then. */
const SEPARATOR = '\n';

export const encodePath = (directories: readonly GroupDirectory[]): string =>
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
  // The first one has the list of members; the others are there for their limits.
  const main = directories[0]?.path ?? path;
  /** Ending in version 1 refuses forks, which are no hits of the limit. */
  let hitsBeforeKill: number | undefined;

  return {
    path,
    joinFiles: joinFiles(directories),
    get mustJoin() {
      const { memory, processes, cpu } = readEnforcement(directories);
      return [memory, processes, cpu].some((held) => held !== undefined);
    },
    joining: (argv, environment = {}) => joining(directories, argv, environment),
    members: () => listMembers(main),
    held: () => readEnforcement(directories),
    usage: () => (existsSync(main) ? readUsage(directories) : undefined),
    limitHits: () => ({ processes: hitsBeforeKill ?? readForkRefusals(directories) }),
    kill() {
      if (tryWrite(join(main, 'cgroup.kill'), '1')) return;
      hitsBeforeKill ??= readForkRefusals(directories);
      killOneByOne(main);
    },
    remove() {
      for (const directory of directories) removeWithInner(directory.path);
    },
  };
}

/**
 * A thread that moves itself needs no lock, whereas a move by `cgroup.procs` waits until no fork is under way anywhere,
 * which takes some 10 ms. A shell has one thread, but only version 1 lets a single one leave its process.
 */
const joinFiles = (directories: readonly GroupDirectory[]): string[] =>
  directories.map(({ path, version }) => join(path, version === 1 ? 'tasks' : 'cgroup.procs'));

function joining(
  directories: readonly GroupDirectory[],
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): string[] {
  const files = joinFiles(directories);
  const writes = files.map((_, index) => `echo 0 > "\${${index + 1}}"`).join(' && ');
  const { memory, processes, cpu } = readEnforcement(directories);
  const isLimited = [memory, processes, cpu].some((held) => held !== undefined);
  // No variables: an exported one of the same name would be changed. The process stays the same through exec.
  const script = `${writes}${isLimited ? ' || exit 125' : ''}; shift ${files.length}; exec "$@"`;
  // A shell drops what cannot be a variable of its own, such as exported functions; env(1) puts it back.
  const odd = Object.entries(environment).filter(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  const restored =
    odd.length === 0 ? [] : ['/usr/bin/env', ...odd.map(([name, value]) => `${name}=${value}`)];
  return ['/bin/sh', '-c', script, 'sh', ...files, ...restored, ...argv];
}

/** With those of the groups inside, which a server makes that was started by a command. */
function listMembers(path: string): number[] | undefined {
  try {
    // Not "threads": a process is listed once, and a zombie is not listed at all.
    const text = readFileSync(join(path, 'cgroup.procs'), 'latin1').trim();
    const own = text === '' ? [] : text.split('\n').map(Number);
    return [...own, ...listDirectories(path).flatMap((inner) => listMembers(join(path, inner)) ?? [])];
  } catch {
    return undefined;
  }
}

/** What cgroup.kill does, for version 1: nobody can fork any more, so that two looks find everybody. */
function killOneByOne(path: string): void {
  tryWrite(join(path, 'pids.max'), '0');
  for (let round = 0; round < 2; round++) {
    for (const pid of listMembers(path) ?? []) {
      if (!(pid > 1) || pid === process.pid || pid === process.ppid) continue;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
  }
}

function tryWrite(path: string, text: string): boolean {
  if (!existsSync(path)) return false;
  try {
    writeFileSync(path, text);
    return true;
  } catch {
    return false;
  }
}

export function removeWithInner(path: string): void {
  for (const inner of listDirectories(path)) removeWithInner(join(path, inner));
  removeQuietly(path);
}

export function removeQuietly(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Still populated, or gone already.
  }
}
