/**
 * What the shell's own commands do to it: directories, variables, functions, options; and those that evaluate their
 * arguments as commands.
 */
import { setOf } from '../list.ts';
import { changesReading, declare, unclear } from './declare.ts';
import { type Arg, boundValues, literalArg, splitAt, unknownArg, wordOf } from './evaluate-word.ts';
import { inspectName, inspectQuoted, recordArithmetic, recordUnknown, recordWord } from './evaluated.ts';
import { type Call, joinCwds, type Scope, type Walk } from './findings.ts';
import {
  followFile,
  followInput,
  followText,
  isStdin,
  joinArgs,
  setPositional,
  setUnknown,
  shiftPositional,
  textsOf,
} from './follow.ts';
import { type Leading, readLeading } from './options.ts';

export function applyBuiltin(call: Call): void {
  const { args, isFunction } = call.invocation;
  const name = args[0]?.value;
  if (name !== undefined && !isFunction && Object.hasOwn(BUILTINS, name)) BUILTINS[name]?.(call);
}

/** Whether this module knows what the name does to the shell. */
export function isBuiltin(name: string): boolean {
  return Object.hasOwn(BUILTINS, name) || ['exec', 'command', 'builtin'].includes(name);
}

/** Others of the shell that only steer it, or print. */
const PLAIN_BUILTINS = setOf(': true false echo pwd exit return break continue');

/** Whether the name is certain to stand for the shell's own command, since a function of this name is not decided. */
export function isOwn(name: string | undefined): boolean {
  return name !== undefined && (PLAIN_BUILTINS.has(name) || isBuiltin(name));
}

const SET_LETTERS = /^[-+][euxfvCETbmhn]+$/;
const SET_NAMES = setOf(
  'errexit nounset xtrace pipefail noglob verbose noclobber errtrace functrace notify monitor hashall noexec',
);
const SHOPT_NAMES = setOf(
  'nullglob globstar dotglob failglob nocaseglob nocasematch inherit_errexit extglob checkwinsize',
);
const NAME = /^[A-Za-z_]\w*$/;

