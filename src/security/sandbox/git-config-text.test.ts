import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../../test/setup/needs.ts';
import { type ConfigEntry, parseGitConfig } from './git-config-text.ts';

describe('a git configuration', () => {
  const value = (text: string): ConfigEntry[] => [
    { section: 'core', subsection: undefined, key: 'hookspath', value: text },
  ];

  test.for<[string, string]>([
    ['[core]\n\thooksPath = x', 'x'],
    ['[CORE]\n  HooksPath=x', 'x'],
    ['[core] hooksPath = x', 'x'],
    ['[core]hooksPath=x', 'x'],
    ['[core]\r\n\thooksPath = x\r\n', 'x'],
    ['[core]\rhooksPath = x', 'x'],
    ['\uFEFF[core]\nhooksPath = x', 'x'],
    ['[core]\nhooksPath = "a b"  # comment', 'a b'],
    ['[core]\nhooksPath = a"; b"c ; comment', 'a; bc'],
    ['[core]\nhooksPath = a\\\nb', 'ab'],
    ['[core]\nhooksPath = a\\\r\nb', 'ab'],
    ['[core]\nhooksPath = "a\\\n  b"', 'a  b'],
    ['[core]\nhooksPath = "a\\"b\\\\c"', 'a"b\\c'],
    ['[core]\nhooksPath = a\0b', 'a'],
    ['[user] [core] hooksPath = x', 'x'],
    ['[core]\n# was C:\\hooks\\\nhooksPath = x', 'x'],
    ['[core]\n; was C:\\hooks\\\nhooksPath = x', 'x'],
    ['[user] # C:\\\n[core]\nhooksPath = x', 'x'],
    ['; comment\n# comment\n[core]\nhooksPath = x   ', 'x'],
    // A name ends where a zero is.
    ['[core "hooksPath\0"]\nx = x', 'x'],
    // Git stops there, and goes on once a person has repaired it.
    ['[core]\nname = "x\nhooksPath = x', 'x'],
    ['[core]\nname = C:\\x\nhooksPath = x', 'x'],
    ['[user\n[core]\n? = x\nhooksPath = x', 'x'],
  ])('%j has one entry', ([text, expected]) => {
    expect(parseGitConfig(text)).toEqual(value(expected));
  });

  test.for<[string, readonly string[]]>([
    ['[a]\nname = C:\\\\\n[core]\nhooksPath = x', ['a.name=C:\\', 'core.hookspath=x']],
    ['[a]\nname = x # C:\\\n[core]\nhooksPath = x', ['a.name=x', 'core.hookspath=x']],
    ['[a]\nb\nc =\nd', ['a.b=', 'a.c=', 'a.d=']],
    ['[a "B c"]\nd = 1\n[A.B]\nd = 2\n[a "x\\"y\\\\z"]\nd = 3', ['a.B c.d=1', 'a.b.d=2', 'a.x"y\\z.d=3']],
    ['[a "b.c"]\nd = 1', ['a.b.c.d=1']],
    ['a = b', ['a=b']],
    ['\0\u0001[[[\n]]=', []],
    ['', []],
  ])('%j', ([text, expected]) => {
    expect(parseGitConfig(text).map(shown)).toEqual(expected);
  });

  test('of any shape is read in linear time', () => {
    for (const part of ['[', '"', '\\', '[a "', 'a="', 'a=\\', '[a]a', '#', 'a', ' ', '\r']) {
      const startMs = performance.now();
      parseGitConfig(part.repeat(200_000));
      expect(performance.now() - startMs, JSON.stringify(part)).toBeLessThan(5000);
    }
  });
});

describe.skipIf(needs('git'))('git reads the same', () => {
  /** Pieces of which hostile files are made. */
  const PIECES = (
    '[core]·[CORE]·[a.b]·[A "b c"]·[a "x\\"]"]·[a "\\\\"]·[ a]·[]·[a·[a "·[a ""]·key·Key-2·hooksPath·k·9·-·=· = ·\t=\t·==·' +
    'value·C:\\·\\\\·\\n·\\t\\b·\\x·\\"·"·""·" # "·\'·#·;· # C:\\·; x\\· ·  ·\t·\r·\n·\n·\n·\r\n·\\\n·\\\r\n·\\\r·\uFEFF·\v·\0·]·.·,·é·' +
    '\nhooksPath = .githooks\n·\n[core]\n'
  ).split('·');
  const FILES = 400;

  test('in a corpus of hostile files, up to where it stops', () => {
    const directory = mkdtempSync(join(tmpdir(), 'config-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const random = createRandom(20_240_607);
    const different: unknown[] = [];
    let whole = 0;
    for (let index = 0; index < FILES; index++) {
      const start = ['', '[core]\n', '[a "b"]\nk = '][index % 3] ?? '';
      const length = 1 + (index % 24);
      const text = start + Array.from({ length }, () => PIECES[random(PIECES.length)]).join('');
      const file = join(directory, `${index}`);
      writeFileSync(file, text);
      const { status, stdout } = spawnSync('git', ['config', '--file', file, '--list', '-z'], {
        encoding: 'utf8',
      });
      const expected = stdout.split('\0').slice(0, -1).map(plain);
      const all = parseGitConfig(text).map((entry) => plain(`${nameOf(entry)}\n${entry.value}`));
      if (status === 0) whole++;
      const found = status === 0 ? all : all.slice(0, expected.length);
      if (JSON.stringify(found) !== JSON.stringify(expected)) different.push({ text, expected, all });
    }
    expect(different).toEqual([]);
    expect(whole).toBeGreaterThan(FILES / 8);
  });

  /** Without what the versions of git differ in: the kind of spaces inside a value, and what is there of nothing. */
  const plain = (entry: string): string =>
    (entry.includes('\n') ? entry : `${entry}\n`)
      .replaceAll(/[ \t\r]/g, ' ')
      .replace(/^\./, '')
      .trimEnd();
});

const nameOf = ({ section, subsection, key }: ConfigEntry): string =>
  [section, subsection, key]
    .filter((part) => part !== undefined)
    .join('.')
    .replace(/^\./, '');

const shown = (entry: ConfigEntry): string => `${nameOf(entry)}=${entry.value}`;

/** Of a seed, so that each run has the same files. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
