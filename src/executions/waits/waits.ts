/**
 * Waiting for what happens, over several executions: the first of "a condition came true", "one no longer can", the
 * time is over, or the caller is gone. Each pair of a condition and an execution has a watcher; output and ends wake
 * the watchers, and everything else is looked for by one timer (poller.ts).
 */
import type { StreamType } from '../../outputs/types.ts';
import type { SearchThread } from '../../outputs/views.ts';
import { hasEndedByItself } from '../until-gone.ts';
import type { Condition, Sighting, Watched, Watcher } from './conditions.ts';
import { createListeners, type Listeners } from './listeners.ts';
import { createPoller } from './poller.ts';
import { type FileRules, watchFile } from './watch-file.ts';
import { type Positions, watchOutput, watchQuiet } from './watch-output.ts';
import { watchUrl } from './watch-url.ts';

export interface WaitTarget {
  readonly execution: Watched;
  readonly conditions: readonly Condition[];
  /** Where the caller's look at the output ended. */
  readonly from: Positions;
  /** As it is now; for one that another server runs. */
  refresh(): Promise<Watched>;
}

interface WaitRequest {
  readonly targets: readonly WaitTarget[];
  readonly mode: 'any' | 'all';
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly files: FileRules;
  readonly thread: SearchThread | undefined;
}

export interface Verdict {
  readonly executionId: string;
  readonly condition: Condition;
  readonly sighting: Sighting;
  readonly afterMs: number;
}

export interface WaitReport {
  readonly result: 'met' | 'impossible' | 'timeout' | 'aborted';
  readonly waitedMs: number;
  readonly verdicts: readonly Verdict[];
  /** By execution: behind the line that matched, in each stream. */
  readonly matched: ReadonlyMap<string, ReadonlyMap<StreamType, number>>;
}

export type Waits = ReturnType<typeof createWaits>;

interface Pair {
  readonly target: WaitTarget;
  readonly condition: Condition;
  readonly watcher: Watcher;
  verdict: Verdict | undefined;
}

export function createWaits() {
  const poller = createPoller();
  const listeners = createListeners();

  return {
    /** Why a condition cannot be looked for in this execution; undefined where it can. */
    problemOf: (condition: Condition, execution: Watched) => problemOf(condition, execution, listeners),
    async wait(request: WaitRequest): Promise<WaitReport> {
      const began = performance.now();
      const matched = new Map<string, Map<StreamType, number>>();
      const wait = createWait(request, { began, listeners, matched });
      const report = (result: WaitReport['result']): WaitReport => ({
        result,
        waitedMs: performance.now() - began,
        verdicts: wait.pairs.flatMap(({ verdict }) => verdict ?? []),
        matched,
      });
      await wait.lookAll();
      const result = wait.result(true);
      if (result !== undefined) return report(result);
      return new Promise((resolve, reject) => {
        const cleanups: (() => void)[] = [];
        const clean = (): void => {
          for (const undo of cleanups.splice(0)) undo();
          wait.dispose();
        };
        const settle = (how: WaitReport['result']): void => {
          clean();
          resolve(report(how));
        };
        const judge = (): void => {
          const now = wait.result(false);
          if (now !== undefined && cleanups.length > 0) settle(now);
        };
        // Whatever can be seen at once is, so that the timer knows what it took.
        const look = (): void => {
          const pending = wait.lookAll();
          if (pending === undefined) judge();
          else pending.then(judge, fail);
        };
        const fail = (error: unknown): void => {
          clean();
          reject(error);
        };
        const polled = poller.add(look);
        const giveUp = async (): Promise<void> => {
          if ((await hearEnds(request.targets)) && cleanups.length > 0) await wait.lookAll();
          judge();
          if (cleanups.length > 0) settle('timeout');
        };
        const timer = setTimeout(() => void giveUp().catch(fail), Math.max(0, request.timeoutMs));
        const abort = (): void => settle('aborted');
        request.signal.addEventListener('abort', abort, { once: true });
        cleanups.push(
          polled.stop,
          () => clearTimeout(timer),
          () => request.signal.removeEventListener('abort', abort),
          wait.listen(polled.hurry, look),
        );
        if (request.signal.aborted) abort();
      });
    },
  };
}

/** Of those that came in time, and of which this process had not heard yet; true where there were any. */
async function hearEnds(targets: readonly WaitTarget[]): Promise<boolean> {
  const ends = await Promise.all(
    targets.map(
      async ({ execution: { live } }) => live && hasEndedByItself(live.tree, live.finished, live.checkEnd),
    ),
  );
  return ends.includes(true);
}

interface WaitTools {
  readonly began: number;
  readonly listeners: Listeners;
  readonly matched: Map<string, Map<StreamType, number>>;
}

/** Between two looks at an execution that another server runs. */
const OTHERS_MS = 250;

