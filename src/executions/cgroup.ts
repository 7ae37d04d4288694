/**
 * A cgroup (v2) for each execution, where the kernel lets us make one: its member list is the one list of
 * processes that no setsid, double fork or cleared environment escapes. Needs no controller, only a directory that
 * we may create below our own group (root, or a delegated session).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProcess, isAlive } from './process-table.ts';

export interface ExecutionGroup {
  readonly path: string;
  /** The argv that joins the group and then becomes the given one: nothing is forked before it is a member. */
  joining(argv: readonly string[], environment?: Readonly<Record<string, string>>): string[];
  /** Pids of everything inside; undefined where the group is gone. */
  members(): number[] | undefined;
  /** Ends everything inside at once. */
  kill(): void;
  /** Takes the directory away; does nothing while something is left inside. */
  remove(): void;
}

export interface Cgroups {
  /** A new, empty group; undefined where there can be none. */
  create(name: string): ExecutionGroup | undefined;
  dispose(): void;
}

export function createCgroups(): Cgroups {
  let parent: string | undefined | null;

  /** The first use tries it out, with a real process; a refusal is remembered. */
  function findParent(): string | undefined {
    if (parent === undefined) parent = tryOut() ?? null;
    return parent ?? undefined;
  }

  return {
    create(name) {
      const directory = findParent();
      if (directory === undefined) return undefined;
      const path = join(directory, name);
      try {
        makeGroup(path);
        return openGroup(path);
      } catch {
        return undefined;
      }
    },
    dispose() {
      if (typeof parent === 'string') removeQuietly(parent);
    },
  };
}

/** A group that is there already, after a restart. */
export function openGroup(path: string): ExecutionGroup {
  return {
    path,
    joining(argv, environment = {}) {
      // A shell drops what cannot be a variable of its own, such as exported functions; env(1) puts it back.
      const odd = Object.entries(environment).filter(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
      const restored =
        odd.length === 0 ? [] : ['/usr/bin/env', ...odd.map(([name, value]) => `${name}=${value}`)];
      // $$ stays the same through exec, so that the command's own process is the one that was started.
      return ['/bin/sh', '-c', 'echo $$ > "$0"; exec "$@"', join(path, 'cgroup.procs'), ...restored, ...argv];
    },
    members: () => listMembers(path),
    kill() {
      try {
        writeFileSync(join(path, 'cgroup.kill'), '1');
      } catch {
        // The group is gone, and everything in it.
      }
    },
    remove: () => removeWithInner(path),
  };
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

function removeWithInner(path: string): void {
  for (const inner of listDirectories(path)) removeWithInner(join(path, inner));
  removeQuietly(path);
}

/** Whether a process can join a group of ours; without cgroup.kill (Linux < 5.14) other ways serve as well. */
function tryOut(): string | undefined {
  const own = findOwnGroup();
  const self = findProcess(process.pid);
  if (own === undefined || self === undefined) return undefined;
  removeAbandoned(own);
  const name = `mcp-shell-${self.pid}-${self.startTime}`;
  const directory = join(own, name);
  const group = openGroup(join(directory, 'try'));
  try {
    makeGroup(group.path);
    const [file = '', ...args] = group.joining(['/bin/sh', '-c', 'cat /proc/self/cgroup']);
    const { stdout } = spawnSync(file, args, { encoding: 'utf8' });
    if (stdout.includes(`${name}/try`) && existsSync(join(group.path, 'cgroup.kill'))) return directory;
  } catch {
    // Not ours to write to.
  } finally {
    group.remove();
  }
  removeQuietly(directory);
  return undefined;
}

/** With its parent, which a server that cannot see our process may have removed as a dead one's. */
function makeGroup(path: string): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path));
  mkdirSync(path);
}

/** Empty groups of servers that were killed; what is still populated cannot be removed. */
function removeAbandoned(own: string): void {
  for (const name of listDirectories(own)) {
    const [, pid, startTime] = /^mcp-shell-(\d+)-(\d+)$/.exec(name) ?? [];
    if (pid === undefined || isAlive({ pid: Number(pid), startTime: Number(startTime) })) continue;
    removeWithInner(join(own, name));
  }
}

function listDirectories(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch {
    return [];
  }
}

function findOwnGroup(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    const mount = /^(?:\S+ ){4}(\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1];
    return own === undefined || mount === undefined ? undefined : join(mount, own);
  } catch {
    return undefined;
  }
}

function removeQuietly(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Still populated, or gone already.
  }
}
