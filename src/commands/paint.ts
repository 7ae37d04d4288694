/** Colours and bars for a terminal; plain text for everything else. */
import type { CommandContext } from './context.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'quiet' | 'strong' | 'plain';
export type Paint = (tone: Tone, text: string) => string;

const CODES: Readonly<Record<Tone, string>> = {
  good: '32',
  bad: '31',
  warn: '33',
  quiet: '2',
  strong: '1',
  plain: '',
};

export function createPaint({ output, settings }: Pick<CommandContext, 'output' | 'settings'>): Paint {
  const { environment } = settings();
  const isPlain = !output.isTTY || (environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb';
  return (tone, text) => (isPlain || tone === 'plain' ? text : `\u001b[${CODES[tone]}m${text}\u001b[0m`);
}

/** Of a terminal, or of a page. */
export function widthOf(output: NodeJS.WriteStream): number {
  return output.isTTY ? Math.max(output.columns, 40) : 100;
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** As long as its share of the width; what is there at all is seen. */
export function bar(value: number, most: number, width: number): string {
  if (value <= 0 || most <= 0) return '';
  const eighths = Math.max(1, Math.round((value / most) * width * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

/** Cut to so many columns. Wide characters take two. */
export function clipTo(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  /** Up to where there is room for the mark of a cut. */
  let cut = 0;
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns) return columns < 1 ? '' : `${text.slice(0, cut)}…`;
    end += character.length;
    if (width < columns) cut = end;
  }
  return text;
}

/** In lines of so many columns; a word that is longer, such as a path, is cut after ":" or "/". */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((each) => cutLong(each, columns))) {
    const joined = line === '' ? word.text : `${line}${word.isRest ? '' : ' '}${word.text}`;
    if (line !== '' && widthIn(joined) > columns) {
      lines.push(line);
      line = word.text;
    } else line = joined;
  }
  return [...lines, line];
}

interface Piece {
  readonly text: string;
  /** It goes on with the word before it. */
  readonly isRest: boolean;
}

function cutLong(word: string, columns: number): Piece[] {
  const pieces: Piece[] = [];
  let rest = word;
  while (widthIn(rest) > columns) {
    const part = rest.slice(0, columns);
    const at = part.lastIndexOf(':') + 1 || part.lastIndexOf('/') + 1 || columns;
    pieces.push({ text: rest.slice(0, at), isRest: pieces.length > 0 });
    rest = rest.slice(at);
  }
  return [...pieces, { text: rest, isRest: pieces.length > 0 }];
}

/** A path keeps so many columns: its beginning, and its end, which says more. */
const PATH_COLUMNS = 20;

/** As clipTo, but long paths are cut in their middle first, so that the words between them can be read. */
export function fitTo(text: string, columns: number): string {
  let excess = widthIn(text) - columns;
  if (excess <= 0) return text;
  const words = text.split(/(\s+)/);
  const paths = [...words.entries()]
    .filter(([, word]) => word.includes('/') && widthIn(word) > PATH_COLUMNS)
    .sort(([, one], [, other]) => widthIn(other) - widthIn(one));
  for (const [index, word] of paths) {
    if (excess <= 0) break;
    const cut = cutMiddle(word, Math.max(PATH_COLUMNS, widthIn(word) - excess));
    excess -= widthIn(word) - widthIn(cut);
    words[index] = cut;
  }
  return clipTo(words.join(''), columns);
}

function cutMiddle(word: string, columns: number): string {
  const characters = Array.from(word);
  const head = clipTo(word, Math.floor(columns / 3));
  let tail = '';
  let room = columns - widthIn(head);
  for (const character of characters.reverse()) {
    room -= columnsOf(character);
    if (room < 0) break;
    tail = character + tail;
  }
  return head + tail;
}

/** In columns of a terminal. */
export const widthIn = (text: string): number =>
  Array.from(text, columnsOf).reduce((sum, each) => sum + each, 0);

export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthIn(text)));
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /\p{Mn}|\p{Me}/u;

function columnsOf(character: string): number {
  if (character < '\u0300') return 1;
  if (WIDE.test(character)) return 2;
  return NO_WIDTH.test(character) ? 0 : 1;
}
