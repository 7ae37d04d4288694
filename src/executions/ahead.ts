/**
 * Walls that are built ahead. Building one takes longer than most commands, and the next command nearly always wants
 * the same one: so it is built while nobody waits, with a shell behind it that is told later what to run. It is used
 * only where it is the same to the last option, and where the kernel still shows every mount of it as it was meant.
 */
import { closeSync, readFileSync, writeSync } from 'node:fs';
import { errnoOf } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { type BubblewrapWall, type Limits, MARKER_NAME } from '../security/security.ts';
import {
  type EnclosedSpec,
  type EnclosedTools,
  type Enclosure,
  enclose,
  type WallsAhead,
} from './enclosed.ts';
import { readMounts, wallFailed } from './gate.ts';
import { findUnexpectedMount } from './mounts.ts';
import { isAlive, type ProcessIdentity } from './process-table.ts';
import { createTree, sendSignal } from './tree.ts';

export interface Ahead extends WallsAhead {
  /** Ends those that stand. */
  dispose(): Promise<void>;
}

/** A command that comes later builds its own. */
const KEPT_MS = 60_000;
const MAX_STANDING = 6;
/** Two commands alike make a third likely, as far back as this. */
const MAX_RECENT = 8;
/** What fits into a pipe, so that telling never blocks. */
const MAX_SCRIPT_BYTES = 60_000;
/** Reads from its stdin. Not from a path like /dev/stdin, which nobody can open once we have told it all and left. */
const LISTENER = ['/bin/sh'];
/** Those that a shell does not take like any other; `_` is every shell's own. */
const OF_SHELLS =
  /^(?:PPID|E?UID|GROUPS|OPTIND|LINENO|RANDOM|SECONDS|SHELLOPTS|BASHOPTS|BASHPID|BASH_VERSINFO|FUNCNAME|DIRSTACK)$/;

/** All that a wall depends on. */
interface Wanted {
  readonly wall: BubblewrapWall;
  readonly limits: Limits;
  readonly directory: string;
}

interface Standing {
  readonly enclosure: Enclosure;
  readonly init: ProcessIdentity;
  /** What the shell behind the wall reads. */
  readonly tellFd: number;
  /** The host's own mounts at that time. */
  readonly hostMounts: string;
}

interface Entry {
  readonly key: string;
  readonly built: Promise<Standing | undefined>;
  readonly expiry: NodeJS.Timeout;
}

/** `readHostMounts` tells of changes: mounts that came later are shown inside in another way than they should. */
export function createAhead(tools: EnclosedTools, readHostMounts = readOwnMounts): Ahead {
  /** Oldest first. */
  const entries: Entry[] = [];
  /** What was wanted of late. */
  const recent: string[] = [];
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

  async function build({ wall, limits, directory }: Wanted): Promise<Standing | undefined> {
    const id = createId('exec');
    const hostMounts = readHostMounts();
    const pipe = await tools.pipes.takeInput();
    try {
      const enclosure = await enclose(
        {
          id,
          argv: LISTENER,
          environment: {},
          directory,
          marker: `${MARKER_NAME}=${id}`,
          limits,
          wall,
          inputData: undefined,
          inputFd: pipe.readFd,
          streams: ['stdout', 'stderr'],
          wantsState: true,
        },
        tools,
      );
      const init = await enclosure.capture.gate?.entered;
      if (init !== undefined) return { enclosure, init, tellFd: pipe.writeFd, hostMounts };
    } catch {
      // The next command finds out why, and its caller is told.
    }
    closeSync(pipe.writeFd);
    return undefined;
  }

  return {
    async take(spec) {
      const wanted = wantedBy(spec);
      const key = wanted === undefined ? undefined : keyOf(wanted);
      const entry = entries.find((each) => each.key === key);
      if (entry === undefined || wanted === undefined) return undefined;
      leave(entry);
      const standing = await entry.built;
      if (standing === undefined) return undefined;
      if (isDisposed || standing.hostMounts !== readHostMounts() || !isSound(standing, wanted.wall)) {
        await end(standing);
        return undefined;
      }
      const { capture, group } = standing.enclosure;
      try {
        capture.copyTo(spec.openSinks(), spec.masked);
        writeSync(standing.tellFd, scriptOf(spec));
      } catch (error) {
        await end(standing);
        // It was ended at this very moment, and nothing has run.
        throw errnoOf(error) === 'EPIPE' ? wallFailed('it ended before its command came') : error;
      }
      closeSync(standing.tellFd);
      return {
        capture,
        group,
        tree: createTree({ leader: capture.identity, marker: spec.marker, group, isWalled: true }),
      };
    },
    expect(spec, isTaken) {
      const wanted = wantedBy(spec);
      if (wanted === undefined) return;
      const key = keyOf(wanted);
      if (!recent.includes(key)) {
        recent.push(key);
        if (recent.length > MAX_RECENT) recent.shift();
        return;
      }
      // Whoever is just being answered comes first.
      setImmediate(() => {
        // In a row, the next may come before there is another.
        add(key, wanted, isTaken ? 2 : 1);
        for (const old of entries.slice(0, Math.max(0, entries.length - MAX_STANDING))) drop(old);
      });
    },
    async dispose() {
      isDisposed = true;
      for (const entry of entries.splice(0)) drop(entry);
      await Promise.all(ending);
    },
  };
}

const readOwnMounts = (): string => readFileSync('/proc/self/mountinfo', 'utf8');

/** Undefined where there is no wall, or where a shell could not be told this command. */
function wantedBy(spec: EnclosedSpec): Wanted | undefined {
  const { wall, limits, directory, argv, environment } = spec;
  if (wall?.kind !== 'bubblewrap' || spec.inputData !== undefined || spec.terminal !== undefined)
    return undefined;
  const canExport = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !OF_SHELLS.test(name);
  if (argv[0]?.startsWith('/') !== true || !Object.keys(environment).every(canExport)) return undefined;
  return Buffer.byteLength(scriptOf(spec)) > MAX_SCRIPT_BYTES ? undefined : { wall, limits, directory };
}

const keyOf = ({ wall: { program, options, seccomp }, limits, directory }: Wanted): string =>
  JSON.stringify([program, options, seccomp, limits, directory]);

/** Not through env(1): everybody on the machine sees the arguments of a process, and variables may be secrets. */
function scriptOf({ argv, environment, streams, wantsState }: EnclosedSpec): string {
  const exported = Object.entries(environment)
    .filter(([name]) => name !== '_')
    .map(([name, value]) => `${name}=${quoted(value)}`);
  const stderr = streams.includes('combined') ? '2>&1' : streams.includes('stderr') ? '' : '2>/dev/null';
  return [
    // Shells have some of their own.
    'unset PWD OLDPWD SHLVL',
    ...(exported.length === 0 ? [] : [`export ${exported.join(' ')}`]),
    `exec ${argv.map(quoted).join(' ')} </dev/null ${stderr} ${wantsState ? '' : '3>&-'}\n`,
  ].join('; ');
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** It stands, and everything it shows is still what was meant. */
function isSound({ enclosure, init }: Standing, wall: BubblewrapWall): boolean {
  if (!isAlive(init) || !isAlive(enclosure.capture.identity)) return false;
  const inside = readMounts(init.pid);
  return inside !== undefined && findUnexpectedMount(inside, wall) === undefined;
}

/** With its first process all of it ends. */
async function end({ enclosure: { capture, tree }, tellFd }: Standing): Promise<void> {
  sendSignal(capture.identity, 'SIGKILL');
  closeSync(tellFd);
  await capture.exited;
  capture.close();
  tree.release();
}
