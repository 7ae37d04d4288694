/**
 * Which servers share the state directory, and which of them are alive. An instance is a directory below run/ that
 * appears and vanishes by one rename, so that two servers never both believe they took over a dead one.
 */
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makePrivateDirectory, writeFileWhole } from '../base/files.ts';
import { createId } from '../base/ids.ts';
import { findProcess, isAlive, readBootId } from './process-table.ts';

export interface Instance {
  readonly id: string;
  readonly bootId: string;
  /** Below run/, for this instance's own short-lived files. */
  readonly directory: string;
  /** Announces this server to the others. */
  open(): void;
  isInstanceAlive(id: string): boolean;
  /** Ids of dead instances that this call took over; nobody else gets the same ones. */
  takeOverDead(): string[];
  /** Leaves; with `leavesWork` the next server takes over what goes on without this one. */
  close(leavesWork: boolean): void;
}

const schema = z.object({ pid: z.number(), startTime: z.number(), bootId: z.string() });
const FILE = 'instance.json';

export function createInstance(stateDirectory: string): Instance {
  const id = createId('inst');
  const run = join(stateDirectory, 'run');
  const directory = join(run, id);
  const bootId = readBootId();

  const isInstanceAlive = (other: string): boolean => {
    if (other === id) return true;
    try {
      const about = schema.parse(JSON.parse(readFileSync(join(run, other, FILE), 'utf8')));
      return about.bootId === bootId && isAlive(about);
    } catch {
      return false;
    }
  };

  const announce = (where: string, pid: number, startTime: number): void =>
    writeFileWhole(join(where, FILE), JSON.stringify({ pid, startTime, bootId }));

  return {
    id,
    bootId,
    directory,
    open() {
      const preparing = join(run, `.${id}`);
      makePrivateDirectory(preparing);
      announce(preparing, process.pid, findProcess(process.pid)?.startTime ?? 0);
      renameSync(preparing, directory);
    },
    isInstanceAlive,
    takeOverDead() {
      const taken: string[] = [];
      for (const name of readdirSync(run)) {
        if (!name.startsWith('inst_') || isInstanceAlive(name)) continue;
        try {
          renameSync(join(run, name), join(directory, name));
          // What that one had taken over itself before it died.
          taken.push(
            name,
            ...readdirSync(join(directory, name)).filter((inner) => inner.startsWith('inst_')),
          );
        } catch {
          // Another server was faster.
        }
      }
      return taken;
    },
    close(leavesWork) {
      // 0 is nobody's pid: whoever looks next sees that this one is gone, even while the process still ends.
      if (leavesWork) announce(directory, 0, 0);
      else rmSync(directory, { recursive: true, force: true });
    },
  };
}
