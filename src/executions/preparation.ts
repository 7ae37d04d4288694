/**
 * What the first command of a principal needs and later ones find: the login shell's PATH and a sandbox. Made when
 * a client has connected, before the first command; otherwise with the command, both at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../base/limits.ts';
import type { Security } from '../security/security.ts';
import type { Cgroups } from './cgroups/cgroups.ts';
import type { LoginPath } from './login-path.ts';
import type { SandboxPool } from './sandbox-pool.ts';

export type Preparation = ReturnType<typeof createPreparation>;

export interface PreparationOptions {
  readonly security: Pick<Security, 'expectedSandbox'>;
  readonly pool: Pick<SandboxPool, 'prepare'>;
  readonly loginPath: Pick<LoginPath, 'resolve'>;
  readonly cgroups: Pick<Cgroups, 'settled'>;
  /** Claims the server's own directory; throws where it cannot be had. */
  open(): void;
}

/** For systemd's answer, once: a command is not kept waiting for longer than its login shell would take. */
const GROUPS_MS = 250;

export function createPreparation(options: PreparationOptions) {
  const { security, pool, loginPath, cgroups, open } = options;
  const timers = new Map<string, NodeJS.Timeout>();
  const specs = new Map<string, Promise<void>>();

  async function prepareSandbox(principal: string): Promise<void> {
    const groups = Promise.race([cgroups.settled(), sleep(GROUPS_MS, undefined, { ref: false })]);
    try {
      const { sandboxSpec, limits } = await security.expectedSandbox(principal);
      await groups;
      if (sandboxSpec?.kind === 'bubblewrap') pool.prepare({ sandboxSpec, limits });
    } catch {
      // The command finds out, and its answer says so.
    }
  }

  /** Resolves when a command can be started without waiting for more than its own. */
  async function ready(principal: string): Promise<void> {
    const sandboxSpec = specs.get(principal) ?? prepareSandbox(principal);
    specs.set(principal, sandboxSpec);
    await Promise.all([loginPath.resolve(), sandboxSpec]);
  }

  function prepareNow(principal: string): void {
    try {
      open();
    } catch {
      // As above.
      return;
    }
    void ready(principal);
  }

  return {
    /** A client has connected and may be about to start something. */
    anticipate(principal: string): void {
      if (timers.has(principal)) return;
      timers.set(principal, setTimeout(() => prepareNow(principal), LIMITS.anticipationMs).unref());
    },
    ready,
    dispose(): void {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}
