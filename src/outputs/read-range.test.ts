import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { readRange } from './read-range.ts';
import type { ByteSource } from './types.ts';

const directory = useTestDirectory();

function readOn(source: ByteSource, size: number, encoding: string, offset = 0): string[] {
  const pieces: string[] = [];
  for (let next: number | undefined = offset; next !== undefined; ) {
    const range = readRange(source, { offset: next, size, encoding });
    if (range.nextOffset !== undefined && range.nextOffset <= next) throw new Error('It does not get on.');
    pieces.push(range.content);
    next = range.nextOffset;
  }
  return pieces;
}

describe('readRange', () => {
  it('reads a range and says where to go on', () => {
    const source = directory.source('hello world');
    expect(readRange(source, { offset: 0, size: 5, encoding: 'utf-8' })).toEqual({
      content: 'hello',
      offset: 0,
      sizeBytes: 5,
      totalBytes: 11,
      isTruncated: true,
      encoding: 'utf-8',
      nextOffset: 5,
    });
    expect(readRange(source, { offset: 6, size: 100, encoding: 'utf-8' })).toEqual({
      content: 'world',
      offset: 6,
      sizeBytes: 5,
      totalBytes: 11,
      isTruncated: false,
      encoding: 'utf-8',
    });
  });

  it.each([
    [-5, 'world', 6],
    [-100, 'hello world', 0],
    [11, '', 11],
    [1_000_000_000_000, '', 11],
  ])('reads from offset %d', (offset, content, from) => {
    const range = readRange(directory.source('hello world'), { offset, size: 100, encoding: 'utf-8' });
    expect(range).toMatchObject({ content, isTruncated: false, totalBytes: 11 });
    expect(range.offset).toBe(from);
  });

  it('reads nothing of an empty output', () => {
    expect(readRange(directory.source(''), { offset: 0, size: 10, encoding: 'utf-8' })).toMatchObject({
      content: '',
      sizeBytes: 0,
      totalBytes: 0,
      isTruncated: false,
    });
  });

  const text = 'aé日😀\r\nｱ漢字カタカナ\nend of text\n';
  const odd = Buffer.concat([Buffer.from(text), Buffer.from('80ffe381c3f09f98', 'hex'), Buffer.from(text)]);
  it.each([1, 2, 3, 4, 5, 7, 16, 1000])(
    'gives the whole UTF-8 text in pieces of %d bytes, also where it is broken',
    (size) => {
      expect(readOn(directory.source(text), size, 'utf-8').join('')).toBe(text);
      expect(readOn(directory.source(odd), size, 'utf-8').join('')).toBe(odd.toString());
    },
  );

  it('begins after a character that the offset lies in', () => {
    const source = directory.source('日本');
    expect(readRange(source, { offset: 1, size: 10, encoding: 'utf-8' })).toMatchObject({
      content: '本',
      offset: 3,
    });
    expect(readRange(source, { offset: -1, size: 10, encoding: 'utf-8' })).toMatchObject({
      content: '',
      offset: 6,
    });
  });

  it('shows the beginning of a character at the end as replaced', () => {
    const source = directory.source(Buffer.from('61e381', 'hex'));
    expect(readOn(source, 2, 'utf-8')).toEqual(['a', '\ufffd']);
  });

  it('gives the exact bytes as base64', () => {
    const data = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const pieces = readOn(directory.source(data), 100, 'base64').map((piece) => Buffer.from(piece, 'base64'));
    expect(Buffer.concat(pieces)).toEqual(data);
    expect(pieces.map((piece) => piece.length)).toEqual([100, 100, 56]);
  });

  const japanese = '日本語のテキスト、ソ\n二行目\n';
  it.each([
    ['shift_jis', '93fa967b8cea82cc8365834c83588367814183 5c0a93f18d7396da0a'],
    ['euc-jp', 'c6fccbdcb8eca4cea5c6a5ada5b9a5c8a1a2a5bd0ac6f3b9d4ccdc0a'],
    ['utf-16le', Buffer.from(japanese, 'utf16le').toString('hex')],
    ['utf-16be', Buffer.from(japanese, 'utf16le').swap16().toString('hex')],
  ])('gives the whole text of %s in pieces', (encoding, hex) => {
    const source = directory.source(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
    for (const size of [1, 2, 3, 5, 9, 22, 100]) {
      expect(readOn(source, size, encoding).join(''), `${size} bytes at once`).toBe(japanese);
    }
    expect(readRange(source, { offset: 0, size: 100, encoding: encoding.toUpperCase() }).encoding).toBe(
      encoding,
    );
  });

  it('begins with a line when it reads legacy text from the end', () => {
    const source = directory.source(
      Buffer.from('8365834c83588367 0a 93f18d7396da 0a'.replaceAll(' ', ''), 'hex'),
    );
    expect(readRange(source, { offset: -8, size: 100, encoding: 'shift_jis' }).content).toBe('二行目\n');
    expect(readRange(source, { offset: -11, size: 100, encoding: 'shift_jis' }).content).toBe('二行目\n');
  });

  it('says what was not kept, and goes on behind it', () => {
    const source = directory.source('head', { totalBytes: 100, bytes: 'tail' });
    const note =
      'The bytes from 4 to 95 were not kept, because the output passed its limit or the disk was full; what follows begins at offset 96.';
    const rest = { totalBytes: 100, isTruncated: true, encoding: 'utf-8', nextOffset: 96, note };
    expect(readRange(source, { offset: 0, size: 50, encoding: 'utf-8' })).toEqual({
      content: 'head',
      offset: 0,
      sizeBytes: 4,
      ...rest,
    });
    expect(readRange(source, { offset: 40, size: 50, encoding: 'utf-8' })).toEqual({
      content: '',
      offset: 40,
      sizeBytes: 0,
      ...rest,
    });
    expect(readRange(source, { offset: -2, size: 50, encoding: 'utf-8' })).toMatchObject({
      content: 'il',
      offset: 98,
    });
    expect(readOn(source, 3, 'utf-8')).toEqual(['hea', 'd', 'tai', 'l']);
  });
});
