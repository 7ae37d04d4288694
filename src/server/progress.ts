/**
 * Progress of one call: what a tool reports as often as it likes becomes a few notifications. What comes between two
 * of them is put together and its last part sent; only one is under way at a time, so a client that does not read
 * costs nothing. The count rises by one each time, as the protocol wants. Nothing is sent after `finish` or an abort.
 */
import { LIMITS } from '../base/limits.ts';

/** Undefined where the client did not ask for it: a notification with a token that nobody knows is an error at its end. */
export function openProgress(
  progressToken: string | number | undefined,
  signal: AbortSignal,
  notify: (notification: {
    readonly method: 'notifications/progress';
    readonly params: { progressToken: string | number; progress: number; message: string };
  }) => Promise<void>,
) {
  if (progressToken === undefined) return undefined;
  const send = (progress: number, message: string): Promise<void> =>
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
  return createProgress({ send, signal });
}

export interface ProgressOptions {
  readonly send: (progress: number, message: string) => Promise<void>;
  readonly signal: AbortSignal;
  readonly intervalMs?: number;
}

export function createProgress(options: ProgressOptions) {
  const { send, signal, intervalMs = LIMITS.progressIntervalMs } = options;
  let count = 0;
  let pending = '';
  let finished = false;
  let lastSentAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | undefined;

  /** A line or a few; what comes between two notifications becomes one text of many lines. */
  function report(message: string): void {
    if (finished || signal.aborted || message === '') return;
    const separator = pending === '' || pending.endsWith('\n') ? '' : '\n';
    pending = lastBytes(pending + separator + lastBytes(message));
    schedule();
  }

  function schedule(): void {
    if (timer !== undefined || underWay !== undefined || pending === '') return;
    const waitMs = lastSentAt + intervalMs - performance.now();
    if (waitMs <= 0) return flush();
    timer = setTimeout(() => {
      timer = undefined;
      flush();
    }, waitMs);
    timer.unref();
  }

  function flush(): void {
    if (pending === '' || signal.aborted) return;
    const message = pending;
    pending = '';
    lastSentAt = performance.now();
    count += 1;
    // A notification that could not be sent is no reason to fail the call: the answer still can be.
    underWay = send(count, message)
      .catch(() => undefined)
      .finally(() => {
        underWay = undefined;
        if (!finished) schedule();
      });
  }

  /** Sends what is left and waits for it; for just before the answer. */
  async function finish(): Promise<void> {
    finished = true;
    clearTimeout(timer);
    await underWay;
    flush();
    await underWay;
  }

  return { report, finish };
}

function lastBytes(text: string): string {
  if (text.length <= LIMITS.progressMessageBytes && Buffer.byteLength(text) <= LIMITS.progressMessageBytes) {
    return text;
  }
  // A character has at most 4 bytes in UTF-8 and at most 2 units here, so this much always holds enough of the end.
  const bytes = Buffer.from(text.slice(-LIMITS.progressMessageBytes));
  let start = bytes.length - LIMITS.progressMessageBytes;
  while (start > 0 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(Math.max(0, start)).toString();
}
