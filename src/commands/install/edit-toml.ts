/**
 * Changes in TOML, by lines: no parser for Node keeps comments. What this does not understand, such as a table that is
 * written inline, it gets wrong, and edit.ts then finds that the result is not what was meant.
 */
import { parse, TomlError } from 'smol-toml';
import { attempt } from '../../base/attempt.ts';
import { isObject } from '../../base/objects.ts';
import { tomlKey, tomlValue } from '../config/toml-value.ts';
import { EditRefused, type Table } from './table.ts';

export function readToml(text: string): Table {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new EditRefused(`it is not valid TOML: ${error.message.split('\n')[0]} (line ${error.line})`);
  }
}

/** Sets the fields of a table one by one, so that others in it stay; undefined removes the table with all below it. */
export function editToml(text: string, path: readonly string[], fields: Table | undefined): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.split(/\r?\n/);
  const section = findSection(lines, path);
  if (section === undefined) {
    if (fields === undefined)
      throw new EditRefused('the server is written in a way that cannot be removed safely');
    return append(text, path, fields, eol);
  }
  if (fields === undefined) return remove(lines, path, section).join(eol);
  for (const [name, value] of Object.entries(fields)) setField(lines, section, name, value);
  return lines.join(eol);
}

interface Section {
  /** The line of the header. */
  readonly start: number;
  /** The line after its last. */
  end: number;
}

function findSection(lines: readonly string[], path: readonly string[]): Section | undefined {
  const start = lines.findIndex((line) => isSame(headerOf(line), path));
  if (start === -1) return undefined;
  const next = lines.findIndex((line, index) => index > start && headerOf(line) !== undefined);
  return { start, end: next === -1 ? lines.length : next };
}

/** The path that a header opens; undefined for any other line. */
function headerOf(line: string): string[] | undefined {
  let at: unknown = line.trimStart().startsWith('[') ? attempt(() => parse(line)) : undefined;
  if (at === undefined) return undefined;
  const path: string[] = [];
  while (isObject(at)) {
    const [name] = Object.keys(at);
    if (name === undefined) return path;
    path.push(name);
    at = at[name];
  }
  // A list of tables, which is no table of ours.
  return [...path, ''];
}

function isSame(one: readonly string[] | undefined, other: readonly string[]): boolean {
  return one?.length === other.length && one.every((name, index) => name === other[index]);
}

function append(text: string, path: readonly string[], fields: Table, eol: string): string {
  const rest = text === '' || text.endsWith('\n') ? text : `${text}${eol}`;
  const gap = rest.trim() === '' ? '' : eol;
  const header = `[${path.map(tomlKey).join('.')}]`;
  const pairs = Object.entries(fields).map(([name, value]) => `${name} = ${tomlValue(value)}`);
  return `${rest}${gap}${[header, ...pairs].join(eol)}${eol}`;
}

/** With its sub-tables; comments before the next table are that one's. */
function remove(lines: string[], path: readonly string[], section: Section): string[] {
  let { end } = section;
  for (;;) {
    const header = headerOf(lines[end] ?? '');
    if (header === undefined || !isSame(header.slice(0, path.length), path)) break;
    const next = lines.findIndex((line, index) => index > end && headerOf(line) !== undefined);
    end = next === -1 ? lines.length : next;
  }
  while (end < lines.length && end > section.start + 1 && /^\s*#/.test(lines[end - 1] ?? '')) end--;
  const before = lines.slice(0, section.start);
  const after = lines.slice(end);
  // The empty line that was put before it goes with it.
  if (before.at(-1)?.trim() === '' && (after.length === 0 || after[0]?.trim() === '' || before.length > 1))
    before.pop();
  if (after.length === 0 && before.length > 0) return [...before, ''];
  return before.length === 0 || after[0]?.trim() === '' ? [...before, ...after] : [...before, '', ...after];
}

function setField(lines: string[], section: Section, name: string, value: unknown): void {
  const written = `${name} = ${tomlValue(value)}`;
  const at = lines.findIndex(
    (line, index) =>
      index > section.start && index < section.end && new RegExp(`^\\s*["']?${name}["']?\\s*=`).test(line),
  );
  if (at === -1) {
    lines.splice(section.start + 1, 0, written);
    section.end += 1;
    return;
  }
  // A value may go on over lines: it ends where it can be read.
  for (let last = at; last < section.end; last++) {
    const piece = lines.slice(at, last + 1).join('\n');
    const read = attempt(() => parse(piece));
    if (read === undefined) continue;
    if (JSON.stringify(read[name]) === JSON.stringify(value)) return;
    lines.splice(at, last - at + 1, written);
    section.end -= last - at;
    return;
  }
}
