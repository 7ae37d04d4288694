/**
 * Sandboxes and shells that are there before they are wanted. Building a sandbox takes longer than most commands, starting
 * a shell as long, and the next command nearly always wants the same. One is used only where it is the same to the last
 * option, and where the kernel still shows every mount of it as it was meant; else the command waits for its own.
 */
import { availableParallelism } from 'node:os';
import type { LaunchPermit, Limits } from '../security/security.ts';
import type { Enforcement } from './cgroups/cgroups.ts';
import { isSameShell, type ShellIo, type ShellSpec, shellFor } from './prestarted-shell.ts';
import {
  createSandboxCopies,
  keyOf,
  type PoolTools,
  type SandboxCopies,
  type WantedSandbox,
} from './sandbox-copies.ts';
import { replacedMeanwhile } from './sandbox-failures.ts';
import { endSandbox, isSandbox, isShellInPlace, type Prestarted, type WaitingSandbox } from './sandboxed.ts';
import { startShell } from './start-shell.ts';

export type { PoolTools, WantedSandbox } from './sandbox-copies.ts';

/** A shell that has everything but the text of its command. */
export interface WantedShell extends Omit<WantedSandbox, 'sandboxSpec'> {
  /** Without one where it is undefined. */
  readonly sandboxSpec: WantedSandbox['sandboxSpec'] | undefined;
  readonly shell: ShellSpec;
}

export interface SandboxPool {
  /** One that is intact; the caller ends it. Throws where none can be built. So many are kept for the next commands. */
  take(wanted: WantedSandbox, kept?: number): Promise<WaitingSandbox>;
  /** One that stands and is intact, which the caller ends; there will be another for the next command, if the forker lives. */
  takeShell(
    permit: LaunchPermit,
    io: ShellIo,
    maxProcesses: number | undefined,
  ): { readonly prestarted: Prestarted; readonly text: string } | undefined;
  /** A command that wants such a sandbox is about to come. */
  prepare(wanted: WantedSandbox): void;
  /** Ends those that nobody has taken. */
  dispose(): Promise<void>;
}

/** A command that comes later builds its own. */
const KEPT_MS = 10 * 60_000;
/** More than one of a kind are for commands that follow at once. */
const SPARE_MS = 1000;
/** Of all kinds together. */
const MAX_READY = 6;
/** Of one kind: in a row, the next command may come before there is another. */
const READY_OF_A_KIND = 2;
/** More at once would only share the processors. */
const MAX_BUILDING = availableParallelism() + 1;

interface Kind {
  readonly wanted: WantedSandbox | WantedShell;
  readonly held: Enforcement;
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
  readonly sandbox: Prestarted;
  expiry: NodeJS.Timeout | undefined;
}

interface Built {
  readonly sandbox: Prestarted;
  readonly begunAt: number;
}

interface Waiting {
  /** On the clock of builds: one that was begun before may fail for what was changed since. */
  readonly askedAt: number;
  resolve(built: Built): void;
  reject(error: unknown): void;
}

export function createSandboxPool(tools: PoolTools): SandboxPool {
  const state: State = {
    kinds: [],
    ending: new Set(),
    copies: createSandboxCopies(tools),
    tools,
    building: 0,
    moment: 0,
    isDisposed: false,
  };
  const { kinds, ending, copies } = state;
  const later = (ms: number): void => void setTimeout(() => refill(state), ms).unref();

  function find(wanted: WantedSandbox | WantedShell): Kind {
    // Groups may come later, and then those that were built without one wait for nobody.
    const held = tools.cgroups.held();
    const found = kinds.find((kind) => kind.held === held && isSame(kind.wanted, wanted));
    if (found !== undefined) kinds.splice(kinds.indexOf(found), 1);
    const kind = found ?? { wanted, held, ready: [], waiting: [], building: 0, target: 0, begunAt: 0 };
    kinds.push(kind);
    return kind;
  }

  return {
    takeShell(permit, io, maxProcesses) {
      const { sandboxSpec, limits } = permit;
      if (sandboxSpec?.kind === 'seatbelt' || !tools.spawner.canCopy()) return undefined;
      const { shell, text } = shellFor(permit, io) ?? {};
      if (shell === undefined || text === undefined) return undefined;
      const kind = find({ sandboxSpec, limits, shell, maxProcesses });
      const ready = takeReady(state, kind);
      kind.target = Math.min(READY_OF_A_KIND, kind.target + 1);
      // A short one ends first, and is answered: the forker reports its end later while it starts another.
      void ready?.child.exited.then(() => setImmediate(() => refill(state)));
      later(ready === undefined || io.isBackground === true ? 0 : PAUSE_MS);
      return ready && { prestarted: ready, text };
    },
    async take(wanted, kept = READY_OF_A_KIND) {
      const kind = find(wanted);
      const ready = takeReady(state, kind) as WaitingSandbox | undefined;
      // With the second one more are likely to follow at once.
      kind.target = Math.max(kind.target, Math.min(kept, kind.target + 1));
      if (ready !== undefined) {
        // Calls that are being answered come first.
        later(kind.ready.length > 0 ? PAUSE_MS : 0);
        return ready;
      }
      return waitFor(state, kind);
    },
    prepare(wanted) {
      if (state.isDisposed) return;
      const kind = find(wanted);
      kind.target = Math.max(1, kind.target);
      refill(state);
    },
    async dispose() {
      state.isDisposed = true;
      for (const kind of kinds) for (const ready of kind.ready.slice()) drop(state, kind, ready);
      track(state, copies.dispose());
      while (ending.size > 0) await Promise.allSettled(ending);
    },
  };
}