const BUILTINS: Readonly<Record<string, (call: Call) => void>> = {
  cd: changeDirectory,
  pushd: changeDirectory,
  popd: ({ walk, scope }) => walk.goBack(scope),
  eval: (call) => {
    const { args, scope } = call;
    if (args.length === 0) return;
    const inner = inside(scope, 'eval');
    followText(call, joinArgs(args), inner);
    scope.cwds = joinCwds(inner.cwds, scope.cwds);
  },
  source: readFile,
  '.': readFile,
  trap: (call) => {
    const { walk, scope } = call;
    const [action, ...signals] = options(call, 'lpP')?.rest ?? [];
    if (action === undefined || signals.length === 0 || action.value === '-' || action.value === '') return;
    // It could give variables other values between the commands of later lines.
    if (walk.context.isContinued === true && !signals.every(({ value }) => /^(?:EXIT|0)$/.test(value ?? '')))
      recordUnknown(walk, call.invocation.text, scope);
    // It runs later, wherever the shell is then.
    const cwds = joinCwds(scope.cwds, [walk.context.directory]);
    followText(call, action, { ...inside(scope, 'trap'), cwds });
  },
  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  read: (call) => {
    const read = options(call, 'ersa:d:i:n:N:p:t:u:');
    if (read === undefined) return;
    const arrays = read.options.filter(({ name }) => name === 'a').map(({ value }) => value);
    const names = [...arrays, ...read.rest];
    const lines = linesRead(call, arrays.length > 0 ? 2 : names.length);
    for (const name of names.length === 0 ? [literalArg('REPLY')] : names)
      if (name !== undefined) assignTo(call, name, lines, arrays.length > 0);
  },
  mapfile: readLines,
  readarray: readLines,
  printf: (call) => {
    const [first, name] = call.args;
    const word = first?.value ?? '';
    if (word === '-v' && name !== undefined) assignTo(call, name, formatted(call.args.slice(2)));
    else if (/^-v./.test(word)) assignTo(call, literalArg(word.slice(2)), formatted(call.args.slice(1)));
    else if (first !== undefined && first.value === undefined && wordOf(first).startsWith('-v')) {
      recordUnknown(call.walk, first.text, call.scope);
      unclear(call);
    } else if (first !== undefined && first.value === undefined && first.isMany) unclear(call);
    else if (first !== undefined && mayBeOption(first)) recordWord(call.walk, first, call.scope);
  },
  getopts: (call) => {
    const name = call.args[1];
    if (name !== undefined) assignTo(call, name);
  },
  wait: (call) => {
    const read = options(call, 'fnp:');
    for (const { name, value } of read?.options ?? [])
      if (name === 'p' && value !== undefined) assignTo(call, value);
  },
  unset: (call) => {
    const { functions } = call.scope;
    for (const { value } of call.args) {
      if (value === undefined || !/^-?\w+$/.test(value)) {
        setUnknown(call, 'bash evaluates what unset is given');
        inspectName(call.walk, value ?? '', call.scope);
        functions.clear();
      } else functions.delete(value);
    }
  },
  let: ({ walk, args, scope }) => {
    for (const arg of args) {
      if (arg.value === undefined) recordUnknown(walk, arg.text, scope);
      else recordArithmetic(walk, arg.value, scope);
      for (const guess of arg.guesses) inspectQuoted(walk, guess, scope);
      const name = /^\s*([A-Za-z_]\w*)(?:\[.*\])?\s*(?:\S{0,2})=/.exec(arg.value ?? '')?.[1];
      if (name !== undefined) walk.assign({ name, text: arg.text, isNumber: true }, scope);
    }
  },
  set: setOptions,
  shift: ({ scope }) => shiftPositional(scope),
  shopt: (call) => {
    const names = call.args.filter(({ value }) => !/^-[supqo]+$/.test(value ?? ''));
    if (names.some(({ value }) => !SHOPT_NAMES.has(value ?? ''))) changesReading(call);
  },
  alias: definesNames,
  enable: definesNames,
  hash: (call) => {
    if (call.args.some(({ value }) => value === undefined || /^-\w*p/.test(value))) changesReading(call);
  },
  test: testArguments,
  '[': testArguments,
  compgen: evaluates,
  complete: evaluates,
  compopt: evaluates,
  bind: evaluates,
  fc: evaluates,
  jobs: (call) => {
    if (call.args.some(({ value }) => value === undefined || /^-\w*x/.test(value))) evaluates(call);
  },
};

function inside(scope: Scope, label: string): Scope {
  return { ...scope, foundIn: [...scope.foundIn, label], depth: scope.depth + 1 };
}

function changeDirectory({ walk, args, scope, invocation }: Call): void {
  const target = args.find((arg) => !/^-[LPe@n]+$|^--$/.test(wordOf(arg)));
  const isPushd = invocation.args[0]?.value === 'pushd';
  if (target === undefined && !isPushd) walk.enter(homeArg(walk, scope), scope);
  else if (target === undefined || /^[-+]\d*$/.test(target.value ?? '')) walk.goBack(scope);
  else walk.enter(target, scope);
}

/** What `cd` alone leads to. */
function homeArg(walk: Walk, scope: Scope): Arg {
  const { home, assigned, variables } = walk.knowledge(scope);
  return assigned.has('HOME') ? unknownArg('cd', variables.get('HOME') ?? []) : literalArg(home, 'cd');
}

function readFile(call: Call): void {
  const [file] = call.args;
  const inner = inside(call.scope, 'source');
  if (file !== undefined && isStdin(file)) followInput(call, 'bash', inner);
  else followFile(call, 'the shell runs what stands in a file', inner);
}

