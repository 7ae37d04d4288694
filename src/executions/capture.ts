/**
 * Starts one process and copies what it prints to its sinks. Used by the server for ordinary executions and by the
 * wrapper process of a detached one, so it knows neither records nor ids.
 *
 * The process's end is its `exit`, never the end of its output: a child in the background may hold the pipe open for
 * hours. What was written before the exit is in the pipe by then, and is read out at once.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import type { Sink, StreamType } from '../outputs/types.ts';
import { createMasker, type Wall } from '../security/security.ts';
import { type Copy, startCopy } from './copy.ts';
import { createGate, type Gate, OUTER_ENVIRONMENT, startBehind, untilEmpty } from './gate.ts';
import { createInputFile } from './input-file.ts';
import type { Pipe, Pipes } from './pipes.ts';
import { findProcess, type ProcessIdentity } from './process-table.ts';
import type { Turns } from './turns.ts';

export interface CaptureSpec {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly inputData: string | undefined;
  /** Its stdin, instead of data; ours is closed. */
  readonly inputFd?: number;
  /**
   * What waits behind the wall does nothing by itself: it may begin where we die before the gate is open, and ends then.
   * Anything else waits for ever, until the next server finds it.
   */
  readonly isIdle?: boolean;
  /** Behind a wall, a descriptor more for the shell that waits there; ours is closed. */
  readonly laterFd?: number;
  /** stdout, stderr or combined; others are discarded. */
  readonly streams: readonly StreamType[];
  /** Extra descriptor 3 for the session's state; read to a bounded buffer. */
  readonly wantsState: boolean;
  /** What the command runs behind. */
  readonly wall?: Wall | undefined;
  /** The variable by which everything is found again; also on the wall's own programs. */
  readonly marked?: Readonly<Record<string, string>>;
  /** Put before the wall's own program, or the command's: it ends in executing what follows it. */
  prefix?(argv: readonly string[]): readonly string[];
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The wall could not be set up, and the command never ran. */
  readonly isSetupFailure?: boolean;
}

export interface Capture {
  readonly identity: ProcessIdentity;
  readonly exited: Promise<Exit>;
  /** Where there is a wall that waits to let the command run. */
  readonly gate: Gate | undefined;
  /** Links of the output pipes, by which a leftover is recognised. */
  readonly pipeLinks: ReadonlySet<string>;
  onOutput(listener: (chunk: Uint8Array) => void): void;
  /**
   * From here on what it prints comes to the sinks, which are then closed with the pipes; those without a sink are
   * closed now. Values of `masked` are replaced.
   */
  copyTo(sinks: ReadonlyMap<StreamType, Sink>, masked?: readonly string[]): void;
  /** Reads what is in the pipes now; everything written before the call is in the sinks after it. */
  drain(): void;
  /** What the command left on descriptor 3. */
  state(): Buffer;
  /** Closes the pipes and the sinks. */
  close(): void;
}

const STATE_MAX_BYTES = 256 * 1024;

export async function startCapture(spec: CaptureSpec, pipes: Pipes): Promise<Capture> {
  const opened: number[] = [];
  const take = async (wanted: boolean): Promise<Pipe | undefined> => {
    if (!wanted) return undefined;
    const pipe = await pipes.take();
    opened.push(pipe.readFd, pipe.writeFd);
    return pipe;
  };
  try {
    const isMerged = spec.streams.includes('combined');
    const stdin = spec.inputData === undefined ? spec.inputFd : openInput(pipes.directory, spec.inputData);
    if (stdin !== undefined) opened.push(stdin);
    if (spec.laterFd !== undefined) opened.push(spec.laterFd);
    const stdout = await take(isMerged || spec.streams.includes('stdout'));
    const stderr = isMerged ? stdout : await take(spec.streams.includes('stderr'));
    const state = await take(spec.wantsState);
    const block = spec.wall?.kind === 'bubblewrap' ? await takeBlock(pipes, spec.isIdle === true) : undefined;
    if (block !== undefined) opened.push(block.readFd, block.writeFd);
    return await begin(spec, { stdin, stdout, stderr, state, block }, pipes.turns);
  } catch (error) {
    closeQuietly(...opened);
    throw error;
  }
}

interface Streams {
  readonly stdin: number | undefined;
  readonly stdout: Pipe | undefined;
  readonly stderr: Pipe | undefined;
  readonly state: Pipe | undefined;
  /** What the wall waits on before it runs the command. */
  readonly block: Omit<Pipe, 'link'> | undefined;
}

/** bwrap goes on at the end of the pipe, when we die, say: where it must not, it holds both ends. */
async function takeBlock(pipes: Pipes, isIdle: boolean): Promise<Omit<Pipe, 'link'>> {
  if (isIdle) return pipes.takeInput();
  const both = await pipes.takeOwn();
  return { readFd: both, writeFd: both };
}

