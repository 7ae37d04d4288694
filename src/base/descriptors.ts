/** Descriptors that the parent of this program forgot to close: they would be open in every command too. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { attempt } from './attempt.ts';

const CLOSE_ON_EXEC = 0o2000000;

/** Everything Node opens is closed when another program is executed; what is not was here before. Linux only. */
export function closeInherited(): void {
  for (const name of attempt(() => readdirSync('/proc/self/fd')) ?? []) {
    const fd = Number(name);
    if (fd <= 2) continue;
    // The one that listed the directory is gone by now.
    attempt(() => {
      const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(fd);
    });
  }
}
