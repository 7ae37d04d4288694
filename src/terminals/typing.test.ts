import { describe, expect, test } from 'vitest';
import type { Typed } from './protocol.ts';
import { createTyping, type ShellLine, type Typing } from './typing.ts';

const entered = (text: string): Typed => ({ kind: 'text', text, isEntered: true });
const typed = (text: string): Typed => ({ kind: 'text', text, isEntered: false });
const keys = (...names: string[]): Typed => ({ kind: 'keys', keys: names });
const bytes = (text: string): Typed => ({
  kind: 'bytes',
  base64: Buffer.from(text).toString('base64'),
  isEntered: false,
});

const prompt = (finished = 0, shown?: string): ShellLine => ({ finished, shown });

/** Each was typed, and the shell said nothing meanwhile. */
function typeAll(typing: Typing, ...all: Typed[]): void {
  for (const each of all) typing.commit(each, prompt());
}

describe('the commands that are entered', () => {
  test.for<[string, Typed[], Typed, string | undefined]>([
    ['a line', [], entered('ls'), 'ls'],
    ['a line without its end', [], typed('ls'), undefined],
    ['a line in two parts', [typed('rm -rf')], entered(' /'), 'rm -rf /'],
    ['Enter alone', [typed('ls')], keys('enter'), 'ls'],
    ['Enter as a byte', [typed('ls')], bytes('\r'), 'ls'],
    ['Enter as another key', [typed('ls')], keys('ctrl+m'), 'ls'],
    ['keys that are characters', [keys('l', 's', 'space', '/')], keys('Enter'), 'ls /'],
    ['several lines', [], entered('a\nb\r\nc'), 'a\nb\nc'],
    ['what is left after Ctrl-C', [typed('rm -rf /'), keys('ctrl+c')], entered('ls'), 'ls'],
    ['what is left after Ctrl-U', [typed('rm -rf /'), bytes('\x15')], entered('ls'), 'ls'],
    ['what is left after Backspace', [typed('lsx'), keys('backspace')], entered(''), 'ls'],
    ['an emoji taken back as one', [typed('ls😀'), keys('backspace')], entered(''), 'ls'],
  ])('%s', ([, before, last, expected]) => {
    const typing = createTyping();
    typeAll(typing, ...before);
    expect(typing.preview(last, prompt())).toBe(expected);
  });

  test('go together with those before that have not ended', () => {
    const typing = createTyping();
    typing.commit(entered('cu\\'), prompt(3));
    expect(typing.preview(entered('rl x'), prompt(3))).toBe('cu\\\nrl x');
    // It has ended: what comes is another command.
    expect(typing.preview(entered('rl x'), prompt(4))).toBe('rl x');
  });

  test('are what the terminal shows, after a key that changed the line', () => {
    const typing = createTyping();
    typeAll(typing, typed('rm -r'), keys('tab'));
    expect(typing.preview(keys('enter'), prompt(0, 'rm -rf /home'))).toBe('rm -rf /home');
    expect(typing.preview(entered('/me'), prompt(0, 'rm -rf /home'))).toBe('rm -rf /home/me');
    typing.commit(typed('x'), prompt(0, 'rm -rf /home'));
    expect(typing.preview(keys('enter'), prompt(0, 'xrm -rf /home'))).toBe('xrm -rf /home');
    // Nobody can tell.
    expect(typing.preview(keys('enter'), prompt())).toBeUndefined();
  });

  test('are not known where they are recalled and entered in one go', () => {
    expect(createTyping().preview(keys('up', 'enter'), prompt(0, ''))).toBeUndefined();
  });

  test('begin anew where somebody else may have typed', () => {
    const typing = createTyping();
    typeAll(typing, entered('cu\\'), typed('rm'));
    typing.forget();
    expect(typing.preview(entered('ls'), prompt())).toBe('ls');
  });
});

test.for<[string, Typed[], Typed, boolean]>([
  ['a line that is known', [typed('ls')], keys('enter'), false],
  ['a line that an arrow may have changed', [typed('ls'), keys('left')], keys('enter'), true],
  ['the same, ended by a byte', [typed('ls'), bytes('\t')], bytes('\r'), true],
  ['the same, not ended', [typed('ls'), keys('left')], keys('x'), false],
  ['a line after it', [typed('ls'), keys('left'), keys('enter')], keys('enter'), false],
])('what the terminal shows decides alone of %s: %#', ([, before, now, expected]) => {
  const typing = createTyping();
  typeAll(typing, ...before);
  expect(typing.isShownOnly(now)).toBe(expected);
});
