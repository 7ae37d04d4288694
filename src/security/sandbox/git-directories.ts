/**
 * The git directory of a workspace that lies elsewhere: of a worktree, or of the repository around a part of it. Found
 * once, before any command could have pointed it somewhere; `git commit` writes to it.
 */
import { dirname, join, resolve } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isThere, kindOf, readText } from './host-files.ts';

export function findGitDirectories(workspace: readonly string[]): string[] {
  const found = workspace.flatMap((root) => gitDirectoryOf(realPathOf(root)) ?? []);
  return [...new Set(found.map(realPathOf))].filter(
    (path) => isRepository(path) && !workspace.some((root) => isInside(path, realPathOf(root))),
  );
}

function gitDirectoryOf(root: string): string | undefined {
  const git = join(root, '.git');
  if (kindOf(git) === 'file') return commonDirectory(git);
  if (isThere(git)) return undefined;
  for (let parent = dirname(root); parent !== dirname(parent); parent = dirname(parent)) {
    const above = join(parent, '.git');
    if (kindOf(above) === 'directory') return above;
    if (kindOf(above) === 'file') return commonDirectory(above);
  }
  return undefined;
}

/** Only where the other side knows of it: the file lies in the workspace, and may name anything. */
function commonDirectory(file: string): string | undefined {
  const target = /^gitdir: (.+)$/m.exec(readText(file))?.[1];
  if (target === undefined) return undefined;
  const own = resolve(dirname(file), target.trim());
  const back = readText(join(own, 'gitdir')).trim();
  if (back === '' || realPathOf(resolve(own, back)) !== realPathOf(file)) return undefined;
  const named = readText(join(own, 'commondir')).trim();
  const common = named === '' ? own : resolve(own, named);
  // A directory of a command's own could claim anything: git keeps its worktrees inside the repository.
  return named === '' || dirname(realPathOf(own)) === join(realPathOf(common), 'worktrees')
    ? common
    : undefined;
}

const isRepository = (path: string): boolean =>
  kindOf(join(path, 'HEAD')) === 'file' && kindOf(join(path, 'objects')) === 'directory';
