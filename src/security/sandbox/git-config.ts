/** What a git configuration names that git executes or obeys: hooks elsewhere, further configuration, programs. */
import { basename, dirname, join, resolve } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { list } from '../list.ts';
import { type FileKind, kindOf, readPlainFile } from './host-files.ts';
import { placesOf } from './moved.ts';

export interface ConfigEntry {
  /** In lower case; without the name in quotes. */
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/** The largest that is read; one with a thousand branches is smaller. */
const MAX_BYTES = 1024 * 1024;
/** As git itself. */
const MAX_INCLUDES = 10;

/** Programs that git starts, by section and key. */
const PROGRAMS =
  /^(?:core\.(?:fsmonitor|sshcommand|gitproxy|askpass|editor|pager|attributesfile|alternaterefscommand)|sequence\.editor|pager\..*|alias\..*|diff\.(?:external|command|textconv)|(?:difftool|mergetool|browser|man)\.(?:cmd|path)|merge\.driver|filter\.(?:clean|smudge|process)|credential\.helper|gpg\.(?:program|defaultkeycommand)|submodule\.update|interactive\.difffilter|remote\.(?:uploadpack|receivepack)|uploadpack\.packobjectshook|trailer\.(?:command|cmd)|hook\.command|tar\.command|guitool\.cmd|imap\.tunnel|instaweb\.(?:httpd|browser)|sendemail\.(?:sendmailcmd|smtpserver|tocmd|cccmd|headercmd))$/;

const HOOKS = list(`
  applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
  pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
  reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman
  post-index-change p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit
`);

export interface ConfigContext {
  /** What relative paths of programs and hooks are relative to. */
  readonly workTree: string;
  readonly home: string;
  /** Variables may have the user's configuration elsewhere. */
  readonly environment: Readonly<Record<string, string>>;
  read(file: string): readonly ConfigEntry[];
}

/** Of one repository, with what holds for all of the user's. Paths may be missing, and may be anywhere. */
export function namedByConfig(git: string, context: ConfigContext): string[] {
  const { home, environment } = context;
  const isThere = (file: string): boolean => kindOf(file) !== undefined;
  const users = [
    ...['.gitconfig', '.config/git/config'].flatMap((name) => placesOf(name, home, environment)),
    environment['GIT_CONFIG_SYSTEM'] ?? '/etc/gitconfig',
  ].filter(isThere);
  const own = [join(git, 'config'), join(git, 'config.worktree')].filter(isThere);
  const named = [...users, ...own].flatMap((file) => namedIn(realPathOf(file), context, 0));
  // A dotfiles repository has them elsewhere.
  const linked = users.filter((file) => kindOf(file) === 'link').map(realPathOf);
  return [...new Set([...linked, ...named])];
}

function namedIn(file: string, context: ConfigContext, depth: number): string[] {
  const at = (path: string, base: string): string =>
    path.startsWith('~/') ? join(context.home, path.slice(2)) : resolve(base, path);
  return context.read(file).flatMap(({ section, key, value }) => {
    const name = `${section}.${key}`;
    if (value === '') return [];
    if (name === 'include.path' || name === 'includeif.path') {
      const included = at(value, dirname(file));
      return [included, ...(depth < MAX_INCLUDES ? namedIn(realPathOf(included), context, depth + 1) : [])];
    }
    if (name === 'init.templatedir') return [join(at(value, context.workTree), 'hooks')];
    if (name === 'core.hookspath') return hooksAt(at(value, context.workTree), context.workTree);
    if (!PROGRAMS.test(name)) return [];
    const kind = (word: string): FileKind | undefined => kindOf(at(word, context.workTree));
    return wordsOf(value, context, (word) => kind(word) === 'file')
      .filter((word) => mayRun(word, kind(word)))
      .map((word) => at(word, context.workTree));
  });
}

/** A link wherever it leads, and one that is not there yet, unless it is looked for on PATH. */
const mayRun = (word: string, kind: FileKind | undefined): boolean =>
  kind === 'file' || kind === 'link' || (kind === undefined && word.includes('/'));

function hooksAt(path: string, workTree: string): string[] {
  // Husky has scripts in "_" that run those beside it.
  const hooks = basename(path) === '_' ? dirname(path) : path;
  return isInside(workTree, hooks) ? HOOKS.map((name) => join(hooks, name)) : [hooks];
}

/** Of a command line, those that may be paths: as a shell reads it, also within quotes, and all of it where that is a file. */
function wordsOf(
  value: string,
  { workTree, home }: ConfigContext,
  isFile: (word: string) => boolean,
): string[] {
  const text = value.replaceAll(WORK_TREE, '\0').replaceAll(HOME, '\u0001');
  const filled = (word: string): string => word.replaceAll('\0', workTree).replaceAll('\u0001', home);
  const words = [...text.matchAll(SHELL_WORD)].flatMap(([written]) => {
    const word = filled(written.replaceAll(/\\(.)|['"]/g, '$1'));
    if (!/['"]/.test(written) || isFile(word)) return [word];
    return [word, ...written.split(/[\s'"!;|&()]+/).map(filled)];
  });
  const all = isFile(filled(text)) ? [...words, filled(text)] : words;
  return [...new Set(all)].filter((word) => /[./]/.test(word));
}

/** Git starts programs at the top of the work tree. */
const WORK_TREE =
  /\$PWD\b|\$\{PWD\}|\$\((?:pwd|git rev-parse --show-toplevel)\)|`(?:pwd|git rev-parse --show-toplevel)`/g;
const HOME = /\$HOME\b|\$\{HOME\}/g;
const SHELL_WORD = /(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\!;|&()])+/g;

/** None where it cannot be read. */
export const readGitConfig = (file: string): ConfigEntry[] =>
  parseGitConfig(attempt(() => readPlainFile(file, MAX_BYTES)) ?? '');

export function parseGitConfig(text: string): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  let section = '';
  for (const line of text.replaceAll(/\\\r?\n/g, '').split(/\r?\n/)) {
    const header = /^\s*\[\s*([\w-]+)(?:\.[^\]\s"]*)?(?:\s+"(?:[^"\\]|\\.)*")?\s*\]/.exec(line);
    if (header !== null) section = (header[1] ?? '').toLowerCase();
    const rest = line.slice(header?.[0].length ?? 0);
    const entry = /^\s*([a-z][\w-]*)\s*=?(.*)$/i.exec(rest);
    if (entry !== null)
      entries.push({ section, key: (entry[1] ?? '').toLowerCase(), value: unquote(entry[2] ?? '') });
  }
  return entries;
}

/** Without quotes, escapes and a comment at the end. */
function unquote(written: string): string {
  let value = '';
  let isQuoted = false;
  let length = 0;
  const text = written.trim();
  for (let at = 0; at < text.length; at++) {
    let char = text[at] ?? '';
    if (char === '"') {
      isQuoted = !isQuoted;
      length = value.length;
      continue;
    }
    if (!isQuoted && (char === '#' || char === ';')) break;
    if (char === '\\') char = ESCAPES[text[++at] ?? ''] ?? text[at] ?? '';
    value += char;
    if (isQuoted || !/\s/.test(char)) length = value.length;
  }
  return value.slice(0, length);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b' };
