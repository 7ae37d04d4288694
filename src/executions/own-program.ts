/** Programs of ours that go on without us: they read a specification on stdin and answer once, on stdout. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { findProcess, isAlive, type ProcessIdentity } from './process-table.ts';

/** Node starts in 40 ms; a machine under load may take a hundred times as long. */
const REPLY_MS = 30_000;

export function startOwnProgram(options: {
  readonly path: string;
  readonly spec: object;
  readonly cwd: string;
  /** PATH; nothing else of the environment is its business. */
  readonly searchPath: string;
  /** What failed, where it does: "The detached execution". */
  readonly what: string;
  /** It is killed where it has not answered by then. */
  readonly deadlineMs?: number;
}) {
  const child = spawn(process.execPath, [options.path], {
    cwd: options.cwd,
    env: { PATH: options.searchPath },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
    windowsHide: true,
  });
  const identity = {
    pid: child.pid ?? 0,
    startTime: child.pid === undefined ? 0 : (findProcess(child.pid)?.startTime ?? 0),
  };
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(options.spec));
  const { what, deadlineMs } = options;
  return {
    identity,
    /** As JSON; throws EXECUTION_001 where none comes. */
    reply: readReply(child, what, deadlineMs).finally(() => child.unref()),
  };
}

/** One that does not answer any more; false where it is gone already. */
export function killOwnProgram(identity: ProcessIdentity): boolean {
  return isAlive(identity) && process.kill(identity.pid, 'SIGKILL');
}

function readReply(
  child: ChildProcessByStdio<Writable, Readable, null>,
  what: string,
  deadlineMs: number | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let text = '';
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(new ShellServerError('EXECUTION_001', `${what} could not be started: ${why}`));
    };
    const timer = setTimeout(() => {
      if (deadlineMs !== undefined) child.kill('SIGKILL');
      fail('its process did not answer.');
    }, deadlineMs ?? REPLY_MS);
    child.once('error', (error) => fail(messageOf(error)));
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (chunk: string) => {
      text += chunk;
    });
    child.stdout.once('close', () => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(text));
      } catch {
        fail('its process ended at once.');
      }
    });
  });
}

/** In the program itself: reads its specification. */
export const readSpec = (stdin: NodeJS.ReadableStream): Promise<unknown> => json(stdin);

/** Its one answer; the process that started it may be gone already. */
export function reply(stdout: NodeJS.WritableStream, message: object): void {
  stdout.on('error', () => undefined);
  stdout.end(`${JSON.stringify(message)}\n`);
}
