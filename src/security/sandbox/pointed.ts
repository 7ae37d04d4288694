/**
 * Repositories of Mercurial, Sapling and Jujutsu that share one elsewhere: a file names it, and the configuration that
 * lies there is obeyed here.
 */
import { join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { realPathOf } from '../../base/config/paths.ts';
import { kindOf, pathFrom, readPlainFile } from './host-files.ts';

/** A file that names a directory, and what in that one is obeyed. */
const POINTERS: readonly (readonly [file: string, obeyed: string])[] = [
  ['.hg/sharedpath', 'hgrc'],
  ['.sl/sharedpath', 'config'],
  ['.jj/repo', 'config.toml'],
];
const MAX_BYTES = 64 * 1024;
/** Nobody's path is longer. */
const MAX_PATH = 1024;

/** The files that name one, and what is obeyed there; may be missing, and may be anywhere. */
export function pointedIn(directory: string): string[] {
  return POINTERS.flatMap(([file, obeyed]) => {
    const pointer = join(directory, file);
    const real = realPathOf(pointer);
    // In a repository of its own it is the directory with all of it.
    if (kindOf(real) !== 'file') return [];
    const named = (attempt(() => readPlainFile(real, MAX_BYTES)) ?? '').trim();
    const isPath = named !== '' && named.length <= MAX_PATH;
    return [pointer, ...(isPath ? [join(pathFrom(join(directory, file, '..'), named), obeyed)] : [])];
  });
}

/** Directories in whose place a file could name another one. */
export const ownStoresIn = (directory: string): string[] =>
  ['.jj/repo'].map((name) => join(directory, name)).filter((path) => kindOf(path) === 'directory');
