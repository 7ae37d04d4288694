/**
 * Looks for what a mount alone does not stop: a socket can be connected to and a FIFO written to through a read-only
 * directory. Sockets that are bound now are in the kernel's list; FIFOs, and sockets of other namespaces, only a walk
 * finds. It goes from the top down, so that what is near comes first, and goes on in the background at its leisure. The
 * same walk finds the repositories inside the workspace.
 */
import { type Dirent, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempt } from '../../base/attempt.ts';
import { isInside } from '../../base/config/paths.ts';
import { setOf } from '../list.ts';
import { isShut, kindOf, readText, shutAround } from './host-files.ts';
import { placesAround } from './places-around.ts';

export interface Surveyed {
  readonly specialFiles: string[];
  /** Directories with a `.git` in them, that are a git directory, or that cannot be looked into; the oldest first. */
  readonly repositories: string[];
  /** Directories right inside the workspace with more of them than are listed; the workspace, if those are too many. */
  readonly overflowing: string[];
  /** The repositories that are not listed. */
  readonly unlisted: string[];
}

export interface SurveyOptions {
  /** Where sockets and FIFOs are looked for. */
  readonly roots: readonly string[];
  readonly workspace: readonly string[];
  readonly home: string;
  /** Not entered: they are hidden, replaced, or hold no such files. */
  readonly skip: readonly string[];
}

/** What is waited for: a few hundred directories. */
const NEAR_DEPTH = 4;
const FIRST_WAIT_MS = 300;
/** The rest is looked at in a tenth of the time, or a server would begin with a second of work for little. */
const SPELL_MS = 5;
const REST_MS = 45;
/** A workspace without very many directories takes a few milliseconds. What is not found by then is not protected. */
const WORKSPACE_WAIT_MS = 20_000;
/** Directories that are listed at the same time. */
const AT_ONCE = 8;
const AGAIN_AFTER_MS = 60_000;
const MAX_DIRECTORIES = 20_000;
/** A command can make as many as it likes before the next start. */
const MAX_IN_WORKSPACE = 100_000;
const MAX_DEPTH = 8;
const MAX_DEPTH_IN_WORKSPACE = 64;
/** Below these nobody keeps repositories or control files, and there are very many of them. */
const LARGE = setOf('node_modules .git __pycache__ site-packages target .venv venv _cacache .m2 .rustup');

export function createSurvey(options: SurveyOptions) {
  // What was found stays known while it is there: a command could make so much that a later walk does not come far.
  const special = new Set<string>();
  /** And since when. */
  const repositories = new Map<string, number>();
  const overflow = createOverflow(options.workspace);
  let walking: Promise<unknown> | undefined;
  let first: Promise<unknown> | undefined;
  let walkedAtMs = Number.NEGATIVE_INFINITY;
  let isDisposed = false;
  const bounds = { skipped: new Set(options.skip), isStopped: () => isDisposed };

  function note(directory: string, others: Set<string>): void {
    if (repositories.has(directory)) return;
    if (repositories.size < MAX_REPOSITORIES) repositories.set(directory, birthtimeOf(directory));
    else others.add(directory);
  }

  async function walkWorkspace(): Promise<void> {
    // There may be repositories in what was shut before; later commands leave such directories for their own reasons.
    const isFirst = first === undefined;
    const others = new Set<string>();
    const isComplete = await walk(options.workspace, {
      ...bounds,
      budget: MAX_IN_WORKSPACE,
      maxDepth: MAX_DEPTH_IN_WORKSPACE,
      visit(entries, directory) {
        if (isRepository(new Set(entries.map(({ name }) => name)))) note(directory, others);
      },
      shut(directory) {
        if (isFirst && isUnknown(directory)) repositories.set(directory, 0);
      },
    });
    overflow.add(others, isComplete);
  }

  function walkAll(): void {
    const inWorkspace = walkWorkspace();
    const { near, outside } = walkOutside(options.roots, bounds, (path) => special.add(path));
    walking = Promise.all([inWorkspace, outside]).finally(() => {
      walking = undefined;
      walkedAtMs = performance.now();
    });
    // Once: a caller that comes meanwhile gets what is known by then.
    first ??= Promise.all([atMost(inWorkspace, WORKSPACE_WAIT_MS), atMost(near, FIRST_WAIT_MS)]);
  }

  return {
    /** What is known now; the first calls wait a moment for the walk, unless they say that they need not. */
    async look(waits = true): Promise<Surveyed> {
      if (walking === undefined && performance.now() - walkedAtMs > AGAIN_AFTER_MS) walkAll();
      if (waits) await first;
      for (const path of special) if (coveredAt(path) === undefined) special.delete(path);
      for (const path of repositories.keys()) if (!isStillOne(path)) repositories.delete(path);
      return {
        specialFiles: coveredFor([...special, ...boundSockets()], options),
        repositories: [...repositories].toSorted(([, a], [, b]) => a - b).map(([path]) => path),
        ...overflow.now(),
      };
    },
    dispose(): void {
      isDisposed = true;
    },
  };
}

/** More repositories than can be listed, and the directories right inside the workspace that they are in. */
function createOverflow(workspace: readonly string[]) {
  const tops = new Set<string>();
  const unlisted = new Set<string>();
  const topOf = (directory: string): string => {
    const root = workspace.find((path) => isInside(directory, path)) ?? directory;
    return join(root, relative(root, directory).split('/')[0] ?? '');
  };
  return {
    /** What was known stays, unless the walk came to the end. */
    add(found: ReadonlySet<string>, isComplete: boolean): void {
      if (isComplete) for (const known of [tops, unlisted]) known.clear();
      for (const directory of found) {
        tops.add(topOf(directory));
        if (unlisted.size <= MAX_UNLISTED) unlisted.add(directory);
      }
    },
    now: (): Pick<Surveyed, 'overflowing' | 'unlisted'> => ({
      overflowing: tops.size > MAX_OVERFLOWING || unlisted.size > MAX_UNLISTED ? [...workspace] : [...tops],
      unlisted: [...unlisted],
    }),
  };
}

