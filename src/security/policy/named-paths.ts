/** The paths that a command names, as far as its text tells. */
import { posix } from 'node:path';
import type { JudgeContext } from './policy-types.ts';
import { findCommands } from './walk.ts';
import { allPaths } from './working-directory.ts';

/** A longer one is not parsed for this. */
const MAX_CHARS = 16_384;

export function findNamedPaths(command: string, context: Pick<JudgeContext, 'directory' | 'home'>): string[] {
  if (command.length > MAX_CHARS) return [];
  const { home } = context;
  const { certain, guessed } = allPaths(findCommands(command, context), context);
  return [...certain, ...guessed].flatMap(({ path, readings, cwds }) =>
    (path === undefined ? readings : [path]).flatMap((each) =>
      cwds.flatMap((cwd) => (cwd === null ? [] : [posix.resolve(cwd, each === '~' ? home : each)])),
    ),
  );
}
