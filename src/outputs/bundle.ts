/**
 * The outputs of one execution: a directory with a file for each captured stream. What is deleted is gone from the
 * directory, so that after a restart the directory alone says what there is; the derived `combined` is there as long
 * as the order of arrival is.
 */
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { makePrivateDirectory } from '../base/files.ts';
import { ARRIVAL_FILE, ARRIVAL_STREAMS, type ArrivalLog, createArrivalLog } from './arrival.ts';
import { openCombined } from './combined.ts';
import { createLineIndex, type LineIndex } from './line-index.ts';
import { isAbsence } from './open-file.ts';
import { createSink, type FileSink } from './sink.ts';
import { measureStream, openSource } from './source.ts';
import { tailPath } from './tail.ts';
import type { Bundle, BundleSpec, ByteSource, Sink, StoredContent, StreamType } from './types.ts';

export interface StoredBundle extends Bundle {
  /** With what came before, which is in the files already. */
  openSinks(earlier?: StoredContent['arrival']): ReadonlyMap<StreamType, Sink>;
  /** What there is, and has not been deleted. */
  types(): readonly StreamType[];
  /** Whether this is a `combined` that is put together on reading. */
  isDerived(type: StreamType): boolean;
  /** All bytes that came of each stream, by a look at the disk; what has vanished is left out of `types` from then on. */
  measure(): ReadonlyMap<StreamType, number>;
  /** Whether it has a directory. */
  isOnDisk(): boolean;
  /** On disk; as of the last look, where nothing can have changed since. */
  keptBytes(): number;
  deleteStream(type: StreamType): void;
}

