/** Replaces known values in a stream, wherever the stream is cut. */
import { MASK } from './secrets.ts';

export function createMasker(values: readonly string[]) {
  // The longest first: one secret may begin with another.
  const secrets = values
    .filter((value) => value !== '')
    .map((value) => Buffer.from(value))
    .sort((a, b) => b.length - a.length);
  const mask = Buffer.from(MASK);
  let held: Buffer = Buffer.alloc(0);

  /** The first secret from here on, and of several that begin there the longest. */
  function nextSecret(data: Buffer, from: number): { at: number; length: number } | undefined {
    let first: { at: number; length: number } | undefined;
    for (const secret of secrets) {
      const at = data.indexOf(secret, from);
      if (at !== -1 && (first === undefined || at < first.at)) first = { at, length: secret.length };
    }
    return first;
  }

  /** Where the first secret may begin that is not all here yet. */
  function nextUnfinished(data: Buffer, from: number): number {
    let first = data.length;
    for (const secret of secrets) {
      for (let at = Math.max(from, data.length - secret.length + 1); at < first; at++) {
        if (data.subarray(at).equals(secret.subarray(0, data.length - at))) first = at;
      }
    }
    return first;
  }

  function replace(data: Buffer, isEnd: boolean): Buffer {
    const parts: Buffer[] = [];
    let done = 0;
    for (;;) {
      const open = isEnd ? data.length : nextUnfinished(data, done);
      const found = nextSecret(data, done);
      // What begins earlier goes first, and of two that begin together the longer, which is not known yet.
      if (found === undefined || found.at >= open) {
        held = Buffer.from(data.subarray(open));
        parts.push(data.subarray(done, open));
        return Buffer.concat(parts);
      }
      parts.push(data.subarray(done, found.at), mask);
      done = found.at + found.length;
    }
  }

  return {
    /** What can be passed on now; the end of it is held back while it may be the beginning of a secret. */
    push: (chunk: Uint8Array): Uint8Array => replace(Buffer.concat([held, chunk]), false),
    /** What is held back, as it is; for another masker that goes on with it. */
    held: (): Uint8Array => held,
    /** What was held back, at the end. */
    rest(): Uint8Array {
      const rest = held;
      held = Buffer.alloc(0);
      return replace(rest, true);
    },
  };
}
