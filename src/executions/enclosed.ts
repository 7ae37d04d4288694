/**
 * A process with everything that follows it to its end: its output, its tree (in a cgroup where there can be one) and
 * its ending. The server starts one for an ordinary execution, the wrapper for a detached one.
 */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { SERVER_MARKER_NAME } from '../base/marker.ts';
import type { Sink, StreamType } from '../outputs/types.ts';
import type { Limits, Wall } from '../security/security.ts';
import { type Capture, type CaptureSpec, startCapture } from './capture.ts';
import type { Cgroups, ExecutionGroup } from './cgroups/cgroups.ts';
import { createEnding, type Ending } from './ending.ts';
import { checkMounts, inTime, WallFailed, wallFailed } from './gate.ts';
import type { Pipes } from './pipes.ts';
import { listProcesses } from './process-table.ts';
import { terminateTree } from './terminate.ts';
import { createTree, type ProcessTree } from './tree.ts';

export interface EnclosureSpec extends CaptureSpec {
  /** Names the cgroup. */
  readonly id: string;
  readonly marker: string;
  /** The server that it is for, where nobody else knows of it yet. */
  readonly server?: string;
  readonly limits: Limits;
  /** The path of a terminal that it gets instead of pipes, and that becomes its controlling one. */
  readonly terminal?: string | undefined;
}

export interface EnclosedSpec extends EnclosureSpec {
  /**
   * Whatever has to be there before the command runs, and a sink for each stream. Done while the wall is being built,
   * where there is one.
   */
  openSinks(): ReadonlyMap<StreamType, Sink>;
  /** Values that are replaced in what it prints. */
  readonly masked?: readonly string[];
}

export interface Enclosure {
  readonly capture: Capture;
  readonly group: ExecutionGroup | undefined;
  readonly tree: ProcessTree;
}

export interface Enclosed extends Enclosure {
  readonly ending: Ending;
}

/** All that a wall depends on: what runs behind it, and where, it is told later. */
export interface WantedWall {
  readonly wall?: Wall | undefined;
  readonly limits: Limits;
}

export interface Taken extends Enclosure {
  /** It was not built for this one. */
  readonly isReady: boolean;
}

/** Walls that were built before anybody asked. */
export interface WallsAhead {
  /** The command is running then, behind a wall as it wants one; undefined where that cannot be had so. */
  take(spec: EnclosedSpec): Promise<Taken | undefined>;
  /** A command that wants such a wall is about to come. */
  prepare(wanted: WantedWall): void;
  /** One was just begun, and more may come; at once where it found a wall that was ready. */
  expect(wanted: WantedWall, wasReady: boolean): void;
}

export interface EnclosedTools {
  readonly pipes: Pipes;
  readonly cgroups: Cgroups;
  readonly ahead?: WallsAhead;
  now(): number;
}

export async function startEnclosed(spec: EnclosedSpec, tools: EnclosedTools): Promise<Enclosed> {
  const { limits } = spec;
  const taken = await tools.ahead?.take(spec);
  const enclosure = taken ?? (await encloseNow(spec, tools));
  const { capture, group, tree } = enclosure;
  const ending = createEnding(capture, tree, {
    memoryLimitBytes: limits.memoryBytes,
    cpuLimitSeconds: limits.cpuSeconds,
    group,
    now: tools.now,
  });
  tools.ahead?.expect(spec, taken?.isReady === true);
  return { ...enclosure, ending };
}

async function encloseNow(spec: EnclosedSpec, tools: EnclosedTools): Promise<Enclosure> {
  // Without a wall it runs as soon as it is there.
  const early = spec.wall?.kind === 'bubblewrap' ? undefined : spec.openSinks();
  try {
    return await enclose(spec, tools, (capture) => capture.copyTo(early ?? spec.openSinks(), spec.masked));
  } catch (error) {
    for (const sink of early?.values() ?? []) sink.close();
    throw error;
  }
}

