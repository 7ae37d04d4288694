import { afterEach, describe, expect, test } from 'vitest';
import type { ScreenOptions } from './drawing.ts';
import { createScreen, type Screen } from './screen.ts';

const opened: Screen[] = [];
afterEach(() => {
  for (const screen of opened.splice(0)) screen.dispose();
});

function show(text: string, options: Partial<ScreenOptions> = {}): Screen {
  const screen = createScreen({ columns: 20, rows: 5, ...options });
  opened.push(screen);
  screen.write(Buffer.from(text));
  return screen;
}

function more(screen: Screen, text: string): void {
  screen.write(Buffer.from(text));
}

const all = (screen: Screen): string[] => screen.lines(0, screen.totalLines());
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`);
const written = (lines: readonly string[]): string => lines.map((line) => `${line}\r\n`).join('');

describe('lines', () => {
  test('are those that were written, up to the cursor', () => {
    const screen = show('one\r\n\r\nthree');
    expect(all(screen)).toEqual(['one', '', 'three']);
    expect([screen.totalLines(), screen.cursorLine(), screen.firstLine()]).toEqual([3, 2, 0]);
    expect(screen.lines(1, 2)).toEqual(['']);
    expect(screen.lines(5, 9)).toEqual([]);
  });

  test('are whole, whatever the width breaks them into', () => {
    const long = 'abcdefghij'.repeat(5);
    const screen = show(`${long}\r\nshort\r\n`);
    expect(all(screen)).toEqual([long, 'short', '']);
    for (const columns of [7, 80, 13, 50]) {
      screen.resize(columns, 5);
      expect(all(screen)).toEqual([long, 'short', '']);
    }
    // Exactly as long as a row is no line of two.
    more(screen, `${'x'.repeat(50)}\r\nnext`);
    expect(all(screen).slice(2)).toEqual(['x'.repeat(50), 'next']);
  });

  describe('have no blank that nobody wrote where a wide character did not fit into a row', () => {
    test.each([
      ['one column too few', `x${'漢字'.repeat(12)}`],
      ['behind one that is not wide', `${'漢'.repeat(9)}y字${'漢'.repeat(12)}`],
      ['emoji', `x${'😀'.repeat(25)}`],
      ['with an accent', `x${'が'.normalize('NFD').repeat(25)}`],
      ['in colours', `\x1b[41mx${'漢字'.repeat(12)}\x1b[m`],
      ['blanks that were written before it', `${'x'.repeat(19)} ${'漢'.repeat(3)}`],
      ['two of them', `${'x'.repeat(18)}  ${'漢'.repeat(3)}`],
      ['blanks, and the cell that is left over', `${'x'.repeat(18)} ${'漢'.repeat(3)}`],
      ['wide blanks', `x${'\u3000'.repeat(12)}漢`],
    ])('%s', (_, text) => {
      const dropped: string[] = [];
      // oxlint-disable-next-line no-control-regex -- colours
      const line = text.replaceAll(/\x1b\[\d*m/g, '');
      const screen = show(`${text}\r\nshort\r\n`, {
        keptRows: 100,
        onDropped: (gone) => dropped.push(gone),
      });
      expect(all(screen)).toEqual([line, 'short', '']);
      for (const columns of [19, 3, 7, 80, 12, 20]) {
        screen.resize(columns, 5);
        expect(all(screen)).toEqual([line, 'short', '']);
      }
      more(screen, '\r\n'.repeat(5000));
      expect(dropped.slice(0, 2)).toEqual([line, 'short']);
    });
  });

  test('keep their numbers when they leave memory', () => {
    const dropped: [string, number][] = [];
    const screen = show(written(numbers(0, 9999)), {
      keptRows: 100,
      onDropped: (line, index) => dropped.push([line, index]),
    });
    const first = screen.firstLine();
    expect(first).toBeGreaterThan(8000);
    expect(screen.totalLines()).toBe(10_001);
    expect(dropped).toEqual(numbers(0, first - 1).map((line, index) => [line, index]));
    expect(screen.lines(first, 10_000)).toEqual(numbers(first, 9999));
    // What is not there is not made up.
    expect(screen.lines(0, first)).toEqual([]);
  });

  test('that are wrapped leave memory whole', () => {
    const lines = numbers(0, 3000).map((line) => `${line} `.padEnd(70, 'x'));
    const dropped: string[] = [];
    const screen = show(written(lines), { keptRows: 50, onDropped: (line) => dropped.push(line) });
    expect([...dropped, ...screen.lines(screen.firstLine(), 3001)]).toEqual(lines);
  });

  test.for([
    ['the screen is cleared', '\u001B[2J\u001B[H'],
    ['it is cleared from its first row on', '\u001B[H\u001B[J'],
    ['it is cleared in another way', '\u001B[H\u001B[?2J'],
    ['it is cleared in another way, with the scrollback', '\u001B[H\u001B[2J\u001B[?3J'],
    ['it is cleared with the scrollback', '\u001B[H\u001B[2J\u001B[3J'],
    ['it is cleared in its last row', '\u001B[5;1H\u001B[2J\u001B[H'],
    ['the terminal is reset', '\u001Bc'],
  ] as const)('are all counted, and keep their numbers, when %s', ([, sequence]) => {
    const dropped: [string, number][] = [];
    const screen = show(written(numbers(0, 19)), { onDropped: (line, index) => dropped.push([line, index]) });
    for (const next of ['twenty', 'twenty-one']) more(screen, `${sequence}${next}\r\n`);
    expect(screen.view().rows).toEqual(['twenty-one']);
    const first = screen.firstLine();
    const left = screen.lines(first, screen.totalLines());
    expect([...dropped, ...left.map((line, index) => [line, first + index])]).toEqual(
      [...numbers(0, 19), 'twenty', 'twenty-one', ''].map((line, index) => [line, index]),
    );
  });

  test('are all counted where a screen is cleared many times in one piece', () => {
    const dropped: [string, number][] = [];
    const screen = show('', {
      rows: 300,
      keptRows: 1,
      onDropped: (line, index) => dropped.push([line, index]),
    });
    const wipe = '\u001B[300;1Hx\u001B[2J';
    more(screen, wipe.repeat(12));
    screen.dropAll();
    expect(dropped.map(([, index]) => index)).toEqual(dropped.map((_, index) => index));
    expect(dropped.filter(([line]) => line === 'x')).toHaveLength(12);
  });

  test('are not counted where a part of the screen scrolls alone, nor on the other screen', () => {
    for (const [set, rest] of [
      ['\u001B[2;4r', 'a'],
      ['\u001B[?1049h', ''],
    ] as const) {
      const screen = show(`a\r\n${set}b\u001B[2J`);
      expect(screen.view().rows).toEqual([]);
      expect([set, screen.lines(0, 1)]).toEqual([set, [rest === '' ? 'a' : '']]);
    }
  });

  test('are those of the normal screen while a program has the other', () => {
    const screen = show('before\r\n\u001B[?1049h\u001B[2J\u001B[Hdrawn');
    expect(all(screen)).toEqual(['before', '']);
    expect(screen.view()).toMatchObject({ rows: ['drawn'], isAlternate: true });
    more(screen, '\u001B[?1049lafter');
    expect(all(screen)).toEqual(['before', 'after']);
    expect(screen.view()).toMatchObject({ rows: ['before', 'after'], isAlternate: false });
  });

  test('have their colours on request, each for itself', () => {
    const screen = show('\u001B[31mred\r\nstill\u001B[0m plain');
    expect(screen.lines(0, 2, true)).toEqual([
      expect.stringContaining('\u001B[31mred'),
      expect.stringMatching(/\[31mstill.*plain/),
    ]);
  });

  test('of nothing but line ends are counted', () => {
    const screen = show('\r\n'.repeat(20_000), { keptRows: 10 });
    expect(screen.totalLines()).toBe(20_001);
  });
});

describe('the view', () => {
  test('has rows without their empty ends, and the cursor', () => {
    const screen = show('a\r\n\u001B[3;5Hb  ');
    expect(screen.view()).toEqual({
      rows: ['a', '', '    b'],
      cursor: { row: 2, column: 7, isVisible: true },
      title: '',
      isAlternate: false,
    });
  });

  test.each([
    ['日本語', 6],
    ['😀', 2],
    ['🇯🇵', 2],
    ['e\u0301', 1],
    ['ﾊﾛｰ', 3],
  ])('%s takes up the columns that programs think it does', (text, columns) => {
    const screen = show(text);
    expect(screen.view()).toMatchObject({ rows: [text], cursor: { column: columns } });
  });

  test('a character in two pieces is one', () => {
    const bytes = Buffer.from('日本');
    const screen = show('');
    for (const byte of bytes) screen.write(Buffer.of(byte));
    expect(screen.view().rows).toEqual(['日本']);
  });

  test('knows the title, a hidden cursor, and what the program asked for', () => {
    const screen = show('\u001B]2;a title\u0007\u001B[?25l\u001B[?1h\u001B[?2004h');
    expect(screen.view()).toMatchObject({ title: 'a title', cursor: { isVisible: false } });
    expect(screen.modes()).toMatchObject({ applicationCursor: true, bracketedPaste: true });
    more(screen, '\u001Bc');
    expect(screen.modes()).toMatchObject({ applicationCursor: false, bracketedPaste: false });
    expect(screen.view().cursor.isVisible).toBe(true);
  });

  test('answers what a program asks', () => {
    const replies: string[] = [];
    show('ab\u001B[6n\u001B[c', { onReply: (data) => replies.push(data) });
    expect(replies.join('').replaceAll('\u001B', '^')).toMatch(/^\^\[1;3R\^\[\?[\d;]+c$/);
  });

  test('is the same when it is drawn again from its snapshot', () => {
    for (const text of [
      written(numbers(1, 30)),
      'x\u001B[31mred\u001B[0m\r\n\u001B[?1049h\u001B[2;2Hdrawn\u001B[?1h',
    ]) {
      const screen = show(text);
      const again = show(screen.snapshot());
      expect(again.view()).toEqual(screen.view());
      expect(again.modes()).toEqual(screen.modes());
    }
  });
});

test.each([
  ['on', 'h', true],
  ['off', 'l', false],
])(
  'after a flood of switches the screen is the one that was switched %s last',
  async (_, last, isAlternate) => {
    const screen = createScreen({ columns: 500, rows: 300 });
    const both = `\u001B[?1049h\u001B[?1049l`;
    screen.write(Buffer.from(`${both.repeat(1000)}\u001B[?1049${last}`));
    screen.catchUp();
    await expect.poll(() => screen.isAlternate).toBe(isAlternate);
    screen.dispose();
  },
);

test.each([
  { how: 'alone', chunks: ['\u001B[y'] },
  { how: 'behind a prompt', chunks: ['\u001B]0;title\u0007\u001B[1;32m$ \u001B[0m\u001B[y'] },
  { how: 'after its beginning', chunks: ['\u001B', '[', '12', 'y'] },
  { how: 'by a control of two bytes', chunks: ['\u009B1y'] },
  { how: 'by one whose bytes come apart', chunks: [Buffer.from([0xc2]), Buffer.from([0x9b, 0x79])] },
])('a sequence that never ends is cut short, $how', ({ chunks }) => {
  const screen = createScreen({ columns: 80, rows: 24, deadlineMs: 300 });
  screen.terminal.parser.registerCsiHandler({ final: 'y' }, () => {
    for (;;);
  });
  screen.write(Buffer.from('text\r\n'));
  const writeAll = (): void => {
    for (const chunk of chunks) screen.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  };
  expect(writeAll).toThrow(/timed out/);
  screen.dispose();
});

test('rows that are cleared too often are counted once', () => {
  const screen = createScreen({ columns: 500, rows: 300 });
  screen.write(Buffer.from('line\r\n'.repeat(400)));
  // Slow ones first, so that the last ones are left out.
  screen.write(Buffer.from('\u001B[1J'.repeat(4000)));
  screen.write(Buffer.from('\u001B[3J'.repeat(100)));
  screen.write(Buffer.from('more\r\n'));
  expect(screen.totalLines()).toBe(402);
  screen.dispose();
});
