/**
 * A sandbox to make copies of. No process is left in it: open files hold its namespaces, and tell what is mounted there.
 */
import { closeSync, openSync } from 'node:fs';
import { readAt } from '../base/files.ts';
import { isAlive } from './process-table.ts';
import type { MountTables } from './sandbox-tools.ts';
import { endSandbox, type Shown, showsWhatItDid, type WaitingSandbox } from './sandboxed.ts';

export interface HeldSandbox extends Shown {
  /** Of its mount namespace, for a process of the same user. */
  readonly namespacePath: string;
  /** What `/` is there, for this process. */
  readonly rootPath: string;
  isIntact(tables: MountTables | undefined): boolean;
  release(): void;
}

/** More than any table has. */
const TABLE_BYTES = 4 * 1024 * 1024;

/** Ends what waits in it. Throws where that has ended before. */
export async function holdSandbox(sandbox: WaitingSandbox): Promise<HeldSandbox> {
  const { init, mounts, kept, isMeant } = sandbox;
  const fds: number[] = [];
  const open = (name: string): number => {
    const fd = openSync(`/proc/${init.pid}/${name}`, 'r');
    fds.push(fd);
    return fd;
  };
  /** Their numbers are other files' then. */
  const isReleased = (): boolean => fds.length === 0;
  const release = (): void => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  try {
    const [namespace, root, table] = [open('ns/mnt'), open('root'), open('mountinfo')];
    if (!isAlive(init)) throw new Error('the sandbox has ended');
    return {
      mounts,
      kept,
      isMeant,
      namespacePath: `/proc/${process.pid}/fd/${namespace}`,
      rootPath: `/proc/self/fd/${root}`,
      isIntact: (tables) =>
        !isReleased() && showsWhatItDid(sandbox, readAt(table, 0, TABLE_BYTES).toString(), tables),
      release,
    };
  } catch (error) {
    release();
    throw error;
  } finally {
    await endSandbox(sandbox);
  }
}
