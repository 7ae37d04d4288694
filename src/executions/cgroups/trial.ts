/** Tries places out with a real process: some containers show files that do nothing, or refuse at the last moment. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readEnforcement } from './controls.ts';
import { joining, removeQuietly } from './group.ts';
import { makeGroup, type Place } from './group-directories.ts';
import { readText } from './hierarchies.ts';

const NAME = 'try';
const LIMITS = { memoryBytes: 64 * 1024 * 1024, processes: 16, cpuPercent: 50 };
const TRIAL_MS = 5000;
/** By the shell alone: a program is looked for on the server's PATH, where a command may have put its own. */
const SHOW = 'for file do while IFS= read -r line; do printf "%s\\n" "$line"; done <"$file" || exit 1; done';

/** Those that a process can join, with those controllers that count it and keep a limit. */
export function tryPlaces(places: readonly Place[]): Place[] {
  if (places.length === 0) return [];
  // All at once, which nearly always is enough, or each alone.
  return tryTogether(places) ?? places.flatMap((place) => tryTogether([place]) ?? []);
}

/** Undefined where not all of them can be joined. */
function tryTogether(places: readonly Place[]): Place[] | undefined {
  const counters = places.flatMap(({ directory }) =>
    ['pids.current', 'memory.current', 'memory.usage_in_bytes'].map((file) => join(directory, NAME, file)),
  );
  try {
    const group = makeGroup(places, NAME, LIMITS);
    const shown = counters.filter((file) => existsSync(file));
    const [file = '', ...args] = joining(group, ['/bin/sh', '-c', SHOW, 'sh', '/proc/self/cgroup', ...shown]);
    const { status, stdout } = spawnSync(file, args, {
      cwd: '/',
      env: {},
      encoding: 'utf8',
      timeout: TRIAL_MS,
    });
    const lines = stdout.trimEnd().split('\n');
    const counts = new Map(shown.map((path, index) => [path, Number(lines.at(index - shown.length))]));
    const hasJoined = places.every((place) => lines.some((line) => isMembership(line, place)));
    return status === 0 && hasJoined ? places.map((place) => keepProven(place, counts)) : undefined;
  } catch {
    return undefined;
  } finally {
    for (const { directory } of places) removeQuietly(join(directory, NAME));
  }
}

/** A line of /proc/self/cgroup. */
function isMembership(line: string, { version, directory, controllers }: Place): boolean {
  const [, names = '', path = ''] = line.split(':');
  const isTree = version === 2 ? names === '' : controllers.some((name) => names.split(',').includes(name));
  return isTree && path.endsWith(`/${basename(directory)}/${NAME}`);
}

function keepProven(place: Place, counts: ReadonlyMap<string, number>): Place {
  const path = join(place.directory, NAME);
  const held = readEnforcement([{ path, version: place.version }]);
  const count = (file: string): number => counts.get(join(path, file)) ?? 0;
  const isProven = (controller: string): boolean => {
    switch (controller) {
      case 'memory':
        return held.memory !== undefined && count('memory.current') + count('memory.usage_in_bytes') > 0;
      case 'pids':
        return held.processes !== undefined && count('pids.current') > 0;
      case 'cpu':
        return held.cpu !== undefined;
      default:
        return Number(readText(join(path, 'cpuacct.usage'))) > 0;
    }
  };
  const files = new Set(readdirSync(path));
  return { ...place, files, controllers: place.controllers.filter(isProven) };
}
