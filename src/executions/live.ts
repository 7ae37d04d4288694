/**
 * An execution that is running now, whichever process holds its pipes: this server, the wrapper of a detached one, or the host of a
 * terminal.
 */
import type { Capture } from './capture.ts';
import type { Ending } from './ending.ts';
import type { ExecutionRecord } from './record.ts';
import type { ProcessTree } from './tree.ts';

/** Chunks come, and values are masked, only where this server copies the output. */
export interface Live extends Ending, Pick<Capture, 'onOutput' | 'mask' | 'state'> {
  readonly tree: ProcessTree;
  readonly process: NonNullable<ExecutionRecord['process']>;
  /** The largest of its streams, as it is now. */
  outputBytes(): number;
  /** Its wrapper or host is looked at now, where that would be later: it may have ended. */
  checkEnd(): void;
}
