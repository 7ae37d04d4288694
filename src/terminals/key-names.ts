/** Keys by their names, as the bytes that a terminal sends for them. */
import { ShellServerError } from '../base/errors.ts';
import { nearestFew } from '../base/nearest.ts';
import type { InputModes } from './protocol.ts';

type KeyModes = Pick<InputModes, 'applicationCursor'>;

const PLAIN: Readonly<Record<string, string>> = {
  enter: '\r',
  return: '\r',
  tab: '\t',
  esc: '\x1b',
  escape: '\x1b',
  space: ' ',
  backspace: '\x7f',
};

/** CSI letter, or SS3 letter while the program wants it so. */
const CURSOR: Readonly<Record<string, string>> = {
  up: 'A',
  down: 'B',
  right: 'C',
  left: 'D',
  home: 'H',
  end: 'F',
};

const NUMBERED: Readonly<Record<string, number>> = {
  insert: 2,
  delete: 3,
  pageup: 5,
  pagedown: 6,
  f5: 15,
  f6: 17,
  f7: 18,
  f8: 19,
  f9: 20,
  f10: 21,
  f11: 23,
  f12: 24,
};

const FUNCTION: Readonly<Record<string, string>> = { f1: 'P', f2: 'Q', f3: 'R', f4: 'S' };

const OTHER_NAMES: Readonly<Record<string, string>> = {
  del: 'delete',
  ins: 'insert',
  pgup: 'pageup',
  pgdn: 'pagedown',
  pgdown: 'pagedown',
  bs: 'backspace',
  cr: 'enter',
};

export const KEY_NAMES: readonly string[] = [
  ...Object.keys(PLAIN),
  ...Object.keys(CURSOR),
  ...Object.keys(NUMBERED),
  ...Object.keys(FUNCTION),
];

const MODIFIERS: Readonly<Record<string, 'ctrl' | 'alt' | 'shift'>> = {
  ctrl: 'ctrl',
  control: 'ctrl',
  c: 'ctrl',
  alt: 'alt',
  meta: 'alt',
  option: 'alt',
  m: 'alt',
  shift: 'shift',
  s: 'shift',
};

export function encodeKeys(keys: readonly string[], modes: KeyModes): string {
  return keys.map((key) => encodeKey(key, modes)).join('');
}

function encodeKey(key: string, modes: KeyModes): string {
  const caret = /^\^(.)$/u.exec(key)?.[1];
  if (caret !== undefined) return control(caret.toLowerCase()) ?? fail(key);
  const { name, held } = readModifiers(key);
  if (held.size === 0) return plainKey(name, modes) ?? fail(key);
  return modifiedKey(name, held) ?? fail(key);
}

function fail(key: string): never {
  const nearest = nearestFew(key.toLowerCase(), new Set(KEY_NAMES), 3);
  const near = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(' or ')}?`;
  throw new ShellServerError('PARAM_002', `There is no key ${JSON.stringify(key.slice(0, 40))}.${near}`, {
    hint: 'Keys are enter, tab, esc, space, backspace, delete, insert, up, down, left, right, home, end, pageup, pagedown, f1 to f12 or a single character, after ctrl+, alt+ or shift+.',
    details: { parameter: 'keys' },
  });
}

/** "ctrl+c", "ctrl-c" and "C-c"; "+" and "-" are keys themselves. */
function readModifiers(key: string): { name: string; held: ReadonlySet<'ctrl' | 'alt' | 'shift'> } {
  const held = new Set<'ctrl' | 'alt' | 'shift'>();
  let rest = key;
  for (;;) {
    const match = /^([A-Za-z]+)[+-](.+)$/su.exec(rest);
    const modifier = match === null ? undefined : MODIFIERS[match[1]?.toLowerCase() ?? ''];
    if (match === null || modifier === undefined) break;
    held.add(modifier);
    rest = match[2] ?? '';
  }
  // A single character keeps its case: "A" is another key than "a".
  const name = Array.from(rest).length === 1 ? rest : rest.toLowerCase();
  return { name: OTHER_NAMES[name] ?? name, held };
}

function plainKey(name: string, { applicationCursor }: KeyModes): string | undefined {
  if (Array.from(name).length === 1) return name;
  const cursor = CURSOR[name];
  if (cursor !== undefined) return `\x1b${applicationCursor ? 'O' : '['}${cursor}`;
  const named = FUNCTION[name];
  if (named !== undefined) return `\x1bO${named}`;
  const number = NUMBERED[name];
  return number === undefined ? PLAIN[name] : `\x1b[${number}~`;
}

function modifiedKey(name: string, held: ReadonlySet<string>): string | undefined {
  const modifier = 1 + (held.has('shift') ? 1 : 0) + (held.has('alt') ? 2 : 0) + (held.has('ctrl') ? 4 : 0);
  const letter = CURSOR[name] ?? FUNCTION[name];
  if (letter !== undefined) return `\x1b[1;${modifier}${letter}`;
  const number = NUMBERED[name];
  if (number !== undefined) return `\x1b[${number};${modifier}~`;
  if (name === 'tab' && held.has('shift')) return `${held.has('alt') ? '\x1b' : ''}\x1b[Z`;
  const base = PLAIN[name] ?? (Array.from(name).length === 1 ? name : undefined);
  if (base === undefined) return undefined;
  const shifted = held.has('shift') ? base.toUpperCase() : base;
  const pressed = held.has('ctrl') ? control(name === 'space' ? ' ' : shifted.toLowerCase()) : shifted;
  if (pressed === undefined) return undefined;
  return held.has('alt') ? `\x1b${pressed}` : pressed;
}

/** What Ctrl makes of a character; undefined where no terminal has anything for it. */
function control(character: string): string | undefined {
  if (character === ' ' || character === '@' || character === '2') return '\0';
  if (character === '?' || character === '8' || character === '\x7f')
    return character === '\x7f' ? '\b' : '\x7f';
  if (character === '/' || character === '-') return '\x1f';
  if (character === '\r' || character === '\t' || character === '\x1b') return character;
  const code = character.toUpperCase().charCodeAt(0);
  return character.length === 1 && code >= 0x41 && code <= 0x5f
    ? String.fromCharCode(code ^ 0x40)
    : undefined;
}
