/** Which paths a command touches, and whether they lie in the allowed directories. */
import { type Arg, literalArg, OPEN, UNDECIDED, wordOf } from './evaluate-word.ts';
import type { Cwds, Findings, Invocation } from './findings.ts';
import { baseName } from './follow.ts';
import { writtenByScript } from './gadgets.ts';
import { trustedName } from './list-entry.ts';
import { isOptionWord } from './options.ts';
import type { JudgeContext } from './policy-types.ts';
import { isInside, isPlainTarget, type RealPath, resolvePath } from './resolve-path.ts';
import {
  CLUSTER_LETTERS,
  FIRST_IS_TEXT,
  LONG_FLAGS,
  LONG_TEXT_OPTIONS,
  OPEN_DEVICES,
  SHORT_TEXT_OPTIONS,
  TEXT_PROGRAMS,
} from './tables/path-rules.ts';

/** Says where a path lies: `unknown` where it depends on where the shell is. */
export function createBoundary(
  allowed: readonly string[],
  realPath: RealPath,
  home: string,
): (path: string, cwds: Cwds) => 'inside' | 'outside' | 'unknown' {
  const roots = allowed.flatMap((directory) => [directory, realPath(directory)]);
  const isAllowed = (path: string): boolean => roots.some((root) => isInside(path, root));
  return (typed, cwds) => {
    const path = typed === '~' ? home : typed.replaceAll(OPEN, '');
    if (OPEN_DEVICES.test(path)) return 'inside';
    if (/^\/dev\/(?:tcp|udp)\//.test(path)) return 'outside';
    const places = path.startsWith('/') ? ['/'] : cwds;
    const answers = places.map((directory) => {
      if (directory === null) return undefined;
      return isAllowed(resolvePath(directory, path, realPath));
    });
    if (answers.every((answer) => answer === true)) return 'inside';
    return answers.includes(false) ? 'outside' : 'unknown';
  };
}

export interface PathUse {
  /** Undefined: only known when it runs. */
  readonly path: string | undefined;
  /** What it may be then. */
  readonly readings: readonly string[];
  readonly text: string;
  readonly cwds: Cwds;
  /** The shell goes there, so that all that follows depends on it. */
  readonly isEntered?: true;
}

/** What earlier commands changed about directories. */
interface DirectoryState {
  readonly isSearched: boolean;
  /** Where it was before is not known. */
  readonly isMoved: boolean;
  readonly hasOwnHome: boolean;
}

/** A shell in which nothing was set. */
export const FRESH: DirectoryState = { isSearched: false, isMoved: false, hasOwnHome: false };

/** The paths in the arguments of a command, as far as words tell. */
export function pathsOf(invocation: Invocation, state: DirectoryState): PathUse[] {
  const { args, cwds } = invocation;
  const name = args[0]?.value;
  if (name === undefined) return [];
  const uses: PathUse[] = [];
  if (name.includes('/') && trustedName(name) === undefined) uses.push(known(name, name, cwds));
  const program = baseName(name);
  if (name === 'cd' || name === 'pushd' || name === 'popd') return entered(args, cwds, state);
  if (cwds.includes(null)) uses.push(known('.', invocation.text, cwds));
  if (TEXT_PROGRAMS.has(program) || invocation.isFunction) {
    // Even for `echo` the shell reads the directory of a pattern.
    return [...uses, ...args.filter(({ isGlob }) => isGlob).flatMap((arg) => pathUse(arg, cwds))];
  }
  const own = invocation.ownWords === undefined ? args.slice(1) : args.slice(1, invocation.ownWords);
  const found = (PATHS_OF[program] ?? argumentPaths)(own, program);
  const written = writtenByScript(program, own).map((path) => literalArg(path));
  return [...uses, ...[...found, ...written].flatMap((arg) => pathUse(arg, cwds))];
}

const known = (path: string, text: string, cwds: Cwds): PathUse => ({ path, readings: [path], text, cwds });

/** Where the shell goes. `cd -` and the stack lead back to where it was, which was looked at then. */
function entered(args: readonly Arg[], cwds: Cwds, state: DirectoryState): PathUse[] {
  const name = args[0]?.value ?? '';
  const [target, ...more] = args.slice(1).filter((arg) => !/^-[LPe@n]+$|^--$/.test(wordOf(arg)));
  const use = (path: string | undefined, readings: readonly string[]): PathUse[] => [
    { path, readings, text: target?.text ?? name, cwds, isEntered: true },
  ];
  const isBack = name === 'popd' || /^(?:-|[-+]\d+)$/.test(target?.value ?? '');
  if (isBack || (target === undefined && name === 'pushd')) return state.isMoved ? use(undefined, []) : [];
  // zsh exchanges the one for the other in the path of where it is.
  if (more.length > 0) return use(undefined, []);
  if (target === undefined) return state.hasOwnHome ? use(undefined, []) : use('~', ['~']);
  if (state.isSearched && !isPlainTarget(target.value ?? '')) return use(undefined, []);
  // Without quotes nothing is no word, and the shell goes home.
  const isHome = target.isMany && target.readings.includes('');
  return use(target.value, isHome ? [...target.readings, '~'] : target.readings);
}

/**
 * The words of a command that are not certainly something else. In doubt a word is a path: the pattern of grep is only
 * passed over where no option may have given one.
 */
export function argumentPaths(args: readonly Arg[], program: string): Arg[] {
  const giving = FIRST_IS_TEXT[program];
  const words = args.map(wordOf);
  let skipsFirst = giving !== undefined && !words.some((word) => mayGive(word, giving, program));
  const paths: Arg[] = [];
  let isOpen = true;
  args.forEach((arg, index) => {
    const word = words[index] ?? '';
    const before = isOpen ? (words[index - 1] ?? '') : '';
    if (isOpen && word === '--') isOpen = false;
    else if (isOpen && isOptionWord(word)) {
      const value = attachedValue(arg, program);
      if (value !== undefined) paths.push(value);
    } else if (isOptionWord(before) && isText(before, program)) return;
    else if (skipsFirst && takesWord(before, program)) paths.push(arg);
    else if (skipsFirst) skipsFirst = false;
    else paths.push(arg);
  });
  return paths;
}

/** Whether it may be one of these options: in a cluster, with its value attached, abbreviated. */
function mayGive(word: string, giving: readonly string[], program: string): boolean {
  const name = word.split('=')[0] ?? '';
  if (name.startsWith('--')) return name.length > 2 && giving.some((option) => option.startsWith(name));
  return giving.includes(valueLetter(word, program)?.option ?? '');
}

/** Of a cluster: the letter that takes what stands behind it. Where letters are not known, the first. */
function valueLetter(word: string, program: string): { option: string; rest: string } | undefined {
  if (!/^-[^-]/.test(word)) return undefined;
  const letters = CLUSTER_LETTERS[program];
  const at =
    letters === undefined
      ? 1
      : Array.from(word).findIndex((each, index) => index > 0 && letters.includes(each));
  return at === -1 ? undefined : { option: `-${word[at] ?? ''}`, rest: word.slice(at + 1) };
}

/** Whether the word behind this option is a text. */
function isText(word: string, program: string): boolean {
  if (word.startsWith('--')) return LONG_TEXT_OPTIONS.has(word);
  const { option, rest } = valueLetter(word, program) ?? { option: '', rest: '' };
  return rest === '' && SHORT_TEXT_OPTIONS[program]?.includes(option) === true;
}

/** Whether the word behind this option may be its value. */
function takesWord(word: string, program: string): boolean {
  if (word.startsWith('--')) return word.length > 2 && !word.includes('=') && !LONG_FLAGS.has(word);
  const { option = '', rest } = valueLetter(word, program) ?? {};
  return isOptionWord(word) && rest === '' && CLUSTER_LETTERS[program]?.includes(`${option[1]}?`) !== true;
}

/** `--file=/x` and `-I/x`. */
function attachedValue(arg: Arg, program: string): Arg | undefined {
  const word = wordOf(arg);
  const equals = word.indexOf('=');
  if (word.startsWith('--'))
    return equals === -1 || LONG_TEXT_OPTIONS.has(word.slice(0, equals)) ? undefined : cut(arg, equals + 1);
  const slash = word.search(/[/~]|\.\.(?:\/|$)/);
  const option = valueLetter(word, program)?.option ?? '';
  return slash === -1 || SHORT_TEXT_OPTIONS[program]?.includes(option) === true ? undefined : cut(arg, slash);
}

function cut(arg: Arg, from: number): Arg {
  const readings = arg.readings.map((reading) => reading.slice(from));
  return { ...arg, value: arg.value?.slice(from), start: arg.start.slice(from), readings };
}

/** Of a test: the files that it looks at; other words are compared as texts. */
function testPaths(args: readonly Arg[]): Arg[] {
  const word = (index: number): string => args[index]?.value ?? '';
  return args.filter(
    (arg, index) =>
      /^-[a-hkprstuwxGLNOS]$/.test(word(index - 1)) ||
      [index - 1, index + 1].some((place) => /^-(?:nt|ot|ef)$/.test(word(place))) ||
      // What stands there may be such an operator.
      (args[index - 1] !== undefined && args[index - 1]?.value === undefined && arg.value?.includes('/')),
  );
}

/** Of find: where it starts, and the few tests and actions that take a file. */
function findPaths(args: readonly Arg[]): Arg[] {
  const isExpression = (word: string): boolean => /^[-(!]/.test(word) && !/^-[HLPDO]/.test(word);
  const end = args.findIndex((arg) => isExpression(wordOf(arg)));
  const starts = (end === -1 ? args : args.slice(0, end)).filter((arg) => !wordOf(arg).startsWith('-'));
  const files = args.filter((_, index) =>
    /^-(?:a|c)?newer|^-newer\w\w$|^-samefile$|^-f(?:print0?|printf|ls)$|^-files0-from$/.test(
      args[index - 1]?.value ?? '',
    ),
  );
  return [...starts, ...files];
}

const PATHS_OF: Readonly<Record<string, (args: readonly Arg[]) => Arg[]>> = {
  find: findPaths,
  gfind: findPaths,
  test: testPaths,
  '[': testPaths,
};

export function pathUse(arg: Arg, cwds: Cwds): PathUse[] {
  const { value, text } = arg;
  if (value === undefined) {
    const path = arg.isGlob ? globDirectory(arg) : undefined;
    const readings = path === undefined ? arg.readings.map((each) => readingOf(each, arg.isGlob)) : [path];
    return [{ path, readings, text, cwds }];
  }
  const path = readingOf(value, false);
  return path === '' ? [] : [known(path, text, cwds)];
}

/** An address like https://host/x or host:/x is a path in the working directory, too, and as such inside. */
function readingOf(value: string, isGlob: boolean): string {
  const assigned = /^[A-Za-z_][\w-]*=(.*)$/s.exec(value)?.[1];
  const path = value.startsWith('file://') ? value.slice(7) : (assigned ?? value);
  if (!isGlob) return path;
  const [fixed = '', rest = ''] = /^([^*?[]*)([^]*)$/.exec(path)?.slice(1) ?? [];
  // Behind a pattern `..` leads wherever that leads, and `.*` may be `..` itself.
  if (/\/\.\.(?:\/|$)/.test(rest) || (/(?:^|\/)\.$/.test(fixed) && rest.includes('/'))) return UNDECIDED;
  return fixed.slice(0, fixed.lastIndexOf('/') + 1);
}

/** Matches of a pattern lie in the directory before it, unless it goes up again. */
function globDirectory({ guesses, start }: Arg): string | undefined {
  const [pattern] = guesses;
  if (
    pattern === undefined ||
    /(?:^|\/)\.\.?(?:\/|$)/.test(pattern.slice(start.length)) ||
    /(?:^|\/)\.[*?[]/.test(pattern)
  )
    return undefined;
  return start.slice(0, start.lastIndexOf('/') + 1) || '.';
}

/** Paths of everything that was found, redirections included; those of guesses apart, which can only refuse. */
export function allPaths(
  findings: Findings,
  { environment = {}, isContinued }: JudgeContext,
): { readonly certain: readonly PathUse[]; readonly guessed: readonly PathUse[] } {
  const sets = (name: string): boolean =>
    environment[name] !== undefined || findings.assignments.some((each) => each.name === name);
  const state: DirectoryState = {
    isSearched:
      (environment['CDPATH'] ?? '') !== '' ||
      findings.assignments.some(({ name, value }) => name === 'CDPATH' && value?.value !== ''),
    isMoved: isContinued === true || sets('OLDPWD') || sets('DIRSTACK'),
    hasOwnHome: sets('HOME'),
  };
  const moving = findings.invocations.find(({ args }) => /^(?:cd|pushd|popd)$/.test(args[0]?.value ?? ''));
  const usesOf = (isGuess: boolean): PathUse[] => [
    ...findings.redirections
      .filter((each) => each.isGuess === isGuess)
      .flatMap(({ target, text, cwds }) => pathUse(target, cwds).map((use) => ({ ...use, text }))),
    ...findings.invocations
      .filter((each) => each.isGuess === isGuess)
      // There is no way back before the first one.
      .flatMap((each) => pathsOf(each, { ...state, isMoved: state.isMoved || each === moving })),
  ];
  return { certain: usesOf(false), guessed: usesOf(true) };
}
