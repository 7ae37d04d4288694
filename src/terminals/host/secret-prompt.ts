/**
 * Whether a terminal shows a password prompt: its echo is off while whole lines are read, as getpass, `read -s` and
 * sudo do it. Programs that draw for themselves (readline, vim) read single keys instead.
 */
import { runHelper } from '../../executions/processes.ts';
import type { LineKeys } from '../protocol.ts';

export type LineMode = NonNullable<Awaited<ReturnType<typeof readLineMode>>>;

/** Undefined where it cannot be told. */
export async function readLineMode(path: string) {
  const argv = ['/bin/stty', process.platform === 'linux' ? '-F' : '-f', path, '-a'];
  const said = await runHelper({ argv, environment: { LC_ALL: 'C' } }).catch(() => undefined);
  if (said?.code !== 0) return undefined;
  const words = said.stdout.split(/[\s;]+/);
  return {
    echoes: words.includes('echo'),
    /** Input is handed over line by line. */
    isByLine: words.includes('icanon'),
    /** By which such a line is edited. */
    keys: keysIn(said.stdout, words),
  };
}

/** With a letter as Backspace, other lines are typed than it looks; another Ctrl-D hands over a line that has no end. */
function keysIn(said: string, words: readonly string[]): LineKeys {
  const keys = [...said.matchAll(/\b(\w+) = (\S+);/g)].map(([, name = '', key = '']) => ({ name, key }));
  const isControl = keys.every(
    ({ name, key }) =>
      UNSET.test(key) || (/^\^.$/.test(key) && !name.startsWith('eol') && (name !== 'eof' || key === '^D')),
  );
  const endsLines =
    ['isig', 'icrnl'].every((word) => words.includes(word)) &&
    !['igncr', 'inlcr', 'istrip', 'iuclc'].some((word) => words.includes(word));
  if (!isControl || !endsLines) return 'changed';
  return keys.every(({ name, key }) => (USUAL_KEYS[name] ?? key) === key) ? 'usual' : 'unusual';
}

/** Numbers are how many bytes and how long, and none of the keys. */
const UNSET = /^(?:<undef>|M-\^\?|\d+)$/;
const USUAL_KEYS: Readonly<Record<string, string>> = {
  intr: '^C',
  erase: '^?',
  kill: '^U',
  eof: '^D',
  werase: '^W',
  lnext: '^V',
};

export const asksForSecret = (mode: LineMode | undefined): boolean =>
  mode !== undefined && !mode.echoes && mode.isByLine;
