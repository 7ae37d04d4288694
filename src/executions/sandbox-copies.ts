/**
 * Sandboxes for commands as copies of one that bwrap has built: mounting everything anew takes most of the time that a
 * sandboxed command costs. The original runs nothing. Where it no longer shows what it did, it is built anew; where
 * there can be no copy, each is built by bwrap.
 */
import { existsSync } from 'node:fs';
import { oncePer } from '../base/once.ts';
import { type BubblewrapSpec, type CopyPlan, planCopy } from '../security/security.ts';
import { type HeldSandbox, holdSandbox } from './held-sandbox.ts';
import { buildSandbox, copySandbox, markedForServer } from './sandbox-build.ts';
import type { SandboxRequest, SandboxTools } from './sandbox-tools.ts';
import { isIntact, type WaitingSandbox } from './sandboxed.ts';

/** All that a sandbox depends on. */
export type WantedSandbox = Pick<SandboxRequest, 'sandboxSpec' | 'limits' | 'shell' | 'maxProcesses'>;

export interface PoolTools extends SandboxTools {
  /** The next server finds by its name what is left where this one was killed. */
  readonly server: string;
}

export type SandboxCopies = ReturnType<typeof createSandboxCopies>;

/** One that nobody has asked for in the meantime is ended. */
const KEPT_MS = 10 * 60_000;
/** Each caller has one of its own; with fewer, callers that take turns would end each other's. Three open files each. */
const MAX_ORIGINALS = 16;

/** What a machine does not allow fails each time; what it has no time for just now, not. */
const FIRST_ATTEMPTS = 3;

interface Original {
  readonly key: string;
  readonly plan: CopyPlan;
  readonly sandbox: Promise<HeldSandbox>;
  expiry: NodeJS.Timeout | undefined;
}

export function createSandboxCopies(tools: PoolTools) {
  async function build(wanted: WantedSandbox): Promise<WaitingSandbox> {
    if (wanted.shell !== undefined) throw new Error('a shell waits only in a copy');
    return buildSandbox({ ...wanted, marked: markedForServer(tools.server) }, tools);
  }
  const originals = createOriginals(async (wanted) => holdSandbox(await build(wanted)));
  const originalOf = new WeakMap<WaitingSandbox, readonly [Original, HeldSandbox]>();
  /** Of the first copy: a failure after that is one of the moment. */
  let attemptsLeft = FIRST_ATTEMPTS;
  let isDisposed = false;

  return {
    /** Throws where none can be made. */
    async make(wanted: WantedSandbox): Promise<WaitingSandbox> {
      const canCopy = !isDisposed && attemptsLeft > 0 && tools.spawner.canCopy();
      const original = canCopy ? originals.of(wanted.sandboxSpec) : undefined;
      if (original === undefined) return build(wanted);
      const sandbox = await original.sandbox;
      try {
        const copy = await copySandbox(sandbox, original.plan, { ...wanted, marked: {} }, tools);
        originalOf.set(copy, [original, sandbox]);
        return copy;
      } catch {
        // Something was changed since it was built, or this machine does not allow copies.
        originals.end(original);
        attemptsLeft -= 1;
        return build(wanted);
      }
    },
    /** Before one is used. Where its original is not what it was either, the next ones are made of a new one. */
    isIntact(sandbox: WaitingSandbox): boolean {
      const isSo = isIntact(sandbox, tools.tables);
      const [original, first] = originalOf.get(sandbox) ?? [];
      if (original === undefined || first === undefined) return isSo;
      if (isSo) attemptsLeft = Number.POSITIVE_INFINITY;
      // Where the original shows what it did, the fault is the copy's own.
      else if (first.isIntact(tools.tables)) attemptsLeft -= 1;
      else originals.end(original);
      return isSo;
    },
    async dispose(): Promise<void> {
      isDisposed = true;
      await originals.dispose();
    },
  };
}

function createOriginals(build: (wanted: WantedSandbox) => Promise<HeldSandbox>) {
  /** The one that was used last at the end. */
  const originals = new Map<string, Original>();
  const ending = new Set<Promise<unknown>>();

  function end(original: Original): void {
    if (originals.get(original.key) !== original) return;
    originals.delete(original.key);
    clearTimeout(original.expiry);
    const ended = original.sandbox.then(
      ({ release }) => release(),
      () => undefined,
    );
    ending.add(ended);
    void ended.finally(() => ending.delete(ended));
  }

  function keep(original: Original): void {
    clearTimeout(original.expiry);
    original.expiry = setTimeout(() => end(original), KEPT_MS).unref();
    originals.delete(original.key);
    originals.set(original.key, original);
    for (const oldest of [...originals.values()].slice(0, -MAX_ORIGINALS)) end(oldest);
  }

  return {
    /** Undefined where there can be none. */
    of(sandboxSpec: BubblewrapSpec): Original | undefined {
      const key = keyOf(sandboxSpec);
      const plan = originals.get(key)?.plan ?? planCopy(sandboxSpec.options, existsSync);
      if (plan === undefined) return undefined;
      const original = originals.get(key) ?? {
        key,
        plan,
        sandbox: build({ sandboxSpec: { ...sandboxSpec, options: plan.options }, limits: {} }),
        expiry: undefined,
      };
      original.sandbox.catch(() => end(original));
      keep(original);
      return original;
    },
    end,
    async dispose(): Promise<void> {
      for (const original of originals.values()) end(original);
      await Promise.allSettled(ending);
    },
  };
}

/** The options are the same object as long as they are the same, so that they are looked through once. */
export const keyOf = oncePer(({ program, options, seccomp }: BubblewrapSpec) =>
  JSON.stringify([program, options, seccomp]),
);
