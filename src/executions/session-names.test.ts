import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSessionNames } from './session-names.ts';

let directory = '';
let path = '';
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'session-names-'));
  path = join(directory, 'state', 'sessions');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('a name is known to every server, for its own principal only', () => {
  const names = createSessionNames(path);
  expect(names.has('local', 'first')).toBe(false);
  names.remember('local', 'first');
  names.remember('local', 'first');
  const known: [string, string, boolean][] = [
    ['local', 'first', true],
    ['alice', 'first', false],
    ['local', 'firs', false],
    ['local', '', false],
    ['', 'local first', false],
    ['local","first', '', false],
  ];
  const other = createSessionNames(path);
  for (const [principal, sessionId, isKnown] of known)
    expect([sessionId, other.has(principal, sessionId)]).toEqual([sessionId, isKnown]);
  expect(readFileSync(path, 'utf8')).toMatch(/^[\w-]{12}\n$/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('the file has a bound, and keeps names that are newer or were used again', () => {
  const names = createSessionNames(path);
  names.remember('local', 'again');
  for (let count = 0; count < 10_000; count++) {
    names.remember('local', `s${count}`);
    if (count % 1000 === 0) names.remember('local', 'again');
  }
  expect(statSync(path).size).toBeLessThanOrEqual(52 * 1024);
  const known = ['again', 's9999', 's8000', 's0'].map((name) => names.has('local', name));
  expect(known).toEqual([true, true, true, false]);
});

test.each([
  ['an empty file', ''],
  ['a line without an end', 'x\nx'],
  ['lines without names', '\n\n\n'],
  ['a file that is too large', '\0'.repeat(100_000)],
])('%s does no harm', (_, text) => {
  const names = createSessionNames(path);
  names.remember('local', 'before');
  writeFileSync(path, text);
  expect(names.has('local', 'new')).toBe(false);
  names.remember('local', 'new');
  expect(names.has('local', 'new')).toBe(true);
  expect(statSync(path).size).toBeLessThanOrEqual(52 * 1024);
});
