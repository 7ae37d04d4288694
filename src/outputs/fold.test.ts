import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { isAlike } from './alike.ts';
import { type HeadAndTail, headAndTail } from './head-and-tail.ts';
import { readLines } from './read-lines.ts';
import { readRange } from './read-range.ts';
import { asShown } from './shown-text.ts';
import type { ByteSource } from './types.ts';

const directory = useTestDirectory();
const outputId = 'out_23456789abcdefghijkmnpqrsts';
const BUDGET = 4000;

const show = (text: string, folds = true): Promise<HeadAndTail> =>
  headAndTail(directory.source(text), BUDGET, { outputId, folds });

const progress = (from: number, to: number): string => {
  let text = '';
  for (let step = from; step <= to; step++) text += `Copying file ${step} of 9000 (${step % 100}%)\n`;
  return text;
};

/** The text with every marker replaced by what reading it as the marker says gives. */
async function unfold(view: string, source: ByteSource): Promise<string> {
  const result: string[] = [];
  for (const line of view.split('\n')) {
    const run = /^\[× [\d,]+, lines (\d+)–(\d+)\]$/.exec(line);
    const state = /^\[last state of bytes (\d+)–(\d+)\]$/.exec(line);
    const cut = /^\[… ([\d,]+) bytes? .* and offset (\d+)\]$/.exec(line);
    if (line.startsWith('[folded: ')) continue;
    if (run !== null) {
      const [first, last] = [Number(run[1]), Number(run[2])];
      const lines = { startLine: first, lineCount: last - first + 1, maxBytes: 1e9, encoding: 'utf-8' };
      result.splice(-1, 1, (await readLines(source, lines)).content);
    } else if (state !== null) {
      const [from, to] = [Number(state[1]), Number(state[2])];
      const range = readRange(source, { offset: from, size: to - from + 1, encoding: 'utf-8' });
      result.splice(-1, 1, range.content.replace(/\n$/, ''));
    } else if (cut !== null) {
      const size = Number(cut[1]?.replaceAll(',', ''));
      const range = readRange(source, { offset: Number(cut[2]), size, encoding: 'utf-8' });
      result.push(range.content.replace(/\n$/, ''));
    } else result.push(line);
  }
  return result.join('\n');
}

describe('folding', () => {
  it('shows a run of lines that differ in numbers as its first line, with the lines it stands for', async () => {
    const { text, truncated, omittedLines } = await show(`start of it\n${progress(1, 400)}done with it\n`);
    expect(text).toBe(
      'start of it\nCopying file 1 of 9000 (1%)\n[× 400, lines 2–401]\ndone with it\n' +
        `[folded: "[× …]" and "[last state …]" stand for lines and bytes of output_id "${outputId}"; read_execution_output has them]\n`,
    );
    expect({ truncated, omittedLines }).toEqual({ truncated: true, omittedLines: 399 });
  });

  it('shows progress that was written over and over as its last state', async () => {
    const states = Array.from({ length: 2000 }, (_, at) => `\rUnpacking ${at}/2000`).join('');
    const { text } = await show(`begin\n${states}\nend of it\n`);
    expect(text.split('\n').slice(0, 4)).toEqual([
      'begin',
      'Unpacking 1999/2000',
      `[last state of bytes 6–${6 + Buffer.byteLength(states)}]`,
      'end of it',
    ]);
  });

  it('shows equal lines once, whatever they are', async () => {
    expect((await show('0\n'.repeat(5000))).text).toMatch(/^0\n\[× 5,000, lines 1–5000\]\n\[folded: /);
  });

  it('leaves output alone that fits, that has nothing to fold, or whose caller says so', async () => {
    expect((await show(progress(1, 50))).text).toBe(progress(1, 50));
    const distinct = Array.from({ length: 900 }, (_, at) => `${'abcdefghij'[at % 10]}-word\n`).join('');
    expect(await show(distinct)).toEqual(await show(distinct, false));
    expect((await show(progress(1, 400), false)).text).not.toContain('[×');
  });

  it.each(['12', '7.25\t3', '2026-11-16 10:00', '{"a":1}'])('leaves data alone: %s', async (line) => {
    const numbers = Array.from({ length: 2000 }, (_, at) => line.replace(/\d+/, String(at))).join('\n');
    expect((await show(`${numbers}\n`)).text).not.toContain('[×');
  });

  it.each([
    'error: no such file 7',
    'Errors found: 7',
    'WARNING 7',
    'warn 7',
    'FAILED 7 of 9',
    'thread panicked at 7',
    'Traceback (most recent call last): 7',
    'Permission denied 7',
    'ValueError: 7',
    'Unhandled exception 7',
    'fatal: 7',
    'Aborted 7',
    'ECONNREFUSED 7 connection refused',
    'command not found 7',
    'not ok 7',
    'read timed out after 7',
    'Timeout 7',
    '✗ test number 7',
    '\x1b[31mer\x1b[0mror number 7',
    'working 1\rcopy failed at 7\rworking on part 2',
  ])('shows a line that may be a failure, with three lines around it: %j', async (line) => {
    const source = `${progress(1, 200)}${line}\n${progress(202, 400)}`;
    const shown = (await show(source)).text.split('\n');
    const context = (from: number, to: number): string[] => progress(from, to).trimEnd().split('\n');
    const states = line.includes('\r') ? ['copy failed at 7', 'working on part 2'] : [asShown(line)];
    expect(shown).toEqual([
      'Copying file 1 of 9000 (1%)',
      '[× 197, lines 1–197]',
      ...context(198, 200),
      ...states,
      ...context(202, 204),
      'Copying file 205 of 9000 (5%)',
      '[× 196, lines 205–400]',
      expect.stringContaining(outputId),
      '',
    ]);
  });

  it('shows every line where each of them may be a failure', async () => {
    const failures = Array.from({ length: 500 }, (_, at) => `error number ${at}\n`).join('');
    expect(await show(failures)).toEqual(await show(failures, false));
  });

  it('numbers the lines of the end of a long output as reading does', async () => {
    let text = '';
    for (let at = 0; text.length < 3_000_000; at++) text += `${'word '.repeat(1 + (at % 7))}${at}\n`;
    const source = directory.source(`${text}the end of it\n${progress(1, 300)}over\n`);
    const { text: view } = await headAndTail(source, BUDGET, { outputId, folds: true });
    const [, first, last] = /lines (\d+)–(\d+)\]\nCopying file 300 .*\nover/.exec(view) ??
      /Copying file 1 of.*\n\[× \d+, lines (\d+)–(\d+)\]/.exec(view) ?? ['', '0', '0'];
    const count = Number(last) - Number(first) + 1;
    const { content } = await readLines(source, {
      startLine: Number(first),
      lineCount: count,
      maxBytes: 1e9,
      encoding: 'utf-8',
    });
    expect(`${content}\n`).toBe(progress(1, 300));
  });
});

