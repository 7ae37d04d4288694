import { describe, expect, test } from 'vitest';
import { paintLine, visible } from './text.ts';

const textOf = (line: string): string =>
  paintLine(line)
    .map(({ text }) => text)
    .join('');

describe('characters that would not be seen are written out', () => {
  test.each([
    ['plain text, tabs\tand ünïcödé 日本語 😀', 'plain text, tabs\tand ünïcödé 日本語 😀'],
    ['a\u0007b', 'a\\x07b'],
    ['a\u007fb\u0085', 'a\\x7fb\\x85'],
    ['\u202erm -rf\u202c', '\\u{202e}rm -rf\\u{202c}'],
    ['a\u2066b\u2069', 'a\\u{2066}b\\u{2069}'],
    ['zero\u200bwidth\ufeff', 'zero\\u{200b}width\\u{feff}'],
    ['soft\u00adhyphen', 'soft\\xadhyphen'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['line\u2028separator', 'line\\u{2028}separator'],
    ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ])('%j', (text, expected) => {
    expect(visible(text)).toBe(expected);
  });
});

describe('a line of output', () => {
  test.each([
    ['a title', '\u001b]0;evil\u0007text', 'text'],
    ['a title without an end', '\u001b]0;evil', ''],
    ['a hyperlink', '\u001b]8;;http://evil\u001b\\shown\u001b]8;;\u001b\\', 'shown'],
    ['a device string', '\u001bP1$r\u001b\\x', 'x'],
    ['cursor movement', 'a\u001b[2J\u001b[10;10Hb', 'ab'],
    ['a private mode', '\u001b[?1049hx', 'x'],
    ['a character set', '\u001b(0q', 'q'],
    ['an escape by itself', 'a\u001b', 'a\\x1b'],
    ['a backspace', 'ab\u0008c', 'ab\\x08c'],
    ['a carriage return at the end', 'dos\r', 'dos'],
    ['a line that was overwritten', 'hidden\rshown', '\\r×1 shown'],
    ['a progress bar', '10%\r50%\r100%\r', '\\r×2 100%'],
    ['concealed text', '\u001b[8mnot hidden\u001b[0m', 'not hidden'],
  ])('with %s shows its text alone', (_, line, expected) => {
    expect(textOf(line)).toBe(expected);
  });

  test.each([
    ['31', 'f1'],
    ['1;91', 'bold f9'],
    ['42', 'b2'],
    ['38;5;4', 'f4'],
    ['1;4;22', 'underline'],
    ['31;39', ''],
    ['31;0', ''],
    ['', ''],
    ['7;3', 'inverse italic'],
  ])('has the look of %j', (codes, look) => {
    expect(paintLine(`\u001b[${codes}mx`)).toEqual([
      { text: 'x', look, color: undefined, background: undefined },
    ]);
  });

  test.each([
    ['38;5;196', { color: '#ff0000', background: undefined }],
    ['48;5;244', { color: undefined, background: '#808080' }],
    ['38;2;1;2;3', { color: '#010203', background: undefined }],
    ['38:2:1:2:3', { color: '#010203', background: undefined }],
    ['38;2;999;0;0', { color: '#ff0000', background: undefined }],
    ['38;2', { color: '#000000', background: undefined }],
  ])('has the colour of %j', (codes, expected) => {
    expect(paintLine(`\u001b[${codes}mx`)).toEqual([{ text: 'x', look: '', ...expected }]);
  });
});
