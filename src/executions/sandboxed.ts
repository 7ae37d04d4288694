/**
 * A sandbox with something in it that waits for its command. Until the command is handed off, the mounts can be compared
 * with what was meant, and nothing of the command has run.
 */
import { closeSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempt } from '../base/attempt.ts';
import { directoryProblem } from '../base/config/paths.ts';
import { errnoOf } from '../base/errors.ts';
import { readUtf8 } from '../base/files.ts';
import { randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { SERVER_MARKER_NAME } from '../base/marker.ts';
import { canEnter } from '../base/reach.ts';
import {
  type BubblewrapSpec,
  type CopyPlan,
  isFaithful,
  type Limits,
  MARKER_NAME,
  SANDBOX_FDS,
} from '../security/security.ts';
import { type Capture, createCapture, type OutputPipes } from './capture.ts';
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { type Handoff, handoffScript, handoffWords, readyScript, WAITING_SHELL } from './handoff-script.ts';
import { OUTER_ENVIRONMENT } from './helper.ts';
import { boundInotify } from './inotify.ts';
import { createInputFile, type InputFile } from './input-file.ts';
import { dataLimitOf } from './limit-enforcement.ts';
import { identitiesOf } from './mount-watch.ts';
import { findExchangedMount, findUnexpectedMount } from './mounts.ts';
import { findProcess, isAlive, listChildren, type ProcessIdentity } from './process-table.ts';
import { late, replacedMeanwhile, sandboxFailed, swapped } from './sandbox-failures.ts';
import type { MountTables, SandboxRequest, SandboxTools } from './sandbox-tools.ts';
import {
  type Child,
  type Descriptor,
  type Exit,
  SIGNAL_NAMES,
  type SpawnSpec,
  type Template,
} from './spawner.ts';
import { sendSignal } from './tree.ts';

/** What waits for a command, whatever it sees of the host. */
interface Standing {
  readonly child: Child;
  readonly capture: Capture;
  readonly group: ExecutionGroup | undefined;
  /** Its first process, with which everything in it ends. */
  readonly init: ProcessIdentity;
  readonly handoffFd: number;
  /** What the command reads, where it is given something. */
  readonly input: InputFile;
}

export interface WaitingSandbox extends Standing {
  /** A process that sees the same mounts, and that nothing inside can change. */
  readonly witness: ProcessIdentity;
  readonly isCopy: boolean;
  /** The host's own mounts when it was built, and those inside; of a copy, those of its original. */
  readonly mounts: { readonly host: string; readonly inside: string };
  /** What its mounts that must stay are on, by path. */
  readonly kept: ReadonlyMap<string, string>;
  /** Whether the mounts inside are those that were meant. */
  isMeant(inside: string, seen: MountTables['seen']): boolean;
}

export const KERNEL_TABLES: MountTables = { host: () => readMounts('self') ?? '', seen: (inside) => inside };

/** For a pool: what waits there is nobody's yet. */
export const markedForServer = (server: string): Readonly<Record<string, string>> => ({
  [MARKER_NAME]: randomText(),
  [SERVER_MARKER_NAME]: server,
});

/** Built by bwrap, for a command or as the original of copies. */
export async function buildSandbox(spec: SandboxRequest, tools: SandboxTools): Promise<WaitingSandbox> {
  const { sandboxSpec } = spec;
  const host = (tools.tables ?? KERNEL_TABLES).host();
  const read = (path: string): Descriptor => ({ path, access: 'read' });
  const entrance = ({ options, seccomp }: ProfileFiles): Entrance => ({
    argv: [sandboxSpec.program, '--args', String(SANDBOX_FDS.options), '--', ...WAITING_SHELL],
    environment: { ...OUTER_ENVIRONMENT, ...spec.marked },
    options: read(options),
    filter: seccomp === undefined ? undefined : read(seccomp),
    empty: read('/dev/null'),
  });
  return start(spec, tools, entrance, async (standing) => {
    const inside = readMounts(standing.init.pid) ?? '';
    const wrong = findUnexpectedMount(inside, sandboxSpec, host);
    if (wrong !== undefined && wrong !== null) throw swapped(wrong);
    if (findExchangedMount(inside, sandboxSpec, host) !== undefined) throw replacedMeanwhile();
    await boundInotify(standing.init);
    return {
      ...standing,
      witness: standing.init,
      isCopy: false,
      mounts: { host, inside },
      kept: identitiesOf(sandboxSpec.kept),
      isMeant: (now, seen) => seen(now) === seen(inside),
    };
  });
}

/**
 * The same sandbox once more, in a fraction of the time: see the forker's `enter`. What it shows is compared with its
 * original when it is taken (`isIntact`).
 */
export async function copySandbox(
  original: WaitingSandbox,
  { mounts, hasNetwork }: CopyPlan,
  spec: SandboxRequest,
  tools: SandboxTools,
): Promise<WaitingSandbox> {
  const entrance = ({ seccomp }: ProfileFiles): Entrance => ({
    argv: [],
    environment: {},
    template: {
      process: original.init,
      hasNetwork,
      filter: seccomp,
      mounts,
      handoff: SANDBOX_FDS.handoff,
      input: SANDBOX_FDS.input,
    },
  });
  return start(spec, tools, entrance, (standing) => ({
    ...standing,
    witness: standing.child.identity,
    isCopy: true,
    mounts: original.mounts,
    kept: original.kept,
    isMeant: (now, seen) => isFaithful(seen(original.mounts.inside), seen(now), mounts),
  }));
}

/** How what waits for a command gets into its sandbox. */
interface Entrance {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly template?: Template;
  readonly options?: Descriptor | undefined;
  readonly filter?: Descriptor | undefined;
  readonly empty?: Descriptor | undefined;
}

async function start(
  spec: SandboxRequest,
  tools: SandboxTools,
  entranceOf: (files: ProfileFiles) => Entrance,
  complete: (standing: Standing) => WaitingSandbox | Promise<WaitingSandbox>,
): Promise<WaitingSandbox> {
  const prepared = await prepare(spec, tools);
  const { capture, handoff, input, group, giveUp } = prepared;
  let child: Child | undefined;
  try {
    const entrance = entranceOf(profileFiles(spec.sandboxSpec, tools.pipes.directory));
    child = await tools.spawner.start(launchOf(entrance, prepared, spec));
    const init = await untilReady(child, capture);
    return await complete({ child, capture, group, init, handoffFd: handoff.fd, input });
  } catch (error) {
    if (child !== undefined) await killWhole(child);
    giveUp();
    throw error;
  }
}

function launchOf(
  entrance: Entrance,
  { output, handoff, input, group }: Awaited<ReturnType<typeof prepare>>,
  { limits, terminal }: SandboxRequest,
): SpawnSpec {
  const words = randomText();
  if (entrance.template === undefined) writeSync(handoff.fd, readyScript(words));
  return {
    argv: entrance.argv,
    environment: entrance.environment,
    directory: '/',
    template: entrance.template,
    descriptors: [
      undefined,
      output.stdout?.end,
      output.stderr?.end,
      output.state?.end,
      entrance.options,
      entrance.filter,
      undefined,
      handoff.end,
      { path: input.path, access: 'read', isUnlinked: true },
      entrance.empty,
    ],
    report: { fd: SANDBOX_FDS.report, words },
    groups: group?.joinFiles ?? [],
    mustJoin: group?.mustJoin ?? false,
    limits: { fileBytes: limits.fileBytes, dataBytes: dataLimitOf(limits.memoryBytes, group) },
    terminal,
  };
}

async function killWhole({ identity, exited }: Child): Promise<void> {
  // Nobody finds it any more once its parent is gone.
  const init = firstChildOf(identity);
  sendSignal(identity, 'SIGKILL');
  await exited;
  await untilGone(init);
}

/** What it is started with, and how that is given back. */
async function prepare({ limits, terminal }: SandboxRequest, tools: SandboxTools) {
  const { pipes } = tools;
  const group = chooseGroup(limits, tools);
  const output: OutputPipes =
    terminal === undefined
      ? { stdout: await pipes.take(), stderr: await pipes.take(), state: await pipes.take() }
      : { stdout: undefined, stderr: undefined, state: undefined };
  const capture = createCapture(output, pipes.turns);
  const handoff = await pipes.takeHandoff();
  const input = createInputFile(pipes.directory);
  const giveUp = (): void => {
    capture.close();
    closeSync(handoff.fd);
    input.close();
    group?.remove();
  };
  return { group, output, capture, handoff, input, giveUp };
}

/** Options and filter lie in files that bwrap reads: its own argv can be seen from inside. Written once for each. */
function profileFiles(sandboxSpec: BubblewrapSpec, directory: string): ProfileFiles {
  const known = written.get(sandboxSpec);
  if (known?.directory === directory) return known;
  const options = join(directory, `options-${randomText()}`);
  const seccomp = sandboxSpec.seccomp === undefined ? undefined : join(directory, `seccomp-${randomText()}`);
  writeFileSync(options, [...sandboxSpec.options, '--clearenv'].join('\0'), { mode: 0o600 });
  if (seccomp !== undefined)
    writeFileSync(seccomp, Buffer.from(sandboxSpec.seccomp ?? '', 'base64'), { mode: 0o600 });
  const files = { directory, options, seccomp };
  written.set(sandboxSpec, files);
  return files;
}

interface ProfileFiles {
  readonly directory: string;
  readonly options: string;
  readonly seccomp: string | undefined;
}

const written = new WeakMap<BubblewrapSpec, ProfileFiles>();

async function untilReady(child: Child, capture: Capture): Promise<ProcessIdentity> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), LIMITS.sandboxSetupMs);
  });
  const first = await Promise.race([child.reported, child.exited.then(() => 'ended' as const), tooLate]);
  clearTimeout(timer);
  if (first === 'late') throw late();
  const init =
    first === 'ended' ? undefined : first === undefined ? firstChildOf(child.identity) : findProcess(first);
  if (init === undefined) throw sandboxFailed(capture.peek().trim().slice(0, SAID_CHARS));
  return init;
}

