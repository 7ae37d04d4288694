import { describe, expect, it } from 'vitest';
import { getEncoding } from './encoding.ts';
import { characterAcross, countInvalidBytes } from './utf8.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('getEncoding', () => {
  it.each([
    ['utf-8', 'utf-8', 'e3 81 82', 'あ'],
    ['UTF8', 'utf-8', 'ef bb bf 41', '\ufeffA'],
    ['base64', 'base64', '00 ff', 'AP8='],
    ['latin1', 'latin1', '80 e9', '\x80é'],
    ['ISO-8859-1', 'latin1', '80 e9', '\x80é'],
    ['windows-1252', 'windows-1252', '80 93 e9 81', '€“é\x81'],
    ['shift_jis', 'shift_jis', '82 a0 83 5c', 'あソ'],
    ['cp932', 'shift_jis', '82 a0', 'あ'],
    ['MS932', 'shift_jis', '82 a0', 'あ'],
    ['windows-31j', 'shift_jis', '82 a0', 'あ'],
    ['euc-jp', 'euc-jp', 'a4 a2', 'あ'],
    ['iso-2022-jp', 'iso-2022-jp', '1b 24 42 24 22 1b 28 42', 'あ'],
    ['gbk', 'gbk', 'c4 e3', '你'],
    ['gb18030', 'gb18030', '81 39 ef 30', '㐁'],
    ['big5', 'big5', 'a7 41', '你'],
    ['euc-kr', 'euc-kr', 'b0 a1', '가'],
    ['koi8-r', 'koi8-r', 'c1', 'а'],
    ['utf-16le', 'utf-16le', 'ff fe 42 30', '\ufeffあ'],
    ['utf-16be', 'utf-16be', '30 42', 'あ'],
  ])('decodes %s as %s', (label, name, hex, text) => {
    const encoding = getEncoding(label);
    expect({ name: encoding.name, text: encoding.decode(bytes(hex)) }).toEqual({ name, text });
  });

  it.each([
    ['shift-jjs', 'shift_jis'],
    ['utf-9', 'utf-8'],
    ['euc_jp', 'euc-jp'],
    ['bas64', 'base64'],
  ])('refuses %s and suggests %s', (label, near) => {
    expect(() => getEncoding(label)).toThrow(
      expect.objectContaining({
        code: 'PARAM_002',
        hint: expect.stringContaining(`Did you mean "${near}"?`),
        details: { parameter: 'encoding' },
      }),
    );
  });

  it('refuses what is like no encoding, and lists some', () => {
    for (const label of ['', 'klingon', '__proto__', 'constructor', 'x'.repeat(100_000)]) {
      expect(() => getEncoding(label)).toThrow(
        expect.objectContaining({ code: 'PARAM_002', hint: expect.stringContaining('"shift_jis"') }),
      );
    }
  });
});

describe('UTF-8 boundaries', () => {
  it.each([
    ['', 0],
    ['61 62', 0],
    ['e3 81 82', 0],
    ['f0 9f 98 80', 0],
    ['e3 81', 2],
    ['61 f0 9f 98', 3],
    ['80', 1],
    ['ff fe', 2],
    ['c0 af', 2],
    ['ed a0 80', 3],
    ['f4 90 80 80', 4],
    ['e0 80 80', 3],
    ['e3 81 61', 2],
    ['e3 e3 81 82', 1],
  ])('counts the bytes of %s that belong to no character: %d', (hex, count) => {
    expect(countInvalidBytes(bytes(hex))).toBe(count);
  });

  it('decodes to the same text wherever it is cut where no character lies across', () => {
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const alphabet = bytes('61 0a e3 81 82 f0 9f 98 80 c3 a9 80 bf ff c0 ed a0 f4 90');
    for (let round = 0; round < 3000; round++) {
      const data = Buffer.from(
        Array.from({ length: random(12) }, () => alphabet[random(alphabet.length)] ?? 0),
      );
      const whole = data.toString();
      for (let cut = 0; cut <= data.length; cut++) {
        const across = characterAcross(data, cut);
        const at = across?.start ?? cut;
        const pieces = data.subarray(0, at).toString() + data.subarray(at).toString();
        expect(pieces, `${data.toString('hex')} at ${cut}`).toBe(whole);
      }
    }
  });
});
