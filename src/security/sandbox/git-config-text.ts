/**
 * Reads the text of a git configuration as git does, by its grammar: where the two of them differ, git obeys what
 * nothing here protects. What git stops at is passed over to the end of its line, since git goes on once a person has
 * repaired it.
 */

export interface ConfigEntry {
  /** In lower case, as the key is. */
  readonly section: string;
  /** The name in quotes, or after the dot. */
  readonly subsection: string | undefined;
  readonly key: string;
  /** Empty where there is none. */
  readonly value: string;
  /** As git before 2.45 reads it, where that is another: white space inside of it is blanks. */
  readonly older?: string;
}

/** Stands for the end of the text, which git takes for the end of a line. */
const END = '\n';
const BYTE_ORDER_MARK = '\uFEFF';
const isSpace = (char: string): boolean => char === ' ' || char === '\t' || char === '\n' || char === '\r';
const isAlpha = (char: string): boolean => (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z');
const isKeyChar = (char: string): boolean => isAlpha(char) || (char >= '0' && char <= '9') || char === '-';

export function parseGitConfig(text: string): ConfigEntry[] {
  const source = createSource(text);
  const entries: ConfigEntry[] = [];
  /** As far as a section says it, with its dot. */
  let base = '';
  while (!source.isAtEnd()) {
    const char = source.next();
    if (isSpace(char)) continue;
    if (char === '#' || char === ';') source.skipLine();
    else if (char === '[') {
      const section = readSection(source);
      if (section === undefined) source.skipLine();
      else base = `${section}.`;
    } else if (isAlpha(char)) {
      const read = readEntry(source, char);
      if (read === undefined) source.skipLine();
      else entries.push(entryOf(base + read.key, read));
    } else source.skipLine();
  }
  return entries;
}

interface Source {
  isAtEnd(): boolean;
  next(): string;
  /** What comes next of such characters, which are neither ends of lines nor what stands before one. */
  take(run: RegExp): string;
  /** To the end of the line that the last character is in. */
  skipLine(): void;
}

function createSource(text: string): Source {
  let at = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  let last = '';
  return {
    isAtEnd: () => at >= text.length,
    next() {
      if (text[at] === '\r' && text[at + 1] === '\n') at++;
      last = text[at++] ?? END;
      return last;
    },
    take(run) {
      const from = at;
      run.lastIndex = from;
      if (run.test(text)) at = run.lastIndex;
      return text.slice(from, at);
    },
    skipLine() {
      if (last === '\n') return;
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end;
    },
  };
}

/** What stands before the dot of its keys; undefined where it is not understood. */
function readSection(source: Source): string | undefined {
  let name = '';
  for (;;) {
    if (source.isAtEnd()) return undefined;
    const char = source.next();
    if (char === ']') return name;
    if (isSpace(char)) return readSubsection(source, name, char);
    if (!isKeyChar(char) && char !== '.') return undefined;
    name += (char + source.take(KEY_RUN)).toLowerCase();
  }
}

function readSubsection(source: Source, section: string, space: string): string | undefined {
  let char = space;
  while (isSpace(char)) {
    if (char === '\n') return undefined;
    char = source.next();
  }
  if (char !== '"') return undefined;
  let name = '';
  for (;;) {
    name += source.take(NAME_RUN);
    char = source.next();
    if (char === '"') break;
    if (char === '\\') char = source.next();
    if (char === '\n') return undefined;
    name += char;
  }
  return source.next() === ']' ? `${section}.${name}` : undefined;
}

function readEntry(source: Source, first: string): ({ readonly key: string } & Value) | undefined {
  const key = first + source.take(KEY_RUN);
  let char = source.next();
  while (char === ' ' || char === '\t') char = source.next();
  if (char === '\n') return { key: key.toLowerCase(), value: '', older: '' };
  if (char !== '=') return undefined;
  const read = readValue(source);
  return read === undefined ? undefined : { key: key.toLowerCase(), ...read };
}

interface Value {
  readonly value: string;
  readonly older: string;
}

/** Without quotes, escapes, a comment and the spaces around it. It goes on in the next line after a backslash. */
function readValue(source: Source): Value | undefined {
  let value = '';
  let older = '';
  let spaces = '';
  let isQuoted = false;
  for (;;) {
    let char = source.next();
    if (char === '\n') return isQuoted ? undefined : { value, older };
    if (!isQuoted && isSpace(char)) {
      const more = source.take(SPACE_RUN);
      if (value !== '') spaces += char + more;
      continue;
    }
    if (!isQuoted && (char === '#' || char === ';')) {
      source.skipLine();
      source.next();
      return { value, older };
    }
    value += spaces;
    older += ' '.repeat(spaces.length);
    spaces = '';
    if (char === '"') {
      isQuoted = !isQuoted;
      continue;
    }
    if (char === '\\') {
      char = source.next();
      if (char === '\n') continue;
      const escaped = ESCAPES[char];
      if (escaped === undefined) return undefined;
      char = escaped;
    }
    const more = char + source.take(VALUE_RUN);
    value += more;
    older += more;
  }
}

// Most of a text is of these.
const KEY_RUN = /[a-z0-9-]+/iy;
const NAME_RUN = /[^"\\\r\n]+/y;
const VALUE_RUN = /[^ \t\r\n"\\#;]+/y;
const SPACE_RUN = /[ \t]+/y;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\\': '\\', '"': '"' };

/** To git a name and a value end where a zero is. */
function entryOf(written: string, { value, older }: Value): ConfigEntry {
  const name = beforeZero(written);
  const first = name.indexOf('.');
  const last = name.lastIndexOf('.');
  return {
    section: first === -1 ? '' : name.slice(0, first).toLowerCase(),
    subsection: first === last ? undefined : name.slice(first + 1, last),
    key: name.slice(last + 1).toLowerCase(),
    value: beforeZero(value),
    ...(older !== value && { older: beforeZero(older) }),
  };
}

const beforeZero = (text: string): string => {
  const zero = text.indexOf('\0');
  return zero === -1 ? text : text.slice(0, zero);
};
