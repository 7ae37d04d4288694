/**
 * What somebody outside would execute or obey, and that was not there when a command began: a mount cannot keep a file
 * from being created. It is looked for when the command has ended, and moved aside.
 */
import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { randomText } from '../../base/ids.ts';
import { isThere, readLinkAt } from './look.ts';
import { PROTECTED_IN_HOME } from './protected-paths.ts';

/** A path, and where it led: undefined where there was nothing. */
export interface WatchedPath {
  readonly path: string;
  readonly link: string | undefined;
}

/** Of a workspace. What a template brings along and a person is asked about first is not among them. */
const IN_WORKSPACE = [
  '.mcp.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.cursor/mcp.json',
  '.cursor/hooks.json',
  '.vscode/mcp.json',
  '.vscode/tasks.json',
  '.codex/config.toml',
  '.gemini/settings.json',
];

const IN_GIT = ['hooks', 'config', 'commondir', 'config.worktree'];

const IN_HOME = [
  ...PROTECTED_IN_HOME,
  '.claude.json',
  '.claude/settings.json',
  '.docker/config.json',
  '.ssh',
  '.gnupg',
];

export function watchedPaths(input: {
  readonly writable: readonly string[];
  readonly repositories: readonly string[];
  readonly homedir: string;
  /** What the operator named is theirs. */
  readonly opened: readonly string[];
}): WatchedPath[] {
  const { writable, homedir } = input;
  const home = realPathOf(homedir);
  const isHomeWritable = writable.some((root) => isInside(home, root));
  const candidates = [
    ...writable.flatMap((root) => IN_WORKSPACE.map((name) => join(root, name))),
    ...new Set(
      [...writable, ...input.repositories]
        .map((root) => join(root, '.git'))
        .filter(isThere)
        .flatMap((git) => IN_GIT.map((name) => join(git, name))),
    ),
    ...(isHomeWritable ? IN_HOME.map((name) => join(home, name)) : []),
  ];
  return candidates.flatMap((path) => {
    const link = readLinkAt(path);
    const isWatched =
      (link !== undefined || !isThere(path)) && !input.opened.some((other) => isInside(path, other));
    return isWatched ? [{ path, link }] : [];
  });
}

/** Moves aside what is there now and was not; answers with the new names. */
export function holdBack(watched: readonly WatchedPath[]): string[] {
  const moved: string[] = [];
  for (const { path, link } of watched) {
    if (!isThere(path) || (link !== undefined && readLinkAt(path) === link)) continue;
    // Never through a link: it would be another place's file.
    if (realPathOf(dirname(path)) !== dirname(path)) continue;
    const aside = `${path}.held-back-${randomText().slice(0, 6)}`;
    try {
      renameSync(path, aside);
      moved.push(aside);
    } catch {
      // Gone again, or not ours to move: then it is not ours to obey either.
    }
  }
  return moved;
}
