/**
 * How the owner of the state directory ends an execution from another process: with a file in the directory of the
 * server that runs it, named after the execution. The server finds it, ends the tree as it would for a caller, and the
 * record says `terminated`. A file reaches across containers, and needs no port that others could find.
 *
 * The owner asks in the same way to see the output of one that runs, which the server then writes to files instead of
 * holding the beginning of it in memory.
 */
import { type FSWatcher, mkdirSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt, succeeds } from '../base/attempt.ts';
import { errnoOf, messageOf } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Audit } from '../security/security.ts';
import type { Running } from './running.ts';

/** Who has the state directory speaks as this principal. */
export const OPERATOR = { principal: 'operator', requestId: 'command line' } as const;

const FOLDER = 'end';
const SHOW = 'show.';
/** For file systems that do not tell of changes: within what `top` waits for. */
const LOOK_MS = 2000;

export function createEndRequests(options: {
  /** This server's own, below run/. */
  readonly directory: string;
  readonly running: Running;
  readonly audit: Audit;
  readonly log: Log;
}) {
  const { running, audit, log } = options;
  const folder = join(options.directory, FOLDER);
  let timer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;

  function serve(name: string): void {
    rmSync(join(folder, name), { force: true });
    const id = executionOf(name);
    const entry = running.entries.get(id);
    if (entry === undefined) return;
    if (name.startsWith(SHOW)) return entry.bundle.outlast();
    try {
      audit.write({ event: 'end_requested', ...OPERATOR, executionId: id });
    } catch (error) {
      // Only what is to run must be recorded first.
      log.error('the audit log cannot be written', { execution: id, error: messageOf(error) });
    }
    void entry.live.end('terminated');
  }

  function look(): void {
    if (running.entries.size === 0) return;
    for (const name of listRequests(folder)) {
      try {
        serve(name);
      } catch (error) {
        log.error('a request of the operator failed', { request: name, error: messageOf(error) });
      }
    }
  }

  return {
    open(): void {
      timer = setInterval(look, LOOK_MS).unref();
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        watcher = watch(folder, { persistent: false }, look).on('error', () => watcher?.close());
      } catch {
        // The user has as many watches as the kernel allows, say.
      }
    },
    close(): void {
      clearInterval(timer);
      watcher?.close();
    },
  };
}

const listRequests = (folder: string): string[] =>
  (attempt(() => readdirSync(folder)) ?? []).filter((name) => isId('exec', executionOf(name)));

const executionOf = (name: string): string => (name.startsWith(SHOW) ? name.slice(SHOW.length) : name);

/** Has the server of that directory end it; false where the server has left. */
export const requestEnd = (directory: string, executionId: string): boolean =>
  request(directory, executionId);

/** Has that server write the output to files. */
export const requestOutput = (directory: string, executionId: string): boolean =>
  request(directory, `${SHOW}${executionId}`);

function request(directory: string, name: string): boolean {
  const folder = join(directory, FOLDER);
  try {
    // Not with its parents: the directory of a server that has left must not come back.
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') return false;
  }
  return succeeds(() => writeFileSync(join(folder, name), '', { mode: 0o600 }));
}
