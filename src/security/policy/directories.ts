/** Which paths a command touches, and whether they lie in the allowed directories. */

import { trustedName } from './entries.ts';
import type { Cwds, Findings, Invocation } from './findings.ts';
import { baseName } from './follow.ts';
import { isInside, type RealPath, resolvePath } from './places.ts';
import {
  FIRST_IS_TEXT,
  LONG_TEXT_OPTIONS,
  OPEN_DEVICES,
  SHORT_TEXT_OPTIONS,
  TEXT_PROGRAMS,
} from './tables/paths.ts';
import type { Arg } from './words.ts';

export interface Fence {
  /** Where the path lies: `outside` however the shell got there, `unknown` where it depends. */
  locate(path: string, cwds: Cwds): 'inside' | 'outside' | 'unknown';
}

export function createFence(
  allowed: readonly string[],
  open: readonly string[],
  realPath: RealPath,
  home: string,
): Fence {
  const roots = [...allowed, ...open].flatMap((directory) => [directory, realPath(directory)]);
  const isAllowed = (path: string): boolean => roots.some((root) => isInside(path, root));
  return {
    locate(typed, cwds) {
      const path = typed === '~' ? home : typed;
      if (OPEN_DEVICES.test(path)) return 'inside';
      if (/^\/dev\/(?:tcp|udp)\//.test(path)) return 'outside';
      const places = path.startsWith('/') ? ['/'] : cwds;
      const answers = places.map((directory) => {
        if (directory === null) return undefined;
        return isAllowed(resolvePath(directory, path, realPath));
      });
      if (answers.every((answer) => answer === true)) return 'inside';
      return answers.every((answer) => answer === false) ? 'outside' : 'unknown';
    },
  };
}

export interface PathUse {
  /** Undefined: only known when it runs. */
  readonly path: string | undefined;
  readonly text: string;
  readonly cwds: Cwds;
}

/** The paths in the arguments of a command, as far as words tell. */
export function pathsOf(invocation: Invocation): PathUse[] {
  const { args, cwds } = invocation;
  const name = args[0]?.value;
  if (name === undefined) return [];
  const uses: PathUse[] = [];
  if (name.includes('/') && trustedName(name) === undefined) uses.push({ path: name, text: name, cwds });
  const program = baseName(name);
  if (name === 'cd' || name === 'pushd' || name === 'popd') return entered(args, cwds);
  if (cwds.includes(null)) uses.push({ path: '.', text: invocation.text, cwds });
  if (TEXT_PROGRAMS.has(program) || invocation.isFunction) {
    // Even for `echo` the shell reads the directory of a pattern.
    return [...uses, ...args.filter(({ isGlob }) => isGlob).flatMap((arg) => pathUse(arg, cwds))];
  }
  const own = invocation.ownWords === undefined ? args.slice(1) : args.slice(1, invocation.ownWords);
  const found = program === 'find' || program === 'gfind' ? findPaths(own) : argumentPaths(program, own);
  return [...uses, ...found.flatMap((arg) => pathUse(arg, cwds))];
}

/** Where the shell goes; `cd -` and the stack lead to where only it knows. */
function entered(args: readonly Arg[], cwds: Cwds): PathUse[] {
  const name = args[0]?.value;
  const target = args.slice(1).find(({ value, start }) => !/^-[LPe@n]+$|^--$/.test(value ?? start));
  if (name === 'popd' || /^(?:-|[-+]\d+)$/.test(target?.value ?? ''))
    return [{ path: undefined, text: target?.text ?? 'popd', cwds }];
  if (target !== undefined) return [{ path: target.value, text: target.text, cwds }];
  return [{ path: name === 'cd' ? '~' : undefined, text: name ?? '', cwds }];
}

function argumentPaths(program: string, args: readonly Arg[]): Arg[] {
  const isPathOption = (word: string): boolean =>
    !LONG_TEXT_OPTIONS.has(word) && SHORT_TEXT_OPTIONS[program]?.includes(word) !== true;
  const giving = FIRST_IS_TEXT[program];
  const words = args.map(({ value, start }) => value ?? start);
  let skipsFirst =
    giving !== undefined &&
    !words.some((word) =>
      giving.some((option) => word === option || (option.startsWith('--') && word.startsWith(`${option}=`))),
    );
  const paths: Arg[] = [];
  let isOpen = true;
  args.forEach((arg, index) => {
    const word = words[index] ?? '';
    if (isOpen && word === '--') isOpen = false;
    else if (isOpen && word.length > 1 && word.startsWith('-')) {
      const value = attachedValue(arg, isPathOption);
      if (value !== undefined) paths.push(value);
    } else if (isOpen && words[index - 1]?.startsWith('-') === true && !isPathOption(words[index - 1] ?? ''))
      return;
    else if (skipsFirst) skipsFirst = false;
    else paths.push(arg);
  });
  return paths;
}

/** `--file=/x` and `-I/x`. */
function attachedValue(arg: Arg, isPathOption: (word: string) => boolean): Arg | undefined {
  const word = arg.value ?? arg.start;
  const equals = word.indexOf('=');
  if (word.startsWith('--')) {
    return equals === -1 || !isPathOption(word.slice(0, equals)) ? undefined : cut(arg, equals + 1);
  }
  const slash = word.search(/[/~]|\.\.(?:\/|$)/);
  return slash === -1 || !isPathOption(word.slice(0, 2)) ? undefined : cut(arg, slash);
}

function cut(arg: Arg, from: number): Arg {
  return { ...arg, value: arg.value?.slice(from), start: arg.start.slice(from) };
}

/** Of find: where it starts, and the few tests and actions that take a file. */
function findPaths(args: readonly Arg[]): Arg[] {
  const isExpression = ({ value, start }: Arg): boolean =>
    /^[-(!]/.test(value ?? start) && !/^-[HLPDO]/.test(value ?? start);
  const end = args.findIndex(isExpression);
  const starts = (end === -1 ? args : args.slice(0, end)).filter(
    ({ value, start }) => !(value ?? start).startsWith('-'),
  );
  const files = args.filter((_, index) =>
    /^-(?:a|c)?newer|^-newer\w\w$|^-samefile$|^-f(?:print0?|printf|ls)$|^-files0-from$/.test(
      args[index - 1]?.value ?? '',
    ),
  );
  return [...starts, ...files];
}

function pathUse(arg: Arg, cwds: Cwds): PathUse[] {
  const { value, text } = arg;
  if (value === undefined) return [{ path: arg.isGlob ? globDirectory(arg) : undefined, text, cwds }];
  // An address like https://host/x or host:/x is a path in the working directory, too, and as such inside.
  const assigned = /^[A-Za-z_][\w-]*=(.*)$/s.exec(value)?.[1];
  const path = value.startsWith('file://') ? value.slice(7) : (assigned ?? value);
  return path === '' ? [] : [{ path, text, cwds }];
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

/** Paths of everything that was found, redirections included. */
export function allPaths(findings: Findings): PathUse[] {
  const redirected = findings.redirections
    .filter(({ isGuess }) => !isGuess)
    .flatMap(({ target, text, cwds }) => pathUse(target, cwds).map((use) => ({ ...use, text })));
  const commands = findings.invocations.filter(({ isGuess }) => !isGuess);
  return [...redirected, ...commands.flatMap(pathsOf)];
}
