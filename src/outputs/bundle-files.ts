/** The files of a bundle on disk: made before anything is written, opened for writing, and removed. */
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { isDiskFull, makePrivateDirectory } from '../base/files.ts';
import { ARRIVAL_FILE, ARRIVAL_STREAMS, type ArrivalLog, createArrivalLog } from './arrival.ts';
import { ifThere } from './open-file.ts';
import { createSink, type FileSink } from './sink.ts';
import { derivesCombined, type StreamSet } from './stream-set.ts';
import { tailPath } from './tail.ts';
import type { BundleSpec, StoredContent, StreamType } from './types.ts';

export interface OutputLimits {
  readonly maxOutputBytes: number;
  readonly tailBytes: number;
}

/** Makes the directory and its empty files, so that an output exists from the start, whichever process writes it. */
export function createBundleFiles(
  parent: string,
  spec: Pick<BundleSpec, 'id' | 'streams'>,
  content: StoredContent['streams'] = new Map(),
): void {
  const directory = join(parent, spec.id);
  let isMade = false;
  try {
    makeDirectory(parent, directory);
    isMade = true;
    const streams = spec.streams.filter((type) => !isLate(type));
    const files = derivesCombined(streams) ? [...streams, ARRIVAL_FILE] : streams;
    for (const file of files) {
      const data = content.get(file as StreamType) ?? '';
      writeFileSync(join(directory, file), data, { flag: 'wx', mode: 0o600 });
    }
  } catch (error) {
    if (isMade) rmSync(directory, { recursive: true, force: true });
    throw new ShellServerError(
      isDiskFull(error) ? 'EXECUTION_004' : 'SYSTEM_001',
      `The files for the output cannot be created: ${messageOf(error)}.`,
      { cause: error },
    );
  }
}

/** The parent is there but for the very first bundle, so it is made only when it turns out to be missing. */
function makeDirectory(parent: string, directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    makePrivateDirectory(parent);
    mkdirSync(directory, { mode: 0o700 });
  }
}

export type BundleSinks = ReturnType<typeof openBundleSinks>;

interface BundleSinksOptions {
  readonly directory: string;
  readonly streams: StreamSet;
  readonly limits: OutputLimits;
  /** The order of what the files have already. */
  readonly earlier: StoredContent['arrival'];
  /** All are closed, and none holds anything that could not be written. */
  readonly onSaved: () => void;
}

export function openBundleSinks(options: BundleSinksOptions) {
  const { directory, streams, limits } = options;
  const sinks = new Map<StreamType, FileSink>();
  let open = streams.captured().length;
  let order: ArrivalLog | undefined = streams.isDerived('combined')
    ? createArrivalLog(join(directory, ARRIVAL_FILE))
    : undefined;
  for (const [index, byteCount] of options.earlier)
    order?.record(ARRIVAL_STREAMS[index] ?? 'stdout', byteCount);

  function onClose(): void {
    open--;
    if (open > 0) return;
    order?.close();
    order = undefined;
    if ([...sinks.values()].every((sink) => sink.unsavedTail() === undefined)) options.onSaved();
  }

  for (const type of streams.captured()) {
    const isOrdered = order !== undefined && (type === 'stdout' || type === 'stderr');
    const sink = createSink(join(directory, type), {
      limitBytes: limits.maxOutputBytes,
      tailBytes: limits.tailBytes,
      onClose,
      ...(isOrdered && { onWrite: (byteCount: number) => order?.record(type, byteCount) }),
    });
    sinks.set(type, sink);
  }
  return {
    sinks: sinks as ReadonlyMap<StreamType, FileSink>,
    /** Writes what is known of the order, for a reader. */
    flushOrder: () => order?.flush(),
  };
}

export function removeStreamFiles(directory: string, type: StreamType): void {
  const path = join(directory, type);
  // What a writer that was killed between writing a tail and renaming it left behind.
  const leftovers = (ifThere(() => readdirSync(directory)) ?? []).filter((name) =>
    name.startsWith(`${type}.tail.`),
  );
  for (const name of leftovers) rmSync(join(directory, name), { force: true });
  rmSync(tailPath(path), { force: true });
  rmSync(path, { force: true });
}

/** A terminal's, made when it has ended. */
export const isLate = (type: StreamType): boolean => type === 'log' || type === 'cast';

export function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
