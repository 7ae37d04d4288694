/** `state show` and `state prune`: what the state directory holds, and less of it. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { measureDirectory } from '../base/directory-size.ts';
import { errnoOf, ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { silentLog } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { createObserver, type Observer } from '../executions/executions.ts';
import { createOutputs, type Outputs } from '../outputs/outputs.ts';
import { AUDIT_RESERVE } from '../security/security.ts';
import type { CommandContext } from './context.ts';
import { showJson } from './json.ts';
import { createPaint } from './paint.ts';
import { recordAsOperator } from './read-record.ts';
import { many, parseSpan, showBytes, showTime } from './when.ts';

export async function showState(
  context: CommandContext,
  options: { readonly json?: boolean },
): Promise<void> {
  const { stateDir } = context.settings();
  const state = await describeState(stateDir);
  if (options.json === true) {
    context.output.write(showJson(state));
    return;
  }
  const paint = createPaint(context);
  const statuses = Object.entries(state.executions.byStatus)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ');
  const row = (name: string, bytes: number | undefined, text: string): string =>
    `  ${name.padEnd(12)} ${(bytes === undefined ? '' : showBytes(bytes)).padStart(10)}  ${text}`;
  const { oldest, unreadable } = state.executions;
  const lines = [
    paint('strong', stateDir),
    row('executions', state.executions.bytes, statuses || 'none'),
    ...(oldest === undefined ? [] : [row('', undefined, `the oldest from ${showTime(oldest)}`)]),
    ...(unreadable === 0 ? [] : [row('', undefined, `${unreadable} without a record that can be read`)]),
    row('audit', state.audit.bytes, `${many(state.audit.files, 'file')}, never collected`),
    row('tmp', state.tmp.bytes, '/tmp and caches of commands, never collected'),
    row('all', state.bytes, ''),
    ...(state.freeBytes === undefined ? [] : [row('disk', state.freeBytes, 'free')]),
    row('servers', undefined, `${state.servers} running`),
  ];
  context.output.write(`${lines.join('\n')}\n`);
}

async function describeState(stateDir: string) {
  const observer = createObserver({ stateDir, clock: systemClock });
  const [{ executions, servers, unreadable }, whole, bundles, audit, tmp, disk] = await Promise.all([
    observer.look(),
    measureDirectory(stateDir),
    measureDirectory(join(stateDir, 'executions')),
    measureDirectory(join(stateDir, 'audit')),
    measureDirectory(join(stateDir, 'tmp')),
    statfs(stateDir).catch(() => undefined),
  ]);
  const byStatus: Record<string, number> = {};
  for (const { state } of executions) byStatus[state] = (byStatus[state] ?? 0) + 1;
  const oldest = executions.at(-1)?.createdAtMs;
  return {
    directory: stateDir,
    bytes: whole.bytes,
    freeBytes: disk === undefined ? undefined : disk.bavail * disk.bsize,
    servers,
    executions: {
      count: executions.length,
      bytes: bundles.bytes,
      byStatus,
      unreadable,
      ...(oldest !== undefined && { oldest: new Date(oldest).toISOString() }),
    },
    audit: { files: audit.files, bytes: audit.bytes },
    tmp: { bytes: tmp.bytes },
  };
}

export interface PruneOptions {
  readonly olderThan?: string;
  readonly keep?: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Removes what ended, by the settings or by what was said; never what runs, and never the audit log. */
export async function pruneState(context: CommandContext, options: PruneOptions): Promise<void> {
  const settings = context.settings();
  const { outputs, keptBytes, store } = await openOutputs(settings, options);
  const ids = await outputs.collect({ isTrial: true });
  const bytes = ids.reduce((sum, id) => sum + (keptBytes.get(id) ?? 0), 0);
  if (options.dryRun !== true && ids.length > 0) {
    // What is not recorded does not happen; only on a full disk it is recorded in the room that it makes.
    const isRecorded = tryToRecord(settings, ids);
    store.remove(await outputs.collect());
    if (!isRecorded) recordPruned(settings, ids);
  }
  context.output.write(
    options.json === true
      ? `${JSON.stringify({ executionIds: ids, bytes, isTrial: options.dryRun === true }, null, 2)}\n`
      : `${many(ids.length, 'execution')} with ${showBytes(bytes)} ${options.dryRun === true ? 'would be' : ids.length === 1 ? 'was' : 'were'} removed.\n`,
  );
}

interface Opened {
  readonly outputs: Outputs;
  /** Of each execution. */
  readonly keptBytes: ReadonlyMap<string, number>;
  readonly store: Pick<Observer['store'], 'remove'>;
}

async function openOutputs(settings: Settings, options: PruneOptions): Promise<Opened> {
  const { stateDir, retention } = settings;
  const age = options.olderThan === undefined ? undefined : parseSpan(options.olderThan);
  if (options.olderThan !== undefined && age === undefined) {
    throw new ShellServerError(
      'PARAM_002',
      `--older-than is not a valid duration: ${JSON.stringify(options.olderThan)}.`,
      {
        hint: 'Write 90s, 30m, 2h, 7d or 2w.',
      },
    );
  }
  const outputs = createOutputs({
    directory: join(stateDir, 'executions'),
    limits: { maxOutputBytes: settings.limits.maxOutputBytes, tailBytes: LIMITS.outputTailBytes },
    retention: {
      ...retention,
      ...(age !== undefined && { maxAgeHours: age / 3_600_000 }),
      ...(options.keep !== undefined && { maxCount: options.keep }),
    },
    clock: systemClock,
    log: silentLog,
  });
  const observer = createObserver({ stateDir, clock: systemClock });
  await observer.look();
  const { store } = observer;
  const keptBytes = new Map<string, number>();
  // Oldest first, as they were made.
  for (const summary of store.summaries().toReversed()) {
    const { id, sessionName, command, status } = summary;
    const storage = store.storageOf(id);
    // Without an outcome it runs, or a server has yet to say how it ended.
    const isRunning = (): boolean => status === 'running';
    outputs.adoptBundle({ ...summary, name: sessionName ?? command, storage, isRunning });
    const stored = [...(storage?.sizes.values() ?? [])].reduce((sum, size) => sum + size, 0);
    const { bytes } = await measureDirectory(join(stateDir, 'executions', id));
    keptBytes.set(id, stored + bytes);
  }
  return { outputs, keptBytes, store };
}

function tryToRecord(settings: Settings, executionIds: readonly string[]): boolean {
  try {
    recordPruned(settings, executionIds);
    return true;
  } catch (error) {
    if (errnoOf((error as Error).cause) !== 'ENOSPC') throw error;
    return false;
  }
}

function recordPruned(settings: Settings, executionIds: readonly string[]): void {
  recordAsOperator(
    settings.stateDir,
    { event: 'outputs_collected', executionIds },
    { syncs: settings.audit.syncs, reserve: join(settings.stateDir, AUDIT_RESERVE) },
  );
}