function isSame(one: WantedSandbox | WantedShell, other: WantedSandbox | WantedShell): boolean {
  const [spec, otherSpec] = [one.sandboxSpec, other.sandboxSpec];
  return (
    hasSameLimits(one.limits, other.limits) &&
    isSameShell(one.shell, other.shell) &&
    (spec === otherSpec ||
      (spec !== undefined && otherSpec !== undefined && keyOf(spec) === keyOf(otherSpec)))
  );
}

const hasSameLimits = (one: Limits, other: Limits): boolean =>
  one.memoryBytes === other.memoryBytes &&
  one.processes === other.processes &&
  one.cpuPercent === other.cpuPercent &&
  one.cpuSeconds === other.cpuSeconds &&
  one.fileBytes === other.fileBytes;

/** For one command: something may be mounted on the machine while one is made, and again while the next one is. */
const MAX_COPIES = 4;

/** Until one is built that is intact. */
async function waitFor(state: State, kind: Kind): Promise<WaitingSandbox> {
  let askedAt = ++state.moment;
  for (let copies = MAX_COPIES; ; ) {
    const built = await new Promise<Built>((resolve, reject) => {
      kind.waiting.push({ askedAt, resolve, reject });
      refill(state);
    });
    const sandbox = built.sandbox as WaitingSandbox;
    if (state.copies.isIntact(sandbox)) return sandbox;
    await endSandbox(sandbox);
    if (built.begunAt < askedAt) continue;
    // What was changed since the original was built is in the next one.
    if (--copies === 0 || !sandbox.isCopy) throw replacedMeanwhile();
    askedAt = ++state.moment;
  }
}

interface State {
  /** The one that was used last at the end. */
  readonly kinds: Kind[];
  readonly ending: Set<Promise<unknown>>;
  readonly copies: SandboxCopies;
  readonly tools: PoolTools;
  building: number;
  moment: number;
  isDisposed: boolean;
}

function takeReady(state: State, kind: Kind): Prestarted | undefined {
  for (let ready = kind.ready.shift(); ready !== undefined; ready = kind.ready.shift()) {
    const { sandbox, expiry } = ready;
    clearTimeout(expiry);
    const isIntact = !isSandbox(sandbox) || state.copies.isIntact(sandbox);
    if (isIntact && isShellInPlace(sandbox, kind.wanted.shell)) return sandbox;
    track(state, endSandbox(sandbox));
  }
  return undefined;
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

/** In a row of commands there would have been another one by now: then one is enough. */
function expire(state: State, kind: Kind, ready: Ready): void {
  kind.target = Math.min(kind.target, 1);
  if (kind.ready.length > 1) drop(state, kind, ready);
  else ready.expiry = setTimeout(() => drop(state, kind, ready), KEPT_MS).unref();
}

function build(state: State, kind: Kind): void {
  state.building++;
  kind.building++;
  const begunAt = ++state.moment;
  kind.begunAt = begunAt;
  const making = make(state, kind.wanted)
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

function make(state: State, wanted: WantedSandbox | WantedShell): Promise<Prestarted> {
  const { copies, tools } = state;
  const { sandboxSpec, shell } = wanted;
  if (sandboxSpec !== undefined) return copies.make({ ...wanted, sandboxSpec });
  if (shell === undefined) throw new Error('neither a sandbox nor a shell is wanted');
  return startShell(shell, wanted.limits, tools);
}

function settle(state: State, kind: Kind, built: Built): void {
  const { sandbox } = built;
  const next = kind.waiting.shift();
  if (next !== undefined) next.resolve(built);
  else if (state.isDisposed) track(state, endSandbox(sandbox));
  else {
    const ready: Ready = { sandbox, expiry: undefined };
    kind.ready.push(ready);
    ready.expiry = setTimeout(() => expire(state, kind, ready), SPARE_MS).unref();
    // It may be killed while it waits.
    void sandbox.child.exited.then(() => {
      if (kind.ready.includes(ready)) drop(state, kind, ready);
    });
  }
}

/** Kinds that commands wait for take turns: callers differ in them, and none must wait for all commands of another. */
function buildWaitedFor(state: State): void {
  while (state.building < MAX_BUILDING) {
    const needed = state.kinds.filter((kind) => kind.building < kind.waiting.length);
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
  const all = kinds.toReversed();
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
  for (const kind of all.toReversed()) {
    if (kind.ready.length + kind.building + kind.waiting.length === 0 && kinds.length > MAX_READY)
      kinds.splice(kinds.indexOf(kind), 1);
  }
}

/** As long as most commands take. */
const PAUSE_MS = 6;
