/**
 * The vocabulary of the project: terms that were retired because readers had to learn them. Each row has a pattern and the
 * term to use instead.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from './support/root.ts';

const RETIRED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b[Ww]all(s|ed)?\b/, 'sandbox'],
  [/[Ee]nclos(e|ed|es|ing|ure)/, 'sandbox'],
  [/\b[Ff]enc(e|es|ed)\b/, 'policy'],
  [/\b[Bb]uilt ahead\b/, 'prebuilt'],
  [/\bcanBeTold\b|\b[Tt]elling\b|\b([Tt]old|[Tt]ells) of\b/, 'hand off, report, call with'],
  [/\b[Rr]ooms\b/, 'modules'],
  [/\b[Dd]oors?\b/, 'entry point'],
  [/\b[Kk]eepers?\b|\b[Kk]ept by\b/, 'enforced by'],
  [/\b[Ss]trangers?\b/, 'unauthenticated client'],
  [/[Cc]rowd|[Dd]oorkeeper|\b[Tt]urn(s|ed)? away\b/, 'connection limit, denial log, denied'],
  [/\b[Ww]hoever\b|\b[Ss]omebody\b/, 'name the subject: client, caller, operator, process'],
  [/\bin front\b/, 'foreground'],
  [/\bsomething secret\b/, 'password prompt'],
  [/\bto be had\b/, 'available'],
  [/\bgot past\b/, 'escaped'],
  [/\bwants a (bearer )?token\b/, 'requires a token'],
  [/\bSPEC\b|(?<![\d,.+-])\b00[0-4]('s)?\b(?! \/|[\d.,])/, 'what it is compatible with'],
];

/** `chmod 000` is a command, `002` a umask, and wall time the field’s own term. */
const EXEMPT = /chmod (-R )?000|umask 002|gcc -Wall|Wall time/;

const documents = [
  'README.md',
  'SECURITY.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...filesIn('docs', '.md'),
];
const sources = filesIn('src', '.ts');

test('no retired term is in the sources and documents', () => {
  const found = [...documents, ...sources].flatMap((path) =>
    readFileSync(join(ROOT, path), 'utf8')
      .split('\n')
      .flatMap((line, index) => problemsOf(line).map((instead) => `${path}:${index + 1}: write ${instead}`)),
  );
  expect(found).toEqual([]);
});

test('no retired term is in the name of a file', () => {
  const named = [...documents, ...sources].filter((path) =>
    /wall|enclos|crowd|doorkeeper|keepers|telling|ahead/.test(path),
  );
  expect(named).toEqual([]);
});

test('no two source files have the same name', () => {
  const names = sources.filter((path) => !path.endsWith('.test.ts')).map((path) => basename(path));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describe('the list finds', () => {
  test.each([
    'The command runs behind a wall.',
    'Limits are kept by: memory measured',
    'whoever calls it',
    'it opens the door',
    'as SPEC says',
    'the words of 001',
    "004's own names",
    'in front: python3',
  ])('%s', (line) => {
    expect(problemsOf(line)).not.toEqual([]);
  });

  test.each(['10,000 executions', '0.001 seconds', 'chmod 000 /', 'swallow', 'gcc -Wall a.c', 'mushroom'])(
    'nothing in %s',
    (line) => {
      expect(problemsOf(line)).toEqual([]);
    },
  );
});

function problemsOf(line: string): string[] {
  if (EXEMPT.test(line)) return [];
  return RETIRED.filter(([pattern]) => pattern.test(line)).map(([, instead]) => instead);
}

function filesIn(directory: string, ending: string): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => join(directory, path));
}