interface WalkBounds {
  readonly skipped: ReadonlySet<string>;
  isStopped(): boolean;
}

interface WalkOptions extends WalkBounds {
  /** Of directories, for each kind of place one of its own. */
  readonly budget: number;
  readonly maxDepth: number;
  visit(entries: readonly Dirent[], directory: string): void;
  /** Before a directory is entered. */
  pace?(depth: number): Promise<void> | undefined;
  /** What could not be listed. */
  shut?(directory: string): void;
}

/** From the top down; false where it did not come to the end. */
async function walk(roots: readonly string[], options: WalkOptions): Promise<boolean> {
  let level = [...new Set(roots)];
  for (let depth = 0, entered = 0; depth < options.maxDepth && level.length > 0; depth++) {
    const next: string[] = [];
    for (let at = 0; at < level.length; at += AT_ONCE) {
      await options.pace?.(depth);
      const batch = level.slice(at, at + AT_ONCE);
      if (options.isStopped() || (entered += batch.length) > options.budget + AT_ONCE) return false;
      const listed = await Promise.all(
        batch.map(async (directory) => {
          const listing = readdir(directory, { withFileTypes: true });
          return { directory, entries: await listing.catch(() => undefined) };
        }),
      );
      for (const { directory, entries } of listed) {
        if (entries === undefined) options.shut?.(directory);
        else options.visit(entries, directory);
        for (const entry of entries ?? []) {
          if (!entry.isDirectory() || LARGE.has(entry.name)) continue;
          const path = join(directory, entry.name);
          if (!options.skipped.has(path)) next.push(path);
        }
      }
    }
    level = next;
  }
  return true;
}

/** Looks for sockets and FIFOs: all of it, and what is waited for. */
function walkOutside(
  roots: readonly string[],
  bounds: WalkBounds,
  found: (path: string) => void,
): { readonly near: Promise<void>; readonly outside: Promise<unknown> } {
  let spellEndsMs = 0;
  let reach: () => void = () => undefined;
  const near = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const outside = walk(roots, {
    ...bounds,
    budget: MAX_DIRECTORIES,
    maxDepth: MAX_DEPTH,
    visit(entries, directory) {
      for (const entry of entries) if (entry.isSocket() || entry.isFIFO()) found(join(directory, entry.name));
    },
    pace(depth) {
      if (depth < NEAR_DEPTH) return undefined;
      reach();
      if (performance.now() < spellEndsMs) return undefined;
      return sleep(REST_MS, undefined, { ref: false }).then(() => {
        spellEndsMs = performance.now() + SPELL_MS;
      });
    },
  }).finally(reach);
  return { near, outside };
}

/** Nothing of these is shown, but for a home directory that lies there. */
const COVERED = ['/run', '/tmp', '/var/tmp', '/dev', '/proc', '/var/run', '/home', '/Users', '/var/home'];

const isShown = (path: string, { home, workspace }: SurveyOptions): boolean =>
  (isInside(path, home) || !COVERED.some((root) => isInside(path, root))) &&
  !workspace.some((root) => isInside(path, root));

/** Each is a mount, and a command can make any number of them in a cache. */
const MAX_SPECIAL = 500;
/** What is looked at for every command. A command can make any number of them. */
const MAX_REPOSITORIES = 400;
const MAX_OVERFLOWING = 100;
/** Of these only second names are looked for. */
const MAX_UNLISTED = 1000;

/** Those with a `.git`; and git directories, by what is in them, for git takes any for one that looks like it. */
const isRepository = (names: ReadonlySet<string>): boolean =>
  names.has('.git') ||
  (names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs'))));

const isStillOne = (directory: string): boolean =>
  kindOf(join(directory, '.git')) !== undefined ||
  kindOf(join(directory, 'HEAD')) !== undefined ||
  isUnknown(directory);

/** Shut, or behind a directory that is: what is in it stays what it was. */
const isUnknown = (directory: string): boolean =>
  isShut(directory) || shutAround(join(directory, '.git')) !== undefined;

/** A special file; or the directory around it, where that is shut and a command could open it. */
const coveredAt = (path: string): string | undefined =>
  kindOf(path) === 'special' ? path : shutAround(path);

/** Of very many, the directories that they are in. */
function coveredFor(special: readonly string[], options: SurveyOptions): string[] {
  const covered = new Set(special.flatMap((path) => coveredAt(path) ?? []));
  const shown = [...covered].filter((path) => isShown(path, options));
  return placesAround(shown, MAX_SPECIAL, [options.home]);
}

function birthtimeOf(directory: string): number {
  const look = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false });
  return attempt(() => look('.git') ?? look('HEAD'))?.birthtimeMs ?? 0;
}

const atMost = (work: Promise<unknown>, ms: number): Promise<unknown> =>
  Promise.race([work, sleep(ms, undefined, { ref: false })]);

/** Every socket with a name in the file system, of our network namespace. */
function boundSockets(): string[] {
  const lines = readText('/proc/net/unix').split('\n');
  return lines.flatMap((line) => /^\S+ \S+ \S+ \S+ \S+ \S+\s+\d+ (\/.*)$/.exec(line)?.[1] ?? []);
}
