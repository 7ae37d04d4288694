/**
 * Text as a terminal would show it: without colours and titles, and with progress that a command wrote over and over in one
 * line as its last state. What was printed is kept as it is; this is for readers of an answer.
 */
/* oxlint-disable no-control-regex -- they are what it is about */

/** CSI, OSC and other strings up to their end, two-character escapes, and control characters that show nothing. */
const UNSEEN =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]/g;
const NEEDS_LOOK = /[\x00-\x08\x0d-\x1f\x7f]/;
const ERASE = /\x1b\[([012]?)K/g;
/** Stands for an erased rest of a line until the line is put together; a private use character that no text has. */
const [TO_END, TO_START, WHOLE] = ['\u{10fffd}', '\u{10fffc}', '\u{10fffb}'] as const;

export function asShown(text: string): string {
  if (!NEEDS_LOOK.test(text)) return text;
  return text
    .split('\n')
    .map((line, at, all) => lineAsShown(line, at < all.length - 1))
    .join('\n');
}

/** Lines of a search, each behind its number, which no progress overwrites. */
export function matchesAsShown(content: string): string {
  if (!NEEDS_LOOK.test(content)) return content;
  return content
    .split('\n')
    .map((line) => {
      const [number = ''] = /^\d+[:-] /.exec(line) ?? [];
      return `${number}${lineAsShown(line.slice(number.length), false)}`;
    })
    .join('\n');
}

function lineAsShown(whole: string, isEnded: boolean): string {
  // How lines end elsewhere shows nothing, and is worth knowing.
  const end = isEnded && whole.endsWith('\r') ? '\r' : '';
  const line = whole.slice(0, whole.length - end.length);
  if (!NEEDS_LOOK.test(line)) return whole;
  const marked = line.replaceAll(ERASE, (_, how: string) =>
    how === '1' ? TO_START : how === '2' ? WHOLE : TO_END,
  );
  const plain = marked.replaceAll(UNSEEN, '');
  if (!/[\r\b\u{10fffb}-\u{10fffd}]/u.test(plain)) return plain + end;
  const cells: string[] = [];
  let at = 0;
  for (const character of plain) {
    if (character === '\r') at = 0;
    else if (character === '\b') at = Math.max(0, at - 1);
    else if (character === TO_END) cells.length = Math.min(cells.length, at);
    else if (character === TO_START || character === WHOLE) {
      cells.fill(' ', 0, at);
      if (character === WHOLE) cells.length = Math.min(cells.length, at);
    } else {
      while (cells.length < at) cells.push(' ');
      cells[at] = character;
      at += 1;
    }
  }
  return cells.join('').trimEnd() + end;
}
