/**
 * Between a wall that stands and the command behind it. bwrap says which process it made, sets up its mounts, and
 * waits to be let on: until then limits are joined and mounts compared, and nothing of the command has run.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync, readFileSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { once } from '../base/once.ts';
import { type BubblewrapWall, WALL_FDS, WALL_FILE, type Wall } from '../security/sandbox/profile.ts';
import { findUnexpectedMount } from './mounts.ts';
import { findProcess, isAlive, type ProcessIdentity } from './process-table.ts';

export interface Gate {
  /** The first process of the new namespace; undefined where bwrap ended before it made one. */
  readonly entered: Promise<ProcessIdentity | undefined>;
  /** Nearly everything is mounted, or bwrap is gone. */
  readonly mounted: Promise<void>;
  /** Whether the command ran at all; known once bwrap ended. */
  readonly hasRun: Promise<boolean>;
  /** Lets the command run. */
  open(): void;
}

/** What is started instead of the command itself, and the descriptors from 4 on that it needs. */
export interface WalledStart {
  readonly argv: readonly string[];
  readonly stdio: readonly ('ignore' | 'pipe' | number)[];
}

export function startBehind(
  wall: Wall,
  command: { readonly argv: readonly string[]; readonly directory: string; readonly laterFd?: number },
  block?: number,
): WalledStart {
  if (wall.kind === 'seatbelt')
    return { argv: [wall.program, '-p', wall.profile, ...command.argv], stdio: [] };
  const { laterFd } = command;
  const mounted = saysWhenMounted(wall) ? 'pipe' : 'ignore';
  return {
    argv: [
      wall.program,
      '--args',
      String(WALL_FDS.options),
      '--chdir',
      command.directory,
      '--',
      ...command.argv,
    ],
    stdio: [
      'pipe',
      wall.seccomp === undefined ? 'ignore' : 'pipe',
      'pipe',
      block ?? 'ignore',
      ...(mounted === 'pipe' || laterFd !== undefined ? ([mounted] as const) : []),
      ...(laterFd === undefined ? [] : [laterFd]),
    ],
  };
}

/**
 * What the programs outside the wall get: a variable of the command's could make their loader run a file of the
 * workspace.
 */
export const OUTER_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: '/usr/bin:/bin' };

/**
 * Tells bwrap its options and the command's variables, and listens to it. With `block`, our end of a pipe, bwrap waits
 * before it runs the command.
 */
export function createGate(
  child: ChildProcess,
  wall: BubblewrapWall,
  environment: Readonly<Record<string, string>>,
  block?: number,
): Gate {
  const socketOf = (fd: number): Socket => {
    // Node has as many as were asked for; its types know five.
    const socket = (child.stdio as readonly unknown[])[fd] as Socket;
    // It ended early, and says so elsewhere.
    return socket.on('error', () => undefined);
  };
  const variables = Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]);
  const waiting = block === undefined ? [] : ['--block-fd', String(WALL_FDS.block)];
  socketOf(WALL_FDS.options).end([...wall.options, ...waiting, '--clearenv', ...variables].join('\0'));
  if (wall.seccomp !== undefined) socketOf(WALL_FDS.seccomp).end(Buffer.from(wall.seccomp, 'base64'));
  const mounted = saysWhenMounted(wall) ? untilClosed(socketOf(WALL_FDS.mounted)) : sleep(FIRST_LOOK_MS);
  const status = socketOf(WALL_FDS.status);
  const leave = once(() => {
    if (block !== undefined) closeSync(block);
  });
  let text = '';
  let enter: (process: ProcessIdentity | undefined) => void = () => undefined;
  const entered = new Promise<ProcessIdentity | undefined>((resolve) => {
    enter = resolve;
  });
  const hasRun = new Promise<boolean>((resolve) => {
    const finish = (): void => {
      enter(undefined);
      resolve(/"exit-code"/.test(text));
      leave();
      status.destroy();
    };
    status.setEncoding('utf8');
    status.on('data', (chunk: string) => {
      text += chunk;
      const pid = /"child-pid": (\d+)/.exec(text)?.[1];
      if (pid !== undefined) enter(findProcess(Number(pid)));
    });
    status.on('error', finish);
    status.on('close', finish);
  });
  return {
    entered,
    mounted,
    hasRun,
    open: once(() => {
      if (block !== undefined) writeSync(block, '\n');
      leave();
    }),
  };
}

