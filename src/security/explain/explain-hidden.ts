/** Whether a path is one of those that the sandbox hides, and whether a command's own text names one. */
import { homedir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { compilePattern } from '../../base/pattern.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { findNamedPaths } from '../policy/named-paths.ts';
import { EXPOSURES } from '../sandbox/exposures.ts';
import { privateCandidates } from '../sandbox/find-private.ts';
import { isReadable, isThere, namesIn, readPlainFile } from '../sandbox/host-files.ts';
import { placesOf } from '../sandbox/moved.ts';
import { openings } from '../sandbox/openings.ts';
import { PRIVATE_IN_SYSTEM, PRIVATE_NAMES } from '../sandbox/private-paths.ts';
import { REDACTED_FILES, redactText } from '../sandbox/redact.ts';

type Environment = Readonly<Record<string, string>>;

/** The setting that shows it; undefined where it is not hidden. */
export function settingFor(
  path: string,
  security: SecuritySettings,
  environment: Environment,
): string | undefined {
  const home = realPathOf(homedir());
  const opened = [
    ...openings(security.expose, { homedir: home, environment }).paths,
    ...security.readablePaths,
    ...security.writablePaths,
    ...security.workspace.map(realPathOf),
  ];
  // What is shown of a hidden place lies in it, as a workspace below /root does.
  const isAt = (place: string): boolean =>
    isInside(path, place) &&
    isThere(place) &&
    isReadable(place) &&
    !opened.some((shown) => isInside(path, shown) && isInside(shown, place));
  if (isEmptied(path, home, environment) && !opened.some((shown) => shown === path))
    return `security.readable_paths = [${JSON.stringify(path)}]`;
  const isHistory = dirname(path) === home && PRIVATE_NAMES.test(basename(path)) && isAt(path);
  if (!isHistory && ![...privateCandidates(home, environment), ...PRIVATE_IN_SYSTEM].some(isAt))
    return undefined;
  const name = Object.entries(EXPOSURES).find(([, { home: paths }]) =>
    paths?.some((each) => placesOf(each, home, environment).some(isAt)),
  )?.[0];
  return name === undefined
    ? `security.readable_paths = [${JSON.stringify(path)}]`
    : `security.expose = ["${name}"]`;
}

/** It is shown without its lines that hold secrets, and has no others. */
function isEmptied(path: string, home: string, environment: Environment): boolean {
  if (!REDACTED_FILES.some((name) => placesOf(name, home, environment).includes(path))) return false;
  const text = attempt(() => readPlainFile(path)) ?? '';
  return text.trim() !== '' && redactText(text).trim() === '';
}

/** Hidden files are in the home directory with a dot before their names, or in /etc. Others need no second look. */
const MAY_BE_HIDDEN = /~|\$\{?HOME|\/etc\b|(?:^|[\s'"/=])\.\w/;

/** What is hidden is empty inside, and reading it succeeds: of paths that a command names, the first of these. */
export function hiddenIn(
  { command, directory }: { readonly command: string; readonly directory: string },
  security: SecuritySettings,
  environment: Environment,
): { readonly path: string; readonly setting: string } | undefined {
  const find = (paths: readonly string[]): { path: string; setting: string } | undefined => {
    const named = [...new Set(paths)];
    for (const path of [...named, ...hiddenMatches(named, environment)]) {
      const setting = isShown(path, security) ? settingFor(path, security, environment) : undefined;
      if (setting !== undefined) return { path, setting };
    }
    return undefined;
  };
  return (
    find(writtenPaths(command.slice(0, MAX_CHARS), directory)) ??
    // And those that the shell would put together: after a `cd`, in an inner shell, from quotes.
    find(MAY_BE_HIDDEN.test(command) ? findNamedPaths(command, { directory, home: homedir() }) : [])
  );
}

/** The hidden places that paths with wildcards lead to, or into: the shell finds them too, and they are empty. */
function hiddenMatches(paths: readonly string[], environment: Environment): string[] {
  const patterns = paths.filter((path) => WILDCARD.test(path)).slice(0, MAX_PATTERNS);
  if (patterns.length === 0) return [];
  const home = realPathOf(homedir());
  const own = [...privateCandidates(home, environment), ...namesIn(home, PRIVATE_NAMES)];
  return patterns.map(matcherOf).flatMap((matches) => [...own, ...PRIVATE_IN_SYSTEM].filter(matches));
}

/** Whether a place is what a path with wildcards stands for, or a directory on the way there. */
function matcherOf(path: string): (place: string) => boolean {
  const parts = path.split('/').slice(1, MAX_PARTS);
  const source = parts.reduceRight(
    (rest, part) => `/${sourceOf(part)}${rest === '' ? '' : `(?:${rest})?`}`,
    '',
  );
  const pattern = attempt(() => compilePattern('command', `^${source}$`));
  // A wildcard does not stand for the dot that a name begins with.
  const hasDots = (place: string): boolean =>
    place.split('/').every((name, at) => !name.startsWith('.') || parts[at - 1]?.startsWith('.') === true);
  return (place) => pattern?.test(place) === true && hasDots(place);
}

const WILDCARD = /[*?[]/;
/** Of one command: each is compared with hundreds of places. */
const MAX_PATTERNS = 20;
/** Hidden places do not lie deeper. */
const MAX_PARTS = 20;

/** Of one part of a path. A set in brackets counts as any character, which explains rather too much. */
const sourceOf = (part: string): string =>
  part.replaceAll(/\*+|\?|\[[^\]]+\]|[\\^$.|+(){}[\]]/g, (found) => {
    if (found.startsWith('*')) return '[^/]*';
    return found === '?' || found.length > 1 ? '[^/]' : `\\${found}`;
  });

/** A command may be a long script. */
const MAX_CHARS = 10_000;

/** Those that stand in the text as they are, also in a program of another language. */
function writtenPaths(command: string, directory: string): string[] {
  // Who only writes about it does not read it.
  if (/^\s*(?:echo|printf)\b/.test(command)) return [];
  const words = command
    .replaceAll('${HOME}', '$HOME')
    .replaceAll(/'[^']*\s[^']*'|"[^"]*\s[^"]*"/g, ' ')
    .match(/[^\s'"`;|&<>(){}=,]*\/[^\s'"`;|&<>(){}=,]*|(?<=\s)\.[\w.-]+/g);
  return (words ?? []).map((word) => resolve(directory, word.replace(/^(?:~|\$HOME)(?=\/|$)/, homedir())));
}

/** Where there is only a minimal root, what is hidden outside of the workspace is not there at all. */
const isShown = (path: string, { root, workspace }: SecuritySettings): boolean =>
  root === 'host' || workspace.some((each) => isInside(path, realPathOf(each)));
