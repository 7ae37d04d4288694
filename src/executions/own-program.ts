/** Programs of ours that go on without us: they read a specification on stdin and answer once, on stdout. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { findProcess, isAlive, type ProcessIdentity } from './process-table.ts';

/** Node starts in 40 ms; a machine under load may take a hundred times as long. */
const REPLY_MS = 30_000;

interface ProgramFile {
  readonly path: string;
  readonly cwd: string;
  /** PATH; nothing else of the environment is its business. */
  readonly searchPath: string;
}

interface Work {
  readonly spec: object;
  /** What failed, where it does: "The detached execution". */
  readonly what: string;
  /** It is killed where it has not answered by then. */
  readonly deadlineMs?: number;
}

export const startOwnProgram = (options: ProgramFile & Work) => bootOwnProgram(options).give(options);

export type BootedProgram = ReturnType<typeof bootOwnProgram>;

/** Starts one before it is known what it is to do; it ends with us if it is never told. */
export function bootOwnProgram(options: ProgramFile) {
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
  let error: unknown;
  child.once('error', (cause) => {
    error = cause;
  });
  child.stdin.on('error', () => undefined);
  return {
    identity,
    /** False where it has ended, or could not be started. */
    isThere: (): boolean => child.exitCode === null && child.signalCode === null && error === undefined,
    give({ spec, what, deadlineMs }: Work) {
      child.stdin.end(JSON.stringify(spec));
      return {
        identity,
        /** As JSON; throws EXECUTION_001 where none comes. */
        reply: readReply(child, what, deadlineMs).finally(() => child.unref()),
      };
    },
    /** It has nothing to do. */
    dismiss: (): void => void child.stdin.destroy(),
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
    const finish = (): void => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(text));
      } catch {
        fail('its process ended at once.');
      }
    };
    child.stdout.on('data', (chunk: string) => {
      text += chunk;
      // The answer is one line; the stream is closed after what the program does next.
      if (chunk.endsWith('\n')) finish();
    });
    child.stdout.once('close', finish);
  });
}

/** In the program itself: reads its specification. */
export const readSpec = (stdin: NodeJS.ReadableStream): Promise<unknown> => json(stdin);

/** Its one answer; the process that started it may be gone already. */
export function reply(stdout: NodeJS.WritableStream, message: object): void {
  stdout.on('error', () => undefined);
  stdout.end(`${JSON.stringify(message)}\n`);
}
