/** The server writes it where commands write too: most cases here are hostile. */
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { writeAbortFile } from './abort-file.ts';

let place = '';
let work = '';
let victim = '';
beforeEach(() => {
  place = mkdtempSync(join(realpathSync(tmpdir()), 'abort-'));
  work = join(place, 'work');
  victim = join(place, 'victim');
  mkdirSync(work);
  writeFileSync(victim, 'precious');
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

function write(abortFile: string | undefined): void {
  const ended = {
    execution: { record: { id: 'exec_1', directory: work, command: 'secret' } },
    outcome: { reason: 'exit', exitCode: 3 },
  };
  const modules = { settings: { shellTool: { abortFile } }, clock: systemClock };
  writeAbortFile(
    ended as unknown as Parameters<typeof writeAbortFile>[0],
    modules as unknown as Parameters<typeof writeAbortFile>[1],
  );
}

test('says which execution failed and how, and nothing of the command', () => {
  write('.abort');
  const said = JSON.parse(readFileSync(join(work, '.abort'), 'utf8')) as unknown;
  expect(said).toEqual({ execution_id: 'exec_1', reason: 'exit', exit_code: 3, time: expect.any(String) });
});

test('is written again over an earlier one', () => {
  writeFileSync(join(work, '.abort'), 'x'.repeat(10_000));
  write('.abort');
  expect(readFileSync(join(work, '.abort'), 'utf8')).toMatch(/^\{.*\}\n$/);
});

test('goes to the operator’s own place where that is absolute', () => {
  write(join(place, 'aborted'));
  expect(existsSync(join(place, 'aborted'))).toBe(true);
});

test('is not written where there is no setting', () => {
  write(undefined);
  expect(existsSync(join(work, '.abort'))).toBe(false);
});

const traps: { name: string; lay: () => void }[] = [
  { name: 'a link', lay: () => symlinkSync(victim, join(work, '.abort')) },
  {
    name: 'a link to a place where nothing is',
    lay: () => symlinkSync(join(place, 'new'), join(work, '.abort')),
  },
  { name: 'another name of a file', lay: () => linkSync(victim, join(work, '.abort')) },
  { name: 'a directory', lay: () => mkdirSync(join(work, '.abort')) },
];
test.for(traps)('follows nothing: $name', ({ lay }) => {
  lay();
  write('.abort');
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect(existsSync(join(place, 'new'))).toBe(false);
});

test.skipIf(process.platform !== 'linux')('a directory that became a link meanwhile is left alone', () => {
  const other = join(place, 'other');
  mkdirSync(other);
  renameSync(work, join(place, 'moved'));
  symlinkSync(other, work);
  write('.abort');
  expect(lstatSync(work).isSymbolicLink()).toBe(true);
  expect(existsSync(join(other, '.abort'))).toBe(false);
});
