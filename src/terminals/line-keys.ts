/**
 * What the bytes that are sent do to a shell's line: they are read as the line editor of a shell reads them (readline, zle,
 * fish), or as the kernel does for a shell that has none. Whatever could run the line is known, or taken for such.
 */
// Control characters are what this is about.
/* oxlint-disable no-control-regex */
import { PASTE_BEGINS, PASTE_ENDS } from './input.ts';

export type LineKey =
  /** Stands on the line then, as it is. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'enter' }
  /** Ctrl-C. */
  | { readonly kind: 'cancel' }
  /** Takes back the last character. */
  | { readonly kind: 'erase' }
  /** Ctrl-U: throws away what is before the cursor. */
  | { readonly kind: 'kill' }
  /** Leaves an empty line as it is: Ctrl-D, Ctrl-Z, Ctrl-\; of another the outcome is shown. */
  | { readonly kind: 'idle' }
  /** Ctrl-D without a line editor: leaves an empty line as it is, and may run another as Enter does. */
  | { readonly kind: 'end' }
  /** Leaves every line as it is: Ctrl-L. */
  | { readonly kind: 'redraw' }
  /** Changes the line; the outcome is shown. */
  | { readonly kind: 'edit' }
  /** Changes it, and what is shown does not tell how: a search, say. */
  | { readonly kind: 'hide' }
  /** May run the line, or make the next key do so. */
  | { readonly kind: 'run' };

/**
 * `emacs` and `vi` are line editors in these modes, under a list; `editor` is one that is taken for emacs. `nobody` reads
 * yet: the shell, by whatever means, or the foreground process. `anybody` is the same under a list.
 */
export type LineReader =
  | 'editor'
  | 'emacs'
  | 'vi'
  | 'editor with other keys'
  | 'kernel'
  | 'kernel with other keys'
  | 'nobody'
  | 'anybody';

type Rule = readonly [RegExp, LineKey['kind']];

/** The first that matches counts. */
const EDITOR: readonly Rule[] = [
  [/[\r\n]/y, 'enter'],
  [/[ -~]+/y, 'text'],
  [/\x03/y, 'cancel'],
  [/[\x7f\b]/y, 'erase'],
  [/\x15/y, 'kill'],
  [/[\x04\x1a\x1c]/y, 'idle'],
  [/\x0c/y, 'redraw'],
  // Arrows, Home, End, the numbered keys, each with modifiers; Shift-Tab.
  [/\x1b(?:\[(?:1;\d)?[ABCDHFPQRS]|\[\d{1,2}(?:;\d)?~|O[ABCDHFPQRS]|\[Z)/y, 'edit'],
  // By words, as readline, zle and fish have them. Of the other ones with Alt some run the line.
  [/\x1b[bfdtulcy.\x7f\b]/y, 'edit'],
  // Searches show what they find elsewhere.
  [/[\x12\x13]/y, 'hide'],
  // Of the control characters: operate-and-get-next, the beginning of edit-and-execute, and Escape.
  [/[\x0f\x18\x1b]/y, 'run'],
  [/[\0-\x1f]/y, 'edit'],
  // A line editor in another locale takes each byte of it for a key.
  [/[^]/uy, 'hide'],
];

/** Such a key may have another mode begin. */
const EMACS: readonly Rule[] = [[/[^\0-\x7f]/uy, 'run'], ...EDITOR];

/** Escape is the beginning of a command, of which keys that the editor does not know are read as letters. */
const VI: readonly Rule[] = [[/\x1b/y, 'run'], ...EMACS];

/** What erases may be any of the control characters. */
const OTHER_EDITOR: readonly Rule[] = [[/[\x7f\b\x0c\x15]/y, 'edit'], ...VI];

const KERNEL: readonly Rule[] = [
  [/[\r\n]/y, 'enter'],
  [/[^\0-\x08\x0a-\x1f\x7f-\x9f\ufffd]+/uy, 'text'],
  [/\x03/y, 'cancel'],
  [/\x7f/y, 'erase'],
  [/\x15/y, 'kill'],
  [/\x04/y, 'end'],
  [/[\x1a\x1c]/y, 'idle'],
  [/[^]/uy, 'hide'],
];

const OTHER_KEYS: readonly Rule[] = KERNEL.filter(([, kind]) => kind !== 'erase' && kind !== 'kill');

const NOBODY: readonly Rule[] = [
  [/[\r\n]/y, 'enter'],
  [/[ -~]+/y, 'text'],
  [/\x03/y, 'cancel'],
  [/[\x04\x1a\x1c]/y, 'idle'],
  [/[^]/uy, 'hide'],
];

/** In raw mode the keys wait for the line editor, in whatever mode that will be; else they are the kernel's. */
const ANYBODY: readonly Rule[] = [
  [/[\r\n]/y, 'enter'],
  [/[ -~]+/y, 'text'],
  [/\x03/y, 'cancel'],
  [/\x04/y, 'end'],
  [/[\x1a\x1c]/y, 'idle'],
  [/[^]/uy, 'run'],
];

const RULES: Readonly<Record<LineReader, readonly Rule[]>> = {
  editor: EDITOR,
  emacs: EMACS,
  vi: VI,
  'editor with other keys': OTHER_EDITOR,
  kernel: KERNEL,
  'kernel with other keys': OTHER_KEYS,
  nobody: NOBODY,
  anybody: ANYBODY,
};

/** Inside a paste only the kernel has special characters. */
const PASTED = /^[^\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]*$/u;

export function readLineKeys(bytes: Uint8Array, by: LineReader, tellsPastes = false): LineKey[] {
  const input = Buffer.from(bytes).toString('utf8');
  const keys: LineKey[] = [];
  for (let at = 0; at < input.length; ) {
    const paste = tellsPastes ? pasteAt(input, at) : undefined;
    if (paste !== undefined) {
      const isPlain = PASTED.test(paste.text);
      keys.push(isPlain ? { kind: 'text', text: paste.text.replaceAll('\r', '\n') } : { kind: 'run' });
      at = paste.end;
      continue;
    }
    const { kind, text } = keyAt(input, at, RULES[by]);
    keys.push(kind === 'text' ? { kind, text } : { kind });
    at += text.length;
  }
  return keys;
}

function pasteAt(input: string, at: number): { readonly text: string; readonly end: number } | undefined {
  if (!input.startsWith(PASTE_BEGINS, at)) return undefined;
  const from = at + PASTE_BEGINS.length;
  const end = input.indexOf(PASTE_ENDS, from);
  return end === -1 ? undefined : { text: input.slice(from, end), end: end + PASTE_ENDS.length };
}

function keyAt(input: string, at: number, rules: readonly Rule[]): { kind: LineKey['kind']; text: string } {
  for (const [pattern, kind] of rules) {
    pattern.lastIndex = at;
    const text = pattern.exec(input)?.[0];
    if (text !== undefined) return { kind, text };
  }
  return { kind: 'run', text: input.charAt(at) };
}

/** Text that is the same in every locale. */
export const isPlain = (bytes: Uint8Array): boolean => bytes.every((byte) => byte >= 0x20 && byte < 0x7f);

/** Arrows and the like, of which there may be several, or one other key. */
export const isOneKey = (bytes: Uint8Array): boolean =>
  /^(?:(?:\x1b\[[\d;]*[A-HPQRSZ~]|\x1bO[A-HPQRS]|[\t\b\x7f])+|\x1b?[^]|\x1b[[O][\d;]*[@-~])$/u.test(
    Buffer.from(bytes).toString('utf8'),
  );
