/**
 * What the other rooms need to know about outputs. An output is bytes on disk with an id; the outputs of one
 * execution (or terminal) lie in one directory, a bundle.
 */

export type StreamType = 'stdout' | 'stderr' | 'combined' | 'log';

/** Where the bytes of one captured stream go. Never throws on a full disk: it says so in `problem`. */
export interface Sink {
  /** All bytes that came, also those that were not kept. */
  readonly totalBytes: number;
  /** Set once the disk refused; the stream is then counted but not kept. */
  readonly problem: string | undefined;
  write(chunk: Uint8Array): void;
  close(): void;
}

export interface BundleSpec {
  /** The execution or terminal; the directory's name, and the base of the outputs' ids. */
  readonly id: string;
  /** The principal that may see it. */
  readonly owner: string;
  /** What it is called in lists: the command, cut. */
  readonly name: string;
  readonly createdAtMs: number;
  /** The streams that are captured to a file of their own. `combined` is derived where stdout and stderr are both there. */
  readonly streams: readonly StreamType[];
  /** Retention and delete leave it alone while this is true. */
  isRunning(): boolean;
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
}

/** Bytes that can be read at any place. `size` may grow from call to call. */
export interface ByteSource {
  readonly size: number;
  /** A range that was not kept: [from, to). Reading there gives nothing. */
  readonly gap: { readonly from: number; readonly to: number } | undefined;
  /** Reads up to `length` bytes at `offset`: fewer at the end and before the gap, none inside the gap. */
  read(offset: number, length: number): Buffer;
  close(): void;
}

export interface OutputInfo {
  readonly outputId: string;
  readonly executionId: string;
  readonly type: StreamType;
  readonly name: string;
  readonly sizeBytes: number;
  readonly createdAtMs: number;
  /** False where `combined` was put together by time of arrival. */
  readonly exactOrder: boolean;
}

export interface OutputFilter {
  readonly type?: StreamType | 'all';
  readonly executionId?: string;
  /** A regular expression (linear time) over the name. */
  readonly namePattern?: string;
  readonly limit: number;
}

/** The door. */
export interface Outputs {
  /** Creates the directory (0700) and remembers the bundle. */
  createBundle(spec: BundleSpec): Bundle;
  /** Remembers a bundle that is already on disk, after a restart. */
  adoptBundle(spec: BundleSpec): Bundle;
  /** Newest first; `total` counts all that match, before `limit`. */
  list(owner: string, filter: OutputFilter): { outputs: OutputInfo[]; total: number };
  /** Throws RESOURCE_003 for an id that is unknown, deleted or another owner's. */
  open(owner: string, outputId: string): { info: OutputInfo; source: ByteSource };
  delete(
    owner: string,
    outputIds: readonly string[],
  ): { deleted: string[]; failed: { outputId: string; reason: string }[] };
  /** Removes old bundles by age, count and total size, never running ones; returns the ids of those removed. */
  collect(): Promise<string[]>;
  /** Number and bytes of what is kept, for one owner or for all. */
  totals(owner?: string): { count: number; bytes: number };
}
