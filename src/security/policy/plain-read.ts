/** Whether a shell that reads without echo can only be asking for a password: it does nothing with the text but keep it. */
import { setOf } from '../list.ts';
import { dangerOf } from './tables/variables.ts';
import { findCommands } from './walk.ts';

/** Commands that run nothing of what they are given, and that scripts have around `read`. */
const AROUND = setOf('read stty printf echo tput clear sleep true : test [ unset');

/** `commands`: what was entered, and has not ended. */
export function isPlainRead(commands: string): boolean {
  const { invocations, unknowns, functions, tooComplex } = findCommands(commands, {
    directory: '/',
    home: '/',
  });
  const names = invocations.map(({ args }) => args[0]?.value ?? '');
  return (
    tooComplex === undefined &&
    unknowns.length === 0 &&
    functions.size === 0 &&
    names.includes('read') &&
    names.every((name) => AROUND.has(name)) &&
    // Some variables are run later.
    invocations.every(({ args }) => args.every(({ value }) => dangerOf(value ?? '') === undefined))
  );
}
