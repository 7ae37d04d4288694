/**
 * Walls that are built ahead. Building one takes longer than most commands, and the next command nearly always wants
 * the same one: so it is built while nobody waits, with a shell behind it that is told later what to run. It is used
 * only where it is the same to the last option, and where the kernel still shows every mount of it as it was meant.
 */
import { closeSync, readFileSync, writeSync } from 'node:fs';
import { directoryProblem } from '../base/config/paths.ts';
import { errnoOf } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { canEnter } from '../base/reach.ts';
import { type BubblewrapWall, MARKER_NAME } from '../security/security.ts';
import {
  type EnclosedSpec,
  type EnclosedTools,
  type Enclosure,
  enclose,
  type WallsAhead,
  type WantedWall,
} from './enclosed.ts';
import { readMounts, untilEmpty, wallFailed } from './gate.ts';
import { createInputFile, type InputFile } from './input-file.ts';
import { findExchangedMount } from './mounts.ts';
import { isAlive, type ProcessIdentity } from './process-table.ts';
import { canBeTold, scriptOf } from './telling.ts';
import { terminateTree } from './terminate.ts';
import { createTree, sendSignal } from './tree.ts';

export interface Ahead extends WallsAhead {
  /** Ends those that stand. */
  dispose(): Promise<void>;
}

/** A command that comes later builds its own. */
const KEPT_MS = 10 * 60_000;
const MAX_STANDING = 6;
const PAUSE_MS = 12;
/** Reads from its stdin. Not from a path like /dev/stdin, which nobody can open once we have told it all and left. */
const LISTENER = ['/bin/sh'];

interface Wanted extends WantedWall {
  readonly wall: BubblewrapWall;
}

interface Standing {
  readonly enclosure: Enclosure;
  readonly init: ProcessIdentity;
  /** What the shell behind the wall reads. */
  readonly tellFd: number;
  /** What the command reads, where it is given something. */
  readonly input: InputFile;
  /** The host's own mounts at that time, and those inside. */
  readonly hostMounts: string;
  readonly mounts: string;
}

interface Entry {
  readonly key: string;
  readonly built: Promise<Standing | undefined>;
  readonly expiry: NodeJS.Timeout;
}

export interface AheadTools extends EnclosedTools {
  /** The next one finds by its name what is left where it was killed. */
  readonly server: string;
}

/** Tables of mounts, by which changes are told: what is mounted later is shown inside in another way than it should. */
export interface MountTables {
  host(): string;
  inside(pid: number): string | undefined;
}

