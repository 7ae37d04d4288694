/** What is not drawn makes no difference: everything that can be read is as if every byte had been drawn. */
// CommonJS, whose exports Node gives as the default one.
/* oxlint-disable import/default, import/no-named-as-default-member */
import unicode11 from '@xterm/addon-unicode11';
import headless from '@xterm/headless';
import { afterEach, describe, expect, test } from 'vitest';
import type { ScreenOptions } from './drawing.ts';
import { findUnseen } from './flood.ts';
import { createScreen, type Screen } from './screen.ts';

const opened: Screen[] = [];
afterEach(() => {
  for (const screen of opened.splice(0)) screen.dispose();
});

function open(options: Partial<ScreenOptions> = {}): Screen {
  const screen = createScreen({ columns: 30, rows: 6, ...options });
  opened.push(screen);
  return screen;
}

/** The same numbers for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    return (state >>> 0) % below;
  };
}

/** Pieces of output, by how they disturb plain lines. */
const HARMLESS: readonly ((random: (below: number) => number) => string)[] = [
  (random) => lines(random, random(6000), 1),
  (random) => lines(random, random(4000), 1),
  (random) => lines(random, random(300), 80),
  (random) => `${'long '.repeat(random(400))}\r\n`,
  () => '\u001B[31mcoloured\u001B[0m\r\n',
  (random) => `\u001B[${random(8)};${random(40)}Hplaced`,
  (random) => `\u001B[${random(5)}A`,
  (random) => `-\u001B[${random(30)}b`,
  () => '日本語のとても長い一行がここで折り返される 😀\r\n',
  (random) => '\n'.repeat(random(40)),
  () => 'written\rover\r\n',
  () => '\u001B]0;a title\r\nthat goes on\u0007',
  (random) => `\u001B]133;x${lines(random, random(20), 1)}\u0007`,
  (random) => `\u001BP${lines(random, random(3000), 1)}\u001B\\`,
  () => '\u001B[2J',
  () => '\u001B[?7l',
  () => '\u001B[?7h',
  () => '\u001B[4h',
  () => '\u001B[4l',
  (random) => `\u001B[${1 + random(3)}L`,
  (random) => `\u001B[${1 + random(3)}S`,
  (random) => `\u001B[?1049h${lines(random, random(4000), 1)}\u001B[?1049l`,
  (random) => `\u001B[2;4r${lines(random, random(4000), 1)}\u001B[r`,
  (random) => `\u001B[1;4r${lines(random, random(4000), 1)}\u001B[r`,
];
const WIPING: typeof HARMLESS = [() => '\u001B[3J', () => '\u001B[H\u001B[2J\u001B[3J', () => '\u001Bc'];

function lines(random: (below: number) => number, count: number, longest: number): string {
  return Array.from({ length: count }, (_, index) => `${index}`.padEnd(random(longest), '.')).join('\r\n');
}

function compose(seed: number, kinds: typeof HARMLESS): Buffer {
  const random = createRandom(seed);
  const parts = Array.from({ length: 12 }, () => kinds[random(kinds.length)]?.(random) ?? '');
  return Buffer.from(parts.join('\r\n'));
}

function writeIn(screen: Screen, output: Buffer, size: number): void {
  for (let at = 0; at < output.length; at += size) screen.write(output.subarray(at, at + size));
}

const shown = (screen: Screen) => ({
  total: screen.totalLines(),
  cursor: screen.cursorLine(),
  view: screen.view(),
  modes: screen.modes(),
  ansi: screen.ansiView(),
});

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

test('lines have the numbers and texts that an emulator of endless memory gives them', async () => {
  for (const seed of SEEDS) {
    const output = compose(seed, HARMLESS);
    const endless = new headless.Terminal({
      cols: 30,
      rows: 6,
      scrollback: 1e6,
      allowProposedApi: true,
      // Nothing that was written is lost.
      scrollOnEraseInDisplay: true,
    });
    endless.loadAddon(new unicode11.Unicode11Addon());
    endless.unicode.activeVersion = '11';
    await new Promise<void>((resolve) => endless.write(output, resolve));
    const screen = open();
    writeIn(screen, output, 20_000);
    const first = screen.firstLine();
    const { normal } = endless.buffer;
    const expected: string[] = [];
    for (let row = 0; row < normal.length; row++) {
      const text = normal.getLine(row)?.translateToString(false) ?? '';
      if (normal.getLine(row)?.isWrapped === true) expected.push(`${expected.pop() ?? ''}${text}`);
      else expected.push(text);
    }
    const total = screen.totalLines();
    expect([seed, screen.lines(first, total)]).toEqual([
      seed,
      expected.slice(first, total).map((line) => line.trimEnd()),
    ]);
    expect([seed, expected.slice(total).join('').trim()]).toEqual([seed, '']);
    endless.dispose();
  }
});

test('a flood shows what the same bytes show one by one', () => {
  for (const seed of SEEDS) {
    const output = compose(seed, [...HARMLESS, ...WIPING]);
    const all: string[] = [];
    const slow = open({ onDropped: (line) => all.push(line) });
    writeIn(slow, output, 777);
    const fast = open();
    writeIn(fast, output, 16_384);
    const first = fast.firstLine();
    expect([seed, shown(fast)]).toEqual([seed, shown(slow)]);
    const read = fast.lines(first, fast.totalLines());
    slow.dropAll();
    expect([seed, read]).toEqual([seed, all.slice(first, first + read.length)]);
  }
});

