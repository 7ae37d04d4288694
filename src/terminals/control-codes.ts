/**
 * Text in which control characters are written out: `^C`, `\x03`, `\e[A`, `\t`, `\u00e9`. Read once, from left to right,
 * so that `\\n` is a backslash and an n. What is none of these stays as it is.
 */

const SIMPLE: Readonly<Record<string, number>> = {
  n: 0x0a,
  r: 0x0d,
  t: 0x09,
  b: 0x08,
  f: 0x0c,
  v: 0x0b,
  a: 0x07,
  e: 0x1b,
  E: 0x1b,
  '\\': 0x5c,
  '^': 0x5e,
};

const CODE =
  /\^([@-_a-z?])|\\(?:([nrtbfvaeE\\^])|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2}))/y;

export function readControlCodes(text: string): Buffer {
  const parts: Buffer[] = [];
  let plain = 0;
  for (let at = 0; at < text.length; ) {
    CODE.lastIndex = at;
    const match = CODE.exec(text);
    const bytes = match === null ? undefined : bytesOf(match);
    if (match === null || bytes === undefined) {
      at++;
      continue;
    }
    parts.push(Buffer.from(text.slice(plain, at)), bytes);
    at += match[0].length;
    plain = at;
  }
  parts.push(Buffer.from(text.slice(plain)));
  return Buffer.concat(parts);
}

function bytesOf([, caret, simple, hex, braced, unicode, octal]: RegExpExecArray): Buffer | undefined {
  if (caret !== undefined) return Buffer.of(caret === '?' ? 0x7f : caret.toUpperCase().charCodeAt(0) ^ 0x40);
  if (simple !== undefined) return Buffer.of(SIMPLE[simple] ?? 0);
  // A byte, whatever it is a part of.
  if (hex !== undefined) return Buffer.of(Number.parseInt(hex, 16));
  if (octal !== undefined) return Buffer.of(Number.parseInt(octal, 8));
  const point = Number.parseInt(braced ?? unicode ?? '', 16);
  return point > 0x10_ffff ? undefined : Buffer.from(String.fromCodePoint(point));
}

/** Undefined where it is not an even number of hexadecimal digits; spaces between bytes are allowed. */
export function readHex(text: string): Buffer | undefined {
  const digits = text.replaceAll(/\s+/g, '');
  return /^(?:[0-9a-fA-F]{2})+$/.test(digits) ? Buffer.from(digits, 'hex') : undefined;
}
