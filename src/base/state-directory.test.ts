import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { checkStateDirectory, findStateDirectoryProblem } from './state-directory.ts';

const cannotGive = lacks(process.getuid?.() !== 0, 'only root gives something to another user');
const SOMEBODY = 4711;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'state-directory-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function make(name: string, mode: number): string {
  const path = join(root, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

test.each<[string, number]>([
  ['its owner alone', 0o700],
  ['others who only read', 0o755],
  ['a group that only reads', 0o750],
])('takes a directory of %s', (_, mode) => {
  expect(findStateDirectoryProblem(make('state', mode))).toBeUndefined();
});

test.each<[string, number]>([
  ['anybody', 0o777],
  ['anybody with the sticky bit', 0o1777],
  ['others', 0o702],
  ['the group', 0o770],
  ['a group with setgid', 0o2770],
])('refuses a directory that %s can write', (_, mode) => {
  const path = make('state', mode);
  expect(findStateDirectoryProblem(path)).toEqual({
    message: `The state directory ${path} can be written by others.`,
    hint: `Run \`chmod 700 ${path}\`, or name another one with --state-dir.`,
  });
  expect(() => checkStateDirectory(path)).toThrow('can be written by others');
});

test('takes one that is yet to be made, also below a shared directory with the sticky bit', () => {
  expect(findStateDirectoryProblem(join(root, 'a', 'b'))).toBeUndefined();
  expect(findStateDirectoryProblem(join(make('shared', 0o1777), 'a', 'b'))).toBeUndefined();
});

test.each<[string, string[]]>([
  ['is there', ['state']],
  ['is yet to be made', ['a', 'b']],
])('refuses one that others could replace, which %s', (_, names) => {
  const open = make('open', 0o777);
  mkdirSync(join(open, 'state'), { mode: 0o700 });
  const path = join(open, ...names);
  expect(findStateDirectoryProblem(path)?.message).toBe(
    `The state directory ${path} can be replaced by others: anybody can write in ${open}.`,
  );
});

test('looks at what a link leads to', () => {
  const link = join(root, 'link');
  symlinkSync(make('target', 0o777), link);
  expect(findStateDirectoryProblem(link)?.message).toBe(
    `The state directory ${link} can be written by others.`,
  );
});

test.skipIf(cannotGive)('refuses what belongs to another user', () => {
  const path = make('state', 0o700);
  chownSync(path, SOMEBODY, SOMEBODY);
  expect(findStateDirectoryProblem(path)?.message).toBe(
    `The state directory ${path} belongs to another user (${SOMEBODY}).`,
  );
});

test.skipIf(cannotGive)('refuses a link of another user, on the way as well', () => {
  const target = make('target', 0o700);
  mkdirSync(join(target, 'state'), { mode: 0o700 });
  const link = join(root, 'link');
  symlinkSync(target, link);
  lchownSync(link, SOMEBODY, SOMEBODY);
  for (const path of [link, join(link, 'state'), join(link, 'later')])
    expect(findStateDirectoryProblem(path)?.message).toContain(`belongs to another user (${SOMEBODY})`);
});

test('refuses a link that others could replace', () => {
  const open = make('open', 0o777);
  const link = join(open, 'link');
  symlinkSync(make('target', 0o700), link);
  for (const path of [link, join(link, 'later')])
    expect(findStateDirectoryProblem(path)?.message).toBe(
      `The state directory ${path} can be replaced by others: anybody can write in ${open}.`,
    );
});

test('refuses a link to such a link', () => {
  const open = make('open', 0o777);
  symlinkSync(make('target', 0o700), join(open, 'link'));
  const path = join(root, 'first');
  symlinkSync(join('open', 'link'), path);
  expect(findStateDirectoryProblem(path)?.message).toContain(`anybody can write in ${open}`);
});

test('takes a link of its own below a shared directory with the sticky bit', () => {
  const link = join(make('shared', 0o1777), 'link');
  symlinkSync(make('target', 0o700), link);
  expect(findStateDirectoryProblem(link)).toBeUndefined();
});

test.skipIf(cannotGive)(
  'refuses one in a directory of another user, also through a link or yet to be made',
  () => {
    const theirs = make('theirs', 0o755);
    mkdirSync(join(theirs, 'state'), { mode: 0o700 });
    chownSync(theirs, SOMEBODY, SOMEBODY);
    const link = join(root, 'link');
    symlinkSync(join(theirs, 'state'), link);
    for (const path of [join(theirs, 'state'), join(theirs, 'later'), link])
      expect(findStateDirectoryProblem(path)?.message).toBe(
        `The state directory ${path} can be replaced by others: ${theirs} belongs to another user (${SOMEBODY}).`,
      );
  },
);

test.each<[string, number, number, boolean]>([
  ['anybody can write', 0o755, 0o777, true],
  ['the group can write, of a group that can enter', 0o710, 0o770, true],
  ['anybody could write, if they could enter', 0o700, 0o777, false],
  ['its owner alone writes', 0o755, 0o755, false],
])('an entry that %s (%s, %s): refused is %s', (_, mode, inner, isRefused) => {
  const path = make('state', 0o700);
  const entry = make('state/audit', inner);
  chmodSync(path, mode);
  expect(findStateDirectoryProblem(path)?.message).toBe(
    isRefused ? `${entry} in the state directory can be written by others.` : undefined,
  );
});

test.skipIf(cannotGive)('an entry of another user is refused', () => {
  const path = make('state', 0o700);
  const entry = make('state/audit', 0o700);
  chownSync(entry, SOMEBODY, SOMEBODY);
  expect(findStateDirectoryProblem(path)?.message).toBe(
    `${entry} in the state directory belongs to another user (${SOMEBODY}).`,
  );
});

test.skipIf(cannotGive).each<[string, number, number, string | undefined]>([
  ['a group of others', SOMEBODY, 0o775, `the group ${SOMEBODY} can write in`],
  ['a group of others with setgid', SOMEBODY, 0o2775, `the group ${SOMEBODY} can write in`],
  ['a group of others, and nobody else can enter', SOMEBODY, 0o770, `the group ${SOMEBODY} can write in`],
  ['a group of others and anybody', SOMEBODY, 0o777, 'anybody can write in'],
  ['a group of others with the sticky bit', SOMEBODY, 0o1775, undefined],
  ['the group of its owner alone', userInfo().gid, 0o775, undefined],
  ['its owner alone', SOMEBODY, 0o755, undefined],
])('one in a directory that %s can write (%i, %o): %s', (_, group, mode, problem) => {
  const parent = make('parent', 0o700);
  mkdirSync(join(parent, 'state'), { mode: 0o700 });
  chownSync(parent, process.getuid?.() ?? 0, group);
  chmodSync(parent, mode);
  for (const name of ['state', 'later']) {
    const path = join(parent, name);
    const found = findStateDirectoryProblem(path);
    expect(found?.message).toBe(
      problem && `The state directory ${path} can be replaced by others: ${problem} ${parent}.`,
    );
    const change = mode === 0o777 ? 'o-w' : 'g-w';
    expect(found?.hint.startsWith(`Run \`chmod ${change} ${parent}\``)).toBe(problem && true);
  }
});
