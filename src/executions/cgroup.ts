/**
 * A cgroup (v2) for each execution, where the kernel lets us make one: its member list is the one list of
 * processes that no setsid, double fork or cleared environment escapes. Needs no controller, only a directory that
 * we may create below our own group (root, or a delegated session).
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ExecutionGroup {
  readonly path: string;
  /** Pids of everything inside; undefined where the group is gone. */
  members(): number[] | undefined;
  /** Ends everything inside at once. */
  kill(): void;
  /** Takes the directory away; does nothing while something is left inside. */
  remove(): void;
}

export interface Cgroups {
  /** Moves a process that has just been started into a group of its own; undefined where that cannot be done. */
  enclose(name: string, pid: number): ExecutionGroup | undefined;
  dispose(): void;
}

export function createCgroups(instance: string): Cgroups {
  let parent: string | undefined | null;

  /** The first use tries; a refusal is remembered. */
  function findParent(): string | undefined {
    if (parent === undefined) {
      parent = null;
      const own = findOwnGroup();
      if (own !== undefined) {
        const directory = join(own, `mcp-shell-${instance}`);
        try {
          mkdirSync(directory);
          // Without cgroup.kill (Linux < 5.14) the other ways of finding a tree serve as well.
          readFileSync(join(directory, 'cgroup.events'));
          parent = readdirSync(directory).includes('cgroup.kill') ? directory : null;
          if (parent === null) rmdirSync(directory);
        } catch {
          parent = null;
        }
      }
    }
    return parent ?? undefined;
  }

  return {
    enclose(name, pid) {
      const directory = findParent();
      if (directory === undefined) return undefined;
      const path = join(directory, name);
      try {
        mkdirSync(path);
        writeFileSync(join(path, 'cgroup.procs'), String(pid));
        return openGroup(path);
      } catch {
        removeQuietly(path);
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
    members() {
      try {
        // Not "threads": a process is listed once, and a zombie is not listed at all.
        const text = readFileSync(join(path, 'cgroup.procs'), 'latin1').trim();
        return text === '' ? [] : text.split('\n').map(Number);
      } catch {
        return undefined;
      }
    },
    kill() {
      try {
        writeFileSync(join(path, 'cgroup.kill'), '1');
      } catch {
        // The group is gone, and everything in it.
      }
    },
    remove: () => removeQuietly(path),
  };
}

/** What a dead instance left: empty groups of that name below ours. */
export function removeGroupsOf(instance: string): void {
  const own = findOwnGroup();
  if (own === undefined) return;
  const directory = join(own, `mcp-shell-${instance}`);
  try {
    for (const name of readdirSync(directory, { withFileTypes: true })) {
      if (name.isDirectory()) removeQuietly(join(directory, name.name));
    }
    rmdirSync(directory);
  } catch {
    // Another cgroup than ours, or a detached execution is still in it.
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
