/**
 * What the first command of a principal needs and later ones find: the login shell's PATH and a sandbox. Made when
 * a client has connected, before the first command; otherwise with the command, both at once.
 */
import { LIMITS } from '../base/limits.ts';
import type { Security } from '../security/security.ts';
import type { LoginPath } from './login-path.ts';
import type { SandboxPool } from './sandbox-pool.ts';

export interface Preparation {
  /** A client has connected and may be about to start something. */
  anticipate(principal: string): void;
  /** Resolves when a command can be started without waiting for more than its own. */
  ready(principal: string): Promise<void>;
  dispose(): void;
}

export interface PreparationOptions {
  readonly security: Pick<Security, 'expectedSandbox'>;
  readonly pool: Pick<SandboxPool, 'prepare'>;
  readonly loginPath: Pick<LoginPath, 'resolve'>;
  /** Claims the server's own directory; throws where it cannot be had. */
  open(): void;
}

export function createPreparation({ security, pool, loginPath, open }: PreparationOptions): Preparation {
  const timers = new Map<string, NodeJS.Timeout>();
  const specs = new Map<string, Promise<void>>();

  async function prepareSandbox(principal: string): Promise<void> {
    try {
      const { sandboxSpec, limits } = await security.expectedSandbox(principal);
      if (sandboxSpec?.kind === 'bubblewrap') pool.prepare({ sandboxSpec, limits });
    } catch {
      // The command finds out, and its answer says so.
    }
  }

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
    anticipate(principal) {
      if (timers.has(principal)) return;
      timers.set(principal, setTimeout(() => prepareNow(principal), LIMITS.anticipationMs).unref());
    },
    ready,
    dispose() {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}
