import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CAST, createRecorder, readOldLines, saveHistory, TRANSCRIPT } from './recording.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'recording-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

let now = 0;
const record = (maxBytes = 1_000_000, tailBytes = 1000) =>
  createRecorder(directory, {
    maxBytes,
    tailBytes,
    columns: 20,
    rows: 5,
    createdAtMs: 5_000_999,
    now: () => now,
  });

const transcript = (): string => readFileSync(join(directory, TRANSCRIPT), 'utf8');
const cast = (): unknown[] =>
  readFileSync(join(directory, CAST), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

test('lines are shown again by their numbers, while more is written', async () => {
  const recorder = record();
  for (let n = 0; n < 3000; n++) recorder.write(Buffer.from(`line ${n}\r\n`));
  expect(await readOldLines(directory, 7, 10)).toEqual(['line 7', 'line 8', 'line 9']);
  recorder.write(Buffer.from('more\r\n'));
  expect(await readOldLines(directory, 2999, 3001)).toEqual(['line 2999', 'more']);
  recorder.close();
});

test('lines are what was seen at the width of that time', async () => {
  const recorder = record();
  recorder.write(Buffer.from(`${'x'.repeat(30)}\u001B[1G|\r\n`));
  recorder.resize(40, 5);
  recorder.write(Buffer.from(`${'y'.repeat(30)}\u001B[1G|\r\n`));
  recorder.close();
  const lines = await readOldLines(directory, 0, 2);
  // The cursor went to the beginning of the second row, then of the only one.
  expect(lines).toEqual([`${'x'.repeat(20)}|${'x'.repeat(9)}`, `|${'y'.repeat(29)}`]);
});

test('what was not kept is said, and what follows is there', async () => {
  const recorder = record(2000, 100);
  for (let n = 0; n < 1000; n++) recorder.write(Buffer.from(`line ${n}\r\n`));
  recorder.close();
  // Nobody knows which numbers lines have after a gap.
  const old = await readOldLines(directory, 0, 1000);
  expect(old[0]).toBe('line 0');
  expect(old.length).toBeLessThan(300);
  await saveHistory(directory, 'x');
  expect(transcript()).toMatch(/^line 0\n[^]*\n\[\d+ bytes were not kept\]\n[^]*\nline 999\n/);
  expect(cast().some((event) => Array.isArray(event) && event[1] === 'm')).toBe(true);
});

test('a recording has the bytes as they came, with their times', async () => {
  now = 5_000_000;
  const recorder = record();
  recorder.write(Buffer.from('a'));
  now += 5;
  recorder.write(Buffer.from('b'));
  now += 1000;
  // A character that comes in two pieces is one.
  recorder.write(Buffer.from('é').subarray(0, 1));
  now += 1000;
  recorder.write(Buffer.from('é').subarray(1));
  recorder.resize(30, 6);
  now += 500;
  recorder.write(Buffer.from('\u001B[31mend'));
  recorder.close();
  await saveHistory(directory, 'my "session"');
  expect(cast()).toEqual([
    {
      version: 2,
      width: 20,
      height: 5,
      timestamp: 5000,
      title: 'my "session"',
      env: { TERM: 'xterm-256color' },
    },
    [0, 'o', 'ab'],
    [2.005, 'o', 'é'],
    [2.005, 'r', '30x6'],
    [2.505, 'o', '\u001B[31mend'],
  ]);
  expect(transcript()).toBe('abéend\n');
});

test('what was written before a crash, without its time, is there', async () => {
  const recorder = record();
  recorder.write(Buffer.from('first\r\n'));
  now += 100;
  recorder.write(Buffer.from('second\r\n'));
  // Not closed: the last event was not noted.
  await saveHistory(directory, 'x');
  expect(transcript()).toBe('first\nsecond\n\n');
  recorder.close();
});
