import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Place } from './product.ts';

export interface LongCommand {
  readonly text: string;
  hasStarted(): boolean;
  isRunning(): boolean;
}

/** A command that runs for hours; found again by a number that only it has, since its pid may be a sandbox's own. */
export function longCommand({ work }: Place, name: string): LongCommand {
  const seconds = `36${Math.random().toString().slice(2, 12)}`;
  const file = join(work, `${name.replaceAll(/\W/g, '-')}.pid`);
  return {
    text: `echo $$ > '${file}'; sleep ${seconds} & wait`,
    hasStarted: () => existsSync(file),
    isRunning: () => runsWith(`sleep ${seconds}`),
  };
}

/** Whether these words stand in the arguments of any process. */
export function runsWith(words: string): boolean {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).includes(words);
  // Ten times faster than `ps`, and asked often.
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && argumentsOf(name).includes(words));
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

export async function until(what: string, done: () => boolean, timeoutMs = 30_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!done()) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await sleep(20);
  }
}
