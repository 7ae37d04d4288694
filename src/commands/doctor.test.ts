import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pathOf, renderFindings, stateDirectory } from './doctor.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'doctor-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('PATH is examined to its end, whatever an entry of it is', () => {
  const at = (name: string): string => join(directory, name);
  symlinkSync(at('loop'), at('loop'));
  writeFileSync(at('file'), '');
  mkdirSync(at('open'));
  chmodSync(at('open'), 0o777);
  const entries = [
    at('loop'),
    at('missing'),
    at('file'),
    join(at('file'), 'below'),
    `/${'x'.repeat(300)}`,
    `${at('nul')}\0`,
    '',
    'relative',
    at('open'),
  ];
  const findings = pathOf(entries.join(':')).slice(1);
  const stateOf = (entry: string) => findings.find(({ text }) => text.startsWith(`${entry} `))?.state;
  expect(entries.map(stateOf)).toEqual([
    'warning',
    undefined,
    undefined,
    undefined,
    'warning',
    'warning',
    'warning',
    'warning',
    'problem',
  ]);
});

test.skipIf(process.getuid?.() === 0)('a directory that may not be entered is named', () => {
  const shut = join(directory, 'shut');
  mkdirSync(join(shut, 'bin'), { recursive: true });
  chmodSync(shut, 0o000);
  try {
    expect(pathOf(join(shut, 'bin'))).toMatchObject([{}, { state: 'warning', text: /EACCES/ }]);
  } finally {
    chmodSync(shut, 0o700);
  }
});

test.skipIf(process.getuid?.() !== 0).each([
  ['size=64k', 'no space left'],
  ['nr_inodes=20', 'no room for more files (inodes)'],
  ['size=4m,nr_inodes=200', undefined],
  // The number of inodes is not limited.
  ['size=4m,nr_inodes=0', undefined],
])('a disk with %s has %s', (options, missing) => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `mode=700,${options}`, 'tmpfs', directory]);
  try {
    const { state, text } = stateDirectory({ stateDir: directory });
    expect({ state, text }).toEqual(
      missing === undefined
        ? { state: 'good', text: directory }
        : { state: 'problem', text: `the disk of ${directory} has ${missing}` },
    );
  } finally {
    execFileSync('umount', ['-l', directory]);
  }
});

test('a path can neither move the cursor nor run backwards', () => {
  const text = '/some/\u202egpj.sh\u009b2J\u0085\u2066\u2028\u007f\n';
  expect(renderFindings([{ name: 'path', state: 'warning', text, fix: text }])).toBe(
    ['warn  path  ', '            -> ']
      .map((before) => `${before}/some/\\u{202e}gpj.sh\\x9b2J\\x85\\u{2066}\\u{2028}\\x7f\\n\n`)
      .join('')
      .concat('\n0 problems, 1 warning\n'),
  );
});

test('findings fit into 80 columns, one beside the other', () => {
  const path = Array.from({ length: 12 }, (_, at) => `/usr/local/directory-${at}/bin`).join(':');
  const shown = renderFindings(
    [
      { name: 'path', state: 'good', text: path },
      { name: 'client claude-code', state: 'warning', text: 'word '.repeat(40).trim(), fix: 'Install it.' },
    ],
    80,
  );
  const lines = shown.split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines[0]).toMatch(/^ok {4}path {16}\/usr\/local\/directory-0/);
  expect(lines.filter((line) => line.startsWith('warn  client claude-code  word'))).toHaveLength(1);
  expect(lines).toContain(`${' '.repeat(26)}-> Install it.`);
  expect(shown.replaceAll(/\n +/g, '')).toContain(path);
  expect(shown.endsWith('\n\n0 problems, 1 warning\n')).toBe(true);
});
