/** The server and those it was started by: no command may end them. */
import { readFileSync } from 'node:fs';
import { findProcess } from './process-table.ts';

export interface OwnProcess {
  readonly pid: number;
  readonly name: string;
  readonly commandLine?: string;
}

/** As many as matter: the client, and what the client was started by. */
const MAX = 6;
let known: readonly OwnProcess[] | undefined;

/** Looked up once: whom a process descends from does not change while they live. */
export function ownProcesses(): readonly OwnProcess[] {
  return (known ??= find());
}

function find(): OwnProcess[] {
  const found: OwnProcess[] = [];
  for (let pid = process.pid; pid > 0 && found.length < MAX; ) {
    const entry = findProcess(pid);
    if (entry === undefined) break;
    const commandLine = readCommandLine(pid);
    found.push({ pid, name: entry.name, ...(commandLine !== undefined && { commandLine }) });
    pid = entry.parentPid;
  }
  return found;
}

function readCommandLine(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return undefined;
  }
}
