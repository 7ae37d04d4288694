/** Replaces known values in a stream, wherever the stream is cut. */
import { MASK } from './secrets.ts';

export interface Masker {
  /** What can be passed on now; the end of it is held back while it may be the beginning of a secret. */
  push(chunk: Uint8Array): Uint8Array;
  /** What was held back, at the end. */
  rest(): Uint8Array;
}

export function createMasker(values: readonly string[]): Masker {
  // The longest first: one secret may begin with another.
  const secrets = values.map((value) => Buffer.from(value)).sort((a, b) => b.length - a.length);
  const mask = Buffer.from(MASK);
  let held: Buffer = Buffer.alloc(0);

  function nextSecret(data: Buffer, from: number): { at: number; length: number } | undefined {
    let first: { at: number; length: number } | undefined;
    for (const secret of secrets) {
      const at = data.indexOf(secret, from);
      if (at !== -1 && (first === undefined || at < first.at)) first = { at, length: secret.length };
    }
    return first;
  }

  return {
    push(chunk) {
      const data = Buffer.concat([held, chunk]);
      const parts: Buffer[] = [];
      let done = 0;
      for (let found = nextSecret(data, 0); found !== undefined; found = nextSecret(data, done)) {
        parts.push(data.subarray(done, found.at), mask);
        done = found.at + found.length;
      }
      const left = data.subarray(done);
      const keep = heldLength(left, secrets);
      // Copied: the chunk is a part of a buffer that is used again.
      held = Buffer.from(left.subarray(left.length - keep));
      parts.push(left.subarray(0, left.length - keep));
      return Buffer.concat(parts);
    },
    rest() {
      const rest = held;
      held = Buffer.alloc(0);
      return rest;
    },
  };
}

/** How many of the last bytes are the beginning of a secret. */
function heldLength(data: Buffer, secrets: readonly Buffer[]): number {
  let longest = 0;
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, data.length); length > longest; length--) {
      if (data.subarray(data.length - length).equals(secret.subarray(0, length))) longest = length;
    }
  }
  return longest;
}
