/**
 * A settings file: read, parsed, judged by the schema, and every mistake in it given its line.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { errnoOf, messageOf } from '../errors.ts';
import { nearest } from '../nearest.ts';
import { isObject } from '../objects.ts';
import { splitKey } from './fields.ts';
import { type DocumentPath, findKeyLines, type LineOf } from './key-lines.ts';
import { SETTING_KEYS } from './keys.ts';
import { type Entries, enterValue, type Layer, type Mistakes, mistake, withGot } from './layers.ts';
import { isInside } from './paths.ts';
import { checkDocument, type DocumentProblem } from './schema.ts';

export interface SettingsFile {
  readonly path: string;
  readonly source: 'file' | 'project' | 'user';
}

/** A thousand times what a real one has; a project's file may be a link to anything. */
const FILE_BYTES = 1024 * 1024;

export function readSettingsFile(
  file: SettingsFile,
  options: { cwd: string; homedir: string; mistakes: Mistakes },
): Layer {
  const { cwd, homedir, mistakes } = options;
  const shown = isInside(file.path, cwd) ? relative(cwd, file.path) : file.path;
  const entries: Entries = {};
  const layer: Layer = { source: file.source, entries };
  try {
    const toml = readText(file.path);
    // A key such as __proto__ is nobody's setting.
    const document: Readonly<Record<string, unknown>> = parse(toml, { unsafeKeyBehaviour: 'throw' });
    const lineOf = findKeyLines(toml);
    const where = (path: DocumentPath): string => `${shown}:${lineOf(path) ?? 1}`;

    for (const found of describeProblems(checkDocument(document), lineOf)) {
      mistakes.push(mistake(keyText(found.path), found.what, where(found.path)));
    }
    const base = { directory: dirname(file.path), homedir };
    for (const key of SETTING_KEYS) {
      const path = key.split('.');
      const value = valueAt(document, path);
      // What is wrong with it was reported above; the rest of the file goes on to be checked.
      if (value !== undefined) enterValue(entries, value, { key, where: where(path), base });
    }
  } catch (error) {
    mistakes.push(describeFailure(error, shown));
  }
  return layer;
}

/** Throws where a text of ours would not be read. */
export function checkSettingsText(toml: string): void {
  const [problem] = checkDocument(parse(toml));
  if (problem !== undefined) throw new Error(`${keyText(problem.path)}: ${problem.message}`);
}

function readText(path: string): string {
  const stats = statSync(path);
  // A pipe or a device would be read for ever.
  if (!stats.isFile()) throw new Error('it is not a regular file');
  if (stats.size > FILE_BYTES) throw new Error(`it has more than ${FILE_BYTES / 1024} KiB`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof TypeError) throw new Error('it is not UTF-8', { cause: error });
    throw error;
  }
}

function describeFailure(error: unknown, shown: string): string {
  if (error instanceof TomlError) {
    const [first = ''] = error.message.split('\n');
    return `${shown}:${error.line}: not valid TOML: ${first.replace('Invalid TOML document: ', '')}`;
  }
  return `${shown}: the settings file cannot be read: ${errnoOf(error) ?? messageOf(error)}`;
}

/** In the order of the document. */
function describeProblems(problems: readonly DocumentProblem[], lineOf: LineOf) {
  return problems
    .map(({ path, message, input, isUnknown }) => ({
      path,
      what: isUnknown === true ? unknownKey(path) : withGot(message, input),
    }))
    .sort((a, b) => (lineOf(a.path) ?? 0) - (lineOf(b.path) ?? 0));
}

function unknownKey(path: DocumentPath): string {
  const suggestion = nearestKey(path);
  return suggestion === undefined ? 'unknown key' : `unknown key; did you mean ${suggestion}?`;
}

/** The nearest key, or else the nearest name, which may stand in the wrong table. */
function nearestKey(path: DocumentPath): string | undefined {
  const keys: readonly string[] = SETTING_KEYS;
  const sections = keys.flatMap((key) => splitKey(key)[0] ?? []);
  const byKey = nearest(path.join('.'), new Set([...keys, ...sections]));
  if (byKey !== undefined) return byKey;
  const name = nearest(
    String(path.at(-1)),
    keys.map((key) => splitKey(key)[1]),
  );
  return keys.find((key) => splitKey(key)[1] === name);
}

const valueAt = (document: unknown, path: readonly string[]): unknown =>
  path.reduce(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    document,
  );

/** As it would be written: names that need quotes have them, and items of lists their number. */
function keyText(path: DocumentPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += `${text === '' ? '' : '.'}${/^[\w-]+$/.test(part) ? part : JSON.stringify(part)}`;
  }
  return text;
}
