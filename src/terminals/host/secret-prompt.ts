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
  const isByLine = words.includes('icanon');
  const keys = [...said.matchAll(/\b(\w+) = (\S+);/g)]
    .map(([, name = '', key = '']) => ({ name, key }))
    .filter(({ name }) => isByLine || TAKEN_OVER.has(name));
  const isControl = keys.every(
    ({ name, key }) =>
      UNSET.test(key) ||
      (/^\^[^JM]$/.test(key) && !name.startsWith('eol') && (name !== 'eof' || key === USUAL_KEYS['eof'])),
  );
  const endsLines =
    ['isig', 'icrnl'].every((word) => words.includes(word)) &&
    !['igncr', 'inlcr', 'istrip', 'iuclc'].some((word) => words.includes(word));
  if (!isControl || (isByLine && !endsLines)) return 'changed';
  const isUsual = ({ name, key }: (typeof keys)[number]): boolean =>
    (USUAL_KEYS[name] ?? key) === key || (!isByLine && UNSET.test(key));
  return keys.every(isUsual) ? 'usual' : 'unusual';
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
/** By a line editor, as it begins to read. */
const TAKEN_OVER: ReadonlySet<string> = new Set(['erase', 'kill', 'werase', 'lnext']);

export const asksForSecret = (mode: LineMode | undefined): boolean =>
  mode !== undefined && !mode.echoes && mode.isByLine;
