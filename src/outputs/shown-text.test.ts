import { expect, test } from 'vitest';
import { asShown, matchesAsShown } from './shown-text.ts';

test.each([
  ['nothing to do', 'a\tb\nc\n', 'a\tb\nc\n'],
  ['colours', '\u001b[31;1mred\u001b[0m and \u001b[38;2;1;2;3mtrue\u001b[m', 'red and true'],
  ['colours with colons', '\u001b[4:3mcurly\u001b[0m', 'curly'],
  ['a title', '\u001b]0;title\u0007text', 'text'],
  ['a link', '\u001b]8;;http://x\u001b\\name\u001b]8;;\u001b\\', 'name'],
  ['a string that never ends', 'a\u001bPq...', 'a'],
  ['other escapes', '\u001b(B\u001b=\u001b7x\u001b8\u001bM', 'x'],
  ['lines of another system', 'one\r\ntwo\r\n', 'one\r\ntwo\r\n'],
  ['progress', ' 1%\r 50%\r100%\ndone\n', '100%\ndone\n'],
  ['progress that gets shorter', '99 left\r8 left\n', '8 leftt\n'],
  ['progress that erases', '99 left\r\u001b[K8 left\n', '8 left\n'],
  ['a line that is erased', 'gone\u001b[2K\rkept\n', 'kept\n'],
  ['a beginning that is erased', 'gone\u001b[1K kept\n', '     kept\n'],
  ['progress that ends at the beginning', '100%\r', '100%'],
  ['corrections', 'helo\blo\n', 'hello\n'],
  ['more corrections than text', 'a\b\b\bb', 'b'],
  ['a bell and a nul', 'a\u0007b\u0000c', 'abc'],
  ['text beyond the basic plane', '😀😀\r😎\n', '😎😀\n'],
])('%s', (_, printed, shown) => {
  expect(asShown(printed)).toBe(shown);
});

test.each([
  ['nothing to do', '1: a\n--\n3- b', '1: a\n--\n3- b'],
  ['colours', '12: \u001b[31mred\u001b[0m', '12: red'],
  ['progress', '2: 10%\r50%\rdone', '2: done'],
  ['progress around a match', '1- 10%\r20%\n2: found', '1- 20%\n2: found'],
  ['text that looks like a number', '2: 7: x\r8: y', '2: 8: y'],
])('a match keeps its number: %s', (_, listed, shown) => {
  expect(matchesAsShown(listed)).toBe(shown);
});

test('takes time that grows with the text only', () => {
  const many = `${'x\r'.repeat(500_000)}\u001b]${'a'.repeat(500_000)}`;
  expect(asShown(many)).toBe('x');
});
