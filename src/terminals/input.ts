/** What is typed, as bytes: text as a person would type or paste it, keys by their names, or bytes as they are. */
import { encodeKeys } from './key-names.ts';
import type { InputModes, Typed } from './protocol.ts';

const ENTER = Buffer.from('\r');
export const PASTE_BEGINS = '\x1b[200~';
export const PASTE_ENDS = '\x1b[201~';

/** An editor is typed into, line ends and all; a shell is pasted to. */
export function encodeTyped(typed: Typed, modes: InputModes): Buffer {
  switch (typed.kind) {
    case 'keys':
      return Buffer.from(encodeKeys(typed.keys, modes));
    case 'bytes':
      return withEnter(Buffer.from(typed.base64, 'base64'), typed.isEntered);
    case 'text':
      return withEnter(Buffer.from(textOf(typed.text, modes)), typed.isEntered);
  }
}

/** How many lines its echo takes up, where a line is ended at all. */
export function echoedLines(typed: Typed): number {
  if (typed.kind === 'keys' || !typed.isEntered) return 0;
  const inner = typed.kind === 'text' ? typed.text.split(/\r\n|\r|\n/).length - 1 : 0;
  return inner + 1;
}

function withEnter(bytes: Buffer, isEntered: boolean): Buffer {
  return isEntered ? Buffer.concat([bytes, ENTER]) : bytes;
}

/**
 * Several lines are pasted where the program can tell a paste from typing; else each ends with Enter. So is what is not
 * ASCII: a line editor in another locale takes its bytes for keys.
 */
function textOf(text: string, { bracketedPaste, isAlternate }: InputModes): string {
  const lines = text.replaceAll(/\r\n|\n/g, '\r');
  // oxlint-disable-next-line no-control-regex
  if (!/[\r\u0080-\u{10ffff}]/u.test(lines) || !bracketedPaste || isAlternate) return lines;
  // An end of the paste within the text would have the rest typed.
  return `${PASTE_BEGINS}${lines.replaceAll(PASTE_ENDS, '')}${PASTE_ENDS}`;
}