/** Enough for bwrap's own words. */
const SAID_CHARS = 500;

function firstChildOf({ pid: parent }: ProcessIdentity): ProcessIdentity | undefined {
  const pid = listChildren(parent)?.[0];
  return pid === undefined ? undefined : findProcess(pid);
}

/**
 * It stands, and shows what it showed when it was built: where something of the host was exchanged meanwhile, the kernel
 * has taken the mount on it away, or says that what it shows is gone or elsewhere. A process that has ended sees no mounts,
 * and no other one sees these.
 */
export function isIntact(
  { child, witness, mounts, isMeant }: WaitingSandbox,
  { host, seen }: MountTables = KERNEL_TABLES,
): boolean {
  const inside = readMounts(witness.pid);
  if (inside === undefined || (witness !== child.identity && !isAlive(child.identity))) return false;
  return host() === mounts.host && isMeant(inside, seen);
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
  if (data !== undefined) input.write(data);
  await writeAll(handoffFd, Buffer.from(isCopy ? handoffWords(handoff) : handoffScript(handoff)));
  // What fails from here on has handed off all the same.
  attempt(() => closeSync(handoffFd));
  attempt(() => input.close());
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
export async function endSandbox({ child, init, ...sandbox }: WaitingSandbox): Promise<void> {
  sendSignal(child.identity, 'SIGKILL');
  closeSync(sandbox.handoffFd);
  sandbox.input.close();
  await child.exited;
  // Its cgroup cannot be removed before.
  await untilGone(init);
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
  if (!isCopy || exit.signal !== null) await untilGone(init);
  const number = (exit.code ?? 0) - 128;
  const name = number > 31 ? undefined : SIGNAL_NAMES.get(number);
  return name === undefined ? exit : { ...exit, signal: name };
}

/** The kernel ends what is in the namespace by itself; an answer should not come before that is done. */
async function untilGone(init: ProcessIdentity | undefined): Promise<void> {
  const deadline = performance.now() + EMPTY_MS;
  for (let looks = 0; init !== undefined && isAlive(init) && performance.now() < deadline; looks++)
    // Nearly always it takes less than the shortest sleep.
    await (looks < QUICK_LOOKS ? new Promise((resolve) => setImmediate(resolve)) : sleep(1));
}

const EMPTY_MS = 1000;
const QUICK_LOOKS = 20;

/** In a sandbox the namespace knows its members; a group is then only there for its limits. */
function chooseGroup(limits: Limits, { cgroups }: SandboxTools): ExecutionGroup | undefined {
  const { fileBytes: _, ...wanted } = limits;
  const { memory, processes, cpu } = cgroups.held();
  const isEnforced =
    (memory !== undefined && wanted.memoryBytes !== undefined) ||
    (processes !== undefined && wanted.processes !== undefined) ||
    (cpu !== undefined && wanted.cpuPercent !== undefined);
  return isEnforced ? cgroups.create(`sandbox-${randomText()}`, wanted) : undefined;
}

export function readMounts(pid: number | 'self'): string | undefined {
  try {
    const text = readUtf8(`/proc/${pid}/mountinfo`);
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
