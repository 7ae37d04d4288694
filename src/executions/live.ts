/**
 * An execution that is running now, whichever process holds its pipes: this server, the wrapper of a detached one, or the host of a
 * terminal.
 */
import type { Cause, EndSignal } from './ending.ts';
import type { ExecutionRecord, Outcome } from './record.ts';
import type { Survivor } from './terminate.ts';
import type { ProcessTree } from './tree.ts';

export interface Live {
  readonly tree: ProcessTree;
  readonly process: NonNullable<ExecutionRecord['process']>;
  readonly finished: Promise<Outcome>;
  /** Ends the whole tree; resolves when it is gone. */
  end(cause: Cause, signal?: EndSignal): Promise<Survivor[]>;
  /** Sends one signal and waits a while; true where the end came. Nothing harder follows. */
  request(signal: NodeJS.Signals, scope: 'tree' | 'leader', windowMs: number): Promise<boolean>;
  /** The largest of its streams, as it is now. */
  outputBytes(): number;
  /** Called with each chunk until it is stopped; only where this server copies the output. */
  onOutput(listener: (chunk: Uint8Array) => void): () => void;
  /** From here on its output shows this as masked; only where this server copies it. */
  mask(value: string): void;
  /** Its wrapper or host is looked at now, where that would be later: it may have ended. */
  checkEnd(): void;
  /** What the session's shell left, once it ended. */
  state(): Buffer;
}
