/**
 * Output that comes faster than anybody reads it. It is held for a moment and parsed together, so that lines which
 * would leave memory before anybody could see them are counted instead of drawn: `seq 1 2000000` writes two million.
 */

/** So much within a moment is a flood. */
const FLOOD_BYTES = 32 * 1024;
const MOMENT_MS = 10;
/** No more is held; some thousand lines of a usual length. */
const HELD_BYTES = 256 * 1024;
/** Sequences that take longer than this to draw are drawn as they come, so that other terminals have their turn. */
const SLOW_MS = 40;

export function createFlood(parse: (bytes: Uint8Array) => void) {
  let held: Buffer | undefined;
  let heldBytes = 0;
  /** Grows while it is drawn quickly; 0 where there is no flood. */
  let limit = 0;
  let timer: NodeJS.Timeout | undefined;
  let momentBegan = 0;
  let momentBytes = 0;

  /** Parses what is held. */
  function catchUp(): void {
    if (heldBytes === 0 || held === undefined) return;
    const bytes = held.subarray(0, heldBytes);
    clearTimeout(timer);
    timer = undefined;
    // A reader of the screen must not parse it again meanwhile.
    heldBytes = 0;
    const began = performance.now();
    parse(bytes);
    const isQuick = performance.now() - began < SLOW_MS;
    limit = isQuick && bytes.length >= FLOOD_BYTES ? Math.min(2 * limit, HELD_BYTES) : 0;
    if (limit === 0) held = undefined;
  }

  function hold(chunk: Uint8Array): void {
    if (heldBytes + chunk.length > limit) catchUp();
    held ??= Buffer.allocUnsafeSlow(HELD_BYTES);
    held.set(chunk, heldBytes);
    heldBytes += chunk.length;
    timer ??= setTimeout(catchUp, MOMENT_MS);
  }

  return {
    write(chunk: Uint8Array): void {
      if (chunk.length <= limit) return hold(chunk);
      catchUp();
      const now = performance.now();
      if (now - momentBegan > MOMENT_MS) {
        momentBegan = now;
        momentBytes = 0;
      }
      momentBytes += chunk.length;
      limit = momentBytes >= FLOOD_BYTES ? 2 * FLOOD_BYTES : 0;
      parse(chunk);
    },
    catchUp,
    dispose(): void {
      clearTimeout(timer);
      heldBytes = 0;
    },
  };
}

/** Whole lines in the middle of some output. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly lines: number;
}

const CR = 0x0d;
const LF = 0x0a;

/**
 * Lines from `at` on that are followed by at least `kept` others, all of them of printable ASCII and no longer than a
 * row: each pushes out one row and changes nothing else. Undefined where there are none.
 */
export function findUnseen(bytes: Buffer, at: number, columns: number, kept: number): Stretch | undefined {
  for (let from = afterLineEnd(bytes, at); from !== undefined; ) {
    let lines = 0;
    let end = from;
    for (let next = endOfPlainLine(bytes, end, columns); next !== undefined; lines++) {
      end = next;
      next = endOfPlainLine(bytes, end, columns);
    }
    if (lines > kept) {
      let to = end;
      for (let back = 0; back < kept; back++) to = bytes.lastIndexOf(LF, to - 2) + 1;
      return { from, to, lines: lines - kept };
    }
    from = afterLineEnd(bytes, end);
  }
  return undefined;
}

/** Where the first lines of a stretch end, and how many they are. */
export function endOfLines(
  bytes: Buffer,
  { from, to, lines }: Stretch,
  most: number,
): { readonly at: number; readonly lines: number } {
  if (lines <= most) return { at: to, lines };
  let at = from;
  for (let count = 0; count < most; count++) at = bytes.indexOf(LF, at) + 1;
  return { at, lines: most };
}

/** Where the cursor is in the first column for sure. */
function afterLineEnd(bytes: Buffer, at: number): number | undefined {
  for (let end = bytes.indexOf(LF, at); end !== -1; end = bytes.indexOf(LF, end + 1))
    if (end > at && bytes[end - 1] === CR) return end + 1;
  return undefined;
}

/** After its CR and LF; undefined where it is not plain, too long or not all here. */
function endOfPlainLine(bytes: Buffer, start: number, columns: number): number | undefined {
  const last = Math.min(bytes.length - 1, start + columns);
  for (let at = start; at <= last; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === CR) return bytes[at + 1] === LF ? at + 2 : undefined;
    if (byte < 0x20 || byte > 0x7e) return undefined;
  }
  return undefined;
}
