/**
 * What the shell's own commands do to it: directories, variables, functions, options; and those that evaluate their
 * arguments as commands.
 */
import { setOf } from '../list.ts';
import { type Arg, literalArg, UNDECIDED, unknownArg, wordOf } from './evaluate-word.ts';
import { type Call, joinCwds, type Scope, type Walk } from './findings.ts';
import {
  firstGuesses,
  followFile,
  followInput,
  followText,
  isStdin,
  joinArgs,
  setUnknown,
  textsOf,
} from './follow.ts';
import { inspectName, inspectQuoted, recordArithmetic, recordPath } from './inspect.ts';
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
    const [action, signal] = options(call, 'lpP')?.rest ?? [];
    if (action === undefined || signal === undefined || action.value === '-' || action.value === '') return;
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
    const names = [
      ...read.options.filter(({ name }) => name === 'a').map(({ value }) => value),
      ...read.rest,
    ];
    const lines = linesRead(call, names.length);
    for (const name of names.length === 0 ? [literalArg('REPLY')] : names)
      if (name !== undefined) assignTo(call, name, lines);
  },
  mapfile: readLines,
  readarray: readLines,
  printf: (call) => {
    const [first, name] = call.args;
    const word = wordOf(first);
    if (word === '-v' && name !== undefined) assignTo(call, name, formatted(call.args.slice(2)));
    else if (/^-v./.test(word)) assignTo(call, literalArg(word.slice(2)), formatted(call.args.slice(1)));
    else if (first !== undefined && first.value === undefined && first.isMany) unclear(call);
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
      recordArithmetic(walk, arg.value ?? '$(', scope);
      inspectQuoted(walk, arg.value ?? '', scope);
      const name = /^\s*([A-Za-z_]\w*)(?:\[.*\])?\s*(?:\S{0,2})=/.exec(arg.value ?? '')?.[1];
      if (name !== undefined) walk.assign({ name, text: arg.text, isNumber: true }, scope);
    }
  },
  set: setOptions,
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

function declare(call: Call): void {
  const { walk, args, scope } = call;
  const name = call.invocation.args[0]?.value ?? '';
  let isInteger = false;
  for (const arg of args) {
    const word = wordOf(arg);
    if (/^[-+]\w/.test(word)) {
      isInteger ||= word.includes('i');
      if (/^-\w*n/.test(word) && name !== 'export' && name !== 'readonly') refersToOthers(call);
      if (/^-\w*f/.test(word) && name === 'export') changesReading(call);
      continue;
    }
    const equals = word.indexOf('=');
    const target = (equals === -1 ? word : word.slice(0, equals)).replace(/\+$/, '');
    if (!NAME.test(target)) {
      if (word !== '--') unclear(call);
      inspectName(walk, word, scope);
      continue;
    }
    // `export A` gives no value, and `export A=$x` has its name in the known beginning.
    if (arg.value === undefined && equals === -1) unclear(call);
    if (equals === -1) continue;
    const guesses = arg.guesses.map((guess) => guess.slice(equals + 1));
    const value =
      arg.value === undefined
        ? unknownArg(arg.text, guesses, false)
        : literalArg(arg.value.slice(equals + 1));
    if (isInteger) {
      recordArithmetic(walk, value.value ?? '$(', scope);
      inspectQuoted(walk, value.value ?? '', scope);
    }
    const isNumber = /^-?\d+$/.test(value.value ?? '');
    walk.assign({ name: target, value, text: arg.text, isNumber }, scope);
  }
}

function readLines(call: Call): void {
  const { walk, scope } = call;
  const read = options(call, 'd:n:O:s:tu:C:c:');
  if (read === undefined) return;
  for (const { name, value } of read.options) {
    if (name === 'C' && value !== undefined)
      followText(call, joinArgs([value, unknownArg('(a line)', ['x'])]), inside(scope, 'mapfile -C'));
    if (name === 'O' && value !== undefined) {
      recordArithmetic(walk, value.value ?? '$(', scope);
      inspectQuoted(walk, value.value ?? '', scope);
    }
  }
  assignTo(call, read.rest[0] ?? literalArg('MAPFILE'), linesRead(call, 1));
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

/** `$1` and `$@`, as far as they can be guessed. */
export function setPositional(scope: Scope, args: readonly Arg[]): void {
  args.forEach((arg, index) => scope.variables.set(String(index + 1), arg.guesses));
  const all = [firstGuesses(args)];
  scope.variables.set('@', all);
  scope.variables.set('*', all);
}

function testArguments(call: Call): void {
  call.args.forEach((arg, index) => {
    if (arg.value !== '-v' && arg.value !== '-R') return;
    const next = call.args[index + 1];
    if (next === undefined || NAME.test(next.value ?? '') || next.value === ']') return;
    unclear(call);
    inspectName(call.walk, next.value ?? '', call.scope);
  });
}

/** `guesses`: what it may be given, where the command says so itself. */
function assignTo(call: Call, name: Arg, guesses: readonly string[] = []): void {
  const { walk, scope, invocation } = call;
  if (name.value === undefined || !NAME.test(name.value)) {
    inspectName(walk, wordOf(name), scope);
    return unclear(call);
  }
  walk.assign({ name: name.value, text: invocation.text }, scope);
  const known = scope.variables.get(name.value) ?? [];
  if (guesses.length > 0) scope.variables.set(name.value, [...guesses, ...known].slice(0, MAX_READ));
}

const MAX_READ = 6;

/** What `read` finds on its input, where that is written out: a line, and for several names its words. */
function linesRead({ input }: Call, names: number): string[] {
  const lines = textsOf(input)
    .flatMap((text) => text.split('\n'))
    .filter((line) => line !== '');
  return (names < 2 ? lines : lines.flatMap((line) => [...line.split(/\s+/), line])).slice(0, MAX_READ);
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

function unclear(call: Call): void {
  setUnknown(call, 'bash evaluates a name that is only known when it runs');
}

/** From here on one name may stand for another, so that no variable's value is known. */
function refersToOthers(call: Call): void {
  const { text } = call.invocation;
  unclear(call);
  const target = { ...unknownArg(text), readings: [UNDECIDED] };
  recordPath(call.walk, { kind: 'read', target, text }, call.scope);
}

function evaluates(call: Call): void {
  setUnknown(call, 'this builtin runs or evaluates its arguments');
}

/** Without arguments it only lists them. */
function definesNames(call: Call): void {
  if (call.args.length > 0) changesReading(call);
}

function changesReading(call: Call): void {
  setUnknown(call, 'this changes how the shell reads what follows');
}
