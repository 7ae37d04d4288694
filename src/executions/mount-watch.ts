/**
 * Mounts that must stay while a command runs. The kernel detaches a mount when its mount point is replaced or removed from
 * outside, as `git config` and most editors replace a file, and from then on the command reaches what is underneath.
 */
import { type FSWatcher, lstatSync, watch } from 'node:fs';
import { attempt } from '../base/attempt.ts';
import { parseMounts } from './mounts.ts';
import type { Rounds } from './rounds.ts';

export interface KeptMounts {
  /** By path, which file or directory of the host the mount is on. */
  readonly identities: ReadonlyMap<string, string>;
  /** The mount table as it is now; undefined once the sandbox is gone. */
  read(): string | undefined;
}

/** Most commands end sooner: for those only the end is looked at. */
const FIRST_MS = 100;
/** Replacements are announced at once where the file system can; this is for those that cannot, and where nobody announces. */
const LOOK_MS = 5000;
const UNWATCHED_LOOK_MS = 1000;

export function watchMounts(kept: KeptMounts, rounds: Rounds, onLost: () => void) {
  const watchers: FSWatcher[] = [];
  const lost = new Set<string>();
  let known: string | undefined;
  let isOver = kept.identities.size === 0;

  function look(): void {
    const table = isOver ? undefined : kept.read();
    if (table === undefined || table === known) return;
    known = table;
    for (const path of findLost(kept.identities.keys(), table)) lost.add(path);
    if (lost.size === 0) return;
    stop();
    onLost();
  }

  async function round(): Promise<number> {
    if (watchers.length === 0) for (const path of kept.identities.keys()) watchOne(path);
    look();
    return watchers.length === kept.identities.size ? LOOK_MS : UNWATCHED_LOOK_MS;
  }

  function watchOne(path: string): void {
    // Where it is gone already, or there are too many watches, the looks find out.
    attempt(() => watchers.push(watch(path, { persistent: false }, look).on('error', () => undefined)));
  }

  const stopRounds = isOver ? undefined : rounds.add(round, FIRST_MS);
  function stop(): void {
    isOver = true;
    stopRounds?.();
    for (const watcher of watchers.splice(0)) watcher.close();
  }

  return {
    /** After the end: the mounts that did not last until then. */
    conclude(): string[] {
      stop();
      for (const [path, identity] of kept.identities) if (identityOf(path) !== identity) lost.add(path);
      return [...lost];
    },
  };
}

/** Those of the paths that have no mount any more. */
function findLost(paths: Iterable<string>, table: string): string[] {
  const points = new Set(parseMounts(table).map(({ point }) => point));
  return [...paths].filter((path) => !points.has(path));
}

/** What each of the paths is now, so that a replacement can be told from it. */
export const identitiesOf = (paths: readonly string[]): Map<string, string> =>
  new Map(paths.map((path) => [path, identityOf(path)]));

function identityOf(path: string): string {
  try {
    const about = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    return about === undefined ? 'none' : `${about.dev} ${about.ino}`;
  } catch {
    return 'unknown';
  }
}
