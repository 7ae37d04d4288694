/** The server and those it was started by: no command may end them. */
import { readFileSync } from 'node:fs';
import { attempt } from '../base/attempt.ts';
import { once } from '../base/once.ts';
import { ancestorsOf } from './orphans.ts';
import { findProcess } from './process-table.ts';

/** As many as matter: the client, and what the client was started by. */
const MAX = 6;

/** Looked up once: whom a process descends from does not change while they live. */
export const ownProcesses = once(() =>
  [process.pid, ...ancestorsOf(process.pid)].slice(0, MAX).flatMap((pid) => {
    const entry = findProcess(pid);
    const commandLine = attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      ?.replaceAll('\0', ' ')
      .trim();
    return entry === undefined
      ? []
      : [{ pid, name: entry.name, ...(commandLine !== undefined && { commandLine }) }];
  }),
);
