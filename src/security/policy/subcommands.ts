/** Where the subcommand of a program begins: `git -C dir push` is a push. */

import type { Arg } from './evaluate-word.ts';
import { GLOBAL_OPTIONS } from './tables/option-rules.ts';

export interface Split {
  readonly subcommand: string | undefined;
  readonly before: readonly Arg[];
  readonly after: readonly Arg[];
}

/** `args` without the program's name. */
export function subcommandOf(program: string, args: readonly Arg[]): Split {
  const values = GLOBAL_OPTIONS[program] ?? [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at]?.value ?? args[at]?.start ?? '';
    if (!word.startsWith('-')) {
      return { subcommand: args[at]?.value, before: args.slice(0, at), after: args.slice(at + 1) };
    }
    if (values.includes(word)) at += 1;
  }
  return { subcommand: undefined, before: args, after: [] };
}
