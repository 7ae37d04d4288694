/**
 * Starts one process. What its descriptors are is given by path, so that the process that starts it (this one, or the forker
 * on its behalf) opens them: nothing of ours is inherited.
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, unlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { constants as system } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { attempt } from '../base/attempt.ts';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import type { CopyPlan } from '../security/security.ts';
import { joining } from './cgroups/group.ts';
import { boundInotify } from './inotify.ts';
import type { Reaper } from './orphans.ts';
import { findProcess, type ProcessIdentity } from './process-table.ts';

export interface Descriptor {
  readonly path: string;
  readonly access: 'read' | 'write';
  /** Its name goes when it has been opened. */
  readonly isUnlinked?: boolean;
}

/** In bytes; what holds for the server holds for what it starts, where that is lower. */
interface ResourceLimits {
  readonly fileBytes?: number | undefined;
  /** A soft limit of each process, which a program that needs more address space than memory can raise. */
  readonly dataBytes?: number | undefined;
}

export interface SpawnSpec {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  /** From 0 on; those that are missing are /dev/null up to 2, and closed after that. */
  readonly descriptors: readonly (Descriptor | undefined)[];
  /** A descriptor on which it says once that it is ready, with these words in a line. */
  readonly report?: { readonly fd: number; readonly words: string };
  /** Files of cgroups that it writes itself into before anything else. */
  readonly groups: readonly string[];
  /** It must not run where it cannot join them. */
  readonly mustJoin: boolean;
  readonly limits: ResourceLimits;
  /** A terminal that is opened as 0, 1 and 2, and becomes the controlling one. */
  readonly terminal?: string | undefined;
  /** A sandbox to run argv in a copy of, or without argv to wait there for a command, for a spawner that can do that. */
  readonly template?: Template | undefined;
}

export interface Template {
  /** A path to its mount namespace, which also belongs to its user namespace. */
  readonly namespace: string;
  readonly plan: CopyPlan;
  /** A file with a compiled seccomp filter. */
  readonly filter: string | undefined;
  /** The descriptors from which it reads its command, and that command its input. */
  readonly handoff: number;
  readonly input: number;
  /** Of a program that is given at once. */
  readonly maxProcesses?: number | undefined;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The command never ran. */
  readonly isSetupFailure?: boolean;
  /** Of it and everything that was waited for by it, where the kernel was asked. */
  readonly usage?: { readonly cpuSeconds: number; readonly maxResidentBytes: number };
}

/** Some have two names, of which the first is the usual one. */
export const SIGNAL_NAMES = new Map(
  Object.entries(system.signals)
    .toReversed()
    .map(([name, number]) => [number, name as NodeJS.Signals]),
);

export interface Child {
  readonly identity: ProcessIdentity;
  /** Who started it, where that was not this process itself. */
  readonly reaper?: Reaper | undefined;
  readonly exited: Promise<Exit>;
  /** It has said that it is ready, with the pid of the first process inside where it knows it. Else never resolves. */
  readonly reported: Promise<number | undefined>;
}

/** What is opened to read from a pipe and to write to it; only their owner can. */
export interface PipeEnds {
  readonly read: string;
  readonly write: string;
  /** Both are a name in the file system, which has to go. */
  readonly isNamed: boolean;
}

export interface Spawner {
  /** Resolves when the program is running; throws EXECUTION_001 where it cannot be started. */
  start(spec: SpawnSpec): Promise<Child>;
  /** Whether it can be given a template. */
  canCopy(): boolean;
  /** Limits the inotify instances of what has this first process, as far as that can be done. */
  boundInotify(init: ProcessIdentity): Promise<void>;
  /** As many pipes as names, which it gives them where they need one; throws where one cannot be made. */
  makePipes(names: readonly string[]): Promise<readonly PipeEnds[]>;
  dispose(): Promise<void>;
}

export const FLAGS = {
  read: constants.O_RDONLY,
  write: constants.O_WRONLY,
} as const;

/** The forker's program, which the build puts beside ours. */
export const forkerBeside = (program: string): string =>
  join(dirname(program), `forker-${process.platform}-${process.arch}`);

/**
 * Starts processes from here: a fork of this whole process, during which nothing else is done. `program` is that of the
 * forker, which is asked for what Node cannot do.
 */
export function createSpawner(program: string): Spawner {
  return {
    start: startHere,
    canCopy: () => false,
    boundInotify: (init) => boundInotify(program, init),
    makePipes,
    dispose: () => Promise.resolve(),
  };
}

const execFileAsync = promisify(execFile);

async function makePipes(paths: readonly string[]): Promise<readonly PipeEnds[]> {
  // By its path: the server's own may name directories in which a command writes.
  const places = ['/usr/bin', '/bin', '/run/current-system/sw/bin'].map((place) => `${place}/mkfifo`);
  const program = places.find((path) => existsSync(path)) ?? '/usr/bin/mkfifo';
  await execFileAsync(program, ['-m', '600', ...paths], { cwd: '/', env: {} });
  return paths.map((path) => ({ read: path, write: path, isNamed: true }));
}

