/**
 * Which servers share the state directory, and which of them are alive. An instance is a directory below run/ that
 * appears and vanishes by one rename, so that two servers never both believe they took over a dead one.
 *
 * The servers may live in different pid namespaces (a container and its host): there a number says nothing, so each
 * touches its file from time to time, and only a file that was not touched for long is a dead server's.
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { attempt } from '../base/attempt.ts';
import { ticks } from '../base/clock.ts';
import { errnoOf } from '../base/errors.ts';
import { makePrivateDirectory, removeTree, writeFileWhole } from '../base/files.ts';
import { createId } from '../base/ids.ts';
import { findProcess, isAlive, type ProcessIdentity, readBootId, readPidNamespace } from './process-table.ts';

export interface Instance {
  readonly id: string;
  /** Where a pid of this server means something: the boot and the namespace. */
  readonly bootId: string;
  /** Below run/, for this instance's own short-lived files. */
  readonly directory: string;
  /** Announces this server to the others. */
  open(): void;
  /** False only where it is certain. */
  isInstanceAlive(id: string): boolean;
  /** Ids of dead instances that this call took over; nobody else gets the same ones. */
  takeOverDead(): string[];
  /** What was taken over is settled, and its directory can go. */
  settle(taken: readonly string[]): void;
  /** Leaves; with `leavesWork` the next server takes over what goes on without this one. */
  close(leavesWork: boolean): void;
}

const schema = z.object({ pid: z.number(), startTime: z.number(), bootId: z.string() });
const FILE = 'instance.json';
const TOUCH_EVERY_MS = 15_000;
/** A server that is alive and not stopped has touched its file by then, on the busiest machine. */
const SILENT_FOR_MS = 120_000;
/** How long a file that looks old must be seen unchanged: a machine that slept, or a clock that was set, ages all at once. */
const SEEN_FOR_MS = 3 * TOUCH_EVERY_MS;

/** `id`: where it was needed before this. */
export function createInstance(
  stateDirectory: string,
  id: string = createId('inst'),
  elapsedMs: () => number = ticks,
): Instance {
  const run = join(stateDirectory, 'run');
  const directory = join(run, id);
  const boot = readBootId();
  const bootId = `${boot} ${readPidNamespace()}`;
  let touching: NodeJS.Timeout | undefined;
  const isSilent = createSilence(elapsedMs);

  const isInstanceAlive = (other: string): boolean => {
    if (other === id) return true;
    const file = join(run, other, FILE);
    try {
      const about = schema.parse(JSON.parse(readFileSync(file, 'utf8')));
      if (about.pid === 0 || about.bootId.split(' ')[0] !== boot) return false;
      return about.bootId === bootId ? isAlive(about) : !isSilent(other, statSync(file));
    } catch (error) {
      // What cannot be read for another reason (too many open files, say) may well be alive.
      return errnoOf(error) !== 'ENOENT' || isBeingTakenOver(other);
    }
  };

  /** It lies in the directory of a server that is alive and has yet to settle it. */
  function isBeingTakenOver(other: string): boolean {
    return readdirSync(run).some(
      (name) => name !== id && listTaken(join(run, name)).includes(other) && isInstanceAlive(name),
    );
  }

  return {
    id,
    bootId,
    directory,
    open() {
      const preparing = join(run, `.${id}`);
      makePrivateDirectory(preparing);
      announce(preparing, bootId, { pid: process.pid, startTime: findProcess(process.pid)?.startTime ?? 0 });
      renameSync(preparing, directory);
      touching = setInterval(() => touch(directory), TOUCH_EVERY_MS).unref();
    },
    isInstanceAlive,
    takeOverDead() {
      const taken: string[] = [];
      for (const name of readdirSync(run)) {
        if (!name.startsWith('inst_') || isInstanceAlive(name)) continue;
        try {
          renameSync(join(run, name), join(directory, name));
          // What that one had taken over itself and not settled before it died, and so on.
          taken.push(name, ...listTaken(join(directory, name)));
        } catch {
          // Another server was faster.
        }
      }
      return taken;
    },
    settle(taken) {
      for (const name of taken) rmSync(join(directory, name), { recursive: true, force: true });
    },
    close(leavesWork) {
      clearInterval(touching);
      // 0 is not a pid: the next reader sees that this one is gone, even while the process still ends.
      if (leavesWork) announce(directory, bootId, { pid: 0, startTime: 0 });
      else removeTree(directory);
    },
  };
}

/** Whether a file of another namespace was not touched for so long that its server is dead. */
function createSilence(elapsedMs: () => number) {
  /** Since when they are as they are, by a clock that nobody sets. */
  const seen = new Map<string, { readonly mtimeMs: number; readonly since: number }>();
  return (other: string, { mtimeMs }: { readonly mtimeMs: number }): boolean => {
    const last = seen.get(other);
    if (last?.mtimeMs !== mtimeMs) {
      seen.set(other, { mtimeMs, since: elapsedMs() });
      return false;
    }
    const unchangedMs = elapsedMs() - last.since;
    const isOld = Date.now() - mtimeMs > SILENT_FOR_MS;
    return unchangedMs > (isOld ? SEEN_FOR_MS : SILENT_FOR_MS);
  };
}

function announce(directory: string, bootId: string, identity: ProcessIdentity): void {
  writeFileWhole(join(directory, FILE), JSON.stringify({ ...identity, bootId }));
}

function touch(directory: string): void {
  const now = new Date();
  // Where the directory was removed by hand, the next start of a server finds out what there is.
  attempt(() => utimesSync(join(directory, FILE), now, now));
}

/** Instances that were taken over by the one of this directory, with those that they had taken over. */
function listTaken(directory: string): string[] {
  // None where it was settled meanwhile.
  const names = attempt(() => readdirSync(directory)) ?? [];
  return names.flatMap((name) =>
    name.startsWith('inst_') ? [name, ...listTaken(join(directory, name))] : [],
  );
}
