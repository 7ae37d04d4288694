/**
 * Sandboxes that are built before they are wanted. Building one takes longer than most commands, and the next command
 * nearly always wants the same one. It is used only where it is the same to the last option, and where the kernel still
 * shows every mount of it as it was meant; else the command waits for its own.
 */
import { availableParallelism } from 'node:os';
import {
  createKeys,
  createSandboxCopies,
  type PoolTools,
  type SandboxCopies,
  type WantedSandbox,
} from './sandbox-copies.ts';
import { replacedMeanwhile } from './sandbox-failures.ts';
import { endSandbox, type WaitingSandbox } from './sandboxed.ts';

export type { PoolTools, WantedSandbox } from './sandbox-copies.ts';

export interface SandboxPool {
  /** One that is intact; the caller ends it. Throws where none can be built. */
  take(wanted: WantedSandbox): Promise<WaitingSandbox>;
  /** A command that wants such a sandbox is about to come. */
  prepare(wanted: WantedSandbox): void;
  /** Ends those that nobody has taken. */
  dispose(): Promise<void>;
}

/** A command that comes later builds its own. */
const KEPT_MS = 10 * 60_000;
/** Of all kinds together. */
const MAX_READY = 6;
/** Of one kind: in a row, the next command may come before there is another. */
const READY_OF_A_KIND = 2;
/** More at once would only share the processors. */
const MAX_BUILDING = availableParallelism() + 1;

interface Kind {
  readonly wanted: WantedSandbox;
  /** Oldest first. */
  readonly ready: Ready[];
  readonly waiting: Waiting[];
  building: number;
  /** How many are to be ready. */
  target: number;
  /** When the last build was begun. */
  begunAt: number;
}

interface Ready {
  readonly sandbox: WaitingSandbox;
  readonly expiry: NodeJS.Timeout;
}

interface Built {
  readonly sandbox: WaitingSandbox;
  readonly begunAt: number;
}

interface Waiting {
  /** On the clock of builds: one that was begun before may fail for what was changed since. */
  readonly askedAt: number;
  resolve(built: Built): void;
  reject(error: unknown): void;
}

export function createSandboxPool(tools: PoolTools): SandboxPool {
  const keyOf = createKeys();
  const state: State = {
    kinds: new Map(),
    ending: new Set(),
    copies: createSandboxCopies(tools),
    building: 0,
    moment: 0,
    isDisposed: false,
  };
  const { kinds, ending, copies } = state;

  function find(wanted: WantedSandbox): Kind {
    // Groups may come later, and then those that were built without one wait for nobody.
    const key = `${JSON.stringify([wanted.limits, tools.cgroups.held()])} ${keyOf(wanted.sandboxSpec)}`;
    const kind = kinds.get(key) ?? { wanted, ready: [], waiting: [], building: 0, target: 0, begunAt: 0 };
    kinds.delete(key);
    kinds.set(key, kind);
    return kind;
  }

  async function takeReady(kind: Kind): Promise<WaitingSandbox | undefined> {
    for (let ready = kind.ready.shift(); ready !== undefined; ready = kind.ready.shift()) {
      clearTimeout(ready.expiry);
      if (copies.isIntact(ready.sandbox)) return ready.sandbox;
      await endSandbox(ready.sandbox);
    }
    return undefined;
  }

  return {
    async take(wanted) {
      const kind = find(wanted);
      const ready = await takeReady(kind);
      // With the second one more are likely to follow at once.
      kind.target = Math.min(READY_OF_A_KIND, kind.target + 1);
      if (ready !== undefined) {
        // Calls that are being answered come first.
        setTimeout(() => refill(state), kind.ready.length > 0 ? PAUSE_MS : 0).unref();
        return ready;
      }
      let askedAt = ++state.moment;
      for (let isLast = false; ; ) {
        const { sandbox, begunAt } = await new Promise<Built>((resolve, reject) => {
          kind.waiting.push({ askedAt, resolve, reject });
          refill(state);
        });
        if (copies.isIntact(sandbox)) return sandbox;
        await endSandbox(sandbox);
        if (begunAt < askedAt) continue;
        // What was changed since the original was built is in the next one.
        if (isLast || !sandbox.isCopy) throw replacedMeanwhile();
        isLast = true;
        askedAt = ++state.moment;
      }
    },
    prepare(wanted) {
      if (state.isDisposed) return;
      const kind = find(wanted);
      kind.target = Math.max(1, kind.target);
      refill(state);
    },
    async dispose() {
      state.isDisposed = true;
      for (const kind of kinds.values()) for (const ready of kind.ready.slice()) drop(state, kind, ready);
      track(state, copies.dispose());
      while (ending.size > 0) await Promise.allSettled(ending);
    },
  };
}