export interface BundleOptions {
  /** Where the bundle's own directory lies. */
  readonly parent: string;
  readonly id: string;
  /** The streams that have a file, unless that was deleted. */
  readonly captured: readonly StreamType[];
  /** Its files were made just now, and need not be looked for. */
  readonly isNew: boolean;
  readonly limits: OutputLimits;
  readonly outputIdOf: (type: StreamType) => string;
  readonly isRunning: () => boolean;
}

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
    const isFull = ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '');
    throw new ShellServerError(
      isFull ? 'EXECUTION_004' : 'SYSTEM_001',
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

export function createBundle(options: BundleOptions): StoredBundle {
  const directory = join(options.parent, options.id);
  const pathOf = (type: StreamType): string => join(directory, type);
  const arrivalPath = join(directory, ARRIVAL_FILE);
  let captured = options.captured.filter(
    (type) => options.isNew || options.isRunning() || isFile(pathOf(type)),
  );
  let hasDerived = derivesCombined(captured) && (options.isNew || options.isRunning() || isFile(arrivalPath));
  /** Of this process, while they are open, and afterwards while one holds what could not be written. */
  let sinks: ReadonlyMap<StreamType, FileSink> | undefined;
  let arrival: ArrivalLog | undefined;
  let wasOpened = false;
  let lastKeptBytes: number | undefined;
  /** What is written at the end may be there or not, whichever process writes it. */
  const present = (): readonly StreamType[] =>
    captured.some(isLate) ? captured.filter((type) => !isLate(type) || isFile(pathOf(type))) : captured;
  const lineIndexes: Partial<Record<StreamType, LineIndex>> = {};

  function openSinks(earlier: StoredContent['arrival'] = []): ReadonlyMap<StreamType, Sink> {
    if (wasOpened) throw new Error(`The outputs of ${options.id} are open for writing already.`);
    wasOpened = true;
    let open = captured.length;
    arrival = hasDerived ? createArrivalLog(arrivalPath) : undefined;
    const order = arrival;
    for (const [index, byteCount] of earlier) order?.record(ARRIVAL_STREAMS[index] ?? 'stdout', byteCount);
    const onClose = (): void => {
      open--;
      if (open > 0) return;
      order?.close();
      arrival = undefined;
      const isAllSaved = [...(sinks?.values() ?? [])].every((sink) => sink.unsavedTail() === undefined);
      if (isAllSaved) sinks = undefined;
    };
    sinks = new Map(
      captured.map((type) => {
        const isOrdered = order !== undefined && (type === 'stdout' || type === 'stderr');
        const onWrite = isOrdered ? (byteCount: number) => order.record(type, byteCount) : undefined;
        const sink = createSink(pathOf(type), {
          limitBytes: options.limits.maxOutputBytes,
          tailBytes: options.limits.tailBytes,
          onClose,
          ...(onWrite === undefined ? {} : { onWrite }),
        });
        return [type, sink];
      }),
    );
    return sinks;
  }

  function source(type: StreamType): ByteSource | undefined {
    if (captured.includes(type)) {
      return openSource(pathOf(type), {
        unsavedTail: () => sinks?.get(type)?.unsavedTail(),
        lineIndex: (lineIndexes[type] ??= createLineIndex()),
      });
    }
    if (type !== 'combined' || !hasDerived) return undefined;
    const stdout = source('stdout');
    const stderr = source('stderr');
    if (stdout === undefined || stderr === undefined) {
      stdout?.close();
      stderr?.close();
      return undefined;
    }
    const isFinal = !options.isRunning() && sinks === undefined;
    return openCombined({
      stdout,
      stderr,
      arrivalPath,
      beforeLook: () => arrival?.flush(),
      lineIndex: isFinal ? (lineIndexes.combined ??= createLineIndex()) : undefined,
    });
  }

  function measure(): ReadonlyMap<StreamType, number> {
    const sizes = new Map<StreamType, number>();
    let kept = 0;
    for (const type of captured) {
      const measured = measureStream(pathOf(type));
      if (measured === undefined) continue;
      sizes.set(type, Math.max(measured.totalBytes, sinks?.get(type)?.totalBytes ?? 0));
      kept += measured.keptBytes;
    }
    // What runs may have files yet.
    if (!options.isRunning()) {
      captured = captured.filter((type) => isLate(type) || sizes.has(type));
      hasDerived = hasDerived && derivesCombined(captured) && isFile(arrivalPath);
    }
    if (hasDerived) sizes.set('combined', (sizes.get('stdout') ?? 0) + (sizes.get('stderr') ?? 0));
    lastKeptBytes = options.isRunning() || sinks !== undefined ? undefined : kept;
    return sizes;
  }

  function keptBytes(): number {
    if (lastKeptBytes !== undefined) return lastKeptBytes;
    let kept = 0;
    for (const type of captured) kept += measureStream(pathOf(type))?.keptBytes ?? 0;
    if (!options.isRunning() && sinks === undefined) lastKeptBytes = kept;
    return kept;
  }

  function deleteStream(type: StreamType): void {
    lastKeptBytes = undefined;
    if (captured.includes(type)) {
      for (const name of leftovers(directory, type)) rmSync(join(directory, name), { force: true });
      rmSync(tailPath(pathOf(type)), { force: true });
      rmSync(pathOf(type), { force: true });
      captured = captured.filter((other) => other !== type);
    }
    // Without both of its streams there is nothing to put together.
    if (hasDerived && !(derivesCombined(captured) && type !== 'combined')) {
      rmSync(arrivalPath, { force: true });
      hasDerived = false;
    }
  }

  return {
    id: options.id,
    directory,
    types: () => (hasDerived ? [...captured, 'combined'] : present()),
    outputId: (type) =>
      present().includes(type) || (type === 'combined' && hasDerived) ? options.outputIdOf(type) : undefined,
    isDerived: (type) => type === 'combined' && hasDerived,
    openSinks,
    source,
    measure,
    keptBytes,
    deleteStream,
    outlast: () => undefined,
    content: () => undefined,
    keepIn: () => undefined,
    isOnDisk: () => true,
  };
}

/** A terminal's, made when it has ended. */
const isLate = (type: StreamType): boolean => type === 'log' || type === 'cast';

export function derivesCombined(streams: readonly StreamType[]): boolean {
  return streams.includes('stdout') && streams.includes('stderr') && !streams.includes('combined');
}

/** What a writer that was killed between writing a tail and renaming it left behind. */
function leftovers(directory: string, type: StreamType): string[] {
  try {
    return readdirSync(directory).filter((name) => name.startsWith(`${type}.tail.`));
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
