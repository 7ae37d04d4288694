import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from 'vitest';
import { MAX_CELL_LENGTH } from './long-cells.ts';
import { createScreen, type Screen } from './screen.ts';

const opened: Screen[] = [];
afterEach(() => {
  for (const screen of opened.splice(0)) screen.dispose();
});

function show(...chunks: readonly string[]): Screen {
  const screen = createScreen({ columns: 40, rows: 5 });
  opened.push(screen);
  for (const chunk of chunks) screen.write(Buffer.from(chunk));
  screen.catchUp();
  return screen;
}

const ACCENT = '\u0301';
const FULL = `a${ACCENT.repeat(MAX_CELL_LENGTH - 1)}`;
const textOf = (screen: Screen): string => screen.view().rows.join('\n');

describe('what a program writes within the bound is drawn as it is', () => {
  test.each([
    ['an accent', `e${ACCENT}`],
    ['accents up to the bound', FULL],
    [
      'decorated text',
      ['Z', 'a', 'l', 'g', 'o'].map((letter) => letter + '\u0310\u035A\u0489'.repeat(8)).join(''),
    ],
    ['a family', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466}'],
    ['a family in colour', '\u{1F469}\u{1F3FD}\u200D\u2764\uFE0F\u200D\u{1F468}\u{1F3FB}'],
    ['a flag of two letters', '\u{1F1EF}\u{1F1F5}'],
    ['a flag of seven', '\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}'],
    ['a keycap', '1\uFE0F\u20E3'],
    ['Hindi', 'हिन्दी'],
    ['Thai', 'ภาษาไทยที่'],
    ['pointed Hebrew', 'בְּרֵאשִׁ֖ית'],
  ])('%s', (_, text) => {
    expect(textOf(show(text))).toBe(text);
    expect(textOf(show(...Array.from(text)))).toBe(text);
  });
});

describe('a cell takes no more than so many', () => {
  const marks = (mark: string): string => `a${mark.repeat(1000)}b`;
  test.each([
    ['accents', [marks(ACCENT)], `${FULL}b`],
    ['joiners', [marks('\u200D')], `a${'\u200D'.repeat(MAX_CELL_LENGTH - 1)}b`],
    ['variation selectors', [marks('\uFE0F')], `a${'\uFE0F'.repeat(MAX_CELL_LENGTH - 1)}b`],
    ['in many chunks', ['a', ...Array.from({ length: 100 }, () => ACCENT), 'b'], `${FULL}b`],
    ['behind a wide character', [`日${ACCENT.repeat(100)}b`], `日${ACCENT.repeat(MAX_CELL_LENGTH - 1)}b`],
    ['repeated', [`a${ACCENT.repeat(1000)}\u001B[2b`], FULL.repeat(3)],
    ['inserted', [`\u001B[4hb\u001B[1Ga${ACCENT.repeat(1000)}`], `${FULL}b`],
  ] as const)('%s', (_, chunks, expected) => {
    expect(textOf(show(...chunks)).normalize('NFD')).toBe(expected.normalize('NFD'));
  });

  test('when it is drawn again from its snapshot, and in rows of another width', () => {
    const screen = show(`a${ACCENT.repeat(1000)}\u001B[30b\r\n`);
    expect(textOf(show(screen.snapshot()))).toBe(FULL.repeat(31));
    screen.resize(7, 5);
    expect(screen.lines(0, 1)).toEqual([FULL.repeat(31)]);
  });
});

test('a screen full of them takes no kilobyte for each cell', () => {
  const screen = createScreen({ columns: 500, rows: 300 });
  opened.push(screen);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heldBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heldBytes();
  for (let row = 0; row < 300; row++) screen.write(Buffer.from(`${FULL.repeat(500)}\r\n`));
  screen.catchUp();
  expect(heldBytes() - before).toBeLessThan(150_000 * 500);
});
