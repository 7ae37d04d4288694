/**
 * From bytes to text. Bytes stay on disk as they came; only what is returned is decoded. A name is whatever the
 * platform's TextDecoder knows, with the names that Japanese Windows uses, and base64 for the bytes themselves.
 */
import { TextDecoder } from 'node:util';
import { attempt } from '../base/attempt.ts';
import { ShellServerError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';

export interface Encoding {
  /** The canonical name: "cp932" is answered as "shift_jis". */
  readonly name: string;
  /**
   * How text may be cut: between any two bytes, between UTF-8 characters, or (`stateful`) only where a decoder that
   * began at a character holds nothing back.
   */
  readonly cut: 'anywhere' | 'utf-8' | 'stateful';
  /** How a line ends. */
  readonly newline: Buffer;
  decode(bytes: Buffer): string;
}

/** Names that people use and TextDecoder does not know. */
const ALIASES: Readonly<Record<string, string>> = {
  cp932: 'shift_jis',
  ms932: 'shift_jis',
  'windows-932': 'shift_jis',
  eucjp: 'euc-jp',
  euckr: 'euc-kr',
  utf8: 'utf-8',
  utf16: 'utf-16le',
  utf16le: 'utf-16le',
  utf16be: 'utf-16be',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
  'iso-8859-1': 'latin1',
  iso88591: 'latin1',
  binary: 'latin1',
};

/** What "did you mean" is chosen from. */
const KNOWN =
  `utf-8 base64 latin1 shift_jis euc-jp iso-2022-jp utf-16le utf-16be windows-31j gbk gb18030 big5 euc-kr
  koi8-r koi8-u ibm866 macintosh ascii windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1256
  iso-8859-2 iso-8859-5 iso-8859-7 iso-8859-15`.split(/\s+/);

const UTF8 = encodingOf('utf-8', 'utf-8', (bytes) => bytes.toString('utf8'));
const BASE64 = encodingOf('base64', 'anywhere', (bytes) => bytes.toString('base64'));
/** Through Buffer: TextDecoder('latin1') means windows-1252 from Node 24 on. */
const LATIN1 = encodingOf('latin1', 'anywhere', (bytes) => bytes.toString('latin1'));

/** Where windows-1252 differs from latin1: 0x80 to 0x9f. Node 20's TextDecoder leaves these as they are. */
const WINDOWS_1252_SIGNS = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

const WINDOWS_1252 = encodingOf('windows-1252', 'anywhere', (bytes) =>
  bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (sign) => WINDOWS_1252_SIGNS[sign.charCodeAt(0) - 0x80] ?? sign),
);

export function getEncoding(label: string): Encoding {
  const wanted = label.trim().toLowerCase();
  const name = Object.hasOwn(ALIASES, wanted) ? (ALIASES[wanted] ?? wanted) : wanted;
  if (name === 'utf-8') return UTF8;
  if (name === 'base64') return BASE64;
  if (name === 'latin1') return LATIN1;
  const canonical = attempt(() => new TextDecoder(name).encoding);
  if (canonical === undefined) throw unknownEncoding(label);
  if (canonical === 'utf-8') return UTF8;
  if (canonical === 'windows-1252') return WINDOWS_1252;
  const isSingleByte = /^(?:windows-|iso-8859-|koi8-|ibm|macintosh|x-mac)/.test(canonical);
  return encodingOf(canonical, isSingleByte ? 'anywhere' : 'stateful', (bytes) =>
    createDecoder(canonical).decode(bytes),
  );
}

function encodingOf(name: string, cut: Encoding['cut'], decode: Encoding['decode']): Encoding {
  return { name, cut, newline: newlineOf(name), decode };
}

/** Keeps a byte order mark: text read in pieces must be the text read whole. */
export function createDecoder(name: string): TextDecoder {
  return new TextDecoder(name, { ignoreBOM: true });
}

function newlineOf(canonical: string): Buffer {
  if (canonical === 'utf-16le') return Buffer.from([10, 0]);
  if (canonical === 'utf-16be') return Buffer.from([0, 10]);
  return Buffer.from('\n');
}

function unknownEncoding(label: string): ShellServerError {
  const shown = label.length > 40 ? `${label.slice(0, 40)}…` : label;
  const near = nearest(label, [...KNOWN, ...Object.keys(ALIASES)]);
  return new ShellServerError('PARAM_002', `The encoding "${shown}" is unknown.`, {
    hint:
      near === undefined
        ? 'Use "utf-8", "base64" for the exact bytes, "latin1", "shift_jis", "euc-jp", "gbk", or another name that TextDecoder knows.'
        : `Did you mean "${near}"? "base64" gives the exact bytes.`,
    details: { parameter: 'encoding' },
  });
}