test('a size that changes in between changes no number', () => {
  for (const seed of SEEDS) {
    const output = compose(seed, HARMLESS.slice(0, 4));
    const screen = open();
    writeIn(screen, output, 16_384);
    // The line of the cursor is cut where the screen gets narrower.
    screen.write(Buffer.from('\r\n'));
    const total = screen.totalLines();
    const last = screen.lines(total - 5, total);
    for (const columns of [12, 100, 30]) {
      screen.resize(columns, 9);
      expect([seed, screen.totalLines(), screen.lines(total - 5, total)]).toEqual([seed, total, last]);
      expect(screen.lines(screen.firstLine(), total)).toHaveLength(total - screen.firstLine());
    }
  }
});

describe('what nobody will see', () => {
  const plain = (count: number): string => Array.from({ length: count }, (_, n) => `${n}\r\n`).join('');
  test.for([
    ['ends where the kept lines begin', `x\r\n${plain(20)}`, { from: 3, lines: 15, left: 5 }],
    ['may be as long as a row', `x\r\n${'x'.repeat(10)}\r\n${plain(5)}`, { from: 3, lines: 1, left: 5 }],
    ['comes after something else', `\u001B[m\r\n${plain(6)}`, { from: 5, lines: 1, left: 5 }],
    ['is nothing among few lines', `x\r\n${plain(5)}`, undefined],
    ['is nothing before the first line end', plain(5), undefined],
    ['does not begin after a bare line feed', `x\n${plain(5)}`, undefined],
    ['is no line with a control character', `x\r\n${plain(4)}\u0007\r\n${plain(4)}`, undefined],
    ['is no line beyond ASCII', `x\r\n${plain(4)}é\r\n${plain(4)}`, undefined],
    ['is no line longer than a row', `x\r\n${plain(4)}${'x'.repeat(11)}\r\n${plain(4)}`, undefined],
  ] as const)('%s', ([, text, expected]) => {
    const bytes = Buffer.from(text);
    const found = findUnseen(bytes, 0, 10, 5);
    const left = bytes.subarray(found?.to).toString().split('\r\n').length - 1;
    expect(found && { from: found.from, lines: found.lines, left }).toEqual(expected);
  });
});

describe('a sequence that repeats something', () => {
  // Without a limit each of these takes minutes.
  test.for(['@', 'I', 'L', 'M', 'P', 'S', 'T', 'X', 'Z', 'b', 'A', 'B', 'E', 'H', 'J', 'K', 'd', 'm', 'r'])(
    'CSI 2147483647 %s ends, in one piece and in many',
    (final) => {
      for (const prefix of ['\u001B[', '\u009B'])
        for (const number of ['2147483647', '99999999999999999999', '0000000000000099999', '2147483647;5']) {
          const sequence = Buffer.from(`abc\r\n${prefix}${number}${final}`);
          const whole = open();
          whole.write(sequence);
          const pieces = open();
          writeIn(pieces, sequence, 1);
          expect(shown(pieces)).toEqual(shown(whole));
          expect(whole.view().rows.length).toBeLessThanOrEqual(6);
        }
    },
  );
});

test('a title has an end', () => {
  const screen = open();
  writeIn(screen, Buffer.from(`\u001B]2;${'x'.repeat(100_000)}\u0007`), 16_384);
  expect(screen.view().title).toBe('x'.repeat(256));
  screen.write(Buffer.from('\u001B]0;short\u0007'));
  expect(screen.view().title).toBe('short');
});

test.each([
  ['4', '1;rgb:ff/ff/ff;'],
  ['4', '1;?;'],
  ['8', 'id=x:y=z;http://example.org/'],
  ['10', 'rgb:ff/ff/ff;'],
  ['11', '?;'],
  ['12', 'rgb:00/00/00;'],
  ['104', '1;'],
])('a sequence %s of a megabyte of "%s" takes no longer than others', (number, part) => {
  // Some ten times what the slowest takes; before, the first one took seconds.
  const screen = createScreen({ columns: 80, rows: 24, deadlineMs: 2000 });
  const sequence = `\u001B]${number};${part.repeat(Math.ceil(1_000_000 / part.length))}\u0007`;
  writeIn(screen, Buffer.from(sequence), 16_384);
  screen.write(Buffer.from('still here'));
  expect(screen.view().rows).toEqual(['still here']);
  screen.dispose();
});

test('a handler of sequences reads the numbers of that moment, and they are right afterwards', () => {
  const screen = open();
  const seen: [number, number][] = [];
  screen.terminal.parser.registerOscHandler(7777, () => {
    seen.push([screen.cursorLine(), screen.totalLines()]);
    return true;
  });
  const mark = '\u001B]7777;\u0007';
  const part = '1\r\n'.repeat(10);
  const once = `${part}${mark}${part}${mark}${part}`;
  screen.write(Buffer.from(once));
  expect([screen.cursorLine(), screen.totalLines()]).toEqual([30, 31]);
  writeIn(screen, Buffer.from(once.repeat(199)), 16_384);
  const expected = Array.from({ length: 400 }, (_, n) => Math.floor(n / 2) * 30 + (n % 2) * 10 + 10);
  expect(seen).toEqual(expected.map((line) => [line, line + 1]));
  expect([screen.cursorLine(), screen.totalLines()]).toEqual([6000, 6001]);
});
