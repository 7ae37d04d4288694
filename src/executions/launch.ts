/**
 * From a permit to a running process with everything that follows it to its end: its output, its tree (in a cgroup where
 * there can be one) and its ending. The server launches commands, the wrapper a detached one, the terminal host what runs
 * in terminals; `io` is what differs.
 */
import { closeSync, writeSync } from 'node:fs';
import { release } from 'node:os';
import { attempt } from '../base/attempt.ts';
import { ticks } from '../base/clock.ts';
import type { Sink, StreamType } from '../outputs/types.ts';
import type { BubblewrapSpec, LaunchPermit } from '../security/security.ts';
import { type Capture, createCapture, type OutputPipes } from './capture.ts';
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { createEnding } from './ending.ts';
import { entryOf, withMarker } from './environment-words.ts';
import type { Handoff } from './handoff-script.ts';
import { createInputFile } from './input-file.ts';
import { dataLimitOf } from './limit-enforcement.ts';
import type { KeptMounts } from './mount-watch.ts';
import type { Reaper } from './orphans.ts';
import type { Pipes } from './pipes.ts';
import { listProcesses, type ProcessIdentity } from './process-table.ts';
import { buildSandbox } from './sandbox-build.ts';
import type { SandboxPool } from './sandbox-pool.ts';
import type { SandboxTools } from './sandbox-tools.ts';
import {
  endSandbox,
  exitOf,
  handOff,
  isSandbox,
  readMounts,
  shows,
  type WaitingSandbox,
} from './sandboxed.ts';
import { allowedOf, type Child, type Exit } from './spawner.ts';
import { createTree } from './tree.ts';

export interface LaunchIo {
  /** stdout, stderr or combined; others are discarded. */
  readonly streams: readonly StreamType[];
  /** Whatever has to be there before the command runs, and a sink for each stream. Its processes have this marker. */
  openSinks(marker: string): ReadonlyMap<StreamType, Sink>;
  /** The text that the permit's shell is to run, without what was put before it; where a shell may wait for it. */
  readonly command?: string | undefined;
  /** Its start is answered, not its end. */
  readonly isBackground?: boolean;
  readonly inputData: string | undefined;
  /** Descriptor 3 is for the session's state. */
  readonly keepsState: boolean;
  readonly timeoutMs?: number | undefined;
  /** The path of a terminal that it gets instead of pipes, and that becomes its controlling one. */
  readonly terminal?: string | undefined;
}

export interface LaunchTools extends SandboxTools {
  readonly pool?: SandboxPool;
}

/** What is running. */
interface Started {
  readonly identity: ProcessIdentity;
  readonly reaper?: Reaper | undefined;
  readonly exited: Promise<Exit>;
  readonly capture: Capture;
  readonly group: ExecutionGroup | undefined;
  readonly kept?: KeptMounts | undefined;
  /** That of the permit, or of a shell that was there before. */
  readonly marker: string;
  /** Its parent told who it is. */
  readonly isSure: boolean;
}

export type Launched = Awaited<ReturnType<typeof launch>>;

/** `id` names the cgroup. */
export async function launch(id: string, permit: LaunchPermit, io: LaunchIo, tools: LaunchTools) {
  const { sandboxSpec, limits } = permit;
  const beganTicks = ticks();
  const isSandboxed = sandboxSpec?.kind === 'bubblewrap';
  const started =
    (await startInShell(permit, io, tools)) ??
    (isSandboxed
      ? await startSandboxed(permit, sandboxSpec, io, tools)
      : await startPlain(id, permit, io, tools));
  const { identity, reaper, exited, capture, group, kept, marker, isSure } = started;
  const tree = createTree({ leader: identity, marker, reaper, group, isSandboxed, isSure });
  const ending = createEnding({ ...capture, exited }, tree, {
    memoryLimitBytes: limits.memoryBytes,
    cpuLimitSeconds: limits.cpuSeconds,
    timeoutMs: io.timeoutMs,
    isTerminal: io.terminal !== undefined,
    dataLimitBytes: dataLimitOf(limits.memoryBytes, group),
    group,
    kept,
    beganTicks,
    now: tools.now,
  });
  return { ...started, tree, ending };
}

/** Hands off the text of the command to a shell that waits for it, if one does. */
async function startInShell(
  permit: LaunchPermit,
  io: LaunchIo,
  { pool }: LaunchTools,
): Promise<Started | undefined> {
  const { prestarted, text } = pool?.takeShell(permit, io, allowedProcesses(permit.limits.processes)) ?? {};
  if (prestarted?.shell === undefined || text === undefined) return undefined;
  const { child, capture, group, handoffFd } = prestarted;
  const { marker } = prestarted.shell;
  try {
    capture.copyTo(io.openSinks(marker), permit.masked);
    // A text has at most a page, which a pipe takes as a whole; without the last byte nothing runs.
    writeSync(handoffFd, `${text}\0`);
    attempt(() => closeSync(handoffFd));
  } catch (error) {
    await endSandbox(prestarted);
    throw error;
  }
  const about = { identity: child.identity, capture, group, marker, isSure: isSure(child) };
  return isSandbox(prestarted)
    ? { ...about, exited: exitOf(prestarted), kept: keptOf(prestarted) }
    : { ...about, exited: child.exited, reaper: child.reaper };
}

