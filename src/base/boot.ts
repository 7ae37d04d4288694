/** Which boot of the machine this is, and deadlines that all processes of it agree on. */
import { readFileSync } from 'node:fs';
import { attempt } from './attempt.ts';
import { ticks } from './clock.ts';
import { once } from './once.ts';

/** Changes with every boot; undefined where the kernel does not tell it in a file (macOS). */
export const findBootId = once(() =>
  attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
);

/** A moment by a clock that nobody sets; another boot is after it. */
export interface Deadline {
  readonly boot?: string | undefined;
  readonly ticks: number;
}

export const deadlineIn = (ms: number): Deadline => ({ boot: findBootId(), ticks: ticks() + ms });

/** How long until then; 0 where it has passed. */
export const msUntil = (deadline: Deadline): number =>
  deadline.boot === findBootId() ? Math.max(0, deadline.ticks - ticks()) : 0;
