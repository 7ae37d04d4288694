/**
 * What symbolic links in directories of hooks and settings lead to: programs outside obey that as well, and a mount on
 * the directory does not protect it.
 */
import { readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside } from '../../base/config/paths.ts';
import { isThere, kindOf, readLinkAt } from './host-files.ts';

/** Directories of hooks are flat, those of commands and skills nearly so. */
const MAX_DEPTH = 3;
const MAX_ENTRIES = 2000;

/** What may still be listed, of all directories together. */
export interface LinkBudget {
  entries: number;
}

/** Of those paths that are directories; git directories are left to what knows their layout. May be missing, or anywhere. */
export function linkedFrom(
  paths: readonly string[],
  isEntered: (directory: string) => boolean = () => true,
  budget: LinkBudget = { entries: Number.POSITIVE_INFINITY },
): string[] {
  const targets = new Set<string>();
  for (const path of new Set(paths)) {
    if (budget.entries <= 0) break;
    if (kindOf(path) !== 'directory' || isThere(join(path, 'HEAD'))) continue;
    for (const link of linksIn(path, isEntered, budget)) {
      const target = resolve(dirname(link), readLinkAt(link) ?? '.');
      // One that leads upwards would make all of the workspace read-only.
      if (!isInside(link, target)) targets.add(target);
    }
  }
  return [...targets];
}

function linksIn(top: string, isEntered: (directory: string) => boolean, budget: LinkBudget): string[] {
  const links: string[] = [];
  let directories = [top];
  let left = MAX_ENTRIES;
  for (let depth = 0; depth < MAX_DEPTH && directories.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of directories) {
      const entries = (attempt(() => readdirSync(directory, { withFileTypes: true })) ?? []).slice(0, left);
      left -= entries.length;
      budget.entries -= entries.length;
      for (const entry of entries) {
        const path = join(directory, entry.name);
        if (entry.isSymbolicLink()) links.push(path);
        else if (entry.isDirectory() && isEntered(path)) next.push(path);
      }
    }
    directories = next;
  }
  return links;
}
