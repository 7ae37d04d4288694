/** Small phrases that several answers share. */
import type { Outcome, SessionChange } from '../executions/executions.ts';

export function describeDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1).replace(/\.0$/, '')} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function describeBytes(bytes: number): string {
  if (bytes < 10_000) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export const toMegabytes = (bytes: number): number => Math.round((bytes / 1024 / 1024) * 10) / 10;

export function listProcesses(processes: readonly { pid: number; name: string }[]): string {
  return listFew(processes.map(({ pid, name }) => `${name} (${pid})`));
}

/** For the fields of an answer. */
export function survivorsOf(outcome: Outcome | undefined) {
  const survivors = outcome?.survivors.map(({ pid, name }) => ({ process_id: pid, name })) ?? [];
  return survivors.length === 0 ? undefined : survivors;
}

function listFew(texts: readonly string[]): string {
  const rest = texts.length - 10;
  return texts.slice(0, 10).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

export function describeLostSession(sessionId: string, directory: string): string {
  return `Session ${sessionId} was used before, but its directory and variables are gone: the server was restarted, or forgot it over many others. This began in ${directory}.`;
}

export function describeSession(
  sessionId: string | undefined,
  change: SessionChange | 'nothing' | undefined,
  wasLetGo: boolean,
): string | undefined {
  if (sessionId === undefined) return undefined;
  if (wasLetGo)
    return `Nothing of it is carried over to session ${sessionId}, because it goes on in the background.`;
  if (change === undefined) return undefined;
  if (change === 'nothing') {
    return `Session ${sessionId} is unchanged: the shell left no state behind (it was replaced by exec, was killed, or has a trap on EXIT of its own).`;
  }
  const parts = [
    change.directory === undefined ? '' : `working directory ${change.directory}`,
    change.set.length === 0 ? '' : `set ${listFew(change.set)}`,
    change.unset.length === 0 ? '' : `unset ${listFew(change.unset)}`,
    change.notCarried.length === 0 ? '' : `not carried: ${listFew(change.notCarried)}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? undefined : `Session ${sessionId}: ${parts.join('; ')}.`;
}
