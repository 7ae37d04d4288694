/** What a command would run in turn: shells with a text, wrappers with a command, find and xargs. */
import { setOf } from '../list.ts';
import { type Arg, boundValues, literalArg, textOf, unknownArg, valuesOf } from './evaluate-word.ts';
import {
  type Call,
  copyScope,
  guessScope,
  type Input,
  type Invocation,
  NO_INPUT,
  type Scope,
  type Walk,
} from './findings.ts';
import { type Leading, type Option, type OptionSpec, readLeading } from './options.ts';
import { guessRunner } from './runners.ts';
import { SHELLS } from './tables/shell-names.ts';
import { SHELL_OPTIONS, WRAPPERS, type Wrapper, XARGS_OPTIONS } from './tables/wrappers.ts';

const BY_NAME = new Map(WRAPPERS.flatMap((wrapper) => wrapper.names.map((name) => [name, wrapper])));

/** Whether dash and bash may not see the same commands in a text. */
export const differsInSh = (text: string): boolean => BASH_ONLY.test(text);

const BASH_ONLY =
  /\$['"[]|[<>]\(|<<<|&>|>&(?!\d|-)|\(\(|\[\[|\bfunction\b|;&|\|&|\{[^\s}]*(?:,|\.\.)|\bcoproc\b|\bselect\b|\bsource\b|\$\{[^}]*[@^,/:!]/;

export function followInvocation(call: Call): void {
  const { args, isFunction } = call.invocation;
  const name = args[0]?.value;
  if (name === undefined) return setUnknown(call, 'the name of the command is only known when it runs');
  if (isFunction) return;
  const base = baseName(name);
  if (Object.hasOwn(SHELLS, base)) followShell(call, base);
  else if (base === 'xargs' || base === 'gxargs') followXargs(call);
  else if (base === 'find' || base === 'gfind') followFind(call);
  else if (base === 'parallel') followParallel(call);
  else {
    guessRunner(call, base);
    const wrapper = BY_NAME.get(base);
    if (wrapper !== undefined && !(wrapper.isBuiltin === true && name.includes('/')))
      followWrapper(call, wrapper, base);
  }
}

/** The file's name of a command that is given with its directory. */
export function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

export function setUnknown({ walk, invocation, scope }: Call, reason: string): void {
  invocation.unknown ??= reason;
  walk.unknown(reason, invocation.text, scope);
}

/** The scope of a program that was started: it has no functions of this shell, and changes nothing in it. */
function startedScope(scope: Scope, label: string, input: Input = NO_INPUT): Scope {
  return copyScope(scope, {
    functions: new Set(),
    input,
    foundIn: [...scope.foundIn, label],
    depth: scope.depth + 1,
    isConditional: false,
  });
}

/** A text that a shell gets: looked into where it is known, and where it may be guessed. */
export function followText(call: Call, text: Arg, scope: Scope): void {
  const { walk } = call;
  if (text.value !== undefined) return walk.walkText(text.value, scope);
  setUnknown(call, 'a shell runs a text that is only known then');
  // Without a guess the text as it is written shows at least its fixed parts.
  const guesses = text.guesses.length > 0 ? text.guesses : [text.text.replace(/^"([^]*)"$/, '$1')];
  walkGuesses(walk, guesses, scope);
}

function walkGuesses(walk: Walk, texts: readonly string[], scope: Scope): void {
  for (const text of texts) walk.walkText(text, copyScope(scope, { isGuess: true }));
}

/** The options before the first operand; undefined where it cannot be told what the command would run. */
function readOptions(call: Call, name: string, spec: OptionSpec, args = call.args): Leading | undefined {
  const read = readLeading(args, spec);
  if (!('problem' in read)) return read;
  setUnknown(call, `what ${name} would run is not clear: ${read.problem}`);
  return undefined;
}

function followShell(call: Call, base: string): void {
  const { walk, invocation, args, scope, input } = call;
  if (SHELLS[base] === 'other') guessForeign(walk, firstGuesses(args), scope);
  const read = readOptions(call, base, SHELL_OPTIONS, plainOptions(args));
  if (read === undefined) return;
  const names = new Set(read.options.map(({ name }) => name));
  if (names.has('help') || names.has('version')) return;
  if (['i', 'rcfile', 'init-file', 'l', 'login'].some((name) => names.has(name)))
    setUnknown(call, `${base} would read its start-up files`);
  const [first, ...rest] = read.rest;
  const inner = startedScope(scope, names.has('c') ? `${base} -c` : base, input);
  if (names.has('c')) {
    if (first === undefined) return;
    invocation.ownWords = 1;
    if (rest[0] !== undefined) inner.variables.set('0', valuesOf(rest[0]));
    setPositional(inner, rest.slice(1));
    checkGrammar(call, base, first);
    return followText(call, first, inner);
  }
  const isInput = first === undefined || names.has('s') || first.value === '-' || isStdin(first);
  if (isInput) followInput(call, base, inner);
  else followFile(call, `${base} runs what stands in a file`, inner);
}

export const isStdin = ({ value = '' }: Arg): boolean =>
  ['/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'].includes(value);

/** `bash <(echo rm x)`: the file may be what another command prints. */
export function followFile(call: Call, reason: string, scope: Scope): void {
  setUnknown(call, reason);
  walkGuesses(call.walk, printed(call.invocation.fedBy), scope);
}

/**
 * `bash +x` switches options off; for finding the operand it is the same. In `bash -oc pipefail text` each `o` takes a word
 * behind the cluster, not the rest of it.
 */
function plainOptions(args: readonly Arg[]): Arg[] {
  const plain: Arg[] = [];
  for (let at = 0; at < args.length; at++) {
    const [, letters] = /^[-+]([a-zA-Z]+)$/.exec(args[at]?.value ?? '') ?? [];
    if (letters === undefined) return [...plain, ...args.slice(at)];
    const flags = letters.replace(/[oO]/g, '');
    if (flags !== '') plain.push(literalArg(`-${flags}`));
    for (const letter of letters.replace(/[^oO]/g, '')) {
      const name = args[++at];
      plain.push(literalArg(`-${letter}`), ...(name === undefined ? [] : [name]));
    }
  }
  return plain;
}

export function followInput(call: Call, base: string, scope: Scope): void {
  const { walk, input } = call;
  if (input.kind === 'text') {
    checkGrammar(call, base, input.text);
    if (SHELLS[base] === 'other') guessForeign(walk, input.text.guesses[0] ?? '', scope);
    return followText(call, input.text, scope);
  }
  if (input.kind === 'pipe') {
    for (const text of printed(input.from)) {
      walkGuesses(walk, [text], scope);
      if (SHELLS[base] === 'other') guessForeign(walk, text, scope);
    }
  }
  setUnknown(call, `${base} runs what comes from its input`);
}

function checkGrammar(call: Call, base: string, text: Arg): void {
  const grammar = SHELLS[base];
  const differs = grammar === 'posix' && differsInSh(text.value ?? '');
  if (differs) guessForeign(call.walk, text.value ?? '', call.scope);
  if (differs || grammar === 'other') setUnknown(call, `${base} may read this text in another way than bash`);
}

const MAX_FOREIGN_WORDS = 200;

/** In the grammar of another shell any word may begin a command: `=rm x`, `not rm x`, `repeat 2 rm x`, `echo (rm x)`. */
function guessForeign(walk: Walk, text: string, scope: Scope): void {
  const inner = guessScope(scope);
  let left = MAX_FOREIGN_WORDS;
  // `--command='rm x'` and `-c'rm x'`, too.
  for (const piece of text.split(/[\n;|&(){}`]+|(?<!\S)--?[\w-]+=|(?<!\S)-[A-Za-z](?=\w)/)) {
    const all = piece.split(/\s+/).map((word) => word.replaceAll(/^(?:[=@!^\\'"-]|e:)+(?=\w)|['"]+$/g, ''));
    const found = all.filter((word) => word !== '').slice(0, left);
    left -= found.length;
    found.forEach((_, index) => {
      const args = found.slice(index).map((word) => literalArg(word));
      walk.spend(piece.length);
      walk.invoke({ args }, inner);
    });
  }
}

function followWrapper(call: Call, wrapper: Wrapper, base: string): void {
  const { walk, invocation, scope, input } = call;
  const read = readOptions(call, base, wrapper);
  if (read === undefined) return;
  const has = (names: readonly string[] | undefined): boolean =>
    read.options.some(({ name }) => names?.includes(name));
  if (has(wrapper.idleOptions)) return;
  const inner = wrapper.isBuiltin === true ? builtinScope(scope, base) : startedScope(scope, base, input);
  if (wrapper.textOptions !== undefined && followTextOptions(call, wrapper, inner)) return;

  let rest = read.rest;
  if (wrapper.shell !== undefined && call.args.some(({ value }) => value === '--'))
    rest = [literalArg(wrapper.shell), ...rest];
  if (base === 'env' || base === 'genv') rest = splitString(call, read);
  changeDirectory(walk, read.options, inner);
  if (wrapper.assignments === true) rest = takeAssignments(walk, rest, inner);
  if (rest.slice(0, wrapper.operands ?? 0).some(({ isMany }) => isMany))
    return setUnknown(call, `what ${base} would run is not clear`);
  rest = rest.slice(wrapper.operands ?? 0);
  invocation.ownWords = Math.max(1, invocation.args.length - rest.length);
  const [command] = rest;
  const joins = (wrapper.joins === true && !has(wrapper.argvOptions)) || has(wrapper.shellOptions);
  if (command === undefined) {
    if (has(wrapper.shellOptions) || base === 'su') followInput(call, base, inner);
  } else if (joins) followText(call, joinArgs(rest), inner);
  else walk.invoke({ args: rest, input, fedBy: invocation.fedBy }, inner);
  // `command eval` and `builtin cd` act on this very shell.
  if (wrapper.isBuiltin === true) scope.cwds = inner.cwds;
}

function builtinScope(scope: Scope, base: string): Scope {
  // The maps are those of the shell itself, but functions are passed over.
  return { ...scope, functions: new Set(), foundIn: [...scope.foundIn, base], depth: scope.depth + 1 };
}

/** `su root -c text`, `script -c text file`: options may stand behind operands. */
function followTextOptions(call: Call, wrapper: Wrapper, scope: Scope): boolean {
  let rest = call.args;
  const texts: (Arg | undefined)[] = [];
  for (let round = 0; rest.length > 0 && round < 8; round++) {
    const read = readLeading(rest, wrapper);
    if ('problem' in read) break;
    texts.push(
      ...read.options.filter(({ name }) => wrapper.textOptions?.includes(name)).map(({ value }) => value),
    );
    rest = read.rest.slice(1);
  }
  call.invocation.ownWords = 1;
  for (const text of texts) if (text !== undefined) followText(call, text, scope);
  return texts.length > 0;
}

function takeAssignments(walk: Walk, args: readonly Arg[], scope: Scope): readonly Arg[] {
  const end = args.findIndex((arg) => !/^[^=]+=/.test(arg.start));
  const own = end === -1 ? args : args.slice(0, end);
  for (const arg of own) {
    const name = arg.start.slice(0, arg.start.indexOf('='));
    const value =
      arg.value === undefined ? unknownArg(arg.text) : literalArg(arg.value.slice(name.length + 1));
    walk.assign({ name, value, text: arg.text }, scope);
  }
  return end === -1 ? [] : args.slice(end);
}

function splitString(call: Call, { options, rest }: Leading): readonly Arg[] {
  const split = options.filter(({ name }) => name === 'S' || name === 'split-string');
  if (split.length === 0) return rest;
  const text = split[0]?.value?.value;
  if (split.length > 1 || text === undefined || !/^[\w\s./=:@%+,-]*$/.test(text)) {
    setUnknown(call, 'env splits a text in a way of its own');
  }
  const pieces = (text ?? '').split(/\s+/).filter((word) => word !== '');
  return [...pieces.map((word) => literalArg(word)), ...rest];
}

/** `env -C dir`, `sudo -D dir`. */
function changeDirectory(walk: Walk, options: readonly Option[], scope: Scope): void {
  const target =
    options.find(({ name }) => name === 'chdir' || name === 'wd')?.value ??
    options.find(({ name }) => name === 'C' || name === 'D')?.value;
  if (target !== undefined) walk.enter(target, scope);
}

function followXargs(call: Call): void {
  const { walk, invocation, scope, input } = call;
  const read = readOptions(call, 'xargs', XARGS_OPTIONS);
  if (read === undefined) return;
  const replacing = read.options.find(({ name }) => ['I', 'i', 'J', 'replace'].includes(name));
  const mark = replacing === undefined ? undefined : (replacing.value?.value ?? '{}');
  const guesses = textsOf(input);
  const added = unknownArg('(from the input of xargs)', guesses);
  invocation.ownWords = invocation.args.length - read.rest.length;
  const command = read.rest.length > 0 ? read.rest : [literalArg('echo')];
  const full = mark === undefined ? [...command, added] : command.map((arg) => replaced(arg, mark, guesses));
  walk.invoke({ args: full, fedBy: invocation.fedBy }, startedScope(scope, 'xargs'));
}

function replaced(arg: Arg, mark: string, guesses: readonly string[]): Arg {
  const place = arg.value?.indexOf(mark) ?? -1;
  if (arg.value === undefined || place === -1) return arg;
  const { value } = arg;
  const filled = guesses.flatMap((guess) => guess.split('\n')).map((guess) => value.replaceAll(mark, guess));
  return { ...unknownArg(arg.text, filled, false), start: value.slice(0, place) };
}

const FIND_EXEC = new Set(['-exec', '-execdir', '-ok', '-okdir']);

function followFind(call: Call): void {
  const { walk, args, scope } = call;
  const starts = args.flatMap(({ guesses }) => guesses.slice(0, 1));
  const end = starts.findIndex((word) => /^[-(!]/.test(word));
  const paths = starts.slice(0, Math.min(3, Math.max(0, end)));
  for (let at = 0; at < args.length; at++) {
    if (!FIND_EXEC.has(args[at]?.value ?? '')) continue;
    const close = args.findIndex(
      (arg, index) =>
        index > at && (arg.value === ';' || (arg.value === '+' && args[index - 1]?.value === '{}')),
    );
    if (close === -1) return setUnknown(call, 'find has a command without an end');
    const command = args.slice(at + 1, close).map((arg) => replaced(arg, '{}', paths));
    if (command.length > 0) walk.invoke({ args: command }, startedScope(scope, `find ${args[at]?.value}`));
    at = close;
  }
}

/** GNU parallel joins its words and its input to texts for a shell. */
function followParallel(call: Call): void {
  const { walk, args, scope } = call;
  setUnknown(call, 'parallel builds commands from its input');
  const end = args.findIndex(({ value }) => /^:::?:?\+?$/.test(value ?? ''));
  const [own, inputs] = end === -1 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  const from = own.findIndex(({ value }) => value !== undefined && !/^-|^\d+%?$/.test(value));
  const inner = copyScope(startedScope(scope, 'parallel'), { isGuess: true });
  const texts = from === -1 ? inputs : [joinArgs([...own.slice(from), ...inputs])];
  for (const text of texts) for (const guess of text.guesses) walk.walkText(guess, inner);
}

export function joinArgs(args: readonly Arg[]): Arg {
  const text = textOf(args);
  if (args.every(({ value }) => value !== undefined))
    return literalArg(args.map(({ value }) => value).join(' '), text);
  return unknownArg(text, [firstGuesses(args)], false);
}

/** `$1` and `$@`, as far as they can be guessed: all in a row, and each alone. */
export function setPositional({ variables }: Scope, args: readonly Arg[]): void {
  args.forEach((arg, index) => variables.set(String(index + 1), valuesOf(arg)));
  const all = boundValues([firstGuesses(args), ...args.flatMap(valuesOf)]);
  variables.set('@', all);
  variables.set('*', all);
}

/** Behind `shift` each is the next one; how many times it ran is not known, so that each may be any. */
export function shiftPositional({ variables }: Scope): void {
  const all = variables.get('@') ?? [];
  const names = [...variables.keys()].filter((name) => /^[1-9]\d*$/.test(name));
  const next = names.map((_, index) => variables.get(String(index + 2)) ?? []);
  names.forEach((_, index) =>
    variables.set(String(index + 1), boundValues([...(next[index] ?? []), ...all])),
  );
  const rest = boundValues([next.flatMap((values) => values.slice(0, 1)).join(' '), ...all]);
  variables.set('@', rest);
  variables.set('*', rest);
}

/** The likeliest of each, in one line. */
export const firstGuesses = (args: readonly Arg[]): string =>
  args.map(({ guesses }) => guesses[0] ?? '').join(' ');

/** What may stand on an input, where that is written out. */
export function textsOf(input: Input): readonly string[] {
  if (input.kind === 'text') return input.text.guesses;
  return input.kind === 'pipe' ? printed(input.from) : [];
}

/** They print what they read, or a part of it. */
const PASSING = setOf('cat tee head tail tac sort uniq grep egrep fgrep');

/** What a command may print, where that is plain to see. Each is asked once, however many read it. */
function printed(from: readonly Invocation[], asked = new Set<Invocation>()): string[] {
  return from.flatMap((invocation) => {
    if (asked.has(invocation)) return [];
    asked.add(invocation);
    const { args, given, fedBy } = invocation;
    const [name = '', ...rest] = args.map(({ guesses }) => guesses[0] ?? '');
    if (PASSING.has(name)) return [...given, ...printed(fedBy, asked)];
    if (name === 'base64' && rest.some((word) => /^-(?:d|D|-decode)$/.test(word))) {
      return [...given, ...printed(fedBy, asked)].map((text) => Buffer.from(text, 'base64').toString());
    }
    if (name === 'find' || name === 'ls') return rest.filter((word) => !word.startsWith('-')).slice(0, 1);
    if (name !== 'echo' && name !== 'printf') return [];
    const first = rest.findIndex((word) => !/^-[neE]+$|^%s(?:\\n)?$/.test(word));
    return first === -1 ? [] : [rest.slice(first).join(' ').replaceAll('\\n', '\n')];
  });
}
