import { describe, expect, test } from 'vitest';
import { encodeKeys, KEY_NAMES } from './key-names.ts';

const normal = { applicationCursor: false };

describe('keys', () => {
  test.for([
    ['enter', '\r'],
    ['Enter', '\r'],
    ['tab', '\t'],
    ['esc', '\x1b'],
    ['space', ' '],
    ['backspace', '\x7f'],
    ['delete', '\x1b[3~'],
    ['up', '\x1b[A'],
    ['down', '\x1b[B'],
    ['right', '\x1b[C'],
    ['left', '\x1b[D'],
    ['home', '\x1b[H'],
    ['end', '\x1b[F'],
    ['pageup', '\x1b[5~'],
    ['pgdn', '\x1b[6~'],
    ['insert', '\x1b[2~'],
    ['f1', '\x1bOP'],
    ['f5', '\x1b[15~'],
    ['F12', '\x1b[24~'],
    ['a', 'a'],
    ['A', 'A'],
    ['+', '+'],
    ['-', '-'],
    ['é', 'é'],
    ['ctrl+c', '\x03'],
    ['Ctrl-C', '\x03'],
    ['C-c', '\x03'],
    ['^C', '\x03'],
    ['ctrl+space', '\0'],
    ['ctrl+[', '\x1b'],
    ['ctrl+\\', '\x1c'],
    ['ctrl+_', '\x1f'],
    ['ctrl+/', '\x1f'],
    ['ctrl+?', '\x7f'],
    ['alt+x', '\x1bx'],
    ['M-x', '\x1bx'],
    ['alt+X', '\x1bX'],
    ['alt+shift+x', '\x1bX'],
    ['ctrl+alt+c', '\x1b\x03'],
    ['alt+enter', '\x1b\r'],
    ['shift+tab', '\x1b[Z'],
    ['shift+up', '\x1b[1;2A'],
    ['ctrl+right', '\x1b[1;5C'],
    ['ctrl+shift+left', '\x1b[1;6D'],
    ['alt+f4', '\x1b[1;3S'],
    ['ctrl+delete', '\x1b[3;5~'],
    ['shift+f5', '\x1b[15;2~'],
  ])('%s', ([key = '', expected]) => {
    expect(encodeKeys([key], normal)).toBe(expected);
  });

  test('follow one another', () => {
    expect(encodeKeys(['up', 'ctrl+c', 'x'], normal)).toBe('\x1b[A\x03x');
  });

  test('of the cursor have another form where the program asked for it', () => {
    const application = { applicationCursor: true };
    expect(encodeKeys(['up', 'home', 'end'], application)).toBe('\x1bOA\x1bOH\x1bOF');
    // With a modifier there is only one form.
    expect(encodeKeys(['shift+up', 'pageup'], application)).toBe('\x1b[1;2A\x1b[5~');
  });

  test.for(['', 'ctrl++', 'entr', 'hyper+x', 'ctrl+', 'f13', 'ctrl+é', 'two words'])('%j is none', (key) => {
    expect(() => encodeKeys([key], normal)).toThrow('There is no key');
  });

  test('that are misspelt come with those that look like them', () => {
    expect(() => encodeKeys(['entr'], normal)).toThrow(/Did you mean .*\benter\b/);
  });

  test('with a name each have bytes', () => {
    for (const name of KEY_NAMES) expect(encodeKeys([name], normal)).not.toBe('');
  });
});
