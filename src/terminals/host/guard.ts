/**
 * The program guard: input is only sent while the program that it was meant for is in the foreground. Of a pipeline, the leader
 * or the process that reads the terminal counts.
 */
import { realpathSync } from 'node:fs';
import { attempt } from '../../base/attempt.ts';
import type { FrontProcess } from './foreground.ts';

export type GuardTarget =
  | { readonly kind: 'any' }
  | { readonly kind: 'pid'; readonly pid: number }
  | { readonly kind: 'shell' }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'name'; readonly name: string };

/** Undefined where it says nothing. */
export function readGuard(text: string): GuardTarget | undefined {
  const target = text.trim();
  if (target === '*') return { kind: 'any' };
  if (target === 'sessionleader:' || target === 'loginshell:') return { kind: 'shell' };
  const pid = /^pid:(\d{1,10})$/.exec(target)?.[1];
  if (pid !== undefined) return { kind: 'pid', pid: Number(pid) };
  if (target === '' || /^\w+:/.test(target)) return undefined;
  return target.includes('/') ? { kind: 'path', path: target } : { kind: 'name', name: target };
}

/** `shell` is the terminal's own first process. */
export const passesGuard = (target: GuardTarget, front: readonly FrontProcess[], shell: number): boolean =>
  target.kind === 'any' || front.some((process) => matches(target, process, shell));

function matches(
  target: Exclude<GuardTarget, { kind: 'any' }>,
  process: FrontProcess,
  shell: number,
): boolean {
  switch (target.kind) {
    case 'pid':
      return process.pid === target.pid;
    case 'shell':
      return process.pid === shell;
    case 'path':
      return (
        process.path !== undefined &&
        (attempt(() => realpathSync(target.path)) ?? target.path) === process.path
      );
    case 'name':
      return [process.name, process.calledAs].some(
        (name) => name !== undefined && (name === target.name || isCutName(name, target.name)),
      );
  }
}

/** The kernel keeps 15 characters. */
const isCutName = (name: string, wanted: string): boolean => name.length === 15 && wanted.startsWith(name);
