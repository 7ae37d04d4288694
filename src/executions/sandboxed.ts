/**
 * A sandbox with something in it that waits for its command. Until the command is handed off, the mounts can be compared
 * with what was meant, and nothing of the command has run.
 */
import { closeSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempt } from '../base/attempt.ts';
import { directoryProblem } from '../base/config/paths.ts';
import { errnoOf } from '../base/errors.ts';
import { readUtf8 } from '../base/files.ts';
import { canEnter } from '../base/reach.ts';
import type { Capture } from './capture.ts';
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { type Handoff, handoffScript, handoffWords } from './handoff-script.ts';
import type { InputFile } from './input-file.ts';
import type { KeptPlaces } from './mount-watch.ts';
import { isInPlace, type ShellSpec, type WaitingShell } from './prestarted-shell.ts';
import { isAlive, type ProcessIdentity } from './process-table.ts';
import type { MountTables } from './sandbox-tools.ts';
import { type Child, type Exit, SIGNAL_NAMES } from './spawner.ts';
import { sendSignal } from './tree.ts';
import { untilEnded } from './until-gone.ts';

/** What waits for a command, whatever it sees of the host. */
export interface Prestarted {
  readonly child: Child;
  readonly capture: Capture;
  readonly group: ExecutionGroup | undefined;
  /** Its first process, with which everything in it ends. */
  readonly init: ProcessIdentity;
  readonly handoffFd: number;
  /** What the command reads, where it is given something. */
  readonly input: InputFile | undefined;
  /** Where it is a shell that has everything but the text of its command. */
  readonly shell?: WaitingShell | undefined;
}

/** What a sandbox shows. */
export interface Shown {
  /** The host's own mounts when it was built, and those inside; of a copy, those of its original. */
  readonly mounts: { readonly host: string; readonly inside: string };
  /** Where its mounts are that must stay. */
  readonly kept: KeptPlaces;
  /** Whether the mounts inside are those that were meant. */
  isMeant(inside: string, seen: MountTables['seen']): boolean;
}

export interface WaitingSandbox extends Prestarted, Shown {
  /** A process that sees the same mounts, and that nothing inside can change. */
  readonly witness: ProcessIdentity;
  readonly isCopy: boolean;
}

export const KERNEL_TABLES: MountTables = { host: () => readMounts('self') ?? '', seen: (inside) => inside };

/**
 * It stands, and shows what it showed when it was built: where something of the host was exchanged meanwhile, the kernel
 * has taken the mount on it away, or says that what it shows is gone or elsewhere. A process that has ended sees no mounts,
 * and no other one sees these.
 */
export function isIntact(sandbox: WaitingSandbox, tables?: MountTables): boolean {
  const { child, witness } = sandbox;
  const inside = readMounts(witness.pid);
  if (inside === undefined || (witness !== child.identity && !isAlive(child.identity))) return false;
  return showsWhatItDid(sandbox, inside, tables);
}

export const showsWhatItDid = (
  { mounts, isMeant }: Shown,
  inside: string,
  { host, seen }: MountTables = KERNEL_TABLES,
): boolean => host() === mounts.host && isMeant(inside, seen);

export const isSandbox = (prestarted: Prestarted): prestarted is WaitingSandbox => 'witness' in prestarted;

/** Whether a shell that waits there, if it is to be one, is still where its command is to be. */
export function isShellInPlace(prestarted: Prestarted, wanted: ShellSpec | undefined): boolean {
  if (wanted === undefined || prestarted.shell === undefined) return wanted === prestarted.shell;
  const root = isSandbox(prestarted) ? `/proc/${prestarted.witness.pid}/root` : '';
  return isInPlace(prestarted.shell, root + wanted.directory);
}

/** Whether the command gets to its directory there. */
export function shows({ witness }: WaitingSandbox, directory: string): boolean {
  const place = `/proc/${witness.pid}/root${directory}`;
  return directoryProblem(place) === undefined && canEnter(place);
}

/** From here on the command runs. */
export async function handOff(
  { handoffFd, input, isCopy }: WaitingSandbox,
  handoff: Handoff,
  data: string | undefined,
): Promise<void> {
  if (data !== undefined) input?.write(data);
  await writeAll(handoffFd, Buffer.from(isCopy ? handoffWords(handoff) : handoffScript(handoff)));
  // What fails from here on has handed off all the same.
  attempt(() => closeSync(handoffFd));
  attempt(() => input?.close());
}

/** A pipe takes 64 KiB at once; the shell reads on. */
async function writeAll(fd: number, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') throw error;
      await sleep(1);
    }
  }
}

/** Ends one that was never used. */
export async function endSandbox({ child, init, ...sandbox }: Prestarted): Promise<void> {
  sendSignal(child.identity, 'SIGKILL');
  closeSync(sandbox.handoffFd);
  sandbox.input?.close();
  await child.exited;
  // Its cgroup cannot be removed before.
  await untilEnded(init);
  sandbox.capture.close();
  sandbox.group?.remove();
}

/**
 * bwrap ends by itself with 128 and the signal's number where its command was killed by one. A shell says the same of
 * its children, so that this is what is known: both are told.
 */
export async function exitOf({ child, init, isCopy }: WaitingSandbox): Promise<Exit> {
  const exit = await child.exited;
  // The outer process of a copy exits by itself only after it has waited for the first one inside.
  if (!isCopy || exit.signal !== null) await untilEnded(init);
  const number = (exit.code ?? 0) - 128;
  const name = number > 31 ? undefined : SIGNAL_NAMES.get(number);
  return name === undefined ? exit : { ...exit, signal: name };
}

export function readMounts(pid: number | 'self'): string | undefined {
  try {
    const text = readUtf8(`/proc/${pid}/mountinfo`);
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
