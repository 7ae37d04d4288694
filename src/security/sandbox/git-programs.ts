/** Of a command line in a git configuration, the files that it may run: as a shell reads it, and where it changes to. */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { setOf } from '../list.ts';
import type { LookBudget } from './git-find.ts';
import { type FileKind, kindOf, MAX_PATH, pathFrom } from './host-files.ts';

export interface CommandContext {
  /** Git starts programs at the top of the work tree. */
  readonly workTree: string;
  readonly home: string;
  readonly budget: LookBudget;
}

/** Paths may be missing, and may be anywhere. Once the budget is spent, the rest of the line is left. */
export function namedByCommand(line: string, { workTree, home, budget }: CommandContext): string[] {
  const text = line.replaceAll(WORK_TREE, '\0').replaceAll(HOME, '\u0001');
  const filled = (word: string): string =>
    word.replaceAll('\u0001', '\0').split('\0', MAX_FILLED + 2).length > MAX_FILLED + 1
      ? ''
      : word.replaceAll('\0', workTree).replaceAll('\u0001', home);
  const found = new Set<string>();
  const look = createLook({ workTree, home, budget });
  let bases: readonly string[] = [workTree];
  /** The word before, options apart. */
  let before = '';
  let isPython = false;
  const isFile = (word: string): boolean => budget.steps >= 0 && look(word, workTree).kind === 'file';
  for (const word of wordsOf(text, filled, isFile)) {
    if (budget.steps < 0) break;
    isPython ||= PYTHON.test(basename(word));
    const isScript = INTERPRETERS.has(basename(before));
    for (const base of bases) {
      for (const part of partsOf(word)) {
        if (budget.steps < 0) break;
        const { path, kind } = look(part, base);
        if (mayRun(part, kind, isScript)) found.add(path);
      }
      // Python looks for them where it is started, so that one that is made later runs as well.
      for (const file of isPython ? filesOfModule(before, word) : []) found.add(look(file, base).path);
    }
    const directory = DIRECTORY_OPTION.exec(word)?.[1] ?? (CHANGES.has(before) ? word : '');
    if (directory !== '' && !UNKNOWN.test(directory)) {
      // In parentheses it does not last.
      const others = [workTree, bases.at(-1) ?? workTree].map((base) => look(directory, base).path);
      bases = [...new Set([workTree, ...others])];
    }
    if (!word.startsWith('-') || CHANGES.has(word) || MODULE_OPTION.test(word)) before = word;
  }
  const whole = filled(text);
  if (isFile(whole)) found.add(locate(whole, workTree, home));
  found.delete(NOWHERE);
  return [...found];
}

/** With a home directory where it is named, by a tilde or by a user's name, or the place where git is installed. */
export function locate(path: string, base: string, home: string): string {
  if (path.startsWith(PREFIX)) return pathFrom('/usr', path.slice(PREFIX.length));
  const [, user, rest = ''] = /^~([^/]*)(.*)$/s.exec(path) ?? [];
  if (user === undefined) return pathFrom(base, path);
  const place = user === '' ? home : homeOf(user);
  return place === undefined ? pathFrom(base, path) : pathFrom(place, `.${rest}`);
}

const PREFIX = '%(prefix)/';

function homeOf(user: string): string | undefined {
  const own = attempt(() => userInfo());
  if (own?.username === user) return own.homedir;
  const users = attempt(() => readFileSync('/etc/passwd', 'utf8'))?.split('\n') ?? [];
  return users.find((line) => line.startsWith(`${user}:`))?.split(':')[5];
}

/** Placeholders in one word. */
const MAX_FILLED = 8;
const MAX_MODULE = 256;
/** Of a path: so many cost as much as one look. */
const STEP_CHARACTERS = 8;
/** What is too long for any file to be there. */
const NOWHERE = '';

function createLook({ workTree, home, budget }: CommandContext) {
  return (word: string, base: string): { readonly path: string; readonly kind: FileKind | undefined } => {
    if (word.length + base.length > MAX_PATH) return { path: NOWHERE, kind: undefined };
    budget.steps -= 1 + (word.length + base.length - workTree.length) / STEP_CHARACTERS;
    const path = locate(word, base, home);
    return { path, kind: kindOf(path) };
  };
}

/** A link wherever it leads, and one that is not there yet, unless it is looked for on PATH. */
function mayRun(word: string, kind: FileKind | undefined, isScript: boolean): boolean {
  if (!isScript && !/[./]/.test(word)) return false;
  return kind === 'file' || kind === 'link' || (kind === undefined && word.includes('/'));
}

/** Of a command line, those that may be paths, also within quotes. */
function wordsOf(
  text: string,
  filled: (word: string) => string,
  isFile: (word: string) => boolean,
): string[] {
  return [...text.matchAll(SHELL_WORD)].flatMap(([written]) => {
    const word = filled(written.replaceAll(/\\(.)|['"]/g, '$1'));
    if (!/['"]/.test(written) || isFile(word)) return [word];
    return [word, ...written.split(/[\s'"!;|&()<`]+/).map(filled)];
  });
}

/** With what an option, an assignment or a list has in it: `-Fx`, `-oProxyCommand=x`, `A=x`, `${A:-x}`. */
function partsOf(word: string): string[] {
  const parts = word.split(/:[-=?+]|[=:,{}]/);
  if (parts.length === 1) return /^-[a-z]./i.test(word) ? [word.slice(2)] : [word];
  return /^(?:-|\w+=)/.test(word) ? parts.slice(1) : [word, ...parts];
}

/** `python3 -m a.b`; what stands for a package is run on the way. */
function filesOfModule(before: string, word: string): string[] {
  const name = MODULE_OPTION.test(before) ? word : /^-[a-z]*m([\w.]+)$/i.exec(word)?.[1];
  if (name === undefined || name.length > MAX_MODULE || !/^\w+(?:\.\w+)*$/.test(name)) return [];
  const parts = name.split('.');
  const packages = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  const module = packages.at(-1) ?? '';
  return [`${module}.py`, `${module}/__main__.py`, ...packages.map((each) => `${each}/__init__.py`)];
}

const WORK_TREE =
  /\$PWD\b|\$\{PWD\}|\$\((?:pwd|git rev-parse --show-toplevel)\)|`(?:pwd|git rev-parse --show-toplevel)`/g;
const HOME = /\$HOME\b|\$\{HOME\}/g;
const SHELL_WORD = /(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\!;|&()<`])+/g;
const PYTHON = /^(?:python|pypy)[\d.]*$/;
const MODULE_OPTION = /^-[a-z]*m$/i;
/** They run a file of the directory that they are in, also one whose name is a plain word. */
const INTERPRETERS = setOf('sh bash dash ash zsh ksh fish . source python python3 node perl ruby php');
const CHANGES = setOf('cd pushd -C --directory --chdir');
const DIRECTORY_OPTION = /^(?:-C|--(?:directory|chdir)=)(.+)$/;
/** Nobody can tell where it leads. */
const UNKNOWN = /^-|[$`*?]/;