const saysWhenMounted = ({ options }: BubblewrapWall): boolean => options.includes(WALL_FILE);

/** A file with nothing in it: bwrap is done with it, and closes it, when it has made its mounts. */
function untilClosed(file: Socket): Promise<void> {
  return new Promise((resolve) => {
    file.once('close', () => resolve());
    file.end().resume();
  });
}

/** The kernel ends what is in the namespace by itself; an answer should not come before that is done. */
export async function untilEmpty(gate: Gate): Promise<void> {
  const init = await gate.entered;
  const deadline = performance.now() + EMPTY_MS;
  for (let looks = 0; init !== undefined && isAlive(init) && performance.now() < deadline; looks++) {
    await pause(looks);
  }
}

/** Nearly always it takes less than the shortest sleep. */
async function pause(looks: number): Promise<void> {
  await (looks < QUICK_LOOKS ? new Promise((resolve) => setImmediate(resolve)) : sleep(LOOK_MS));
}

const EMPTY_MS = 1000;
const QUICK_LOOKS = 20;
/** Where it does not say when all is mounted; it takes some five milliseconds. */
const FIRST_LOOK_MS = 4;
const LOOK_MS = 1;

/**
 * The wall could not be set up, and nothing was run: something that was to be mounted is gone, say, or another command
 * changed it meanwhile. It may be built anew.
 */
export class WallFailed extends ShellServerError {}

/** What terminals have of it, which are started by another process. */
export const NOT_SET_UP = 'not set up';

export function wallFailed(reason: string): WallFailed {
  const said = reason === '' ? 'bwrap ended early' : reason;
  return new WallFailed('EXECUTION_001', `Nothing was run: the sandbox could not be set up (${said}).`, {
    hint: 'Call again. If it stays so, the operator finds more with `mcp-shell-server doctor`.',
    details: { sandbox: NOT_SET_UP },
  });
}

/** Waits until the mounts are made, and compares those that a running command could have tampered with. */
export async function checkMounts(
  init: ProcessIdentity,
  { mounted }: Pick<Gate, 'mounted'>,
  wall: BubblewrapWall,
  timeoutMs: number = LIMITS.wallSetupMs,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  // A look at the table holds up whoever is changing it.
  await inTime(mounted, timeoutMs);
  for (let looks = 0; ; looks++) {
    const table = readMounts(init.pid);
    if (table === undefined && !isAlive(init)) throw wallFailed('');
    const answer = table === undefined ? null : findUnexpectedMount(table, wall);
    if (answer === undefined) return;
    if (answer !== null) throw swapped(answer);
    if (performance.now() > deadline) throw late();
    await pause(looks);
  }
}

/** bwrap can wait for ever: for a file server that does not answer, say. */
export async function inTime<Value>(
  step: Promise<Value>,
  timeoutMs: number = LIMITS.wallSetupMs,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs);
  });
  try {
    return await Promise.race([step, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

const late = (): ShellServerError =>
  new ShellServerError('EXECUTION_001', 'Nothing was run: the sandbox was not set up in time.', {
    hint: 'Something that it shows may not answer, a file server for example; the operator finds more with `mcp-shell-server doctor`.',
  });

function swapped(path: string): WallFailed {
  return new WallFailed(
    'SECURITY_003',
    `Nothing was run: ${path} was changed by another command while the sandbox was set up.`,
    {
      hint: 'Call again; if it happens every time, end what is running in the workspace.',
      details: { path, sandbox: NOT_SET_UP },
    },
  );
}

export function readMounts(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/mountinfo`, 'utf8');
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
