/**
 * Builds a sandbox with something in it that waits for a command: by bwrap, or as a copy of one that bwrap has built. Its
 * mounts are compared with what was meant before it is anybody's.
 */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileWhole } from '../base/files.ts';
import { randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { SERVER_MARKER_NAME } from '../base/marker.ts';
import { oncePer } from '../base/once.ts';
import {
  type BubblewrapSpec,
  type CopyPlan,
  createComparison,
  type Limits,
  MARKER_NAME,
  SANDBOX_FDS,
} from '../security/security.ts';
import { type Capture, createCapture, type OutputPipes } from './capture.ts';
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { withMarker } from './environment-words.ts';
import { insideOf, readyScript, WAITING_SHELL } from './handoff-script.ts';
import type { HeldSandbox } from './held-sandbox.ts';
import { OUTER_ENVIRONMENT } from './helper.ts';
import { createInputFile } from './input-file.ts';
import { dataLimitOf } from './limit-enforcement.ts';
import { keptPlaces } from './mount-watch.ts';
import { findExchangedMount, findUnexpectedMount } from './mounts.ts';
import { createMarker, placeOf } from './prestarted-shell.ts';
import { findProcess, listChildren, type ProcessIdentity } from './process-table.ts';
import { late, replacedMeanwhile, sandboxFailed, swapped } from './sandbox-failures.ts';
import type { SandboxRequest, SandboxTools } from './sandbox-tools.ts';
import { KERNEL_TABLES, type Prestarted, readMounts, type WaitingSandbox } from './sandboxed.ts';
import type { Child, Descriptor, SpawnSpec, Template } from './spawner.ts';
import { sendSignal } from './tree.ts';
import { untilEnded } from './until-gone.ts';

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
  return start(spec, tools, entrance, async (prestarted) => {
    const inside = readMounts(prestarted.init.pid) ?? '';
    const wrong = findUnexpectedMount(inside, sandboxSpec, host);
    if (wrong !== undefined && wrong !== null) throw swapped(wrong);
    if (findExchangedMount(inside, sandboxSpec, host) !== undefined) throw replacedMeanwhile();
    await tools.spawner.boundInotify(prestarted.init);
    return {
      ...prestarted,
      witness: prestarted.init,
      isCopy: false,
      mounts: { host, inside },
      kept: keptPlaces(sandboxSpec),
      isMeant: (now, seen) => seen(now) === seen(inside),
    };
  });
}

/**
 * The same sandbox once more, in a fraction of the time: see `enter_copy` of the forker. What it shows is compared with its
 * original when it is taken (`isIntact`).
 */
export async function copySandbox(
  original: HeldSandbox,
  plan: CopyPlan,
  spec: SandboxRequest,
  tools: SandboxTools,
): Promise<WaitingSandbox> {
  const marker = createMarker();
  // Of a process inside nobody outside knows the number. One that is there keeps its directory, whose number no other gets.
  const place = spec.shell && placeOf(original.rootPath + spec.shell.directory);
  const entrance = ({ seccomp }: ProfileFiles, group: ExecutionGroup | undefined): Entrance => ({
    // Without a program it waits for one.
    argv: spec.shell?.argv ?? [],
    environment: spec.shell === undefined ? {} : withMarker(insideOf(spec.shell), marker),
    directory: spec.shell?.directory,
    template: {
      namespace: original.namespacePath,
      plan,
      filter: seccomp,
      handoff: SANDBOX_FDS.handoff,
      input: SANDBOX_FDS.input,
      maxProcesses: group?.held().processes === undefined ? spec.maxProcesses : undefined,
    },
  });
  return start(spec, tools, entrance, (prestarted) => ({
    ...prestarted,
    shell: spec.shell && { marker, place: () => place },
    witness: prestarted.child.identity,
    isCopy: true,
    mounts: original.mounts,
    kept: original.kept,
    isMeant: (now, seen) => comparisonOf(plan)(seen(original.mounts.inside), seen(now)),
  }));
}

const comparisonOf = oncePer(({ mounts }: CopyPlan) => createComparison(mounts));

/** How what waits for a command gets into its sandbox. */
interface Entrance {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory?: string | undefined;
  readonly template?: Template;
  readonly options?: Descriptor | undefined;
  readonly filter?: Descriptor | undefined;
  readonly empty?: Descriptor | undefined;
}

async function start(
  spec: SandboxRequest,
  tools: SandboxTools,
  entranceOf: (files: ProfileFiles, group: ExecutionGroup | undefined) => Entrance,
  complete: (prestarted: Prestarted) => WaitingSandbox | Promise<WaitingSandbox>,
): Promise<WaitingSandbox> {
  const prepared = await prepare(spec, tools);
  const { capture, handoff, input, group, giveUp } = prepared;
  let child: Child | undefined;
  try {
    const entrance = entranceOf(profileFiles(spec.sandboxSpec, tools.pipes.directory), group);
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
  { limits, terminal, shell }: SandboxRequest,
): SpawnSpec {
  const words = randomText();
  if (entrance.template === undefined) writeSync(handoff.fd, readyScript(words));
  return {
    argv: entrance.argv,
    environment: entrance.environment,
    directory: entrance.directory ?? '/',
    template: entrance.template,
    descriptors: [
      undefined,
      output.stdout?.end,
      shell?.isMerged === true ? output.stdout?.end : output.stderr?.end,
      output.state?.end,
      entrance.options,
      entrance.filter,
      undefined,
      handoff.end,
      input && { path: input.path, access: 'read', isUnlinked: true },
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
  await untilEnded(init);
}

/** What it is started with, and how that is given back. */
async function prepare({ limits, terminal, shell }: SandboxRequest, tools: SandboxTools) {
  const { pipes } = tools;
  const group = chooseGroup(limits, tools);
  const output: OutputPipes = {
    stdout: terminal === undefined ? await pipes.take() : undefined,
    stderr: terminal === undefined && shell?.hasStderr !== false ? await pipes.take() : undefined,
    state: terminal === undefined && shell?.keepsState !== false ? await pipes.take() : undefined,
  };
  const capture = createCapture(output, pipes.turns);
  const handoff = await pipes.takeHandoff();
  const input = shell === undefined ? createInputFile(pipes.directory) : undefined;
  const giveUp = (): void => {
    capture.close();
    closeSync(handoff.fd);
    input?.discard();
    group?.remove();
  };
  return { group, output, capture, handoff, input, giveUp };
}

/** Options and filter lie in files that bwrap reads: its own argv can be seen from inside. Written once for each. */
function profileFiles(sandboxSpec: BubblewrapSpec, directory: string): ProfileFiles {
  const known = written.get(sandboxSpec);
  if (known?.directory === directory) return known;
  const { options, seccomp } = sandboxSpec;
  const files = {
    directory,
    options: keepFile(directory, Buffer.from([...options, '--clearenv'].join('\0'))),
    seccomp: seccomp === undefined ? undefined : keepFile(directory, Buffer.from(seccomp, 'base64')),
  };
  written.set(sandboxSpec, files);
  return files;
}

/** Named after its content, so that a profile that is built anew takes no more room. */
function keepFile(directory: string, data: Buffer): string {
  const path = join(directory, `profile-${createHash('sha256').update(data).digest('hex')}`);
  if (!existsSync(path)) writeFileWhole(path, data);
  return path;
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
