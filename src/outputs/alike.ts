/** Whether two lines are equal but for numbers, times and percentages, and for the spaces that align them. */
export function isAlike(one: string, other: string): boolean {
  let a = skipSpaces(one, 0);
  let b = skipSpaces(other, 0);
  while (a < one.length && b < other.length) {
    const codeA = one.charCodeAt(a);
    const codeB = other.charCodeAt(b);
    if (isDigit(codeA) && isDigit(codeB)) {
      a = skipNumber(one, a);
      b = skipNumber(other, b);
    } else if (isSpace(codeA) && isSpace(codeB)) {
      a = skipSpaces(one, a);
      b = skipSpaces(other, b);
    } else if (codeA === codeB) {
      a++;
      b++;
    } else return false;
  }
  return skipSpaces(one, a) === one.length && skipSpaces(other, b) === other.length;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);
/** Between digits: `1,024`, `0.5`, `12:30:01`. */
const isSeparator = (code: number): boolean => code === 0x2c || code === 0x2e || code === 0x3a;

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function skipNumber(text: string, from: number): number {
  let at = from;
  while (
    isDigit(text.charCodeAt(at)) ||
    (isSeparator(text.charCodeAt(at)) && isDigit(text.charCodeAt(at + 1)))
  )
    at++;
  return at;
}