interface State {
  /** By what they depend on, the one that was used last at the end. */
  readonly kinds: Map<string, Kind>;
  readonly ending: Set<Promise<unknown>>;
  readonly copies: SandboxCopies;
  building: number;
  moment: number;
  isDisposed: boolean;
}

function track({ ending }: State, promise: Promise<unknown>): void {
  ending.add(promise);
  void promise.catch(() => undefined).finally(() => ending.delete(promise));
}

function drop(state: State, kind: Kind, ready: Ready): void {
  kind.ready.splice(kind.ready.indexOf(ready), 1);
  clearTimeout(ready.expiry);
  track(state, endSandbox(ready.sandbox));
}

function build(state: State, kind: Kind): void {
  state.building++;
  kind.building++;
  const begunAt = ++state.moment;
  kind.begunAt = begunAt;
  const making = state.copies
    .make(kind.wanted)
    .then(
      (sandbox) => settle(state, kind, { sandbox, begunAt }),
      (error: unknown) => {
        // Before the next command comes, another one would fail as well.
        kind.target = 0;
        const at = kind.waiting.findIndex(({ askedAt }) => askedAt < begunAt);
        if (at !== -1) kind.waiting.splice(at, 1)[0]?.reject(error);
      },
    )
    .finally(() => {
      state.building--;
      kind.building--;
      refill(state);
    });
  track(state, making);
}

function settle(state: State, kind: Kind, built: Built): void {
  const { sandbox } = built;
  const next = kind.waiting.shift();
  if (next !== undefined) next.resolve(built);
  else if (state.isDisposed) track(state, endSandbox(sandbox));
  else {
    const ready: Ready = { sandbox, expiry: setTimeout(() => drop(state, kind, ready), KEPT_MS).unref() };
    kind.ready.push(ready);
  }
}

/** Kinds that commands wait for take turns: callers differ in them, and none must wait for all commands of another. */
function buildWaitedFor(state: State): void {
  while (state.building < MAX_BUILDING) {
    const needed = [...state.kinds.values()].filter((kind) => kind.building < kind.waiting.length);
    const [first, ...others] = needed;
    if (first === undefined) return;
    build(
      state,
      others.reduce((next, kind) => (kind.begunAt < next.begunAt ? kind : next), first),
    );
  }
}

/** Those that a command waits for first; then those that the next commands are likely to need, the latest kind first. */
function refill(state: State): void {
  const { kinds } = state;
  buildWaitedFor(state);
  const all = [...kinds.values()].toReversed();
  if (state.isDisposed || all.some((kind) => kind.waiting.length > 0)) return;
  let ready = all.reduce((sum, kind) => sum + kind.ready.length + kind.building, 0);
  for (const [index, kind] of all.entries()) {
    // A second one at the same time only where none is left: a command would share the processors with them.
    const atOnce = kind.ready.length === 0 ? 2 : 1;
    if (state.building >= atOnce || kind.ready.length + kind.building >= kind.target) continue;
    // In the place of one that was used longer ago, or two kinds would take it from each other for ever.
    const older =
      ready < MAX_READY ? undefined : all.slice(index + 1).findLast((one) => one.ready.length > 0);
    if (ready >= MAX_READY && older === undefined) continue;
    if (older?.ready[0] !== undefined) drop(state, older, older.ready[0]);
    else ready++;
    build(state, kind);
    if (kind.ready.length === 0) refill(state);
  }
  for (const [key, kind] of kinds) {
    if (kind.ready.length + kind.building + kind.waiting.length === 0 && kinds.size > MAX_READY)
      kinds.delete(key);
  }
}

/** As long as most commands take. */
const PAUSE_MS = 6;
