/**
 * Texts that bash evaluates although they look like data: arithmetic, subscripts, names of variables. It evaluates the
 * value of a variable in turn, so that `a[$(rm x)]` in one runs a program. What comes of such a text is decided only
 * where all that it reads is known to hold a number.
 */
import { setOf } from '../list.ts';
import { type Arg, SET_BY_SHELL } from './evaluate-word.ts';
import {
  type Arithmetic,
  type Assigned,
  type Findings,
  guessScope,
  type Scope,
  type Walk,
} from './findings.ts';
import type { JudgeContext, UnknownView } from './policy-types.ts';

/** What they are given is evaluated, since they have the integer attribute from the start, or they are always numbers. */
export const SHELL_INTEGERS = setOf(
  'BASHPID EPOCHSECONDS EUID HISTCMD LINENO MAILCHECK OPTIND PPID RANDOM SECONDS SRANDOM UID',
);

/** The shell sets them to texts: of the command, of the machine, or of what it read. */
const SHELL_TEXTS =
  /^(?:_|REPLY|OPTARG|MAPFILE|COPROC|PWD|OLDPWD|DIRSTACK|FUNCNAME|SHELL|SHELLOPTS|TERM|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|COMP\w+|READLINE_\w+|BASH(?!PID$|_SUBSHELL$|_LINENO$|_ARGC$)\w*)$/;

/** A text that bash evaluates although it is quoted: a subscript, say. The quotes inside of it count. */
export function inspectQuoted(walk: Walk, text: string, scope: Scope): void {
  if (SUBSTITUTION.test(text)) walk.walkText(`: "${text.replaceAll('"', '')}"`, guessScope(scope));
}

