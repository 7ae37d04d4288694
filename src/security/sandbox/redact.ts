/**
 * Copies of settings files in the home directory that tools need and that may hold a secret: the registry of a
 * company stays known, its token does not.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { realPathOf } from '../../base/config/paths.ts';
import { makePrivateDirectory, writeFileWhole } from '../../base/files.ts';
import { maskText } from '../secrets.ts';
import { kindOf } from './look.ts';

const FILES = [
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
  '.gradle/gradle.properties',
  '.bundle/config',
];

/** `_authToken`, `_password`, `npmAuthToken`, `extraheader = AUTHORIZATION: …` and what curl and wget call it. */
const SECRET_LINE =
  /_auth\b|_authToken|_password|npmAuth(?:Token|Ident)|\bextraheader\b|^\s*(?:user|password|http_password|proxy-user|oauth2-bearer)\b\s*[=: ]/i;
const MAX_BYTES = 256 * 1024;

/** For each file that holds something to hide: its path, and the path of the copy. */
export function redactFiles(home: string, directory: string, opened: readonly string[]): Map<string, string> {
  const copies = new Map<string, string>();
  for (const name of FILES) {
    const path = join(home, name);
    if (kindOf(path) !== 'file' || opened.includes(path)) continue;
    try {
      const text = readPlainFile(path);
      const redacted = redactText(text);
      if (redacted === text) continue;
      const copy = join(directory, createHash('sha256').update(redacted).digest('hex').slice(0, 32));
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

/** Never through a link: where the home directory is the workspace, a command may exchange one for the other. */
function readPlainFile(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile() || realPathOf(dirname(path)) !== dirname(path)) return '';
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

export function redactText(text: string): string {
  if (text.length > MAX_BYTES) return '';
  return text
    .split('\n')
    .filter((line) => !SECRET_LINE.test(line))
    .map(maskText)
    .join('\n');
}
