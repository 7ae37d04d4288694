/**
 * Whether a terminal shows a password prompt: its echo is off while whole lines are read, as getpass, `read -s` and
 * sudo do it. Programs that draw for themselves (readline, vim) read single keys instead.
 */
import { runHelper } from '../../executions/processes.ts';
import type { LineKeys } from '../protocol.ts';

export interface LineMode {
  readonly echoes: boolean;
  /** Input is handed over line by line. */
  readonly isByLine: boolean;
  /** By which such a line is edited. */
  readonly keys: LineKeys;
}

/** Undefined where it cannot be told. */
export async function readLineMode(path: string): Promise<LineMode | undefined> {
  try {
    const flag = process.platform === 'linux' ? '-F' : '-f';
    const { code, stdout } = await runHelper({
      argv: ['/bin/stty', flag, path, '-a'],
      environment: { LC_ALL: 'C' },
    });
    if (code !== 0) return undefined;
    const words = stdout.split(/[\s;]+/);
    return {
      echoes: words.includes('echo'),
      isByLine: words.includes('icanon'),
      keys: keysIn(stdout, words),
    };
  } catch {
    return undefined;
  }
}

/** With a letter as Backspace, other lines are typed than it looks. */
function keysIn(said: string, words: readonly string[]): LineKeys {
  const keys = [...said.matchAll(/\b(\w+) = (\S+);/g)].map(([, name = '', key = '']) => ({ name, key }));
  const isControl = keys.every(
    ({ name, key }) => UNSET.test(key) || (/^\^.$/.test(key) && !name.startsWith('eol')),
  );
  const endsLines =
    ['isig', 'icrnl'].every((word) => words.includes(word)) &&
    !['igncr', 'inlcr', 'istrip', 'iuclc'].some((word) => words.includes(word));
  if (!isControl || !endsLines) return 'changed';
  return keys.every(({ name, key }) => (USUAL_KEYS[name] ?? key) === key) ? 'usual' : 'unusual';
}

/** Numbers are how many bytes and how long, and none of the keys. */
const UNSET = /^(?:<undef>|M-\^\?|\d+)$/;
const USUAL_KEYS: Readonly<Record<string, string>> = { intr: '^C', erase: '^?', kill: '^U' };

export const asksForSecret = (mode: LineMode | undefined): boolean =>
  mode !== undefined && !mode.echoes && mode.isByLine;
