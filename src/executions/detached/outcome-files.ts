/**
 * The files in a bundle by which the server and the process that holds an execution for it, a wrapper or terminal host, know
 * how it ends. The host loads nothing more than this for them: it starts while a caller waits.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { writeFileWhole } from '../../base/files.ts';
import { randomText } from '../../base/ids.ts';
import { CAUSES, type Cause, END_SIGNALS, type EndSignal, judge } from '../ending.ts';
import type { Outcome } from '../record.ts';
import type { Exit } from '../spawner.ts';

export const OUTCOME = 'outcome.json';
const CAUSE = 'cause';
const RESERVE = 'outcome.reserve';

/** Takes the room that the outcome will need, so that a disk that fills up meanwhile cannot swallow it. */
export function reserveOutcome(bundle: string): void {
  writeFileWhole(join(bundle, RESERVE), ' '.repeat(16 * 1024));
}

/** A server that ended the tree wrote its cause first; seen from where it is held the process died by a signal. */
export function leaveOutcome(bundle: string, ended: Outcome): Outcome {
  const { cause, signal: claimed } = readCause(bundle);
  const { exitCode, signal } = ended;
  const exit: Exit =
    claimed === undefined
      ? { code: exitCode ?? null, signal: (signal as NodeJS.Signals | undefined) ?? null }
      : { code: null, signal: claimed };
  // What was ended from here (a limit) is judged already.
  const isOurs = ended.reason !== 'exit' && ended.reason !== 'signal';
  const outcome = cause === undefined || isOurs ? ended : { ...ended, ...judge(exit, cause) };
  try {
    rmSync(join(bundle, RESERVE), { force: true });
    writeFileWhole(join(bundle, OUTCOME), JSON.stringify(outcome));
  } catch {
    // The bundle was collected, or the disk refuses even what was reserved: then it is lost when its holder has gone.
  }
  return outcome;
}

/**
 * The first to write its cause wins; the file cannot be created twice. What is returned withdraws the claim. With a signal,
 * that is how it ended, whatever it made of it: each interactive shell exits with another number, and fish with several.
 */
export function claimCause(bundle: string, cause: Cause, signal?: EndSignal): string {
  const claim = `${cause} ${randomText()} ${signal ?? ''}`;
  try {
    writeFileSync(join(bundle, CAUSE), claim, { flag: 'wx', mode: 0o600 });
  } catch {
    // Another process was first, or the bundle was collected.
  }
  return claim;
}

/** What was asked for did not happen; whatever ends it later is another cause. */
export function withdrawCause(bundle: string, claim: string): void {
  if (readText(join(bundle, CAUSE)) === claim) rmSync(join(bundle, CAUSE), { force: true });
}

function readCause(bundle: string): {
  readonly cause?: Cause | undefined;
  readonly signal?: EndSignal | undefined;
} {
  const [name, , sent] = readText(join(bundle, CAUSE))?.split(' ') ?? [];
  return {
    cause: CAUSES.find((cause) => cause === name),
    signal: END_SIGNALS.find((signal) => signal === sent),
  };
}

const readText = (path: string): string | undefined => attempt(() => readFileSync(path, 'utf8'));
