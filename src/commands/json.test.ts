import { expect, test } from 'vitest';
import { showJson } from './json.ts';

const HIDDEN =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e0fff}]/u;

test.each([
  ['a C1 control', 'a\u009b2Jb'],
  ['another one', '\u0090\u009d'],
  ['DEL', '\u007f'],
  ['an escape', '\u001b[2J'],
  ['a direction', '\u202egpj.exe\u202c'],
  ['an isolate', '\u2066x\u2069'],
  ['a mark', '\u200e\u200f\u061c'],
  ['no width', 'a\u200bb\u2060c\ufeff'],
  ['line separators', '\u2028\u2029'],
  ['tags', '\u{e0041}\u{e007f}'],
  ['half of a pair', '\ud800x'],
  ['a line end', 'a\nb'],
  ['plain text', 'Größe: 5 € 🙂 \\u009b "quoted"'],
])('%s is shown as text, and read as what it was', (_, text) => {
  const shown = showJson({ rows: [{ command: text, [text]: 1 }] });
  expect(shown).not.toMatch(HIDDEN);
  expect(JSON.parse(shown)).toEqual({ rows: [{ command: text, [text]: 1 }] });
  expect(shown.split('\n')).toHaveLength(9);
});