async function startHere(spec: SpawnSpec): Promise<Child> {
  if (spec.template !== undefined) throw new Error('only the forker can copy a sandbox');
  const [file = '', ...args] = withTerminal(withLimits(inGroups(spec), spec.limits), spec.terminal);
  const opened: number[] = [];
  const stdio: (number | 'ignore' | 'pipe')[] = [];
  try {
    for (let fd = 0; fd < Math.max(3, spec.descriptors.length, (spec.report?.fd ?? 0) + 1); fd++) {
      const descriptor = spec.descriptors[fd];
      if (descriptor !== undefined) {
        opened.push(openSync(descriptor.path, FLAGS[descriptor.access]));
        stdio.push(opened.at(-1) as number);
      } else stdio.push(fd === spec.report?.fd ? 'pipe' : 'ignore');
    }
    return await begin(file, args, spec, stdio);
  } finally {
    for (const fd of opened) closeSync(fd);
    unlinkAll(spec.descriptors);
  }
}

function begin(
  file: string,
  args: readonly string[],
  spec: SpawnSpec,
  stdio: (number | 'ignore' | 'pipe')[],
): Promise<Child> {
  const child = spawnOrThrow(file, args, {
    cwd: spec.directory,
    env: { ...spec.environment },
    stdio,
    detached: true,
    windowsHide: true,
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const reported = firstWord(child, spec.report?.fd);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(startError(error, file)));
    if (child.pid === undefined) return;
    // Alive, or a zombie until Node collects it, which it cannot before we return.
    const identity = { pid: child.pid, startTime: findProcess(child.pid)?.startTime ?? 0 };
    resolve({ identity, exited, reported });
  });
}

/** Never comes where there is no such descriptor. */
function firstWord(child: ChildProcess, fd = Number.NaN): Promise<undefined> {
  // Node has as many as were asked for; its types know five.
  const socket = (child.stdio as readonly unknown[])[fd] as Socket | undefined;
  return new Promise((resolve) => {
    socket?.on('error', () => undefined);
    socket?.once('data', () => {
      resolve(undefined);
      socket.destroy();
    });
  });
}

/** Names of pipes that nobody opened, where nothing was started. */
export function unlinkAll(descriptors: SpawnSpec['descriptors']): void {
  for (const descriptor of descriptors) {
    // It may be gone already.
    if (descriptor?.isUnlinked === true) attempt(() => unlinkSync(descriptor.path));
  }
}

/** Node emits some errors and throws others (E2BIG, ENOMEM). */
function spawnOrThrow(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(file, args, options);
  } catch (error) {
    throw startError(error, file);
  }
}

export function startError(error: unknown, file: string): ShellServerError {
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

const inGroups = ({ argv, groups, mustJoin, environment }: SpawnSpec): readonly string[] =>
  groups.length === 0 ? argv : joining({ joinFiles: groups, mustJoin }, argv, environment);

const PRLIMIT = '/usr/bin/prlimit';

/** prlimit becomes what follows it. */
function withLimits(argv: readonly string[], { fileBytes, dataBytes }: ResourceLimits): readonly string[] {
  if (process.platform !== 'linux') return argv;
  const limits = [
    ...(fileBytes === undefined ? [] : [`--fsize=${allowedOf(fileBytes, 'Max file size')}`, '--core=0']),
    // With nothing after the colon the hard limit stays as it is.
    ...(dataBytes === undefined || !existsSync(PRLIMIT)
      ? []
      : [`--data=${allowedOf(dataBytes, 'Max data size', 'soft')}:`]),
  ];
  return limits.length === 0 ? argv : [PRLIMIT, ...limits, '--', ...argv];
}

/**
 * Opens the terminal as the leader of its own session, which makes it the controlling one, and closes what came along:
 * other terminals, which their library leaves open to every child. Those that a sandbox needs are below 10.
 */
function withTerminal(argv: readonly string[], path: string | undefined): readonly string[] {
  return path === undefined ? argv : ['/bin/bash', '-p', '-c', OPEN_TERMINAL, 'terminal', path, ...argv];
}

const OPEN_TERMINAL = [
  'for fd in /proc/self/fd/* /dev/fd/*; do fd=${fd##*/}; case $fd in [0-9]|*[!0-9]*) ;; *) eval "exec $fd>&-" ;; esac; done',
  'exec 0<>"$1" 1>&0 2>&0; shift; exec "$@"',
].join('; ');

/** The lower of the two, since only root could have more than the server. */
export function allowedOf(wanted: number, name: string, kind: 'soft' | 'hard' = 'hard'): number {
  const line = readFileSync('/proc/self/limits', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(name));
  const [, soft, hard] = /(\d+|unlimited)\s+(\d+|unlimited)\s+\S+\s*$/.exec(line ?? '') ?? [];
  const own = Number(kind === 'soft' ? soft : hard);
  return Number.isNaN(own) ? wanted : Math.min(wanted, own);
}
