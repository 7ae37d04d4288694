/**
 * Copies of settings files in the home directory that tools need and that may hold a secret: the registry of a
 * company stays known, its token does not.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { realPathOf } from '../../base/config/paths.ts';
import { makePrivateDirectory, writeFileWhole } from '../../base/files.ts';
import { maskText } from '../secrets.ts';
import { kindOf, readPlainFile } from './host-files.ts';
import { placesOf } from './moved.ts';

export const REDACTED_FILES: readonly string[] = [
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.gitconfig',
  '.config/git/config',
  '.config/pip/pip.conf',
  '.pip/pip.conf',
  '.condarc',
  '.wgetrc',
  '.curlrc',
  '.config/containers/registries.conf',
  '.cargo/config.toml',
  '.cargo/config',
  '.gradle/gradle.properties',
  '.bundle/config',
];

/** What follows a secret-looking name, and the places where curl, conda and bundler have theirs. */
const SECRET_LINES: readonly RegExp[] = [
  /_auth(?:Token)?\b|_password\b|npmAuth(?:Token|Ident)|\bextraheader\b/i,
  /\b[\w.-]*(?:pass|passwd|password|secret|token|cookie|credential)[\w.-]*["']?\s*[=:]/i,
  /^\s*(?:user|proxy-user|oauth2-bearer|header)\b\s*[=: ]/i,
  /^\s*(?:-u|-U|-b|-H|--user|--proxy-user|--cookie|--header|--oauth2-bearer)\b/,
  /\/t\/[^/\s]+/,
  /^\s*BUNDLE_\w*__\w*\s*:/,
];
const MAX_BYTES = 256 * 1024;

export interface RedactOptions {
  readonly isHomeWritable?: boolean;
  /** Variables may have the files elsewhere. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** For each file that holds something to hide: its path, and the path of the copy. */
export function redactFiles(
  home: string,
  directory: string,
  opened: readonly string[],
  { isHomeWritable = false, environment = {} }: RedactOptions = {},
): Map<string, string> {
  const copies = new Map<string, string>();
  for (const named of REDACTED_FILES.flatMap((name) => placesOf(name, home, environment))) {
    // A link is followed where no command can have made it.
    const path = isHomeWritable ? named : realPathOf(named);
    if (kindOf(path) !== 'file' || opened.includes(named) || opened.includes(path)) continue;
    try {
      const text = readPlainFile(path) ?? '';
      const redacted = redactText(text);
      if (redacted === text) continue;
      const copy = join(directory, hash('sha256', redacted).slice(0, 32));
      if (kindOf(copy) === undefined) {
        makePrivateDirectory(directory);
        writeFileWhole(copy, redacted);
      }
      copies.set(path, copy);
    } catch {
      // What cannot be read here cannot be read inside either.
    }
  }
  return copies;
}

export function redactText(text: string): string {
  if (text.length > MAX_BYTES) return '';
  return text
    .split('\n')
    .filter((line) => !SECRET_LINES.some((pattern) => pattern.test(line)))
    .map(maskText)
    .join('\n');
}
