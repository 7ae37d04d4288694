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
import { type BubblewrapWall, MARKER_NAME, WALL_FDS } from '../security/security.ts';
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
import { terminateTree } from './terminate.ts';
import { createTree, sendSignal } from './tree.ts';

export interface Ahead extends WallsAhead {
  /** Ends those that stand. */
  dispose(): Promise<void>;
}

/** A command that comes later builds its own. */
const KEPT_MS = 10 * 60_000;
const MAX_STANDING = 6;
/** What fits into a pipe, so that telling never blocks. */
const MAX_SCRIPT_BYTES = 60_000;
/** Reads from its stdin. Not from a path like /dev/stdin, which nobody can open once we have told it all and left. */
const LISTENER = ['/bin/sh'];
/** Those that a shell does not take like any other; `_` is every shell's own. */
const OF_SHELLS =
  /^(?:PPID|E?UID|GROUPS|OPTIND|LINENO|S?RANDOM|SECONDS|SHELLOPTS|BASHOPTS|BASHPID|BASH_(?:VERSINFO|COMMAND|SUBSHELL|ARGV0)|FUNCNAME|DIRSTACK|EPOCH(?:SECONDS|REALTIME)|HISTCMD|PIPESTATUS)$/;

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

/** `readHostMounts` tells of changes: mounts that came later are shown inside in another way than they should. */
export function createAhead(tools: EnclosedTools, readHostMounts = readOwnMounts): Ahead {
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
    const hostMounts = readHostMounts();
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
      const mounts = init && readMounts(init.pid);
      const isMeant = mounts !== undefined && findExchangedMount(mounts, wall) === undefined;
      if (init !== undefined && isMeant)
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

  /** Ends it where it is not fit for the command. */
  async function sound(standing: Standing | undefined, spec: EnclosedSpec): Promise<Standing | undefined> {
    if (standing === undefined) return undefined;
    if (!isDisposed && standing.hostMounts === readHostMounts() && isSound(standing, spec)) return standing;
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
      // Whoever is just being answered comes first.
      setImmediate(() => {
        // In a row, the next may come before there is another.
        add(keyOf(wanted), wanted, wasReady ? 2 : 1);
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

const wantedBy = ({ wall, limits }: WantedWall): Wanted | undefined =>
  wall?.kind === 'bubblewrap' ? { wall, limits } : undefined;

/** Whether a shell can be told this command so that nothing of the shell is left of it, and can do it. */
function canBeTold(spec: EnclosedSpec): boolean {
  const canExport = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !OF_SHELLS.test(name);
  return (
    spec.terminal === undefined &&
    canEnter(spec.directory) &&
    spec.argv[0]?.startsWith('/') === true &&
    Object.keys(spec.environment).every(canExport) &&
    Buffer.byteLength(scriptOf(spec)) <= MAX_SCRIPT_BYTES
  );
}

const keyOf = ({ wall: { program, options, seccomp }, limits }: Wanted): string =>
  JSON.stringify([program, options, seccomp, limits]);

/** Not through env(1): everybody on the machine sees the arguments of a process, and variables may be secrets. */
function scriptOf(spec: EnclosedSpec): string {
  const { argv, environment, directory, inputData, streams, wantsState } = spec;
  const exported = Object.entries(environment)
    .filter(([name]) => name !== '_' && name !== 'PWD')
    .map(([name, value]) => `${name}=${quoted(value)}`);
  const stdin = inputData === undefined ? '</dev/null' : `<&${WALL_FDS.later}`;
  return [
    // Before anything is said there: nobody reads from it.
    ...(streams.includes('combined')
      ? ['exec 2>&1']
      : streams.includes('stderr')
        ? []
        : ['exec 2>/dev/null']),
    `cd -P ${quoted(directory)} || exit 126`,
    // Shells have some of their own, and bash complains of languages that are not there.
    'unset OLDPWD SHLVL',
    `{ export ${[...exported, `PWD=${quoted(directory)}`].join(' ')}; } 2>/dev/null`,
    // bash takes one away again.
    ...(/^\d+$/.test(environment['SHLVL'] ?? '') ? ['[ -z "$BASH_VERSION" ] || SHLVL=$((SHLVL + 1))'] : []),
    `exec ${argv.map(quoted).join(' ')} ${stdin} ${WALL_FDS.later}<&- ${wantsState ? '' : '3>&-'}\n`,
  ].join('; ');
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/**
 * It stands, and shows what it showed when it was built: where something of the host was exchanged meanwhile, the
 * kernel has taken the mount on it away, or says that what it shows is gone or elsewhere. And the directory is there.
 */
function isSound({ enclosure, init, mounts }: Standing, { directory }: EnclosedSpec): boolean {
  if (!isAlive(init) || !isAlive(enclosure.capture.identity) || readMounts(init.pid) !== mounts) return false;
  return directoryProblem(`/proc/${init.pid}/root${directory}`) === undefined;
}

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