function createWait(request: WaitRequest, tools: WaitTools) {
  const { targets, mode } = request;
  let wake = (): void => undefined;
  const pairs: Pair[] = targets.flatMap((target) =>
    target.conditions.map((condition) => ({
      target,
      condition,
      watcher: createWatcher(condition, target, request, { ...tools, onAnswer: () => wake() }),
      verdict: undefined,
    })),
  );
  const hasEnded = createEnds(() => wake());
  const before = new Set<Pair>();

  function look(pair: Pair): void | Promise<void> {
    if (pair.verdict !== undefined) return undefined;
    const ended = hasEnded(pair.target);
    const note = (seen: Sighting | undefined): void => {
      const sighting = seen ?? (ended ? NEVER : undefined);
      if (sighting === undefined || pair.verdict !== undefined) return;
      pair.verdict = {
        executionId: pair.target.execution.record.id,
        condition: pair.condition,
        sighting,
        afterMs: performance.now() - tools.began,
      };
    };
    const seen = pair.watcher.look(ended);
    return seen instanceof Promise ? seen.then(note) : note(seen);
  }

  return {
    pairs,
    /** Looks at everything that is open. */
    lookAll(): Promise<void> | undefined {
      const pending = pairs.flatMap((pair) => look(pair) ?? []);
      return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined);
    },
    /** `isFirst`: what had ended before the wait began counts only where nothing else is left. */
    result(isFirst: boolean): 'met' | 'impossible' | undefined {
      if (isFirst) for (const pair of pairs) if (is(pair, 'never')) before.add(pair);
      if (mode === 'any' ? pairs.some((pair) => is(pair, 'met')) : pairs.every((pair) => is(pair, 'met')))
        return 'met';
      const never = pairs.filter((pair) => is(pair, 'never'));
      if (never.length === pairs.length || (mode === 'all' && never.length > 0)) return 'impossible';
      // An execution that ends meanwhile, and with nothing of what was waited for, is news.
      const isNews = targets.some((target) => {
        const own = pairs.filter((pair) => pair.target === target);
        return own.every((pair) => is(pair, 'never')) && own.some((pair) => !before.has(pair));
      });
      return mode === 'any' && isNews ? 'impossible' : undefined;
    },
    /** Wakes on output and on an end. */
    listen(onOutput: () => void, onEnd: () => void): () => void {
      wake = onEnd;
      return listenTo(targets, pairs, onOutput, onEnd);
    },
    dispose(): void {
      for (const { watcher } of pairs) watcher.dispose?.();
    },
  };
}

function listenTo(
  targets: readonly WaitTarget[],
  pairs: readonly Pair[],
  onOutput: () => void,
  onEnd: () => void,
): () => void {
  let isOver = false;
  const stops = targets.map(({ execution }) => {
    const { live } = execution;
    live?.finished.then(
      () => setImmediate(() => isOver || onEnd()),
      () => undefined,
    );
    return live?.onOutput(() => {
      for (const { target, watcher } of pairs) if (target.execution === execution) watcher.touch?.();
      onOutput();
    });
  });
  return () => {
    isOver = true;
    for (const stop of stops) stop?.();
  };
}

const is = (pair: Pair, kind: Sighting['kind']): boolean => pair.verdict?.sighting.kind === kind;

/** Whether the record of an execution has its end, wherever it runs; `onEnd` where that is only found out later. */
function createEnds(onEnd: () => void): (target: WaitTarget) => boolean {
  const others = new Map<WaitTarget, { hasEnded: boolean; readAt: number }>();
  return (target) => {
    const { record, live } = target.execution;
    if (record.outcome !== undefined || live !== undefined) return record.outcome !== undefined;
    const known = others.get(target);
    const now = performance.now();
    if (known !== undefined && now - known.readAt < OTHERS_MS) return known.hasEnded;
    others.set(target, { hasEnded: known?.hasEnded ?? false, readAt: now });
    void target.refresh().then(
      ({ record: { outcome } }) => {
        others.set(target, { hasEnded: outcome !== undefined, readAt: performance.now() });
        if (outcome !== undefined) onEnd();
      },
      // Collected by retention, and therefore ended.
      () => others.set(target, { hasEnded: true, readAt: performance.now() }),
    );
    return known?.hasEnded ?? false;
  };
}

const NEVER: Sighting = { kind: 'never', why: 'the execution has ended' };

function createWatcher(
  condition: Condition,
  { execution, from }: WaitTarget,
  { files, thread }: WaitRequest,
  { listeners, matched, onAnswer }: WaitTools & { onAnswer(): void },
): Watcher {
  const { live, bundle, record } = execution;
  const listensOn = (port: number): boolean =>
    live !== undefined && execution.live !== undefined && listeners.isListening(live, port) === true;
  switch (condition.kind) {
    case 'exit':
      return { look: (hasEnded) => (hasEnded ? { kind: 'met' } : undefined) };
    case 'output':
      return watchOutput(condition.pattern, condition.source, {
        bundle,
        streams: record.streams.filter((type) => type !== 'cast'),
        from,
        thread,
        onMatched(type, end) {
          const ends = matched.get(record.id) ?? new Map<StreamType, number>();
          matched.set(record.id, ends.set(type, end));
        },
      });
    case 'quiet':
      return watchQuiet(condition.ms, live);
    case 'port':
      return { look: (hasEnded) => (!hasEnded && listensOn(condition.port) ? { kind: 'met' } : undefined) };
    case 'url': {
      const { target } = condition;
      return watchUrl(target, () => !target.isLoopback || listensOn(target.port), onAnswer);
    }
    case 'file':
      return watchFile(condition.path, live, files);
  }
}

function problemOf(condition: Condition, execution: Watched, listeners: Listeners): string | undefined {
  const { record, live } = execution;
  const { kind } = condition;
  if (record.outcome !== undefined || kind === 'exit') return undefined;
  if (record.terminal !== undefined && (kind === 'output' || kind === 'quiet'))
    return 'a terminal is waited for with terminal_get_output';
  if (kind !== 'port' && kind !== 'url' && kind !== 'quiet' && kind !== 'file') return undefined;
  if (live === undefined) return 'another server runs this execution';
  if (kind === 'url' && listeners.hasOwnNetwork(live) === true)
    return 'the sandbox gives this execution a network of its own, which the server cannot reach; wait for the port or for its output';
  return undefined;
}