export function createAhead(tools: AheadTools, tables: MountTables = KERNEL): Ahead {
  /** Oldest first. */
  const entries: Entry[] = [];
  const ending = new Set<Promise<void>>();
  let isDisposed = false;

  function leave(entry: Entry): void {
    const at = entries.indexOf(entry);
    if (at !== -1) entries.splice(at, 1);
    clearTimeout(entry.expiry);
  }

  function drop(entry: Entry): void {
    leave(entry);
    const ended = entry.built.then((standing) => (standing === undefined ? undefined : end(standing)));
    ending.add(ended);
    void ended.finally(() => ending.delete(ended));
  }

  /** Those of one kind one after the other, so that a command does not share the processors with several. */
  function add(key: string, wanted: Wanted, most: number): void {
    if (isDisposed || entries.filter((entry) => entry.key === key).length >= most) return;
    const built = build(wanted).catch(() => undefined);
    const entry: Entry = { key, built, expiry: setTimeout(() => drop(entry), KEPT_MS).unref() };
    entries.push(entry);
    void built.then((standing) => {
      if (standing === undefined) leave(entry);
      // Only where there is room: a second one must not take the place of somebody's first.
      else if (entries.includes(entry) && entries.length < MAX_STANDING) add(key, wanted, most);
    });
  }

  async function build({ wall, limits }: Wanted): Promise<Standing | undefined> {
    const id = createId('exec');
    const hostMounts = tables.host();
    const input = createInputFile(tools.pipes.directory);
    const pipe = await tools.pipes.takeInput().catch((error: unknown) => {
      closeSync(input.readFd);
      input.close();
      throw error;
    });
    try {
      const enclosure = await enclose(
        {
          id,
          argv: LISTENER,
          environment: {},
          directory: '/',
          marker: `${MARKER_NAME}=${id}`,
          server: tools.server,
          limits,
          wall,
          inputData: undefined,
          inputFd: pipe.readFd,
          laterFd: input.readFd,
          streams: ['stdout', 'stderr'],
          wantsState: true,
          isIdle: true,
        },
        tools,
      );
      const init = await enclosure.capture.gate?.entered;
      const mounts = init && tables.inside(init.pid);
      const isMeant =
        init !== undefined && findExchangedMount(readMounts(init.pid) ?? '', wall) === undefined;
      if (isMeant && mounts !== undefined)
        return { enclosure, init, tellFd: pipe.writeFd, input, hostMounts, mounts };
      await terminateTree(enclosure.tree, { signal: 'SIGKILL' });
      enclosure.capture.close();
      enclosure.tree.release();
    } catch {
      // The next command finds out why, and its caller is told.
    }
    closeSync(pipe.writeFd);
    input.close();
    return undefined;
  }

  /**
   * It stands, and shows what it showed when it was built: where something of the host was exchanged meanwhile, the
   * kernel has taken the mount on it away, or says that what it shows is gone or elsewhere. And the shell gets to the
   * directory.
   */
  function isSound({ enclosure, init, mounts, hostMounts }: Standing, { directory }: EnclosedSpec): boolean {
    const place = `/proc/${init.pid}/root${directory}`;
    return (
      isAlive(init) &&
      isAlive(enclosure.capture.identity) &&
      tables.host() === hostMounts &&
      tables.inside(init.pid) === mounts &&
      directoryProblem(place) === undefined &&
      canEnter(place)
    );
  }

  /** Ends it where it is not fit for the command. */
  async function sound(standing: Standing | undefined, spec: EnclosedSpec): Promise<Standing | undefined> {
    if (standing === undefined) return undefined;
    if (!isDisposed && isSound(standing, spec)) return standing;
    await end(standing);
    return undefined;
  }

  return {
    async take(spec) {
      const wanted = canBeTold(spec) ? wantedBy(spec) : undefined;
      if (wanted === undefined || isDisposed) return undefined;
      const entry = entries.find(({ key }) => key === keyOf(wanted));
      if (entry !== undefined) leave(entry);
      const ready = await sound(await entry?.built, spec);
      const standing = ready ?? (await sound(await build(wanted).catch(() => undefined), spec));
      if (standing === undefined) return undefined;
      const { capture, group } = standing.enclosure;
      try {
        if (spec.inputData !== undefined) standing.input.write(spec.inputData);
        capture.copyTo(spec.openSinks(), spec.masked);
        writeSync(standing.tellFd, scriptOf(spec));
      } catch (error) {
        await end(standing);
        // It was ended at this very moment, and nothing has run.
        throw errnoOf(error) === 'EPIPE' ? wallFailed('it ended before its command came') : error;
      }
      closeSync(standing.tellFd);
      standing.input.close();
      const tree = createTree({ leader: capture.identity, marker: spec.marker, group, isWalled: true });
      return { capture, group, tree, isReady: ready !== undefined };
    },
    prepare(asked) {
      const wanted = wantedBy(asked);
      // Not in the place of somebody's who has run something.
      if (wanted !== undefined && entries.length < MAX_STANDING) add(keyOf(wanted), wanted, 1);
    },
    expect(asked, wasReady) {
      const wanted = wantedBy(asked);
      if (wanted === undefined) return;
      const key = keyOf(wanted);
      // Whoever is just being answered comes first, for as long as most commands take where another one is left.
      const pauseMs = entries.some((entry) => entry.key === key) ? PAUSE_MS : 0;
      setTimeout(() => {
        // In a row, the next may come before there is another.
        add(key, wanted, wasReady ? 2 : 1);
        for (const old of entries.slice(0, Math.max(0, entries.length - MAX_STANDING))) drop(old);
      }, pauseMs).unref();
    },
    async dispose() {
      isDisposed = true;
      for (const entry of entries.splice(0)) drop(entry);
      await Promise.all(ending);
    },
  };
}

const KERNEL: MountTables = {
  host: () => readFileSync('/proc/self/mountinfo', 'utf8'),
  inside: readMounts,
};

const wantedBy = ({ wall, limits }: WantedWall): Wanted | undefined =>
  wall?.kind === 'bubblewrap' ? { wall, limits } : undefined;

const keyOf = ({ wall: { program, options, seccomp }, limits }: Wanted): string =>
  JSON.stringify([program, options, seccomp, limits]);

/** With its first process all of it ends. */
async function end({ enclosure: { capture, tree }, tellFd, input }: Standing): Promise<void> {
  sendSignal(capture.identity, 'SIGKILL');
  closeSync(tellFd);
  input.close();
  await capture.exited;
  // Its cgroup cannot be removed before.
  if (capture.gate !== undefined) await untilEmpty(capture.gate);
  capture.close();
  tree.release();
}
