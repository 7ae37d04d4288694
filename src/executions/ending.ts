/**
 * How an execution ends: once, by the first cause, with everything it started gone and everything it printed on disk.
 * Shared by the server and the wrapper of a detached execution.
 */
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ticks } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import type { Capture } from './capture.ts';
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { type KeptMounts, watchMounts } from './mount-watch.ts';
import type { ProcessEntry } from './process-table.ts';
import type { Outcome } from './record.ts';
import type { Exit } from './spawner.ts';
import { type Survivor, terminateTree } from './terminate.ts';
import type { ProcessTree } from './tree.ts';
import { hasEndedByItself, untilReaped } from './until-gone.ts';
import { startUseMeter } from './use-meter.ts';
import { rounds, startWatchdog } from './watchdog.ts';

/** Why it was ended; without one it ended by itself. */
export const CAUSES = [
  'timeout',
  'terminated',
  'server_shutdown',
  'memory_limit',
  'cpu_limit',
  'protection_lost',
] as const;
export type Cause = (typeof CAUSES)[number];

export const END_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const;
export type EndSignal = (typeof END_SIGNALS)[number];

export type Ending = ReturnType<typeof createEnding>;

/** Left-overs of a shell that ended by itself: nobody waits for them, so they get a short time to clean up. */
const LEFTOVERS = { signal: 'SIGTERM', graceMs: 300 } as const;

/** Node hears of a death a moment after it can be seen in /proc. */
const EXIT_AFTER_LADDER_MS = 1000;

/** A process with its output. */
type Captured = Pick<Capture, 'drain' | 'close' | 'pipeLinks'> & { readonly exited: Promise<Exit> };

interface EndingOptions {
  readonly memoryLimitBytes: number | undefined;
  /** Of each process, where it was started with one. */
  readonly dataLimitBytes?: number | undefined;
  /** Of the whole tree, however many processors it uses. */
  readonly cpuLimitSeconds?: number | undefined;
  /** In a terminal, where an interactive shell ignores TERM: it is ended as when its window is closed. */
  readonly isTerminal?: boolean;
  /** From now on. */
  readonly timeoutMs?: number | undefined;
  /** Where it keeps the memory limit, that one counts and nothing is measured. */
  readonly group?: ExecutionGroup | undefined;
  /** Ended at once where one of these is lost. */
  readonly kept?: KeptMounts | undefined;
  /** By `ticks`; absent: now. */
  readonly beganTicks?: number;
  now(): number;
}

export function createEnding(capture: Captured, tree: ProcessTree, options: EndingOptions) {
  const polite = options.isTerminal === true ? 'SIGHUP' : 'SIGTERM';
  const { memoryLimitBytes, dataLimitBytes, cpuLimitSeconds, timeoutMs, group, kept } = options;
  const limits = { memoryLimitBytes, cpuLimitSeconds, group };
  const { beganTicks = ticks(), now } = options;
  let cause: Cause | undefined;
  let requests = 0;
  const ladder = createLadder(tree, capture.exited);

  const watchdog = startWatchdog(tree, limits, (limit) => {
    void endByLimit(limit, limit === 'memory_limit' ? 'SIGKILL' : polite);
  });
  const useMeter = startUseMeter(tree, rounds, limits);
  const timer = startTimer(timeoutMs, () => void endByLimit('timeout'));
  const mountWatch = kept && watchMounts(kept, rounds, () => void endByLimit('protection_lost', 'SIGKILL'));

  async function finish(): Promise<Outcome> {
    const exit = await Promise.race([capture.exited, ladder.isGivenUp]);
    clearTimeout(timer);
    const endedAtMs = now();
    const durationMs = ticks() - beganTicks;
    // What comes from here on finds it ended: it is nobody's cause any more.
    const { passed, peakMemoryBytes } = watchdog.conclude();
    const unprotected = mountWatch?.conclude() ?? [];
    const refusedForks = group?.limitHits().processes ?? 0;
    const used = useMeter.conclude(exit ?? undefined, peakMemoryBytes, refusedForks);
    const judgement = judge(exit, cause ?? passed ?? (requests > 0 ? 'terminated' : undefined));
    const left = await settleTree(capture, tree, ladder.current);
    if (requests > 0) await untilReaped(tree.leader);
    return {
      ...judgement,
      endedAtMs,
      durationMs,
      ...left,
      ...used,
      ...(refusedForks > 0 && { refusedForks }),
      ...(judgement.status === 'failed' && dataLimitBytes !== undefined && { dataLimitBytes }),
      ...(unprotected.length > 0 && { unprotected }),
    };
  }

  /** Ends the tree for this cause, and resolves when it is gone; a later cause changes nothing but may press harder (KILL). */
  function end(newCause: Cause, signal: EndSignal = polite): Promise<Survivor[]> {
    cause ??= newCause;
    return ladder.climb(signal);
  }

  /** Unless it has ended by itself. */
  async function endByLimit(limit: Cause, signal?: EndSignal): Promise<void> {
    if (!(await hasEndedByItself(tree, capture.exited))) await end(limit, signal);
  }

  const finished = finish();
  return {
    finished,
    end,
    /**
     * Sends one signal and waits a while for the end, which is then the caller's doing; what survives the signal goes on
     * as if nothing had been. True where the end came.
     */
    async request(signal: NodeJS.Signals, scope: 'tree' | 'leader', windowMs: number): Promise<boolean> {
      // A signal to the command alone is for the command to answer; how it then ends is its own doing.
      const isOurs = scope === 'tree' ? 1 : 0;
      requests += isOurs;
      return signalAndWait(tree, finished, { signal, scope, windowMs }).finally(() => {
        requests -= isOurs;
      });
    },
  };
}

