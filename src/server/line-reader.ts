/**
 * Lines out of chunks of bytes. A line longer than the limit is announced once and skipped to its end, never held;
 * the one after it is read as if nothing had been.
 */
export interface LineReaderOptions {
  readonly maxBytes: number;
  readonly onLine: (line: Uint8Array) => void;
  readonly onTooLong: () => void;
}

const LINE_FEED = 0x0a;

export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions) {
  let parts: Uint8Array[] = [];
  let length = 0;
  let skipping = false;

  function drop(): void {
    parts = [];
    length = 0;
  }

  function keep(part: Uint8Array): void {
    if (skipping || part.length === 0) return;
    if (length + part.length > maxBytes) {
      skipping = true;
      drop();
      onTooLong();
      return;
    }
    parts.push(part);
    length += part.length;
  }

  function finishLine(): void {
    const line = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const skipped = skipping;
    drop();
    skipping = false;
    if (!skipped && line !== undefined && !isBlank(line)) onLine(line);
  }

  return {
    push(chunk: Uint8Array): void {
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
        keep(chunk.subarray(start, end));
        finishLine();
        start = end + 1;
      }
      keep(chunk.subarray(start));
    },
    /** The input ended: what is left is a line too, since `echo -n` and its kind write no last line end. */
    end: finishLine,
  };
}

/** Nothing but spaces, tabs and the carriage return of a CRLF. JSON itself overlooks them around a message. */
function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte <= 0x20);
}
