/**
 * Caches in the home directory. Those of package managers are the host's. `~/.cache` itself is another directory inside, with
 * the known caches in it: every shell of the user sources and runs files from there, by names that need not exist yet.
 */
import { dirname, join, relative } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isThere, kindOf } from './host-files.ts';
import { placesOf } from './moved.ts';
import type { Mount } from './profile.ts';
import type { ProfileInput } from './profile-input.ts';
import { OWN_CACHE, PRIVATE_CACHES, SHARED_IN_CACHE, TOOL_CACHES } from './protected-paths.ts';
import { makePlain } from './state-files.ts';

export function cacheMounts(input: ProfileInput, roots: readonly string[]): Mount[] {
  const home = realPathOf(input.homedir);
  const { hasToolCaches, root } = input.security;
  const isHomeOpen = roots.some((each) => isInside(home, each));
  // Where the home directory is neither shown nor the workspace there is nothing to write to.
  if (!isHomeOpen && !(hasToolCaches && root === 'host')) return [];
  // What the operator named is the host's.
  const named = [...input.security.workspace, ...input.security.writablePaths]
    .map(realPathOf)
    .filter((path) => !isInside(home, path));
  return [
    ...(hasToolCaches ? toolCaches(home, isHomeOpen) : []),
    ...privateCaches(home, input),
    ...ownCache(home, input),
  ].filter(({ path }) => !named.some((each) => isInside(path, each)));
}

/** The directories that programs keep caches in, by real paths: where a variable says so, too. */
export function cacheHomes(home: string, environment: Readonly<Record<string, string>>): string[] {
  const places = placesOf('.cache', home, environment).map(realPathOf);
  return [...new Set(places)].filter((path) => path !== home && isInside(path, home));
}

/** Where a path in such a directory lies in the one that is there inside; undefined: it is the host's. */
export function inOwnCache(
  path: string,
  home: string,
  environment: Readonly<Record<string, string>>,
): string | undefined {
  const cache = cacheHomes(home, environment).find((each) => isInside(path, each));
  if (cache === undefined) return undefined;
  const rest = relative(cache, path);
  const [first = ''] = rest.split('/');
  const isShared = SHARED_IN_CACHE.includes(first) && kindOf(join(cache, first)) === 'directory';
  return isShared ? undefined : rest;
}

function toolCaches(home: string, isHomeOpen: boolean): Mount[] {
  return (
    TOOL_CACHES
      // Of a home directory that is open only the directories with a dot are not.
      .filter((name) => !isHomeOpen || (name.startsWith('.') && name.includes('/')))
      .map((name) => join(home, name))
      .filter(isThere)
      .map(realPathOf)
      // A cache that is a link is as good as where it leads, if that is nobody else's.
      .filter((path) => path !== home && isInside(path, home) && kindOf(path) === 'directory')
      .map((path): Mount => ({ kind: 'writable', path }))
  );
}

/** Programs that are fetched and run on demand, and what build servers are found by: inside, others than outside. */
function privateCaches(home: string, { tmpDirectory }: ProfileInput): Mount[] {
  if (tmpDirectory === undefined) return [];
  return PRIVATE_CACHES.flatMap((name): Mount[] => {
    const path = join(home, name);
    const around = dirname(path);
    const isPlain = kindOf(around) === 'directory' && realPathOf(around) === around;
    // What is mounted on must be there, or be made in a cache.
    const canBe = kindOf(path) === 'directory' || TOOL_CACHES.includes(dirname(name));
    if (!isPlain || !canBe || kindOf(path) === 'link') return [];
    return [{ kind: 'writable', path, from: join(tmpDirectory, name.replaceAll('/', '-')) }];
  });
}

function ownCache(home: string, { tmpDirectory, environment, security }: ProfileInput): Mount[] {
  return cacheHomes(home, environment)
    .filter((path) => kindOf(path) === 'directory')
    .flatMap((path): Mount[] => {
      if (tmpDirectory === undefined) return [{ kind: 'memory', path, bytes: security.maxTmpBytes }];
      const from = join(tmpDirectory, OWN_CACHE);
      const shared = SHARED_IN_CACHE.filter((name) => kindOf(join(path, name)) === 'directory');
      // A command may have put something else where they are mounted.
      for (const name of shared) makePlain(join(from, name));
      return [
        { kind: 'writable', path, from },
        ...shared.map((name): Mount => ({ kind: 'writable', path: join(path, name) })),
      ];
    });
}
