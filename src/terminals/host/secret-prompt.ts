/**
 * Whether a terminal asks for something secret: its echo is off while whole lines are read, as getpass, `read -s` and
 * sudo do it. Programs that draw for themselves (readline, vim) read single keys instead.
 */
import { runHelper } from '../../executions/processes.ts';

export interface LineMode {
  readonly echoes: boolean;
  /** Input is handed over line by line. */
  readonly isByLine: boolean;
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
    return { echoes: words.includes('echo'), isByLine: words.includes('icanon') };
  } catch {
    return undefined;
  }
}

export const asksForSecret = (mode: LineMode | undefined): boolean =>
  mode !== undefined && !mode.echoes && mode.isByLine;
