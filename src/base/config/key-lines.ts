/**
 * On which line of a TOML document each key stands. smol-toml gives lines for syntax errors only, and a mistake in a
 * value should name its line too.
 *
 * The document has been parsed before, so that this reader takes it to be valid: it skips values instead of checking
 * them, and wherever it is wrong the worst that comes of it is a wrong number in a message.
 */
import { parse } from 'smol-toml';
import { attempt } from '../attempt.ts';

/** Names of tables and keys, and the places of items in lists. */
export type DocumentPath = readonly (string | number)[];

/** The line of a path, counted from 1; where the path itself is not written, of the nearest table around it. */
export type LineOf = (path: DocumentPath) => number | undefined;

export function findKeyLines(toml: string): LineOf {
  const lines = createLineBook(toml);
  const reader = createReader(toml);
  /** How many tables each list of tables (`[[name]]`) has so far: a later `[name.x]` means the last of them. */
  const counts = new Map<string, number>();
  let table: DocumentPath = [];

  const readHeader = (start: number): void => {
    const isList = toml.startsWith('[[', start);
    reader.at += isList ? 2 : 1;
    const key = reader.readKey();
    const path: (string | number)[] = [];
    for (const [index, name] of key.entries()) {
      path.push(name);
      const id = JSON.stringify(path);
      if (isList && index === key.length - 1) counts.set(id, (counts.get(id) ?? 0) + 1);
      lines.note(path, start);
      const count = counts.get(id);
      if (count !== undefined) path.push(count - 1);
    }
    lines.note(path, start);
    table = path;
    reader.at += isList ? 2 : 1;
  };

  const readPair = (parent: DocumentPath): void => {
    const start = reader.at;
    const path = [...parent];
    for (const name of reader.readKey()) {
      path.push(name);
      lines.note(path, start);
    }
    if (toml[reader.at] === '=') reader.at++;
    reader.take(BLANK);
    readValue(path);
  };

  const readValue = (path: DocumentPath): void => {
    const first = toml[reader.at];
    if (first === '[') {
      reader.readItems(']', (index) => {
        lines.note([...path, index], reader.at);
        readValue([...path, index]);
      });
    } else if (first === '{') {
      reader.readItems('}', () => readPair(path));
    } else if (reader.take(STRING) === '') reader.take(BARE_VALUE);
  };

  reader.take(BLANK);
  while (reader.at < toml.length) {
    const start = reader.at;
    if (toml[start] === '[') readHeader(start);
    else readPair(table);
    reader.take(BLANK);
    // Only in a document that is not valid; it must not hang the server either.
    if (reader.at === start) reader.at++;
  }
  return lines.lineOf;
}

/** White space, line ends, comments, and the byte order mark, which is white space to a RegExp. */
const BLANK = /(?:\s|#[^\n]*)*/y;
const SPACE = /[ \t]*/y;
/** The text of a block may itself end in one or two quotes, and the last three of them are the end. */
const STRING = /"""(?:\\[^]|[^\\])*?"{3,5}|'''[^]*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'/y;
const BARE_KEY = /[^\s.=\]]*/y;
const BARE_VALUE = /[^,\]}#\r\n]*/y;

/** Moves over the pieces of a document; `at` is the place of the next character. */
function createReader(toml: string) {
  const reader = {
    at: 0,

    /** What matches here, which is moved over; empty where nothing does. */
    take(pattern: RegExp): string {
      pattern.lastIndex = reader.at;
      const [text = ''] = pattern.exec(toml) ?? [];
      reader.at += text.length;
      return text;
    },

    /** A key with its dots: `a."b c".d` is three names. */
    readKey(): string[] {
      const key: string[] = [];
      do {
        reader.take(SPACE);
        const quoted = reader.take(STRING);
        key.push(quoted === '' ? reader.take(BARE_KEY) : unquote(quoted));
        reader.take(SPACE);
      } while (reader.take(/\./y) !== '');
      return key;
    },

    /** The items of a list or of an inline table, from its opening bracket past its closing one. */
    readItems(close: string, readItem: (index: number) => void): void {
      reader.at++;
      for (let index = 0; ; index++) {
        reader.take(BLANK);
        if (reader.at >= toml.length) return;
        if (toml[reader.at] === close) break;
        const start = reader.at;
        readItem(index);
        reader.take(BLANK);
        if (toml[reader.at] === ',' || reader.at === start) reader.at++;
      }
      reader.at++;
    },
  };
  return reader;
}

/** Remembers the first line on which each path was seen. Places must be noted in the order of the document. */
function createLineBook(toml: string): { note(path: DocumentPath, at: number): void; lineOf: LineOf } {
  const lines = new Map<string, number>();
  let line = 1;
  let counted = 0;
  return {
    note(path, at) {
      for (; counted < at; counted++) if (toml[counted] === '\n') line++;
      const id = JSON.stringify(path);
      if (!lines.has(id)) lines.set(id, line);
    },
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        const found = lines.get(JSON.stringify(path.slice(0, length)));
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

/** smol-toml knows the escapes. */
function unquote(written: string): string {
  const key = attempt(() => parse(`key = ${written}`)['key']);
  return typeof key === 'string' ? key : written;
}
