/**
 * What a list of blocked commands, or of those to ask about, cannot be held against: it decides what later lines run, or
 * runs a text that only the shell knows. An allow-list has rules of its own for it.
 */
import { type Arg, SET_BY_SHELL } from './evaluate-word.ts';
import type { Assigned, Findings, Invocation } from './findings.ts';
import type { JudgeContext, UnknownView } from './policy-types.ts';

export function findUnjudged(
  { invocations, assignments, unknowns }: Findings,
  { isContinued }: JudgeContext,
): UnknownView | undefined {
  const defining = invocations.find(
    (each) => isDefining(each) || changesReading(each) || (isContinued === true && ignoresKeys(each)),
  );
  if (defining !== undefined) return { reason: 'this decides what later commands run', part: defining.text };
  const assigned = assignments.find(isRunLater);
  if (assigned !== undefined)
    return { reason: `bash may run the value of ${assigned.name} later`, part: assigned.text };
  const prompt = unknowns.find(({ reason }) => reason.endsWith('as a prompt'));
  if (prompt !== undefined) return prompt;
  const open = invocations.find((each) => isOpen(each, isContinued === true));
  return open && { reason: 'the value of a variable decides what it runs', part: open.text };
}

const some = (args: readonly Arg[], pattern: RegExp): boolean =>
  args.some((arg) => arg.value === undefined || pattern.test(arg.value));

/** Builtins that give a command another meaning, or run a text that is none of the line. */
const DEFINING: Readonly<Record<string, (args: readonly Arg[]) => boolean>> = {
  alias: (args) => some(args, /=/),
  bind: (args) => args.length > 0,
  compgen: (args) => some(args, /^-\w*[CW]/),
  complete: (args) => some(args, /^-\w*[CW]/),
  enable: (args) => some(args, /^-\w*f/),
  fc: () => true,
  hash: (args) => some(args, /^-\w*p/),
  jobs: (args) => some(args, /^-\w*x/),
};

function isDefining({ args: [name, ...args] }: Invocation): boolean {
  const word = name?.value ?? '';
  return Object.hasOwn(DEFINING, word) && DEFINING[word]?.(args) === true;
}

/** What follows a `#` would be run; or one name of an alias is given to a builtin that sets it. */
const changesReading = ({ args }: Invocation): boolean =>
  args
    .slice(1)
    .some(({ value }) =>
      /^(?:[-+]o)?interactive[-_]comments$|^(?:-v)?BASH_(?:ALIASES|CMDS)\[/.test(value ?? ''),
    );

/** Ctrl-C would leave the line as it is, and what is typed then is judged without it. */
const ignoresKeys = ({ args: [name, action] }: Invocation): boolean =>
  name?.value === 'trap' && action !== undefined && (action.value === undefined || action.value === '');

/** Variables whose value bash runs, or by which a key does; and those in whose value it runs substitutions. */
const RUN = /^(?:PROMPT_COMMAND|BASH_ALIASES|BASH_CMDS|INPUTRC|histchars)(?:$|[[=])/;
const EXPANDED = /^(?:PS[0-4]|MAILPATH|BASH_ENV|ENV)$/;

function isRunLater({ name, value, text, isNumber }: Assigned): boolean {
  const known = value?.value;
  if (isNumber === true || known === '') return false;
  // An index is evaluated as arithmetic, and another name may stand for the variable.
  if (known !== undefined && (RUN.test(known) || /\[[^\]]*(?:\$\(|`)/.test(known))) return true;
  if (RUN.test(name)) return true;
  if (!EXPANDED.test(name)) return false;
  // Other programs have a variable of this name, too.
  if (known === undefined && name !== 'ENV') return true;
  return /\$[({]|`/.test(known ?? text);
}

/** A name, or a text for a shell, that a variable holds which this line does not set for certain. */
function isOpen({ args, text, unknown }: Invocation, isContinued: boolean): boolean {
  if (args[0]?.value !== undefined && unknown === undefined) return false;
  if (isContinued) return /\$(?!\()/.test(text);
  return [...text.matchAll(/\$\{?!?(\w+)/g)].some(([, name = '']) => SET_BY_SHELL.test(name));
}
