/**
 * Whether JSON text nests deeper than a limit, without parsing it: JSON.parse survives a million brackets, but
 * whatever walks the result by recursion (zod, JSON.stringify) does not.
 */
export function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '"':
        index = endOfString(text, index);
        break;
      case '{':
      case '[':
        depth += 1;
        if (depth > limit) return true;
        break;
      case '}':
      case ']':
        depth -= 1;
        break;
      default:
    }
  }
  return false;
}

/** The index of the closing quote, or the end of the text. Long strings are the bulk of a large message: indexOf. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
