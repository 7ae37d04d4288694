/**
 * What a new git directory has in it that git would execute or obey. What `git init` and `git clone` write there is
 * nothing to speak of; anything else is, also what is not understood.
 */
import { readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { setOf } from '../list.ts';
import { isThere, kindOf, readPlainFile } from './host-files.ts';

const SECTIONS = /^\[(?:core|extensions|user|commit|submodule|(?:remote|branch|submodule) "[^"\\]*")\]$/i;
const KEYS = setOf(`
  repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks objectformat
  refstorage partialclone promisor partialclonefilter url fetch tagopt remote merge rebase active name email
  gpgsign
`);
/** That of a repository with a thousand branches is smaller. */
const MAX_BYTES = 256 * 1024;

/** `workTree` is where that of a submodule is, which its config names. */
export function obeyedInGit(git: string, workTree?: string): string[] {
  // A file that names another directory, or a link to one.
  if (kindOf(git) !== 'directory') return [git];
  const names = ['commondir', 'config.worktree'].filter((name) => isThere(join(git, name)));
  if (!hasPlainConfig(join(git, 'config'), workTree)) names.push('config');
  if (!hasOnlySamples(join(git, 'hooks'))) names.push('hooks');
  return names.map((name) => join(git, name));
}

function hasPlainConfig(path: string, workTree: string | undefined): boolean {
  const isOwn = (line: string): boolean => {
    const named = /^\s*worktree\s*=\s*(\S[^\\"]*)$/.exec(line)?.[1];
    return named !== undefined && resolve(dirname(path), named) === workTree;
  };
  try {
    const lines = readPlainFile(path, MAX_BYTES)?.split('\n');
    return lines?.every((line) => isPlainLine(line) || isOwn(line)) ?? false;
  } catch {
    return !isThere(path);
  }
}

/** A line that goes on in the next one, or has a section and a key, is none. */
function isPlainLine(line: string): boolean {
  const text = line.trim();
  if (text === '' || SECTIONS.test(text)) return true;
  const key = /^(\w+)\s*=[^\\]*$/.exec(text)?.[1];
  return key !== undefined && KEYS.has(key.toLowerCase());
}

function hasOnlySamples(hooks: string): boolean {
  if (kindOf(hooks) !== 'directory') return !isThere(hooks);
  return attempt(() => readdirSync(hooks))?.every((name) => name.endsWith('.sample')) ?? false;
}
