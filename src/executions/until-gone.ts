/** Waits for the end of a process that is sure to come, or has come. */
import { setTimeout as sleep } from 'node:timers/promises';
import { findProcess, isAlive, type ProcessIdentity } from './process-table.ts';

/**
 * The kernel ends what is in a namespace by itself; an answer should not come before that is done. A zombie counts as
 * ended: without the forker its parent is the machine's first process, which may never reap it.
 */
export const untilEnded = (init: ProcessIdentity | undefined): Promise<void> =>
  until(() => init === undefined || !isAlive(init));

/** A child of the forker or of this server, whose number is taken until then. */
export const untilReaped = ({ pid, startTime }: ProcessIdentity): Promise<void> =>
  until(() => findProcess(pid)?.startTime !== startTime);

/**
 * Whether it has ended by itself, asked when a time is over; `ending` comes with its end. Where this process was stopped
 * (by a signal, or with its container) or did not get its turn, its timers come before it hears of an end that was in time.
 */
export async function hasEndedByItself(
  { leader }: { readonly leader: ProcessIdentity },
  ending: Promise<unknown>,
  hurry: () => void = () => undefined,
): Promise<boolean> {
  if (isAlive(leader)) return false;
  hurry();
  const noted = ending.then(
    () => true,
    () => true,
  );
  return Promise.race([noted, sleep(HEARD_MS, false, { ref: false })]);
}

/** What has ended is heard of at once. Not so where a process of another user cannot be seen: then the time counts. */
const HEARD_MS = 2000;

async function until(isGone: () => boolean): Promise<void> {
  const deadline = performance.now() + EMPTY_MS;
  for (let looks = 0; !isGone() && performance.now() < deadline; looks++)
    // Nearly always it takes less than the shortest sleep.
    await (looks < QUICK_LOOKS ? new Promise((resolve) => setImmediate(resolve)) : sleep(1));
}

const EMPTY_MS = 1000;
const QUICK_LOOKS = 20;
