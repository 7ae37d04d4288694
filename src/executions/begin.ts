/** From a permit to a process that runs, with a bundle and a record on disk. */
import type { Clock } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import { once } from '../base/once.ts';
import type { Settings } from '../base/settings.ts';
import type { Bundle, Outputs, Sink, StreamType } from '../outputs/outputs.ts';
import { findAppeared, type LaunchPermit, maskBeginning } from '../security/security.ts';
import { type FollowOptions, follow, type Held, launchDetached } from './detached/launch-detached.ts';
import type { Instance } from './instance.ts';
import { type Launched, type LaunchTools, launch } from './launch.ts';
import type { Live } from './live.ts';
import type { ExecutionRecord } from './record.ts';
import type { Running, RunningEntry } from './running.ts';
import type { StartRequest } from './start-request.ts';
import type { Store } from './store.ts';

export interface BeginOptions {
  readonly settings: Settings;
  readonly outputs: Outputs;
  readonly store: Store;
  readonly instance: Instance;
  /** The program of a detached execution's wrapper. */
  readonly wrapperPath: string;
  readonly clock: Clock;
  readonly running: Running;
  readonly tools: LaunchTools;
  /** The host of a terminal was killed: makes a transcript of what it had written. */
  readonly salvage?: FollowOptions['salvage'];
}

interface Beginning {
  readonly record: ExecutionRecord;
  readonly permit: LaunchPermit;
  /** Whether its shell reports something when it ends. */
  readonly wantsReport: boolean;
}

export async function begin(
  options: BeginOptions,
  request: Pick<StartRequest, 'mode' | 'inputData' | 'terminal' | 'environment' | 'sessionId'>,
  { record, permit, wantsReport }: Beginning,
): Promise<Pick<RunningEntry, 'record' | 'live' | 'bundle' | 'sinks'>> {
  const { instance, clock, salvage } = options;
  if (request.mode === 'detached' || request.terminal !== undefined) {
    const bundle = createBundle(options, record);
    const held = await hold(options, request, { record, permit }, bundle.directory);
    const known = { ...held, ...processFields(permit, permit.marker, instance.bootId) };
    const about = { bundle: bundle.directory, now: clock.now, salvage };
    return { record, live: watching(follow(record, known, about), permit), bundle, sinks: new Map() };
  }
  let marked = record;
  const made = once(() => {
    const bundle = createBundle(options, marked);
    return { bundle, sinks: bundle.openSinks() };
  });
  const launched = await launch(
    record.id,
    permit,
    {
      streams: record.streams,
      openSinks(marker) {
        marked = { ...record, marker };
        return made().sinks;
      },
      command: mayFindShell(request, permit) ? record.command : undefined,
      isBackground: request.mode === 'background',
      inputData: request.inputData,
      keepsState: wantsReport,
      timeoutMs: record.timeoutMs,
    },
    options.tools,
  );
  const { sinks } = made();
  const live = liveOf(launched, processFields(permit, launched.marker, instance.bootId), sinks);
  return { record: marked, live: watching(live, permit), ...made() };
}

/**
 * Whether a shell may wait for the next command like it. Its environment can be read as long as it waits, by every process
 * of the user that is in no sandbox: none may have variables that were meant for one command or one session.
 */
function mayFindShell(
  { environment, sessionId }: Pick<StartRequest, 'environment' | 'sessionId'>,
  { sandboxSpec }: LaunchPermit,
): boolean {
  return sandboxSpec !== undefined || (sessionId === undefined && Object.keys(environment).length === 0);
}

/** Starts it in a process that may outlive us. */
function hold(
  options: BeginOptions,
  request: Pick<StartRequest, 'inputData' | 'terminal'>,
  { record, permit }: Pick<Beginning, 'record' | 'permit'>,
  bundle: string,
): Promise<Held> {
  if (request.terminal !== undefined) return request.terminal.open({ record, permit, directory: bundle });
  const spec = {
    id: record.id,
    permit,
    ...(request.inputData !== undefined && { inputData: request.inputData }),
    bundle,
    streams: [...record.streams],
    maxOutputBytes: options.settings.limits.maxOutputBytes,
    ...(record.timeoutMs !== undefined && { timeoutMs: record.timeoutMs }),
  };
  const path = options.settings.environment['PATH'] ?? '/usr/bin:/bin';
  return launchDetached(spec, options.wrapperPath, path);
}

function processFields({ sandboxSpec }: LaunchPermit, marker: string, bootId: string) {
  return { bootId, marker, ...(sandboxSpec?.kind === 'bubblewrap' && { isSandboxed: true }) };
}

function liveOf(
  { identity, group, tree, ending, capture }: Launched,
  fields: ReturnType<typeof processFields>,
  sinks: ReadonlyMap<StreamType, Sink>,
): Live {
  return {
    tree,
    process: { ...identity, ...fields, ...(group !== undefined && { group: group.path }) },
    ...ending,
    outputBytes: () => Math.max(0, ...[...sinks.values()].map((sink) => sink.totalBytes())),
    onOutput: capture.onOutput,
    mask: capture.mask,
    state: capture.state,
    checkEnd: () => undefined,
  };
}

function createBundle(options: BeginOptions, record: ExecutionRecord): Bundle {
  const bundle = options.outputs.createBundle({
    id: record.id,
    owner: record.owner,
    name: record.terminal?.sessionName ?? maskBeginning(record.command, LIMITS.outputNameLength),
    createdAtMs: record.createdAtMs,
    streams: record.streams,
    isRunning: activityOf(options.running, record.id),
    // Another process writes to files.
    isSpooled: record.mode !== 'detached' && record.mode !== 'terminal',
    storageOf: options.store.storageOf,
  });
  options.store.begin(record);
  return bundle;
}

/** With its end it reports files that appeared meanwhile and that programs outside trust. */
function watching(live: Live, { sandboxSpec }: LaunchPermit): Live {
  if (sandboxSpec?.kind !== 'bubblewrap' || sandboxSpec.watched.length === 0) return live;
  const { watched } = sandboxSpec;
  return {
    ...live,
    finished: live.finished.then((outcome) => {
      const appeared = findAppeared(watched);
      return appeared.length === 0 ? outcome : { ...outcome, appeared };
    }),
  };
}

/** On its own, because the index keeps it as long as the output: it must hold on to nothing else. */
function activityOf(running: Running, id: string): () => boolean {
  return () => running.isActive(id);
}
