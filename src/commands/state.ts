/** `state show` and `state prune`: what the state directory holds, and less of it. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { measureDirectory } from '../base/directory-size.ts';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { isDiskFull } from '../base/files.ts';
import type { Settings } from '../base/settings.ts';
import { createObserver } from '../executions/executions.ts';
import { AUDIT_RESERVE } from '../security/security.ts';
import type { CommandContext } from './context.ts';
import { print } from './json.ts';
import { createPaint, type Paint } from './paint.ts';
import { recordAsOperator } from './read-record.ts';
import { openStoredOutputs } from './stored-outputs.ts';
import { many, parseSpan, showBytes, showTime } from './when.ts';

export async function showState(
  context: CommandContext,
  options: { readonly json?: boolean },
): Promise<void> {
  const state = await describeState(context.settings().stateDir);
  print(context, options, state, () => renderState(state, createPaint(context)));
}

function renderState(state: Awaited<ReturnType<typeof describeState>>, paint: Paint): string {
  const statuses = Object.entries(state.executions.byStatus)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ');
  const row = (name: string, bytes: number | undefined, text: string): string =>
    `  ${name.padEnd(12)} ${(bytes === undefined ? '' : showBytes(bytes)).padStart(10)}  ${text}`;
  const { oldest, unreadable } = state.executions;
  const lines = [
    paint('strong', state.directory),
    row('executions', state.executions.bytes, statuses || 'none'),
    ...(oldest === undefined ? [] : [row('', undefined, `the oldest from ${showTime(oldest)}`)]),
    ...(unreadable === 0 ? [] : [row('', undefined, `${unreadable} without a record that can be read`)]),
    row('audit', state.audit.bytes, `${many(state.audit.files, 'file')}, never collected`),
    row('tmp', state.tmp.bytes, '/tmp and caches of commands, never collected'),
    row('all', state.bytes, ''),
    ...(state.freeBytes === undefined ? [] : [row('disk', state.freeBytes, 'free')]),
    row('servers', undefined, `${state.servers} running`),
  ];
  return `${lines.join('\n')}\n`;
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
    if (!isRecorded) recordAfterwards(settings, ids, bytes);
  }
  const isTrial = options.dryRun === true;
  const verb = isTrial ? 'would be' : ids.length === 1 ? 'was' : 'were';
  print(
    context,
    options,
    { executionIds: ids, bytes, isTrial },
    () => `${many(ids.length, 'execution')} with ${showBytes(bytes)} ${verb} removed.\n`,
  );
}

/** With the bytes that are stored of each execution. */
async function openOutputs(settings: Settings, options: PruneOptions) {
  const { stateDir, retention } = settings;
  const age = options.olderThan === undefined ? undefined : parseSpan(options.olderThan);
  if (options.olderThan !== undefined && age === undefined) {
    const given = JSON.stringify(options.olderThan);
    throw new ShellServerError('PARAM_002', `--older-than is not a valid duration: ${given}.`, {
      hint: 'Write 90s, 30m, 2h, 7d or 2w.',
    });
  }
  const outputs = openStoredOutputs({
    ...settings,
    retention: {
      ...retention,
      ...(age !== undefined && { maxAgeHours: age / 3_600_000 }),
      ...(options.keep !== undefined && { maxCount: options.keep }),
    },
  });
  const observer = createObserver({ stateDir, clock: systemClock });
  await observer.look();
  const { store } = observer;
  const keptBytes = new Map<string, number>();
  // Oldest first, as they were made.
  for (const summary of store.summaries()) {
    const { id, sessionName, command, status } = summary;
    // Without an outcome it runs, or a server has yet to say how it ended.
    const isRunning = (): boolean => status === 'running';
    outputs.noteBundle({ ...summary, name: sessionName ?? command, storageOf: store.storageOf, isRunning });
    const stored = [...(store.storageOf(id)?.sizes.values() ?? [])].reduce((sum, size) => sum + size, 0);
    const { bytes } = await measureDirectory(join(stateDir, 'executions', id));
    keptBytes.set(id, stored + bytes);
  }
  return { outputs, keptBytes, store };
}

/** Where even the room that was made does not take the line, at least the person knows. */
function recordAfterwards(settings: Settings, ids: readonly string[], bytes: number): void {
  try {
    recordPruned(settings, ids);
  } catch (error) {
    const removed = `${many(ids.length, 'execution')} with ${showBytes(bytes)}`;
    const problem = messageOf((error as Error).cause ?? error);
    throw new ShellServerError(
      'SYSTEM_002',
      `${removed} ${ids.length === 1 ? 'was' : 'were'} removed, and the audit log has no line about it: ${problem}.`,
      {
        hint: 'Remove other files from the disk of the state directory, or make it larger.',
        details: { removedExecutionIds: ids },
        cause: error,
      },
    );
  }
}

function tryToRecord(settings: Settings, executionIds: readonly string[]): boolean {
  try {
    recordPruned(settings, executionIds);
    return true;
  } catch (error) {
    if (!isDiskFull((error as Error).cause)) throw error;
    return false;
  }
}

function recordPruned(settings: Settings, executionIds: readonly string[]): void {
  const reserve = join(settings.stateDir, AUDIT_RESERVE);
  recordAsOperator(settings, { event: 'outputs_collected', executionIds }, { reserve });
}