describe('any output', () => {
  /** Mulberry32: the same texts in every run. */
  const random = (seed: number) => (): number => {
    let t = (seed += 0x6d2b79f5);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const TEMPLATES = [
    (n: number) => `Fetching package ${n} of 100\n`,
    (n: number) => `[${n}%] Building öbject ${n}.${n}\n`,
    (n: number) => `  ${n}\n`,
    () => '\n',
    (n: number) => `error: bad number ${n}\n`,
    (n: number) => `Compressing\r  ${n}%\rCompressing ${'日本'.repeat(n % 5)} ${n}%\n`,
    (n: number) => `${'Loading '.repeat(1 + (n % 4))}\r\n`,
    (n: number) => `12:0${n % 10}:00 GET /page/${n} took ${n} ms\n`,
    (n: number) => `${'x'.repeat(n * 3)}\n`,
    (n: number) => `[× ${n}, lines x–y]\n`,
  ];
  const generate = (seed: number): string => {
    const next = random(seed);
    let text = '';
    const wanted = 1000 + next() * 60_000;
    while (text.length < wanted) {
      const template = TEMPLATES[Math.floor(next() * TEMPLATES.length)];
      const count = Math.floor(next() ** 3 * 300) + 1;
      for (let at = 0; at < count; at++) text += template?.(Math.floor(next() * 100)) ?? '';
    }
    return next() < 0.3 ? text.trimEnd() : text;
  };

  it('is never larger folded, and unfolded by reading it is the original', async () => {
    let folded = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const original = generate(seed);
      const source = directory.source(original);
      const view = await headAndTail(source, BUDGET, { outputId, folds: true });
      const size = Buffer.byteLength(view.text);
      expect(size, `seed ${seed}`).toBeLessThanOrEqual(BUDGET);
      expect(size, `seed ${seed}`).toBeLessThanOrEqual(Buffer.byteLength(original));
      if (view.text.includes('[folded: ')) folded++;
      const read = await unfold(view.text, source);
      expect(asShown(read).replaceAll('\r', '').trimEnd(), `seed ${seed}`).toBe(
        asShown(original).replaceAll('\r', '').trimEnd(),
      );
    }
    expect(folded).toBeGreaterThan(50);
  });

  it('keeps every line that may be a failure, or says where it is', async () => {
    for (let seed = 200; seed < 300; seed++) {
      const original = generate(seed);
      const source = directory.source(original);
      const { text } = await headAndTail(source, BUDGET, { outputId, folds: true });
      const cut = /^\[… ([\d,]+) bytes? .* and offset (\d+)\]$/m.exec(text);
      const left =
        cut === null ? '' : source.read(Number(cut[2]), Number(cut[1]?.replaceAll(',', ''))).toString();
      const count = (of: string): number => of.match(/error: bad number/g)?.length ?? 0;
      expect(count(text) + count(left), `seed ${seed}`).toBe(count(original));
    }
  });
});

describe('isAlike', () => {
  it.each([
    ['step 1\n', 'step 22\n', true],
    ['  9% done\n', '100% done\n', true],
    ['at 12:30:01,5\n', 'at 1:02\n', true],
    ['a  b 1\n', 'a b 2\n', true],
    ['took 0.5s\n', 'took 1,024s\n', true],
    ['v1.2\n', 'v1.2.\n', false],
    ['a1\n', 'a 1\n', false],
    ['step 1\n', 'step x\n', false],
    ['step 1\n', 'step 1 of 2\n', false],
    ['step\n', 'step 1\n', false],
    ['', '', true],
    ['  ', '', true],
  ])('%j and %j: %s', (one, other, expected) => {
    expect(isAlike(one, other)).toBe(expected);
    expect(isAlike(other, one)).toBe(expected);
  });
});
