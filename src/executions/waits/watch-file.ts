/**
 * Whether a file exists, as the execution's own processes see it. In a sandbox the path is followed below the root of
 * one of them, link by link: the kernel would follow an absolute link from the server's root and find hidden files.
 */
import { lstatSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { attempt, succeeds } from '../../base/attempt.ts';
import { realPathOf } from '../../base/config/paths.ts';
import type { Live } from '../live.ts';
import type { Watcher } from './conditions.ts';
import { commandPids } from './listeners.ts';

export interface FileRules {
  /** Where the host has a path that only the principal's commands see so. */
  hostPathOf(path: string): string;
  /** Whether the caller may know of this path, with its links followed. */
  mayRead(path: string): boolean;
}

/** The deepest part of the path that exists inside, to be found again from outside once nobody is inside any more. */
interface Anchor {
  readonly path: string;
  readonly about: Stats;
}

const MAX_LINKS = 40;

export function watchFile(path: string, live: Live | undefined, rules: FileRules): Watcher {
  if (live?.process.isSandboxed !== true) {
    return {
      look: () =>
        rules.mayRead(realPathOf(path)) && succeeds(() => statSync(path)) ? { kind: 'met' } : undefined,
    };
  }
  let anchor: Anchor | undefined;
  return {
    look(hasEnded) {
      if (hasEnded) return anchor !== undefined && isBelow(anchor, path, rules) ? { kind: 'met' } : undefined;
      const [pid] = commandPids(live);
      if (pid === undefined) return undefined;
      const walked = walk(`/proc/${pid}/root`, path);
      anchor = walked.anchor ?? anchor;
      return walked.isFound ? { kind: 'met' } : undefined;
    },
  };
}

/** Follows a path below another root, as a process with that root would. */
function walk(
  root: string,
  path: string,
): { readonly isFound: boolean; readonly anchor: Anchor | undefined } {
  let anchor: Anchor | undefined;
  let rest = partsOf(path);
  let at = '/';
  let links = 0;
  while (rest.length > 0) {
    const [part = '', ...others] = rest;
    const next = part === '..' ? dirname(at) : join(at, part);
    const about = look(root + next);
    if (about === undefined) return { isFound: false, anchor };
    if (about.isSymbolicLink()) {
      links += 1;
      const target = links > MAX_LINKS ? undefined : attempt(() => readlinkSync(root + next));
      if (target === undefined) return { isFound: false, anchor };
      if (target.startsWith('/')) at = '/';
      rest = [...partsOf(target), ...others];
      continue;
    }
    at = next;
    rest = others;
    if (about.isDirectory()) anchor = { path: at, about };
  }
  return { isFound: true, anchor };
}

/** Only below a directory that was the same one inside, and without following a link. */
function isBelow(anchor: Anchor, path: string, { hostPathOf }: FileRules): boolean {
  const from = hostPathOf(anchor.path);
  const about = look(from);
  if (about === undefined || about.dev !== anchor.about.dev || about.ino !== anchor.about.ino) return false;
  const wanted = resolve(path);
  if (!wanted.startsWith(anchor.path === '/' ? '/' : `${anchor.path}/`)) return false;
  let at = from;
  for (const part of partsOf(wanted.slice(anchor.path.length))) {
    at = join(at, part);
    const found = look(at);
    if (found === undefined || found.isSymbolicLink()) return false;
  }
  return true;
}

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.');

const look = (path: string): Stats | undefined => attempt(() => lstatSync(path));
