/**
 * What other modules need to know about outputs. An output is bytes on disk with an id; the outputs of one
 * execution lie in one directory, a bundle.
 */
import type { LineIndex } from './line-index.ts';

/** `cast` is a terminal's recording; in lists it is a `log` like its transcript. */
export type StreamType = 'stdout' | 'stderr' | 'combined' | 'log' | 'cast';

/** Where the bytes of one captured stream go. Never throws on a full disk: it says so in `problem`. */
export interface Sink {
  /** All bytes that came, also those that were not kept. */
  totalBytes(): number;
  /** Set once the disk refused, beginning with the errno ("ENOSPC: …"); the stream is then counted but not kept. */
  problem(): string | undefined;
  write(chunk: Uint8Array): void;
  close(): void;
}

/** Outputs that are small enough to lie beside the record of their execution. */
export interface StoredContent {
  readonly streams: ReadonlyMap<StreamType, Buffer>;
  /** In which order stdout (0) and stderr (1) came: so many bytes of this stream, then so many of that. */
  readonly arrival: readonly (readonly [stream: number, byteCount: number])[];
}

/** Where such content is kept. */
export interface OutputStorage {
  /** All bytes of each stream that is there; a `combined` beside stdout and stderr says that their order was deleted. */
  readonly sizes: ReadonlyMap<StreamType, number>;
  /** Undefined where it is gone. */
  load(): StoredContent | undefined;
  forget(type: StreamType): void;
}

export interface BundleSpec {
  /** The execution; the directory's name, and the base of the outputs' ids. */
  readonly id: string;
  /** The principal that may see it. */
  readonly owner: string;
  /** What it is called in lists: the command, cut. */
  readonly name: string;
  readonly createdAtMs: number;
  /** When it ended, where it has: its age counts from then. */
  readonly endedAtMs?: number | undefined;
  /** The streams that are captured to a file of their own. `combined` is derived where stdout and stderr are both there. */
  readonly streams: readonly StreamType[];
  /** Retention and delete leave it alone while this is true. */
  readonly isRunning: () => boolean;
  /** In memory while it is small and short. */
  readonly isSpooled?: boolean;
  /** Where it is kept once it has ended; undefined where that is in files. */
  readonly storageOf?: ((id: string) => OutputStorage | undefined) | undefined;
}

export interface Bundle {
  readonly id: string;
  /** Absolute path of the directory; the execution's record lies there too. */
  readonly directory: string;
  /** The id of a stream's output; undefined where there is none. */
  outputId(type: StreamType): string | undefined;
  /** Opens the files for writing; once, by the process that captures. */
  openSinks(): ReadonlyMap<StreamType, Sink>;
  /** A source to read from, also while it is written; undefined where it was deleted or is not there. */
  source(type: StreamType): ByteSource | undefined;
  /** It goes on for longer: what is in memory, and what comes, is written to files. */
  outlast(): void;
  /** All there is, where no file has it. */
  content(): StoredContent | undefined;
  /** It is kept there now. */
  keepIn(storage: OutputStorage): void;
}

/** A range that was not kept: [from, to). */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Bytes that can be read at any place, by the offset they had when they came. */
export interface ByteSource {
  /** Looks anew each time, so it may grow; `gaps` and `read` are as of the last look. */
  size(): number;
  /** In order; at most one for a captured stream, and one for each stream in a derived `combined`. */
  gaps(): readonly Gap[];
  /**
   * Reads up to `length` bytes at `offset`: fewer at the end and before a gap, none inside a gap. The result may lie in
   * `into`, a buffer that a frequent reader passes again and again.
   */
  read(offset: number, length: number, into?: Buffer): Buffer;
  /** Where readers note what they counted; keep it to open sources of the same bytes again. */
  readonly lineIndex?: LineIndex | undefined;
  close(): void;
}

export interface OutputInfo {
  readonly outputId: string;
  readonly executionId: string;
  readonly type: StreamType;
  readonly name: string;
  /** All bytes that came, also those that were not kept. */
  readonly sizeBytes: number;
  readonly createdAtMs: number;
  /** False where `combined` was put together by time of arrival. */
  readonly exactOrder: boolean;
  /** True while more may still come. */
  readonly isRunning: boolean;
}

export interface OutputFilter {
  /** Undefined: all. */
  readonly types?: readonly StreamType[] | undefined;
  readonly executionId?: string | undefined;
  /** A regular expression (linear time) over the name. */
  readonly namePattern?: string | undefined;
  readonly limit: number;
}
