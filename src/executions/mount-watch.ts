/**
 * Mounts that must stay while a command runs. The kernel detaches a mount when its mount point is replaced or removed from
 * outside, as `git config` and most editors replace a file, and moves it along when a directory above it is renamed. From
 * then on the command reaches what is underneath, or what takes its place.
 */
import { type FSWatcher, lstatSync, type WatchListener, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { attempt } from '../base/attempt.ts';
import type { BubblewrapSpec } from '../security/security.ts';
import { parseMounts } from './mounts.ts';
import type { Rounds } from './rounds.ts';

export interface KeptPlaces {
  /** By path, which file or directory of the host the mount is on. */
  readonly identities: ReadonlyMap<string, string>;
  /** Directories above them that can be renamed with the mounts below. */
  readonly above: readonly string[];
}

export interface KeptMounts extends KeptPlaces {
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
    if (watchers.length === 0) watchAll();
    look();
    return watchers.length === kept.identities.size + kept.above.length ? LOOK_MS : UNWATCHED_LOOK_MS;
  }

  function watchAll(): void {
    for (const path of kept.identities.keys()) watchOne(path, look);
    // Work goes on in these; a rename of the directory itself is announced under its own name.
    for (const path of kept.above)
      watchOne(path, (event, name) => {
        if (event === 'rename' && name === basename(path)) look();
      });
  }

  function watchOne(path: string, listener: WatchListener<string>): void {
    // Where it is gone already, or there are too many watches, the looks find out.
    attempt(() => watchers.push(watch(path, { persistent: false }, listener).on('error', () => undefined)));
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

/** What each of the mounts is on now, so that a replacement can be told from it. */
export function keptPlaces({ kept, pinned }: Pick<BubblewrapSpec, 'kept' | 'pinned'>): KeptPlaces {
  const identities = new Map(kept.map((path) => [path, identityOf(path)]));
  const points = new Set(pinned.map(({ path }) => path));
  const above = new Set<string>();
  for (const path of kept)
    for (let parent = dirname(path); parent !== dirname(parent); parent = dirname(parent))
      if (points.has(parent) && !identities.has(parent)) above.add(parent);
  return { identities, above: [...above] };
}

function identityOf(path: string): string {
  try {
    const about = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    return about === undefined ? 'none' : `${about.dev} ${about.ino}`;
  } catch {
    return 'unknown';
  }
}