function begin(spec: CaptureSpec, streams: Streams, turns: Turns): Promise<Capture> {
  const { stdin, stdout, stderr, state, block } = streams;
  const { wall } = spec;
  const isWalled = wall?.kind === 'bubblewrap';
  const start = wall === undefined ? undefined : startBehind(wall, spec, block?.readFd);
  const argv = start?.argv ?? spec.argv;
  const [file = '', ...args] = spec.prefix?.(argv) ?? argv;
  const ends = [stdin, stdout?.writeFd, stderr?.writeFd, state?.writeFd];
  const child = spawnOrThrow(file, args, {
    // Behind a wall the directory may be one that only exists there.
    cwd: isWalled ? '/' : spec.directory,
    env: isWalled ? { ...OUTER_ENVIRONMENT, ...spec.marked } : { ...spec.environment },
    stdio: [...ends.map((fd) => fd ?? 'ignore'), ...(start?.stdio ?? [])],
    detached: true,
    windowsHide: true,
  });
  const gate =
    wall?.kind === 'bubblewrap' && child.pid !== undefined
      ? createGate(child, wall, spec.environment, block?.writeFd)
      : undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => void describeExit({ code, signal }, gate).then(resolve));
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(startError(error, file)));
    if (child.pid === undefined) return;
    // The shell must be alive or a zombie until Node collects it, which it cannot before we return.
    const identity = { pid: child.pid, startTime: findProcess(child.pid)?.startTime ?? 0 };
    const theirs = new Set([...ends, spec.laterFd, block?.readFd].filter((fd) => fd !== undefined));
    // Ours too, where it is one for both ends.
    if (block !== undefined && block.readFd === block.writeFd) theirs.delete(block.readFd);
    closeQuietly(...theirs);
    resolve(createCapture(streams, { identity, exited, gate }, turns));
  });
}

/**
 * bwrap ends by itself with 128 and the signal's number where its command was ended by one. A shell says the same of
 * its children, so that this is what is known: both are told.
 */
async function describeExit(exit: Exit, gate: Gate | undefined): Promise<Exit> {
  if (gate === undefined) return exit;
  if (!(await gate.hasRun)) return exit.signal === null ? { ...exit, isSetupFailure: true } : exit;
  await untilEmpty(gate);
  const number = (exit.code ?? 0) - 128;
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return name === undefined || number > 31 ? exit : { code: exit.code, signal: name as NodeJS.Signals };
}

/** Node emits some errors and throws others (E2BIG, ENOMEM). */
function spawnOrThrow(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(file, args, options);
  } catch (error) {
    throw startError(error, file);
  }
}

function createCapture(
  { stdout, stderr, state }: Streams,
  started: Pick<Capture, 'identity' | 'exited' | 'gate'>,
  turns: Turns,
): Capture {
  const listeners: ((chunk: Uint8Array) => void)[] = [];
  const stateChunks: Buffer[] = [];
  let stateBytes = 0;
  let open: ReadonlyMap<StreamType, Sink> = new Map();
  let copies: Copy[] | undefined;
  const pipes = [...new Set([stdout, stderr, state])].filter((pipe) => pipe !== undefined);
  const pass = (sink: Sink, chunk: Uint8Array): void => {
    if (chunk.length === 0) return;
    sink.write(chunk);
    for (const listener of listeners) listener(chunk);
  };
  const flushes: (() => void)[] = [];
  const toSink = (sink: Sink, masked: readonly string[]): ((chunk: Uint8Array) => void) => {
    if (masked.length === 0) return (chunk) => pass(sink, chunk);
    const masker = createMasker(masked);
    flushes.push(() => pass(sink, masker.rest()));
    return (chunk) => pass(sink, masker.push(chunk));
  };
  const keepState = (chunk: Uint8Array): void => {
    stateBytes += chunk.length;
    if (stateBytes <= STATE_MAX_BYTES) stateChunks.push(Buffer.from(chunk));
  };

  return {
    ...started,
    pipeLinks: new Set(
      [stdout, stderr].flatMap((pipe) => (pipe === undefined || pipe.link === '' ? [] : [pipe.link])),
    ),
    onOutput: (listener) => void listeners.push(listener),
    copyTo(sinks, masked = []) {
      open = sinks;
      copies = [];
      for (const pipe of pipes) {
        const sink = pipe === stdout ? (sinks.get('combined') ?? sinks.get('stdout')) : sinks.get('stderr');
        if (pipe === state) copies.push(startCopy(pipe.readFd, keepState, turns));
        else if (sink === undefined) closeQuietly(pipe.readFd);
        else copies.push(startCopy(pipe.readFd, toSink(sink, masked), turns));
      }
    },
    drain() {
      for (const copy of copies ?? []) copy.drain();
    },
    state: () => (stateBytes <= STATE_MAX_BYTES ? Buffer.concat(stateChunks) : Buffer.alloc(0)),
    close() {
      if (copies === undefined) closeQuietly(...pipes.map(({ readFd }) => readFd));
      for (const copy of copies ?? []) copy.close();
      copies = [];
      for (const flush of flushes) flush();
      for (const sink of open.values()) sink.close();
      listeners.length = 0;
    },
  };
}

/** All of it is there before the command is. */
function openInput(directory: string, data: string): number {
  const file = createInputFile(directory);
  try {
    file.write(data);
    return file.readFd;
  } catch (error) {
    closeSync(file.readFd);
    throw error;
  } finally {
    file.close();
  }
}

function startError(error: unknown, file: string): ShellServerError {
  const code = errnoOf(error);
  const what =
    code === 'ENOENT'
      ? `there is no program ${file}, or its working directory is gone`
      : code === 'E2BIG'
        ? 'its arguments and environment together are too long'
        : messageOf(error);
  return new ShellServerError('EXECUTION_001', `The command could not be started: ${what}.`, {
    details: { reason: code ?? messageOf(error) },
    cause: error,
  });
}

function closeQuietly(...fds: number[]): void {
  for (const fd of fds) {
    try {
      closeSync(fd);
    } catch {
      // Closed already.
    }
  }
}
