import { describe, expect, test } from 'vitest';
import type { Typed } from './protocol.ts';
import { createTyping } from './typing.ts';

const text = (value: string, isEntered = false): Typed => ({ kind: 'text', text: value, isEntered });
const keys = (...names: string[]): Typed => ({ kind: 'keys', keys: names });
const bytes = (value: string, isEntered = false): Typed => ({
  kind: 'bytes',
  base64: Buffer.from(value).toString('base64'),
  isEntered,
});

/** What the last of several inputs would enter. */
function enters(...inputs: Typed[]): string | undefined {
  const typing = createTyping();
  for (const input of inputs.slice(0, -1)) typing.commit(input);
  return typing.preview(inputs.at(-1) ?? text(''));
}

describe('what is entered', () => {
  test.for([
    ['a whole line', [text('rm x', true)], 'rm x'],
    ['a line with its own end', [text('rm x\n')], 'rm x'],
    ['with a carriage return', [text('rm x\r')], 'rm x'],
    ['several lines', [text('a\r\nb\nc', true)], 'a\nb\nc'],
    ['typed in pieces', [text('r'), text('m '), text('x', true)], 'rm x'],
    ['ended by a key', [text('rm x'), keys('enter')], 'rm x'],
    ['by any name of it', [text('rm x'), keys('ctrl+m')], 'rm x'],
    ['by single keys', [keys('r', 'm', 'space', 'x', 'enter')], 'rm x'],
    ['as bytes', [bytes('rm x\r')], 'rm x'],
    ['with a correction', [text('rmm'), keys('backspace'), text(' x', true)], 'rm x'],
    ['with a correction as bytes', [bytes('rmm\u007F x', true)], 'rm x'],
    ['after what was thrown away', [text('junk'), keys('ctrl+c'), text('rm x', true)], 'rm x'],
    ['after a line that was erased', [text('junk'), bytes('\u0015rm x', true)], 'rm x'],
    ['after another line', [text('ls', true), text('rm x', true)], 'rm x'],
    ['an empty line', [text('', true)], ''],
    ['beyond the basic plane', [text('echo 😀'), keys('backspace'), text('é', true)], 'echo é'],
  ] as const)('%s', ([, inputs, expected]) => {
    expect(enters(...inputs)).toBe(expected);
  });

  test.for([
    ['nothing yet', [text('rm x')]],
    ['a key alone', [keys('up')]],
    ['a line that the shell has changed', [text('r'), keys('tab'), text(' x', true)]],
    ['a line of the history', [keys('up', 'enter')]],
    ['a line that was moved in', [bytes('x\u001B[Drm ', true)]],
  ] as const)('%s: nobody can tell', ([, inputs]) => {
    expect(enters(...inputs)).toBeUndefined();
  });

  test('after a line that nobody knows the next is known again', () => {
    expect(enters(keys('up', 'enter'), text('rm x', true))).toBe('rm x');
    expect(enters(keys('up'), text('\nrm x\n'))).toBe('rm x');
  });

  test('to look changes nothing', () => {
    const typing = createTyping();
    typing.preview(text('rm '));
    expect(typing.preview(text('ls', true))).toBe('ls');
  });
});
