/**
 * Sessions: what one execution leaves to the next (working directory and exported variables), for each principal, and
 * the default working directory that holds where there is none. What a shell brings back is judged like any caller's
 * input; it can fill memory no further than a caller could.
 */
import { messageOf, ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { once } from '../base/once.ts';
import { checkDangerous, checkEnvironment, type Directories, MARKER_NAME } from '../security/security.ts';
import type { ShellState } from './shell-report.ts';

export interface SessionChange {
  /** The directory the next execution starts in, where it changed. */
  readonly directory?: string;
  readonly set: readonly string[];
  readonly unset: readonly string[];
  /** What could not be carried, and why. */
  readonly notCarried: readonly string[];
}

export type Session = ReturnType<typeof createSession>;

export type Sessions = ReturnType<typeof createSessions>;

/** A session is a few kilobytes; one that was not used for so many others of its principal is forgotten. */
const MAX_SESSIONS = 500;
/** What a shell sets for itself, or what belongs to one execution only. */
const NOT_STATE = new Set([
  '_',
  'SHLVL',
  'PWD',
  'OLDPWD',
  MARKER_NAME,
  'BASH_EXECUTION_STRING',
  'MCP_SHELL_fd',
]);

export function createSessions(startDirectory: string, directories: Directories) {
  const byPrincipal = new Map<string, Map<string, Session>>();
  const defaults = new Map<string, string>();

  return {
    get(principal: string, sessionId: string): Session {
      const sessions = byPrincipal.get(principal) ?? new Map<string, Session>();
      byPrincipal.set(principal, sessions);
      const session = sessions.get(sessionId) ?? createSession(directories, principal);
      // Deleted and set again, so that the map's order is that of use.
      sessions.delete(sessionId);
      sessions.set(sessionId, session);
      for (const [oldest, other] of sessions) {
        if (sessions.size <= MAX_SESSIONS) break;
        if (!other.isBusy()) sessions.delete(oldest);
      }
      return session;
    },
    /** Whether there is state of it here. */
    has: (principal: string, sessionId: string): boolean =>
      byPrincipal.get(principal)?.has(sessionId) ?? false,
    defaultDirectory: (principal: string): string => defaults.get(principal) ?? startDirectory,
    /** Answers with the sessions that it moved. */
    setDefaultDirectory(principal: string, directory: string, applyToExisting: boolean): readonly string[] {
      defaults.set(principal, directory);
      if (!applyToExisting) return [];
      // One without a directory of its own begins in the default one anyway.
      const moved = [...(byPrincipal.get(principal) ?? [])].filter(
        ([, session]) => session.directory !== undefined && session.directory !== directory,
      );
      for (const [, session] of moved) session.moveTo(directory);
      return moved.map(([sessionId]) => sessionId);
    },
  };
}

function createSession(directories: Directories, principal: string) {
  const variables = new Map<string, string | undefined>();
  let directory: string | undefined;
  let carriedBytes = 0;

  function carryDirectory(wanted: string, startedIn: string, notCarried: string[]): string | undefined {
    if (wanted === startedIn) return undefined;
    try {
      directory = directories.check(wanted, startedIn, { principal });
      return directory;
    } catch (error) {
      notCarried.push(`the directory ${wanted} (${messageOf(error)})`);
      return undefined;
    }
  }

  /** Judged like a caller's: a name that one could send, and no more of it than one could send at once. */
  function carryVariable(name: string, value: string): boolean {
    const before = variables.get(name);
    const bytes = sizeOf(name, value) - (before === undefined ? 0 : sizeOf(name, before));
    if (carriedBytes + bytes > LIMITS.environmentBytes || variables.size >= LIMITS.environmentEntries)
      return false;
    try {
      checkEnvironment({ [name]: value }, 'the session');
      checkDangerous({ [name]: value });
    } catch {
      // Exported functions (BASH_FUNC_x%%) and the like.
      return false;
    }
    carriedBytes += bytes;
    variables.set(name, value);
    return true;
  }

  return {
    get directory(): string | undefined {
      return directory;
    },
    variables: variables as ReadonlyMap<string, string | undefined>,
    /** Whether it had state that is lost; known once a command has run in it, and where it had, once its caller knows. */
    past: 'none' as 'none' | 'lost' | 'known',
    ...createQueue(),
    moveTo(wanted: string): void {
      directory = wanted;
    },
    /** Takes over what the shell left behind, given the environment it was started with. */
    carry(
      state: ShellState,
      startedWith: Readonly<Record<string, string>>,
      startedIn: string,
    ): SessionChange {
      const set: string[] = [];
      const unset: string[] = [];
      const notCarried: string[] = [];
      const moved = carryDirectory(state.directory, startedIn, notCarried);
      for (const [name, value] of state.variables) {
        if (NOT_STATE.has(name) || startedWith[name] === value) continue;
        if (carryVariable(name, value)) set.push(name);
        else notCarried.push(`the variable ${name.slice(0, 100)}`);
      }
      for (const name of Object.keys(startedWith)) {
        if (NOT_STATE.has(name) || state.variables.has(name)) continue;
        carriedBytes -= sizeOf(name, variables.get(name) ?? '');
        variables.set(name, undefined);
        unset.push(name);
      }
      return { ...(moved !== undefined && { directory: moved }), set, unset, notCarried };
    },
  };
}

/** One after the other, in the order in which they came. */
function createQueue() {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  return {
    isBusy: () => waiting > 0,
    /** Waits until the executions before it are done, at most so long; the caller must release it. */
    async acquire(signal: AbortSignal, patienceMs: number): Promise<() => void> {
      const before = last;
      let release: () => void = () => undefined;
      last = new Promise((resolve) => {
        release = () => {
          waiting--;
          resolve();
        };
      });
      waiting++;
      try {
        await untilAborted(before, signal, patienceMs);
      } catch (error) {
        // The next one must not start before the one before it is done.
        void before.then(release);
        throw error;
      }
      return once(release);
    },
  };
}

function sizeOf(name: string, value: string): number {
  return Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
}

function untilAborted(promise: Promise<void>, signal: AbortSignal, patienceMs: number): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      then();
    };
    const abort = (): void => settle(() => reject(signal.reason as Error));
    const timer = setTimeout(() => settle(() => reject(busy())), Math.min(patienceMs, LIMITS.timerMs));
    signal.addEventListener('abort', abort, { once: true });
    void promise.then(() => settle(resolve));
  });
}

function busy(): ShellServerError {
  return new ShellServerError('RESOURCE_005', 'The session is busy: calls in it run one after the other.', {
    hint: 'Call again, use another session_id, or none for commands that do not depend on each other.',
  });
}