const startTimer = (ms: number | undefined, onOver: () => void): NodeJS.Timeout | undefined =>
  ms === undefined ? undefined : setTimeout(onOver, Math.min(ms, LIMITS.timerMs));

/** The kill ladder, which is climbed once; only KILL may follow another signal. */
function createLadder(tree: ProcessTree, exited: Promise<Exit>) {
  let current: Promise<Survivor[]> | undefined;
  let announce: () => void = () => undefined;
  const began = new Promise<void>((resolve) => {
    announce = resolve;
  });
  return {
    current: () => current,
    /** A process that the kernel does not let go of must not keep the answer: then the ladder's end is the end. */
    isGivenUp: began.then(() => current).then(() => sleep(EXIT_AFTER_LADDER_MS, undefined, { ref: false })),
    climb(signal: EndSignal): Promise<Survivor[]> {
      if (current === undefined || signal === 'SIGKILL')
        current = Promise.all([terminateTree(tree, { signal, exited }), current]).then(
          async ([survivors]) => {
            // The outermost process of a sandbox reports its end a moment before that.
            if (survivors.length === 0) await untilReaped(tree.leader);
            return survivors;
          },
          () => killBlindly(tree),
        );
      announce();
      return current;
    },
  };
}

/** Ends what is left of the tree, reads the last of its output and closes it. */
async function settleTree(
  capture: Captured,
  tree: ProcessTree,
  ladder: () => Promise<Survivor[]> | undefined,
): Promise<Pick<Outcome, 'survivors' | 'endedLeftovers'>> {
  let leftovers: ProcessEntry[] = [];
  let survivors: Survivor[] = [];
  try {
    capture.drain();
    leftovers = ladder() === undefined ? await tree.leftovers() : [];
    // It may have begun meanwhile.
    const ended = ladder();
    if (ended !== undefined) survivors = await ended;
    else if (leftovers.length > 0) survivors = await terminateTree(tree, LEFTOVERS);
    capture.drain();
    // Named, not ended: that they are ours is likely and not certain.
    if (!tree.isComplete) survivors = [...survivors, ...(await tree.findSuspects(capture.pipeLinks))];
  } catch {
    // The process table could not be read (too many open files, say). The command itself has ended all the same.
  } finally {
    capture.close();
    tree.release();
  }
  const survived = new Set(survivors.map(({ pid }) => pid));
  const endedLeftovers = leftovers.filter(({ pid }) => !survived.has(pid)).map(nameOf);
  return { survivors: survivors.map(nameOf), endedLeftovers };
}

/** Also for a tree whose end another process reports. */
export async function signalAndWait(
  tree: ProcessTree,
  finished: Promise<unknown>,
  options: { signal: NodeJS.Signals; scope: 'tree' | 'leader'; windowMs: number },
): Promise<boolean> {
  if (options.scope === 'tree') await tree.signal(options.signal);
  else tree.signalLeader(options.signal);
  const timer = new AbortController();
  try {
    return await Promise.race([
      finished.then(() => true),
      sleep(options.windowMs, false, { signal: timer.signal }).catch(() => false),
    ]);
  } finally {
    timer.abort();
  }
}

const nameOf = ({ pid, name }: Survivor): Survivor => ({ pid, name });

/** Without a look at the process table, which has just failed. */
function killBlindly(tree: ProcessTree): Survivor[] {
  tree.killTogether();
  tree.signalLeader('SIGKILL');
  return [];
}

type Judgement = Omit<Outcome, 'endedAtMs' | 'survivors' | 'endedLeftovers'>;

/** Tells exits, signals and limits apart. */
export function judge(exit: Exit | undefined, cause: Cause | undefined): Judgement {
  // A signal counts as a shell counts it, whichever process sent it.
  const exitCode = exit?.code ?? (exit?.signal == null ? undefined : 128 + constants.signals[exit.signal]);
  const how = {
    ...(exitCode !== undefined && { exitCode }),
    ...(typeof exit?.signal === 'string' && { signal: exit.signal }),
  };
  switch (cause) {
    case 'timeout':
    case 'cpu_limit':
      return { status: 'timeout', reason: cause, errorCode: 'EXECUTION_002', ...how };
    case 'memory_limit':
      return { status: 'failed', reason: 'memory_limit', errorCode: 'EXECUTION_003', ...how };
    case 'terminated':
    case 'server_shutdown':
    case 'protection_lost':
      return { status: 'failed', reason: cause, ...how };
    case undefined:
      if (exit?.isSetupFailure === true)
        return { status: 'failed', reason: 'exit', errorCode: 'EXECUTION_001', ...how };
      if (exit?.signal != null) return { status: 'failed', reason: 'signal', ...how };
      return { status: exit?.code === 0 ? 'completed' : 'failed', reason: 'exit', ...how };
  }
}
