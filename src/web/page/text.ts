/**
 * Output and commands are hostile: they may hold escape sequences, control characters and characters that turn the
 * direction of writing. Here they become text that shows what is there, with the colours that programs ask for.
 */

export interface Piece {
  readonly text: string;
  /** Names of classes. */
  readonly look: string;
  /** Beyond the sixteen colours that have classes. */
  readonly color?: string | undefined;
  readonly background?: string | undefined;
}

interface Pen {
  look: ReadonlySet<string>;
  fore: string | undefined;
  back: string | undefined;
}

const ESC = '\u001b';
// A colour or a style; any other sequence of a terminal; a control character by itself.
const SEQUENCE = new RegExp(
  [
    `${ESC}\\[([\\d;:]*)m`,
    `${ESC}\\[[0-?]*[ -/]*[@-~]`,
    `${ESC}[\\]PX^_][^\u0007${ESC}]*(?:\u0007|${ESC}\\\\|$)`,
    `${ESC}[ -/]*[0-~]`,
  ].join('|'),
  'g',
);
/** Controls but tab and newline, marks of direction, and characters without a width. */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** With characters that would not be seen written as what they are. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** A field of the audit log. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
}

/** One line of output as pieces of one look each. A line that was overwritten shows its last state, and how often. */
export function paintLine(line: string): readonly Piece[] {
  const states = line.replace(/\r+$/, '').split('\r');
  const last = states.findLast((state) => state !== '') ?? '';
  const pieces: Piece[] = [];
  if (states.length > 1) pieces.push({ text: `\\r\u00d7${states.length - 1} `, look: 'hidden-mark' });
  const pen: Pen = { look: new Set(), fore: undefined, back: undefined };
  let at = 0;
  for (const match of last.matchAll(SEQUENCE)) {
    add(pieces, last.slice(at, match.index), pen);
    at = match.index + match[0].length;
    if (match[1] !== undefined) applyStyle(pen, match[1]);
  }
  add(pieces, last.slice(at), pen);
  return pieces;
}

function add(pieces: Piece[], text: string, { look, fore, back }: Pen): void {
  if (text === '') return;
  const classes = [...look, classOf('f', fore), classOf('b', back)].filter((each) => each !== '');
  pieces.push({
    text: visible(text),
    look: classes.join(' '),
    color: fore?.startsWith('#') === true ? fore : undefined,
    background: back?.startsWith('#') === true ? back : undefined,
  });
}

const classOf = (prefix: string, color: string | undefined): string =>
  color === undefined || color.startsWith('#') ? '' : `${prefix}${color}`;

const STYLES: Readonly<Record<number, string>> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  9: 'strike',
};
const ENDS: Readonly<Record<number, readonly string[]>> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['strike'],
};

function applyStyle(pen: Pen, codes: string): void {
  const values = codes.split(/[;:]/).map(Number);
  for (let index = 0; index < values.length; index++) {
    const code = values[index] ?? 0;
    if (code === 38 || code === 48) {
      const { color, used } = readColor(values.slice(index + 1));
      if (code === 38) pen.fore = color;
      else pen.back = color;
      index += used;
    } else applyCode(pen, code);
  }
}

function applyCode(pen: Pen, code: number): void {
  const style = STYLES[code];
  if (code === 0) Object.assign(pen, { look: new Set(), fore: undefined, back: undefined });
  else if (style !== undefined) pen.look = new Set([...pen.look, style]);
  else if (ENDS[code] !== undefined)
    pen.look = new Set([...pen.look].filter((each) => !ENDS[code]?.includes(each)));
  else if (code >= 30 && code <= 37) pen.fore = String(code - 30);
  else if (code >= 90 && code <= 97) pen.fore = String(code - 82);
  else if (code >= 40 && code <= 47) pen.back = String(code - 40);
  else if (code >= 100 && code <= 107) pen.back = String(code - 92);
  else if (code === 39) pen.fore = undefined;
  else if (code === 49) pen.back = undefined;
}

/** After 38 or 48: `5;n` of a palette of 256, or `2;r;g;b`. */
function readColor(values: readonly number[]): { readonly color: string | undefined; readonly used: number } {
  const [kind, first = 0, second = 0, third = 0] = values;
  if (kind === 2) return { color: hexOf([first, second, third]), used: 4 };
  if (kind !== 5) return { color: undefined, used: 0 };
  if (first < 16) return { color: String(first), used: 2 };
  if (first >= 232) return { color: hexOf(Array.from({ length: 3 }, () => 8 + (first - 232) * 10)), used: 2 };
  const at = first - 16;
  const levels = [Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6];
  return { color: hexOf(levels.map((level) => (level === 0 ? 0 : 55 + level * 40))), used: 2 };
}

function hexOf(parts: readonly number[]): string {
  return `#${parts
    .map((part) =>
      Math.min(255, Math.max(0, part | 0))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}
