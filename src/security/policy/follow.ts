/** What a command would run in turn: shells with a text, wrappers with a command, find and xargs. */

import { type Arg, literalArg, unknownArg } from './evaluate-word.ts';
import { copyScope, type Input, type Invocation, NO_INPUT, type Scope, type Walk } from './findings.ts';
import { type Option, readLeading } from './options.ts';
import { SHELL_OPTIONS, SHELLS, WRAPPERS, type Wrapper, XARGS_OPTIONS } from './tables/wrappers.ts';

const BY_NAME = new Map(WRAPPERS.flatMap((wrapper) => wrapper.names.map((name) => [name, wrapper])));

/** Whether dash and bash may not see the same commands in a text. */
export const differsInSh = (text: string): boolean => BASH_ONLY.test(text);

const BASH_ONLY =
  /\$['"[]|[<>]\(|<<<|&>|>&(?!\d|-)|\(\(|\[\[|\bfunction\b|;&|\|&|\{[^\s}]*(?:,|\.\.)|\bcoproc\b|\bselect\b|\bsource\b|\$\{[^}]*[@^,/:!]/;

export function followInvocation(walk: Walk, invocation: Invocation, scope: Scope, input: Input): void {
  const name = invocation.args[0]?.value;
  if (name === undefined) {
    setUnknown(walk, invocation, 'the name of the command is only known when it runs', scope);
    return;
  }
  if (invocation.isFunction) return;
  const base = baseName(name);
  const args = invocation.args.slice(1);
  const grammar = SHELLS[base];
  if (grammar !== undefined && Object.hasOwn(SHELLS, base))
    followShell(walk, invocation, base, args, scope, input);
  else if (base === 'xargs' || base === 'gxargs') followXargs(walk, invocation, args, scope, input);
  else if (base === 'find' || base === 'gfind') followFind(walk, invocation, args, scope);
  else if (base === 'parallel') followParallel(walk, invocation, args, scope);
  else {
    const wrapper = BY_NAME.get(base);
    if (wrapper !== undefined && !(wrapper.isBuiltin === true && name.includes('/'))) {
      followWrapper(walk, invocation, wrapper, base, args, scope, input);
    }
  }
}

/** The file's name of a command that is given with its directory. */
export function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

export function setUnknown(walk: Walk, invocation: Invocation, reason: string, scope: Scope): void {
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
export function followText(walk: Walk, invocation: Invocation, text: Arg, scope: Scope): void {
  if (text.value !== undefined) {
    walk.walkText(text.value, scope);
    return;
  }
  setUnknown(walk, invocation, 'a shell runs a text that is only known then', scope);
  // Without a guess the text as it is written shows at least its fixed parts.
  const guesses = text.guesses.length > 0 ? text.guesses : [text.text.replace(/^"([^]*)"$/, '$1')];
  for (const guess of guesses) walk.walkText(guess, copyScope(scope, { isGuess: true }));
}

function followShell(
  walk: Walk,
  invocation: Invocation,
  base: string,
  args: readonly Arg[],
  scope: Scope,
  input: Input,
): void {
  if (SHELLS[base] === 'other')
    guessForeign(walk, args.map(({ guesses }) => guesses[0] ?? '').join(' '), scope);
  const read = readLeading(withoutPlus(args), SHELL_OPTIONS);
  if ('problem' in read) {
    setUnknown(walk, invocation, `what ${base} would run is not clear: ${read.problem}`, scope);
    return;
  }
  const names = new Set(read.options.map(({ name }) => name));
  if (names.has('help') || names.has('version')) return;
  if (
    names.has('i') ||
    names.has('rcfile') ||
    names.has('init-file') ||
    names.has('l') ||
    names.has('login')
  ) {
    setUnknown(walk, invocation, `${base} would read its start-up files`, scope);
  }
  const [first, ...rest] = read.rest;
  const inner = startedScope(scope, names.has('c') ? `${base} -c` : base, input);
  if (names.has('c')) {
    if (first === undefined) return;
    invocation.ownWords = 1;
    rest.forEach((arg, index) => inner.variables.set(String(index), arg.guesses));
    checkGrammar(walk, invocation, base, first, scope);
    followText(walk, invocation, first, inner);
    return;
  }
  const isInput =
    first === undefined ||
    names.has('s') ||
    ['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'].includes(first.value ?? '');
  if (!isInput) {
    setUnknown(walk, invocation, `${base} runs what stands in a file`, scope);
    followPrinted(walk, invocation, inner);
  } else followInput(walk, invocation, base, inner, input);
}

/** `bash <(echo rm x)`: the file is what another command prints. */
export function followPrinted(walk: Walk, { fedBy }: Invocation, scope: Scope): void {
  for (const text of printed(fedBy)) walk.walkText(text, copyScope(scope, { isGuess: true }));
}

/** `bash +x` switches options off; for finding the operand it is the same. */
function withoutPlus(args: readonly Arg[]): Arg[] {
  return args.map((arg) =>
    arg.value !== undefined && /^\+[a-zA-Z]+$/.test(arg.value) ? literalArg(`-${arg.value.slice(1)}`) : arg,
  );
}

export function followInput(
  walk: Walk,
  invocation: Invocation,
  base: string,
  scope: Scope,
  input: Input,
): void {
  if (input.kind === 'text') {
    checkGrammar(walk, invocation, base, input.text, scope);
    if (SHELLS[base] === 'other') guessForeign(walk, input.text.guesses[0] ?? '', scope);
    followText(walk, invocation, input.text, scope);
    return;
  }
  if (input.kind === 'pipe') {
    for (const text of printed(input.from)) {
      walk.walkText(text, copyScope(scope, { isGuess: true }));
      if (SHELLS[base] === 'other') guessForeign(walk, text, scope);
    }
  }
  setUnknown(walk, invocation, `${base} runs what comes from its input`, scope);
}

function checkGrammar(walk: Walk, invocation: Invocation, base: string, text: Arg, scope: Scope): void {
  const grammar = SHELLS[base];
  if (grammar === 'other' || (grammar === 'posix' && differsInSh(text.value ?? ''))) {
    setUnknown(walk, invocation, `${base} may read this text in another way than bash`, scope);
  }
}

const MAX_FOREIGN_WORDS = 200;

/** In the grammar of another shell any word may begin a command: `=rm x`, `not rm x`, `repeat 2 rm x`, `echo (rm x)`. */
function guessForeign(walk: Walk, text: string, scope: Scope): void {
  const inner = copyScope(scope, { isGuess: true, depth: scope.depth + 1 });
  let left = MAX_FOREIGN_WORDS;
  for (const piece of text.split(/[\n;|&(){}`]+/)) {
    const all = piece.split(/\s+/).map((word) => word.replaceAll(/^(?:[=@!^\\'"-]|e:)+(?=\w)|['"]+$/g, ''));
    const found = all.filter((word) => word !== '').slice(0, left);
    left -= found.length;
    found.forEach((_, index) => {
      const args = found.slice(index).map((word) => literalArg(word));
      walk.spend(piece.length);
      walk.invoke(args, words(args), inner, NO_INPUT);
    });
  }
}

function followWrapper(
  walk: Walk,
  invocation: Invocation,
  wrapper: Wrapper,
  base: string,
  args: readonly Arg[],
  scope: Scope,
  input: Input,
): void {
  const read = readLeading(args, wrapper);
  if ('problem' in read) {
    setUnknown(walk, invocation, `what ${base} would run is not clear: ${read.problem}`, scope);
    return;
  }
  const has = (names: readonly string[] | undefined): boolean =>
    read.options.some(({ name }) => names?.includes(name));
  if (has(wrapper.idleOptions)) return;
  const inner = wrapper.isBuiltin === true ? builtinScope(scope, base) : startedScope(scope, base, input);
  if (wrapper.textOptions !== undefined && followTextOptions(walk, invocation, wrapper, args, inner)) return;

  let rest = read.rest;
  if (base === 'env' || base === 'genv') rest = splitString(walk, invocation, read.options, rest, scope);
  changeDirectory(walk, read.options, inner);
  if (wrapper.assignments === true) rest = takeAssignments(walk, rest, inner);
  if (rest.slice(0, wrapper.operands ?? 0).some(({ isMany }) => isMany)) {
    setUnknown(walk, invocation, `what ${base} would run is not clear`, scope);
    return;
  }
  rest = rest.slice(wrapper.operands ?? 0);
  invocation.ownWords = Math.max(1, invocation.args.length - rest.length);
  const [command] = rest;
  const joins = (wrapper.joins === true && !has(wrapper.argvOptions)) || has(wrapper.shellOptions);
  if (command === undefined) {
    if (has(wrapper.shellOptions) || base === 'su') followInput(walk, invocation, base, inner, input);
  } else if (joins) followText(walk, invocation, joinArgs(rest), inner);
  else walk.invoke(rest, words(rest), inner, input, invocation.fedBy);
  // `command eval` and `builtin cd` act on this very shell.
  if (wrapper.isBuiltin === true) scope.cwds = inner.cwds;
}

function builtinScope(scope: Scope, base: string): Scope {
  // The maps are those of the shell itself, but functions are passed over.
  return { ...scope, functions: new Set(), foundIn: [...scope.foundIn, base], depth: scope.depth + 1 };
}

/** `su root -c text`, `script -c text file`: options may stand behind operands. */
function followTextOptions(
  walk: Walk,
  invocation: Invocation,
  wrapper: Wrapper,
  args: readonly Arg[],
  scope: Scope,
): boolean {
  let rest: readonly Arg[] = args;
  const texts: (Arg | undefined)[] = [];
  for (let round = 0; rest.length > 0 && round < 8; round++) {
    const read = readLeading(rest, wrapper);
    if ('problem' in read) break;
    texts.push(
      ...read.options.filter(({ name }) => wrapper.textOptions?.includes(name)).map(({ value }) => value),
    );
    rest = read.rest.slice(1);
  }
  invocation.ownWords = 1;
  for (const text of texts) if (text !== undefined) followText(walk, invocation, text, scope);
  return texts.length > 0;
}

function takeAssignments(walk: Walk, args: readonly Arg[], scope: Scope): readonly Arg[] {
  const end = args.findIndex((arg) => !/^[^=]+=/.test(arg.start));
  const own = end === -1 ? args : args.slice(0, end);
  for (const arg of own) {
    const name = arg.start.slice(0, arg.start.indexOf('='));
    const value =
      arg.value === undefined ? unknownArg(arg.text) : literalArg(arg.value.slice(name.length + 1));
    walk.assign(name, value, arg.text, scope);
  }
  return end === -1 ? [] : args.slice(end);
}

function splitString(
  walk: Walk,
  invocation: Invocation,
  options: readonly Option[],
  rest: readonly Arg[],
  scope: Scope,
): readonly Arg[] {
  const split = options.filter(({ name }) => name === 'S' || name === 'split-string');
  if (split.length === 0) return rest;
  const text = split[0]?.value?.value;
  if (split.length > 1 || text === undefined || !/^[\w\s./=:@%+,-]*$/.test(text)) {
    setUnknown(walk, invocation, 'env splits a text in a way of its own', scope);
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

function followXargs(
  walk: Walk,
  invocation: Invocation,
  args: readonly Arg[],
  scope: Scope,
  input: Input,
): void {
  const read = readLeading(args, XARGS_OPTIONS);
  if ('problem' in read) {
    setUnknown(walk, invocation, `what xargs would run is not clear: ${read.problem}`, scope);
    return;
  }
  const replacing = read.options.find(({ name }) => ['I', 'i', 'J', 'replace'].includes(name));
  const mark = replacing === undefined ? undefined : (replacing.value?.value ?? '{}');
  const guesses =
    input.kind === 'pipe' ? printed(input.from) : input.kind === 'text' ? input.text.guesses : [];
  const added = unknownArg('(from the input of xargs)', guesses);
  invocation.ownWords = invocation.args.length - read.rest.length;
  const command = read.rest.length > 0 ? read.rest : [literalArg('echo')];
  const full = mark === undefined ? [...command, added] : command.map((arg) => replaced(arg, mark, guesses));
  walk.invoke(full, words(full), startedScope(scope, 'xargs'), NO_INPUT, invocation.fedBy);
}

function replaced(arg: Arg, mark: string, guesses: readonly string[]): Arg {
  const place = arg.value?.indexOf(mark) ?? -1;
  if (arg.value === undefined || place === -1) return arg;
  const { value } = arg;
  const filled = guesses.flatMap((guess) => guess.split('\n')).map((guess) => value.replaceAll(mark, guess));
  return { ...unknownArg(arg.text, filled, false), start: value.slice(0, place) };
}

const FIND_EXEC = new Set(['-exec', '-execdir', '-ok', '-okdir']);

function followFind(walk: Walk, invocation: Invocation, args: readonly Arg[], scope: Scope): void {
  const starts = args.map(({ guesses }) => guesses[0]).filter((word) => word !== undefined);
  const paths = starts.slice(
    0,
    Math.max(
      0,
      starts.findIndex((word) => /^[-(!]/.test(word)),
    ),
  );
  for (let at = 0; at < args.length; at++) {
    if (!FIND_EXEC.has(args[at]?.value ?? '')) continue;
    const end = args.findIndex(
      (arg, index) =>
        index > at && (arg.value === ';' || (arg.value === '+' && args[index - 1]?.value === '{}')),
    );
    if (end === -1) {
      setUnknown(walk, invocation, 'find has a command without an end', scope);
      return;
    }
    const command = args.slice(at + 1, end).map((arg) => replaced(arg, '{}', paths.slice(0, 3)));
    if (command.length > 0)
      walk.invoke(command, words(command), startedScope(scope, `find ${args[at]?.value}`), NO_INPUT);
    at = end;
  }
}

/** GNU parallel joins its words and its input to texts for a shell. */
function followParallel(walk: Walk, invocation: Invocation, args: readonly Arg[], scope: Scope): void {
  setUnknown(walk, invocation, 'parallel builds commands from its input', scope);
  const end = args.findIndex(({ value }) => /^:::?:?\+?$/.test(value ?? ''));
  const [own, inputs] = end === -1 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  const from = own.findIndex(({ value }) => value !== undefined && !/^-|^\d+%?$/.test(value));
  const guessScope = copyScope(startedScope(scope, 'parallel'), { isGuess: true });
  const texts = from === -1 ? inputs : [joinArgs([...own.slice(from), ...inputs])];
  for (const text of texts) for (const guess of text.guesses) walk.walkText(guess, guessScope);
}

function joinArgs(args: readonly Arg[]): Arg {
  if (args.every(({ value }) => value !== undefined))
    return literalArg(args.map(({ value }) => value).join(' '), words(args));
  const guess = args.map(({ guesses }) => guesses[0] ?? '').join(' ');
  return unknownArg(words(args), [guess], false);
}

export { joinArgs };

function words(args: readonly Arg[]): string {
  return args.map(({ text }) => text).join(' ');
}

/** What a command may print, where that is plain to see. */
export function printed(from: readonly Invocation[]): string[] {
  return from.flatMap(({ args, given, fedBy }) => {
    const [name = '', ...rest] = args.map(({ guesses }) => guesses[0] ?? '');
    if (name === 'cat' || name === 'tee') return given;
    if (name === 'base64' && rest.some((word) => /^-(?:d|D|-decode)$/.test(word))) {
      return [...given, ...printed(fedBy)].map((text) => Buffer.from(text, 'base64').toString());
    }
    if (name === 'find' || name === 'ls') return rest.filter((word) => !word.startsWith('-')).slice(0, 1);
    if (name !== 'echo' && name !== 'printf') return [];
    const first = rest.findIndex((word) => !/^-[neE]+$|^%s(?:\\n)?$/.test(word));
    return first === -1 ? [] : [rest.slice(first).join(' ').replaceAll('\\n', '\n')];
  });
}
