/**
 * Errors in the words that clients of `shell/exec` compare. Code, hint and details stay as they are for
 * clients that read those.
 */
import { ERRORS, ShellServerError } from '../base/errors.ts';
import { ApprovalNeeded, escapeText } from '../security/security.ts';
import type { Call } from '../tools/tool.ts';

export interface Asked {
  /** The program's name, or a whole shell command. */
  readonly command: string;
  readonly args: readonly string[] | undefined;
}

export function asShellExecError(thrown: unknown, asked: Asked, call: Call): unknown {
  // A question is the edge's to put; and nobody waits for the answer to a call that was cancelled.
  if (thrown instanceof ApprovalNeeded || call.signal.aborted) return thrown;
  const error =
    thrown instanceof ShellServerError
      ? thrown
      : new ShellServerError('SYSTEM_001', ERRORS.SYSTEM_001.meaning, { cause: thrown });
  const { code, details, category } = error;
  const isDenial = category === 'SECURITY' || category === 'AUTH';
  const message = isDenial
    ? describeDenial(error, asked, call)
    : `Command execution failed: ${inTheirNames(error.message)}`;
  return new ShellServerError(code, message, {
    hint: error.hint,
    ...(details !== undefined && { details }),
    cause: error,
  });
}

/** Exactly the sentence clients compare where the allow-list denied it; otherwise its beginning with the reason. */
function describeDenial(error: ShellServerError, { command, args }: Asked, call: Call): string {
  const refused = error.details?.['refused'] as { command: string; argument?: string } | undefined;
  const name = shown(refused?.command ?? (args === undefined ? firstWord(command) : command)).toLowerCase();
  if (refused === undefined)
    return `Command '${name}' not allowed: ${inTheirNames(error.message.replace(/^Not run: /, ''))}`;
  const argument = refused.argument ?? (isListed(name, call) ? args?.[0] : undefined);
  return argument === undefined
    ? `Command '${name}' not allowed`
    : `Command '${name}' with argument '${shown(argument)}' not allowed`;
}

/** It is read in a terminal. */
const shown = (word: string): string => escapeText(word.slice(0, 200));

/** A command of which only some arguments are allowed (`git status`) is refused for its argument. */
function isListed(name: string, { modules, principal }: Call): boolean {
  return Object.keys(modules.security.restrictions.of(principal).policy.allowedTable()).some(
    (listed) => listed.toLowerCase() === name,
  );
}

const firstWord = (command: string): string => command.trim().split(/\s/, 1)[0] ?? '';

function inTheirNames(message: string): string {
  return message.replace(/^working_directory\b/, 'cwd').replace(/^environment_variables\b/, 'env');
}