const SUBSTITUTION = /\$\(|`/;

/** The name of a variable, as builtins take it: only in a subscript anything is evaluated. */
export function inspectName(walk: Walk, name: string, scope: Scope): void {
  const subscript = name.indexOf('[');
  if (subscript === -1) return;
  inspectQuoted(walk, name.slice(subscript), scope);
  recordArithmetic(walk, name.slice(subscript), scope);
}

/** Expansions that are numbers where the variables in them are. */
const NUMBERS =
  /\$(?:[#?$!]|[A-Za-z_]\w*|\{(?:#\w+(?:\[[@*]\])?|[#?$!]|[A-Za-z_]\w*(?:\[[\w\s+\-*/$]*\])?(?::?[-+=]\d*)?)\}|\(\([\w\s+\-*/%]*\)\))/g;

/** `a$x` is the name of a variable that stands nowhere, and `$'\x61'` is another text than it looks like. */
const BUILT = /(?<![\w$])[A-Za-z_]\w*[$`]|\$['"]/;

/** What is given a value without being read. */
const TARGET = /(^|[(,;?:&|])(\s*)[A-Za-z_]\w*(?=\s*(?:\[[^\][]*\]\s*)?=(?!=))/g;

/** Which variables decide what is evaluated. */
export function recordArithmetic(walk: Walk, text: string, scope: Scope): void {
  // Without quotes it was looked into as a part of the word.
  if (/['"\\]/.test(text)) inspectQuoted(walk, text, scope);
  record(walk, text, scope);
}

/** Bash evaluates a text of which nothing is known. */
export function recordUnknown({ findings }: Walk, text: string, { isGuess }: Scope): void {
  if (!isGuess)
    findings.arithmetic.push({ names: [], unsettled: [], isOpen: true, isSubstituted: false, text });
}

function record(walk: Walk, given: string, scope: Scope, more: Partial<Arithmetic> = {}): void {
  // Bash joins lines before it reads names.
  const text = given.replaceAll('\\\n', '');
  inspectValues(walk, text, scope);
  if (scope.isGuess) return;
  // In a word, quotes end the name of a variable; in arithmetic they are no part of it.
  const bare = text.replace(/['"\\]/g, more.isWord === true ? ' ' : '');
  const rest = bare.replace(NUMBERS, ' ');
  const isBuilt = more.isWord !== true && (BUILT.test(text) || BUILT.test(bare));
  const isOpen = more.isOpen === true || isBuilt || /\$(?!\()/.test(rest);
  const isSubstituted = /\$\(|`|[<>]\(/.test(rest);
  const read = bare
    .replace(/\$\{#\w+(?:\[[@*]\])?\}|\$\{?[#?$!]\}?/g, '1')
    .replace(/\b\d+(?:#[\w@]+|[xX][\da-fA-F]+)?/g, '1')
    .replace(TARGET, '$1$2');
  const names = [...read.matchAll(/[A-Za-z_]\w*/g)].map(([name]) => name);
  if (names.length === 0 && !isOpen && !isSubstituted) return;
  // An element of an array may have been set alone.
  const unsettled = [...read.matchAll(/([A-Za-z_]\w*)(\[?)/g)].flatMap(([, name = '', bracket]) =>
    bracket === '' && scope.settled.has(name) ? [] : [name],
  );
  walk.findings.arithmetic.push({ ...more, names, unsettled, isOpen, isSubstituted, text });
}

/** What the variables of such a text may hold, as far as that is plain to see, is evaluated as well. */
function inspectValues(walk: Walk, text: string, scope: Scope): void {
  for (const [, name = ''] of text.matchAll(/(?<!\w)([A-Za-z_]\w*|(?<=\$\{?!?)(?:\d+|[@*]))/g))
    for (const value of scope.variables.get(name) ?? []) inspectQuoted(walk, value, scope);
}

/** A word of `test` or `printf` that may turn out to be an option behind which a name is evaluated. */
export function recordWord(walk: Walk, { text, isGlob, start }: Arg, scope: Scope): void {
  const isFree = isGlob && (start === '' || start.startsWith('-'));
  const isOpen = isFree || BUILT_OPTION.test(text.replace(/\\\n|["'\\]/g, ''));
  record(walk, text, scope, { isWord: true, isOpen, isQuoted: /^"(?:[^"\\]|\\[^])*"$/.test(text) });
}

/** A hyphen at the beginning, or behind expansions that may be empty. */
const BUILT_OPTION = /^(?:\$(?:\w+|\{[^{}]*\}|[^\w{(]))*-/;

/** `${!x}` reads the variable that x names, and evaluates a subscript in that name. */
export function recordIndirection(walk: Walk, parameter: string, scope: Scope): void {
  record(walk, `$${parameter}`, scope);
}

/** What such a variable is given is evaluated at once. */
export function inspectGiven(walk: Walk, { name, value }: Assigned, scope: Scope): void {
  if (!walk.findings.integers.has(name)) return;
  for (const guess of value?.guesses ?? []) inspectQuoted(walk, guess, scope);
}

/** Later lines would not do what they say. */
export const REPLACED = 'a function takes the place of the builtin';

const NUMBER = /^(?:-?\d+)?$/;
/** One word that is no option, however it is split. */
const PLAIN = /^(?!-)(?![^]*\s-)[^*?[\]]*$/;

/** Of a quoted one, which is one word as it is. */
const NO_OPTION = /^(?!-)/;

export const isPlainWord = (value: string | undefined): boolean => value !== undefined && PLAIN.test(value);

/** Under an allow-list: what is not certainly a number is not decided. */
export function findEvaluated(findings: Findings, context: JudgeContext): UnknownView | undefined {
  const found = findings.arithmetic.find(
    (each) =>
      each.isOpen || each.isSubstituted || each.names.some((name) => isUnsafe(name, each, findings, context)),
  );
  if (found?.isWord === true)
    return {
      reason: 'a word may become an operator that evaluates the next one; write "$x"',
      part: found.text,
    };
  const part = found?.text ?? (findInteger(findings) ?? findList(findings, context))?.text;
  const reason =
    'bash evaluates a value as arithmetic, which can hold commands; use [ "$x" -gt 1 ] or a number';
  return part === undefined ? undefined : { reason, part };
}

/**
 * Without one: only what an earlier line of the shell left, or the shell itself set to a text of this one. Values that the
 * line gives were looked into.
 */
export function findLeft(findings: Findings, context: JudgeContext): UnknownView | undefined {
  const isLeft = (each: Arithmetic): boolean =>
    context.isContinued === true
      ? each.isOpen || each.names.some((name) => isUnsafe(name, each, findings, context))
      : each.names.some((name) => SET_BY_SHELL.test(name));
  const replacing = findings.unknowns.find(({ reason }) => reason.startsWith(REPLACED));
  if (context.isContinued === true && replacing !== undefined) return replacing;
  const part =
    findings.arithmetic.find(isLeft)?.text ??
    (context.isContinued === true ? findInteger(findings)?.text : undefined);
  return part === undefined ? undefined : { reason: 'the value of a variable decides what it runs', part };
}

function isUnsafe(
  name: string,
  { isWord, isQuoted, unsettled }: Arithmetic,
  { assignments }: Findings,
  { environment, inherited, isContinued }: JudgeContext,
): boolean {
  if (SHELL_TEXTS.test(name)) return true;
  if (isContinued === true && unsettled.includes(name) && !SHELL_INTEGERS.has(name)) return true;
  const outer = environment?.[name] ?? inherited?.(name) ?? '';
  const plain = isQuoted === true ? NO_OPTION : PLAIN;
  if (!(isWord === true ? plain : NUMBER).test(outer)) return true;
  return assignments.some(
    (each) =>
      each.name === name &&
      each.isNumber !== true &&
      !(isWord === true && (each.isPlain === true || isPlain(each.value?.value, plain))),
  );
}

const isPlain = (value: string | undefined, plain: RegExp): boolean =>
  value !== undefined && plain.test(value);

const findInteger = ({ assignments, integers }: Findings): Assigned | undefined =>
  assignments.find(({ name, isNumber }) => integers.has(name) && isNumber !== true);

/** A text that is read like the source of an array. */
function findList({ assignments }: Findings, { isContinued }: JudgeContext): Assigned | undefined {
  const isArray = (name: string): boolean =>
    isContinued === true || assignments.some((each) => each.name === name && each.isArray === true);
  return assignments.find(({ name, mayBeList }) => mayBeList === true && isArray(name));
}