async function startPlain(
  id: string,
  permit: LaunchPermit,
  io: LaunchIo,
  { pipes, cgroups, spawner }: LaunchTools,
): Promise<Started> {
  const { sandboxSpec, limits } = permit;
  const { fileBytes, ...held } = limits;
  const group = cgroups.create(id, held);
  const output = await takePipes(pipes, io);
  const capture = createCapture(output, pipes.turns);
  try {
    const input = storeInput(pipes, io.inputData);
    // It runs as soon as it is there.
    capture.copyTo(io.openSinks(permit.marker), permit.masked);
    const isMerged = io.streams.includes('combined');
    const child = await spawner.start({
      argv:
        sandboxSpec?.kind === 'seatbelt'
          ? [sandboxSpec.program, '-p', sandboxSpec.profile, ...permit.argv]
          : permit.argv,
      environment: withMarker(permit.environment, permit.marker),
      directory: permit.directory,
      descriptors: [
        input === undefined ? undefined : { path: input, access: 'read', isUnlinked: true },
        output.stdout?.end,
        isMerged ? output.stdout?.end : output.stderr?.end,
        output.state?.end,
      ],
      groups: group?.joinFiles ?? [],
      mustJoin: group?.mustJoin ?? false,
      limits: { fileBytes, dataBytes: dataLimitOf(limits.memoryBytes, group) },
      terminal: io.terminal,
    });
    const { identity, reaper, exited } = child;
    return { identity, reaper, exited, capture, group, marker: permit.marker, isSure: isSure(child) };
  } catch (error) {
    capture.close();
    group?.remove();
    throw error;
  }
}

async function takePipes(pipes: Pipes, { streams, keepsState }: LaunchIo): Promise<OutputPipes> {
  const isMerged = streams.includes('combined');
  return {
    stdout: isMerged || streams.includes('stdout') ? await pipes.take() : undefined,
    stderr: !isMerged && streams.includes('stderr') ? await pipes.take() : undefined,
    state: keepsState ? await pipes.take() : undefined,
  };
}

/** All of it is there before the command is. */
function storeInput({ directory }: Pipes, data: string | undefined): string | undefined {
  if (data === undefined) return undefined;
  const file = createInputFile(directory);
  try {
    file.write(data);
    return file.path;
  } finally {
    file.close();
  }
}

async function startSandboxed(
  permit: LaunchPermit,
  sandboxSpec: BubblewrapSpec,
  io: LaunchIo,
  tools: LaunchTools,
): Promise<Started> {
  const { limits, marker } = permit;
  const sandbox =
    io.terminal === undefined && tools.pool !== undefined
      ? // Most commands find a shell in one.
        await tools.pool.take({ sandboxSpec, limits }, io.command === undefined ? undefined : 1)
      : await buildSandbox({ sandboxSpec, limits, terminal: io.terminal, marked: entryOf(marker) }, tools);
  const isShown = shows(sandbox, permit.directory);
  const handoff = isShown
    ? handoffOf(permit, io, processLimit(limits.processes, sandbox.group))
    : notShown(permit.directory);
  try {
    sandbox.capture.copyTo(io.openSinks(marker), permit.masked);
    await handOff(sandbox, handoff, isShown ? io.inputData : undefined);
  } catch (error) {
    // It may have been ended at this very moment, and nothing has run.
    await endSandbox(sandbox);
    throw error;
  }
  const { child, capture, group } = sandbox;
  const exited = exitOf(sandbox).then((exit) => (isShown ? exit : { ...exit, isSetupFailure: true }));
  return {
    identity: child.identity,
    exited,
    capture,
    group,
    kept: keptOf(sandbox),
    marker,
    isSure: isSure(child),
  };
}

/** The forker looks before it can have been waited for. */
const isSure = ({ identity, reaper }: Child): boolean => reaper !== undefined && identity.startTime > 0;

const keptOf = ({ kept, witness }: WaitingSandbox): KeptMounts => ({
  ...kept,
  read: () => readMounts(witness.pid),
});

function handoffOf(permit: LaunchPermit, io: LaunchIo, maxProcesses: number | undefined): Handoff {
  const { streams, terminal } = io;
  const isApart = terminal !== undefined || streams.includes('stderr');
  return {
    argv: permit.argv,
    environment: withMarker(permit.environment, permit.marker),
    directory: permit.directory,
    stdin: io.inputData === undefined ? 'inherited' : 'input',
    stderr: streams.includes('combined') ? 'merged' : isApart ? 'own' : 'discarded',
    keepsState: io.keepsState,
    maxProcesses,
  };
}

/** In bubblewrap's own words. */
function notShown(directory: string): Handoff {
  const script = 'echo "bwrap: Can\'t chdir to $1: No such file or directory" >&2; exit 1';
  return {
    argv: ['/bin/sh', '-c', script, 'sh', directory],
    environment: {},
    directory: '/',
    stdin: 'inherited',
    stderr: 'own',
    keepsState: false,
    maxProcesses: undefined,
  };
}

/**
 * Without a cgroup, for an ordinary user. Set inside, where the processes of the namespace are counted apart; before
 * Linux 5.14 all of the user's count, so that there is room for those too.
 */
function processLimit(most: number | undefined, group: ExecutionGroup | undefined): number | undefined {
  return group?.held().processes === undefined ? allowedProcesses(most) : undefined;
}

function allowedProcesses(most: number | undefined): number | undefined {
  if (most === undefined || process.getuid?.() === 0) return undefined;
  const others = countsApart(release()) ? 0 : listProcesses().length;
  return allowedOf(most + others, 'Max processes');
}

function countsApart(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}
