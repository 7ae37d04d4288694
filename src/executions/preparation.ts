/**
 * What the first command of a principal needs and later ones find: the login shell's PATH and a wall. Made when
 * somebody has connected, while nobody waits for it; else when the command comes, both at once.
 */
import { LIMITS } from '../base/limits.ts';
import type { Security } from '../security/security.ts';
import type { LoginPath } from './login-path.ts';
import type { SandboxPool } from './sandbox-pool.ts';

export interface Preparation {
  /** Somebody is here who may be about to start something. */
  anticipate(principal: string): void;
  /** Resolves when a command can be started without waiting for more than its own. */
  ready(principal: string): Promise<void>;
  dispose(): void;
}

export interface PreparationOptions {
  readonly security: Pick<Security, 'expectedWall'>;
  readonly pool: Pick<SandboxPool, 'prepare'>;
  readonly loginPath: Pick<LoginPath, 'resolve'>;
  /** Claims the server's own directory; throws where it cannot be had. */
  open(): void;
}

export function createPreparation({ security, pool, loginPath, open }: PreparationOptions): Preparation {
  const timers = new Map<string, NodeJS.Timeout>();
  const walls = new Map<string, Promise<void>>();

  async function prepareWall(principal: string): Promise<void> {
    try {
      const { wall, limits } = await security.expectedWall(principal);
      if (wall?.kind === 'bubblewrap') pool.prepare({ wall, limits });
    } catch {
      // The command finds out, and its caller is told.
    }
  }

  async function ready(principal: string): Promise<void> {
    const wall = walls.get(principal) ?? prepareWall(principal);
    walls.set(principal, wall);
    await Promise.all([loginPath.resolve(), wall]);
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
