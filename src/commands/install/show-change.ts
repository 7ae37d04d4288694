/** The difference of two texts that share their beginning and their end, for a person to read. */
import { escapeText, isMaskedName, MASK, maskText } from '../../security/security.ts';

const CONTEXT = 3;

export function showChange(before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const shown = (mark: string, lines: readonly string[]): string[] =>
    // Other servers' tokens may stand beside ours.
    lines.map((line) => `${mark} ${escapeText(maskText(maskPairs(line)))}`);
  return [
    ...shown(' ', now.slice(Math.max(0, head - CONTEXT), head)),
    ...shown('-', old.slice(head, old.length - tail)),
    ...shown('+', now.slice(head, now.length - tail)),
    ...shown(' ', now.slice(now.length - tail, now.length - tail + CONTEXT)),
  ]
    .map((line) => `    ${line}\n`)
    .join('');
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** `"API_TOKEN": "…"` and `API_TOKEN = "…"`. */
function maskPairs(line: string): string {
  return line.replaceAll(
    /((["']?)([\w-]+)\2\s*[:=]\s*)(["'])(?:[^"'\\]|\\.)*\4/g,
    (whole: string, ...[start, , name, mark]: string[]) =>
      isMaskedName(name ?? '') ? `${start}${mark}${MASK}${mark}` : whole,
  );
}
