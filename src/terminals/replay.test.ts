import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ROOT } from '../../test/support/root.ts';
import { findProcess } from '../executions/processes.ts';
import { createRecorder, TRANSCRIPT } from './recording.ts';
import { readRecording, saveRecording } from './replay.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'replay-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const program = join(ROOT, 'dist/pty-host.js');

function record(lines: number): void {
  const size = { columns: 80, rows: 24, maxBytes: 10_000_000, tailBytes: 1000 };
  const recorder = createRecorder(directory, { ...size, createdAtMs: 0, now: () => 0 });
  for (let n = 0; n < lines; n++) recorder.write(Buffer.from(`line ${n}\r\n`));
  recorder.close();
}

const transcript = (): string => readFileSync(join(directory, TRANSCRIPT), 'utf8');

test.each([
  ['a short one in the host', 100, true],
  ['a long one of the host in another process', 20_000, true],
  ['every one of a server in another process', 100, false],
])('%s is replayed', async (_, lines, isHost) => {
  record(lines);
  const recording = { directory, program, isHost };
  expect(await readRecording(recording, lines - 2, lines)).toEqual([
    `line ${lines - 2}`,
    `line ${lines - 1}`,
  ]);
  expect(await saveRecording(recording, 'x')).toBeUndefined();
  expect(
    transcript()
      .split('\n')
      .slice(lines - 1),
  ).toEqual([`line ${lines - 1}`, '', '']);
});

/** Replays of which each only tells its process id, and never ends. */
function makeHanging(): string {
  const hanging = join(directory, 'hanging.mjs');
  writeFileSync(
    hanging,
    `import { writeFileSync } from 'node:fs'; writeFileSync('pid', String(process.pid)); for (;;);`,
  );
  return hanging;
}

async function expectKilled(): Promise<void> {
  const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'));
  await expect.poll(() => findProcess(pid)?.isZombie ?? true).toBe(true);
}

test('a replay that does not end is killed, and the transcript says so', async () => {
  record(20_000);
  const recording = { directory, program: makeHanging(), isHost: true, deadlineMs: 5000 };
  expect(await saveRecording(recording, 'x')).toMatch(/did not answer/);
  expect(transcript()).toMatch(/could not be made readable in time/);
  await expectKilled();
});

test('reading lines that cannot be replayed in time says what to do', async () => {
  record(20_000);
  const recording = { directory, program: makeHanging(), isHost: true, deadlineMs: 5000 };
  await expect(readRecording(recording, 0, 10)).rejects.toMatchObject({ code: 'EXECUTION_002' });
  await expectKilled();
});

test('a replay that fails leaves the recording, and says that lines are missing', async () => {
  expect(await saveRecording({ directory, program }, 'x')).toBeDefined();
  expect(transcript()).toMatch(/could not be made readable/);
});
