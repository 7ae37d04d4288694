import { describe, expect, test } from 'vitest';
import { encodeTyped } from './input.ts';
import { createPassing, type Passing } from './passing.ts';
import type { InputFacts, Typed } from './protocol.ts';

const run = (text: string): Typed => ({ kind: 'text', text, isEntered: true });
const text = (typed: string): Typed => ({ kind: 'text', text: typed, isEntered: false });
const keys = (...names: string[]): Typed => ({ kind: 'keys', keys: names });
const raw = (bytes: string): Typed => ({
  kind: 'bytes',
  base64: Buffer.from(bytes, 'latin1').toString('base64'),
  isEntered: false,
});

type Facts = Pick<InputFacts, 'lineKeys' | 'expandsHistory' | 'modes'>;
const modes = { applicationCursor: false, bracketedPaste: true, isAlternate: false };
/** `cat`, of which the kernel keeps the line. */
const lines: Facts = { lineKeys: 'usual', expandsHistory: false, modes: { ...modes, bracketedPaste: false } };
/** `less`, or an editor of lines. */
const single: Facts = { lineKeys: undefined, expandsHistory: false, modes };

/** The lines that the shell may get, by their first; `open` where none, `refused` where that is not certain. */
function left(passing: Passing, typed: Typed, program: Facts): string | undefined {
  const decision = passing.decide(encodeTyped(typed, program.modes), program);
  if (decision.kind === 'left') return decision.texts[0] ?? 'nothing';
  return decision.kind === 'open' ? 'open' : 'refused';
}

function after(before: readonly Typed[], program: Facts): Passing {
  const passing = createPassing();
  for (const each of before) passing.commit(encodeTyped(each, program.modes), program);
  return passing;
}

describe('what a program may leave to the shell is judged', () => {
  test.for<[string, Typed[], Typed, string]>([
    ['a line', [], run('y'), 'y'],
    ['Enter alone', [], keys('enter'), 'nothing'],
    ['text without an end', [], text('y'), 'open'],
    ['a line in two parts', [text('tou')], run('ch M'), 'touch M'],
    ['a line and Enter', [text('touch M')], keys('enter'), 'touch M'],
    ['a line and Ctrl-D', [text('touch M')], keys('ctrl+d'), 'touch M'],
    ['a line after Ctrl-C', [text('touch'), keys('ctrl+c')], run('y'), 'y'],
    ['a line after another', [run('touch')], run('y'), 'y'],
    ['Ctrl-C alone', [text('touch')], keys('ctrl+c'), 'open'],
    ['Ctrl-D alone', [], keys('ctrl+d'), 'open'],
    ['an arrow alone', [], keys('up'), 'open'],
    ['several arrows', [], keys('down', 'down', 'tab'), 'open'],
    ['Escape alone', [], keys('esc'), 'open'],
    ['Alt and a letter', [], keys('alt+x'), 'open'],
    ['text behind Ctrl-D', [], raw('\x04touch M\r'), 'refused'],
    ['text behind Ctrl-C', [], raw('\x03touch M'), 'refused'],
    ['text behind Escape', [], raw('\x1b:wq\r'), 'refused'],
    ['Ctrl-O behind text', [], raw('qtouch M\x0f'), 'refused'],
    ['Enter behind an arrow', [], keys('up', 'enter'), 'refused'],
    ['Alt and Enter behind text', [text('qtouch M')], keys('alt+enter'), 'refused'],
    ['a tab in a line', [], raw('touc\t M\r'), 'refused'],
    ['two lines', [], raw('a\rtouch M\r'), 'refused'],
    ['two lines of which one has no end', [], raw('a\ntouch M'), 'refused'],
    ['a line that goes on', [], run('tou\\'), 'refused'],
    ['a line that does not', [], run('tou\\\\'), 'tou\\\\'],
    ['bytes that are no text', [], raw('q\xff'), 'refused'],
    ['a line that is too long', [], run('x'.repeat(201)), 'refused'],
    ['history', [], run('q set -H; !!'), 'refused'],
  ])('%s', ([, before, typed, expected]) => {
    for (const program of [lines, single])
      expect(left(after(before, program), typed, program)).toBe(expected);
  });

  test('a paste is the text in it', () => {
    expect(left(createPassing(), run('touch é'), single)).toBe('touch é');
    expect(left(createPassing(), run('a\ntouch M'), single)).toBe('refused');
    // Its bytes may be keys in another locale.
    expect(left(createPassing(), keys('q', 'é'), lines)).toBe('qé');
  });

  test('other keys are on the line that the kernel keeps, and gone where a program reads each', () => {
    const before = [text('x'), keys('left')];
    expect(left(after(before, lines), run('y'), lines)).toBe('refused');
    expect(left(after([...before, keys('ctrl+c')], lines), run('y'), lines)).toBe('y');
    expect(left(after(before, single), run('y'), single)).toBe('y');
  });

  test('ends at other keys where those were changed', () => {
    const changed: Facts = { ...lines, lineKeys: 'changed' };
    expect(left(createPassing(), text('touch Mx'), changed)).toBe('refused');
    expect(left(createPassing(), keys('ctrl+c'), changed)).toBe('open');
  });

  test('is not certain where another client may have typed', () => {
    const passing = createPassing();
    passing.forget();
    expect(left(passing, run('y'), lines)).toBe('refused');
    expect(left(passing, run('y'), single)).toBe('y');
    passing.reset();
    expect(left(passing, run('y'), lines)).toBe('y');
  });
});
