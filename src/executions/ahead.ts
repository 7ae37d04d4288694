/**
 * Walls that are built ahead. Building one takes longer than most commands, and the next command nearly always wants
 * the same one: so it is built while nobody waits, with a shell behind it that is told later what to run. It is used
 * only where it is the same to the last option, and where the kernel still shows every mount of it as it was meant.
 */
import { closeSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createId } from '../base/ids.ts';
import { type BubblewrapWall, type Limits, MARKER_NAME } from '../security/security.ts';
import {
  type EnclosedSpec,
  type EnclosedTools,
  type Enclosure,
  enclose,
  type WallsAhead,
} from './enclosed.ts';
import { readMounts } from './gate.ts';
import { findUnexpectedMount } from './mounts.ts';
import { isAlive, type ProcessIdentity } from './process-table.ts';
import { createTree, sendSignal } from './tree.ts';

export interface Ahead extends WallsAhead {
  /** Ends those that stand. */
  dispose(): Promise<void>;
}

/** Whoever was just answered comes first. */
const AFTER_MS = 25;
/** A command that comes later builds its own. */
const KEPT_MS = 60_000;
const MAX_STANDING = 4;
/** What fits into a pipe, so that telling never blocks. */
const MAX_SCRIPT_BYTES = 60_000;
const HOST_MOUNTS = '/proc/self/mountinfo';
const ENV = '/usr/bin/env';
/** From its stdin. Not by a path like /dev/stdin, which nobody can open once we have told it all and closed our end. */
const LISTENER = ['/bin/sh', '-c', `[ -x ${ENV} ] && exec /bin/sh`];

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
  /** The host's own mounts at that time: later ones would have been shown otherwise. */
  readonly hostMounts: string;
}

interface Entry {
  readonly built: Promise<Standing | undefined>;
  readonly expiry: NodeJS.Timeout;
}

export function createAhead(tools: EnclosedTools): Ahead {
  const entries = new Map<string, Entry>();
  /** Keys of those that are about to be built. */
  const wanted = new Set<string>();
  const ending = new Set<Promise<void>>();
  let isDisposed = false;

  function remove(key: string): void {
    const entry = entries.get(key);
    entries.delete(key);
    clearTimeout(entry?.expiry);
    const ended = entry?.built.then((standing) => (standing === undefined ? undefined : end(standing)));
    if (ended === undefined) return;
    ending.add(ended);
    void ended.finally(() => ending.delete(ended));
  }

  async function build({ wall, limits, directory }: Wanted): Promise<Standing | undefined> {
    const id = createId('exec');
    const pipe = await tools.pipes.takeInput();
    try {
      const hostMounts = readFileSync(HOST_MOUNTS, 'utf8');
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
      const known = wantedBy(spec);
      if (known === undefined) return undefined;
      const key = keyOf(known);
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      clearTimeout(entry.expiry);
      const standing = await entry.built;
      if (standing === undefined) return undefined;
      if (isDisposed || !isSound(standing, known.wall)) {
        await end(standing);
        return undefined;
      }
      const { capture, group } = standing.enclosure;
      try {
        capture.copyTo(spec.openSinks(), spec.masked);
        writeSync(standing.tellFd, scriptOf(spec));
      } catch (error) {
        await end(standing);
        throw error;
      }
      closeSync(standing.tellFd);
      return {
        capture,
        group,
        tree: createTree({ leader: capture.identity, marker: spec.marker, group, isWalled: true }),
      };
    },
    expect(spec) {
      const next = wantedBy(spec);
      if (next === undefined) return;
      const key = keyOf(next);
      if (isDisposed || entries.has(key) || wanted.has(key)) return;
      wanted.add(key);
      void sleep(AFTER_MS, undefined, { ref: false }).then(() => {
        wanted.delete(key);
        if (isDisposed) return;
        for (const old of [...entries.keys()].slice(0, Math.max(0, entries.size - MAX_STANDING + 1)))
          remove(old);
        const expiry = setTimeout(() => remove(key), KEPT_MS).unref();
        entries.set(key, { built: build(next), expiry });
      });
    },
    async dispose() {
      isDisposed = true;
      for (const key of [...entries.keys()]) remove(key);
      await Promise.all(ending);
    },
  };
}

/** Undefined where there is no wall, or where a shell could not be told this command. */
function wantedBy(spec: EnclosedSpec): Wanted | undefined {
  const { wall, limits, directory, argv, environment } = spec;
  if (wall?.kind !== 'bubblewrap' || spec.inputData !== undefined || spec.terminal !== undefined)
    return undefined;
  // env(1) takes what looks otherwise for an option or a variable.
  const isPlain = (argv[0] ?? '').startsWith('/') && argv[0]?.includes('=') === false;
  if (!isPlain || !Object.keys(environment).every((name) => /^[A-Za-z_]\w*$/.test(name))) return undefined;
  return Buffer.byteLength(scriptOf(spec)) > MAX_SCRIPT_BYTES ? undefined : { wall, limits, directory };
}

const keyOf = ({ wall: { program, options, seccomp }, limits, directory }: Wanted): string =>
  JSON.stringify([program, options, seccomp, limits, directory]);

function scriptOf({ argv, environment, streams, wantsState }: EnclosedSpec): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const words = [...variables, ...argv].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const stderr = streams.includes('combined') ? '2>&1' : streams.includes('stderr') ? '' : '2>/dev/null';
  return `exec ${ENV} -i ${words.join(' ')} </dev/null ${stderr} ${wantsState ? '' : '3>&-'}\n`;
}

/** Nothing was changed since it was built: neither what it shows, nor what there is to show. */
function isSound({ enclosure, init, hostMounts }: Standing, wall: BubblewrapWall): boolean {
  if (!isAlive(init) || !isAlive(enclosure.capture.identity)) return false;
  const host = readFileSync(HOST_MOUNTS, 'utf8');
  const inside = readMounts(init.pid);
  return host === hostMounts && inside !== undefined && findUnexpectedMount(inside, wall, host) === undefined;
}

/** With its first process all of it ends. */
async function end({ enclosure: { capture, tree }, tellFd }: Standing): Promise<void> {
  sendSignal(capture.identity, 'SIGKILL');
  closeSync(tellFd);
  await capture.exited;
  capture.close();
  tree.release();
}
