/** Whatever a program writes, the emulator comes back soon: one process draws the terminals of all callers. */
import { expect, test } from 'vitest';
import { createScreen } from '../../src/terminals/host/screen.ts';

const ESC = '\u001B';
const EXTREMES = [
  '',
  '0',
  '1',
  '99',
  '65535',
  '2147483647',
  '99999999999999',
  '2147483647:2147483647',
  '1;2147483647',
];
const STARTS = [`${ESC}[`, '\u009B', `${ESC}[?`, `${ESC}[>`, `${ESC}[=`];
const MIDDLES = ['', '', '', ' ', "'", '$', '"', '!', '#', '*'];
const FINALS = '@ABCDEFGHIJKLMPSTXZ^`abcdefghilmnpqrstu|}~';
const STRINGS = [
  `${ESC}]0;`,
  `${ESC}]2;`,
  `${ESC}]4;`,
  `${ESC}]8;;`,
  `${ESC}]133;`,
  `${ESC}P`,
  `${ESC}P$q`,
  `${ESC}_`,
  `${ESC}^`,
];
const ENDS = ['\u0007', `${ESC}\\`, ''];

/** The same each time for a seed, so that a failure can be found again. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What copies cells: repetition, insertion, and rows that move. */
const COPYING = ['[500b', '[2147483647b', '[4h\u001B[1Gx', '[1G\u001B[20@', '[P', 'M', '[L', '[?7h'];

/** Characters that have no width of their own: they are added to the cell before them. */
const ADDED = ['\u0301', '\u0489', '\u200D', '\uFE0F', '\u{E0067}', '\u{1F3FD}\u200D'];

function hostile(random: (below: number) => number): string {
  const pick = <Value>(from: ArrayLike<Value>): Value => from[random(from.length)] as Value;
  switch (random(9)) {
    case 0:
      return pick(STRINGS) + 'x;?1'.repeat(random(200)) + pick(ENDS);
    case 1:
      return ESC + pick('78cDEHMNOZ=>#()');
    case 2:
      return pick(['日本😀', 'a\u0301\u0301', '\r\n', '\t', 'plain text ', '\u0085', '\u0000']);
    case 3:
      return pick(['a', '日', '😀', '']) + pick(ADDED).repeat(random(2000)) + ESC + pick(COPYING);
    default:
      return pick(STARTS) + pick(EXTREMES) + pick(MIDDLES) + pick(FINALS);
  }
}

test.for(Array.from({ length: 40 }, (_, index) => index + 1))('seed %i', (seed) => {
  const random = createRandom(seed);
  const screen = createScreen({ columns: 2 + random(499), rows: 1 + random(300) });
  screen.write(Buffer.from('line\r\n'.repeat(2500)));
  // One sequence over and over is worse than many.
  const text =
    seed % 2 === 0
      ? hostile(random).repeat(500)
      : Array.from({ length: 1000 }, () => hostile(random)).join('');
  const bytes = Buffer.from(text).subarray(0, 16 * 1024);
  const before = process.cpuUsage();
  screen.write(bytes);
  screen.catchUp();
  expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
  expect(screen.view().title.length).toBeLessThanOrEqual(256);
  expect(screen.totalLines()).toBeGreaterThan(0);
  screen.dispose();
});

const REPEAT = `${ESC}[500b`;

test.for([
  ['one long run, repeated once', (mark: string) => `a${mark.repeat(300_000)}${REPEAT}`],
  ['one long run, repeated often', (mark: string) => `a${mark.repeat(300_000)}${REPEAT.repeat(2000)}`],
  ['many runs, each repeated', (mark: string) => `a${mark.repeat(10_000)}${REPEAT}`.repeat(60)],
  ['runs that are inserted', (mark: string) => `${ESC}[4h${`a${mark.repeat(1000)}${ESC}[1G`.repeat(500)}`],
  ['a memory full of them', (mark: string) => `a${mark.repeat(100)}${REPEAT}\r\n`.repeat(2500)],
] as const)('characters without a width: %s', ([, textOf]) => {
  for (const mark of ADDED) {
    const screen = createScreen({ columns: 500, rows: 300 });
    const bytes = Buffer.from(textOf(mark));
    const before = process.cpuUsage();
    for (let at = 0; at < bytes.length; at += 16 * 1024) {
      screen.write(bytes.subarray(at, at + 16 * 1024));
      screen.catchUp();
    }
    for (const columns of [40, 500, 7, 300]) screen.resize(columns, 50);
    const again = createScreen({ columns: 300, rows: 50 });
    again.write(Buffer.from(screen.snapshot()));
    again.catchUp();
    expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
    expect(process.memoryUsage().rss).toBeLessThan(1_500_000_000);
    for (const each of [screen, again]) each.dispose();
  }
});

test.for(
  ['L', 'M', 'S', 'T', 'Z', 'b', 'I', '@', 'P', 'X', 'J', "'}", "'~", ' @', ' A']
    .flatMap((final) => [`[2147483647${final}`, `[99${final}`])
    .concat([
      '#8',
      '[?1J',
      '[?2J',
      'M',
      'c',
      '[?1049h\u001B[?1049l',
      '[?47h\u001B[?47l',
      '[?1;1047h\u001B[?1047l',
    ]),
)('ESC %s, as often as fits into what is read at once', (sequence) => {
  const screen = createScreen({ columns: 500, rows: 300 });
  screen.write(Buffer.from('line\r\n'.repeat(2500)));
  screen.catchUp();
  const before = process.cpuUsage();
  screen.write(Buffer.from(`${ESC}${sequence}`.repeat(8192)).subarray(0, 16 * 1024));
  screen.catchUp();
  expect(process.cpuUsage(before).user).toBeLessThan(8_000_000);
  screen.dispose();
});