/** Where there is a wall, `meanwhile` is done while it is being built. */
export async function enclose(
  spec: EnclosureSpec,
  tools: EnclosedTools,
  meanwhile: (capture: Capture) => void = () => undefined,
): Promise<Enclosure> {
  const { marker, limits, wall } = spec;
  const isWalled = wall?.kind === 'bubblewrap';
  const group = chooseGroup(spec, tools.cgroups);
  const joinsFirst = group !== undefined && (!isWalled || group.joinsAtOnce);
  const capture = await startCapture(
    {
      ...spec,
      marked: {
        ...entryOf(marker),
        ...(spec.server !== undefined && { [SERVER_MARKER_NAME]: spec.server }),
      },
      argv: isWalled ? limitForks(spec.argv, limits.processes, tools.cgroups) : spec.argv,
      prefix: (argv) => {
        const joined = joinsFirst ? group.joining(argv, isWalled ? {} : spec.environment) : argv;
        const filed = limitFiles(joined, limits.fileBytes);
        return spec.terminal === undefined ? filed : onTerminal(filed, spec.terminal);
      },
    },
    tools.pipes,
  ).catch((error: unknown) => {
    group?.remove();
    throw error;
  });
  const tree = createTree({ leader: capture.identity, marker, group, isWalled });
  let said = '';
  if (isWalled) {
    capture.onOutput((chunk) => {
      if (said.length < SAID_CHARS) said += Buffer.from(chunk).toString('utf8');
    });
  }
  try {
    meanwhile(capture);
    await passGate(capture, wall, joinsFirst ? undefined : group);
  } catch (error) {
    await terminateTree(tree, { signal: 'SIGKILL' });
    capture.drain();
    capture.close();
    tree.release();
    throw error instanceof WallFailed && error.code === 'EXECUTION_001' ? wallFailed(said.trim()) : error;
  }
  return { capture, group, tree };
}

/** Enough for bwrap's own words. */
const SAID_CHARS = 500;

/** Behind a wall the namespace knows its members; a group is then only there for its limits. */
function chooseGroup({ id, limits, wall }: EnclosureSpec, cgroups: Cgroups): ExecutionGroup | undefined {
  const { fileBytes: _, ...wanted } = limits;
  if (wall?.kind !== 'bubblewrap') return cgroups.create(id, wanted);
  const { memory, processes, cpu } = cgroups.held();
  const isHeld =
    (memory !== undefined && wanted.memoryBytes !== undefined) ||
    (processes !== undefined && wanted.processes !== undefined) ||
    (cpu !== undefined && wanted.cpuPercent !== undefined);
  return isHeld ? cgroups.create(id, wanted) : undefined;
}

/** Limits are joined and mounts compared while the command waits. */
async function passGate(
  capture: Capture,
  wall: Wall | undefined,
  group: ExecutionGroup | undefined,
): Promise<void> {
  const { gate } = capture;
  if (gate === undefined || wall?.kind !== 'bubblewrap') return;
  const init = await inTime(gate.entered);
  if (init === undefined) throw wallFailed('');
  await Promise.all([group?.join(init.pid), checkMounts(init, gate, wall)]);
  gate.open();
}

/** "NAME=value" */
function entryOf(marker: string): Record<string, string> {
  const at = marker.indexOf('=');
  return { [marker.slice(0, at)]: marker.slice(at + 1) };
}

/**
 * Without a cgroup, for an ordinary user. Set inside, where the processes of the namespace are counted apart; before
 * Linux 5.14 all of the user's count, so that there is room for those too.
 */
function limitForks(argv: readonly string[], most: number | undefined, cgroups: Cgroups): readonly string[] {
  if (most === undefined || process.getuid?.() === 0 || cgroups.held().processes !== undefined) return argv;
  const others = countsApart(release()) ? 0 : listProcesses().length;
  const wanted = Math.min(most + others, ownLimit('Max processes'));
  return ['/bin/sh', '-c', LIMIT_FORKS, 'sh', String(wanted), ...argv];
}

/** Shells have two names for it. */
const LIMIT_FORKS = '{ ulimit -u "$1" || ulimit -p "$1"; } 2>/dev/null || exit 126; shift; exec "$@"';

function countsApart(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/**
 * Opens the terminal as the leader of its own session, which makes it the controlling one, and closes what came along:
 * other terminals, which their library leaves open to every child. Those that bwrap needs are below 9.
 */
function onTerminal(argv: readonly string[], path: string): readonly string[] {
  return ['/bin/bash', '-p', '-c', OPEN_TERMINAL, 'terminal', path, ...argv];
}

const OPEN_TERMINAL = [
  'for fd in /proc/self/fd/* /dev/fd/*; do fd=${fd##*/}; case $fd in [0-8]|*[!0-9]*) ;; *) eval "exec $fd>&-" ;; esac; done',
  'exec 0<>"$1" 1>&0 2>&0; shift; exec "$@"',
].join('; ');

/** prlimit becomes what follows it. */
function limitFiles(argv: readonly string[], bytes: number | undefined): readonly string[] {
  if (bytes === undefined || process.platform !== 'linux') return argv;
  const wanted = Math.min(bytes, ownLimit('Max file size'));
  return ['/usr/bin/prlimit', `--fsize=${wanted}`, '--core=0', '--', ...argv];
}

/** What holds for the server holds for what it starts, and only root could have more. */
function ownLimit(name: string): number {
  const line = readFileSync('/proc/self/limits', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(name));
  const hard = Number(/\S+\s+(\d+)\s+\S+\s*$/.exec(line ?? '')?.[1] ?? Number.NaN);
  return Number.isNaN(hard) ? Number.POSITIVE_INFINITY : hard;
}