function readLines(call: Call): void {
  const { walk, scope } = call;
  const read = options(call, 'd:n:O:s:tu:C:c:');
  if (read === undefined) return;
  for (const { name, value } of read.options) {
    if (name === 'C' && value !== undefined)
      followText(call, joinArgs([value, unknownArg('(a line)', ['x'])]), inside(scope, 'mapfile -C'));
    if (name === 'O' && value !== undefined) {
      if (value.value === undefined) recordUnknown(walk, value.text, scope);
      else recordArithmetic(walk, value.value, scope);
      inspectQuoted(walk, value.value ?? '', scope);
    }
  }
  assignTo(call, read.rest[0] ?? literalArg('MAPFILE'), linesRead(call, 1), true);
}

function setOptions(call: Call): void {
  const { args, scope } = call;
  for (let at = 0; at < args.length; at++) {
    const word = args[at]?.value;
    if (word === '--' || (word !== undefined && !/^[-+]/.test(word))) {
      const positional = args.slice(word === '--' ? at + 1 : at);
      setPositional(scope, positional);
      return;
    }
    const isNamed = word !== undefined && /^[-+][euxfvCETbmhn]*o$/.test(word);
    if (isNamed && (args[at + 1] === undefined || SET_NAMES.has(args[at + 1]?.value ?? ''))) at += 1;
    else if (word === undefined || !(SET_LETTERS.test(word) || word === '-')) {
      changesReading(call);
      return;
    }
  }
}

function testArguments(call: Call): void {
  call.args.forEach((arg, index) => {
    const next = call.args[index + 1];
    if (mayEvaluate(arg, next)) {
      recordWord(call.walk, arg, call.scope);
      inspectName(call.walk, next?.value ?? arg.text, call.scope);
    }
    if (arg.value !== '-v' && arg.value !== '-R') return;
    if (next === undefined || NAME.test(next.value ?? '') || next.value === ']') return;
    unclear(call);
    inspectName(call.walk, next.value ?? '', call.scope);
  });
}

/** A word that is not known may be, or become, `-v` with a subscript behind it. */
function mayEvaluate(arg: Arg, next: Arg | undefined): boolean {
  const isFollowed = next !== undefined && (next.value === undefined || next.value.includes('['));
  return mayBeOption(arg) && (arg.isMany || isFollowed);
}

const mayBeOption = ({ value, start, isMany, isGlob }: Arg): boolean =>
  value === undefined && (start === '' || start.startsWith('-') || (isMany && !isGlob));

/** `guesses`: what it may be given, where the command says so itself. */
function assignTo(call: Call, name: Arg, guesses: readonly string[] = [], isArray = false): void {
  const { walk, scope, invocation } = call;
  if (name.value === undefined || !NAME.test(name.value)) {
    inspectName(walk, wordOf(name), scope);
    return unclear(call);
  }
  const { text } = invocation;
  const value = guesses.length === 0 ? {} : { value: unknownArg(text, guesses, false) };
  walk.assign({ name: name.value, text, isArray, ...value }, scope);
}

/** What `read` finds on its input, where that is written out: a line, and for several names its words. */
function linesRead({ input, scope }: Call, names: number): readonly string[] {
  const lines = textsOf(input)
    .flatMap((text) => text.split('\n'))
    .filter((line) => line !== '');
  if (names < 2) return boundValues(lines);
  const separators = new Set(` \t${(scope.variables.get('IFS') ?? []).join('')}`);
  return boundValues(lines.flatMap((line) => [...splitAt(line, separators), line]));
}

/** What `printf -v` puts together, as far as it is plain to see. */
function formatted([format, ...values]: readonly Arg[]): string[] {
  const words = values.map(({ guesses }) => guesses[0] ?? '');
  const text = format?.guesses[0] ?? '';
  return [text.replaceAll(/%[sbq]/g, () => words.shift() ?? '')];
}

function options(call: Call, short: string): Leading | undefined {
  const read = readLeading(call.args, { short });
  if (!('problem' in read)) return read;
  unclear(call);
  return undefined;
}

function evaluates(call: Call): void {
  setUnknown(call, 'this builtin runs or evaluates its arguments');
}

/** Without arguments it only lists them. */
function definesNames(call: Call): void {
  if (call.args.length > 0) changesReading(call);
}
