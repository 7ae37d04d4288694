/**
 * What a person would see: a terminal emulator, fed with what a program writes, and read as lines. Lines are counted as
 * the program wrote them, whatever the width of the screen broke them into, from the first it ever wrote: a number
 * stays what it is when the line has left memory or the screen was resized.
 */
// CommonJS, whose exports Node gives as the default one.
/* oxlint-disable import/default, import/no-named-as-default-member */
import serialize from '@xterm/addon-serialize';
import unicode11 from '@xterm/addon-unicode11';
import headless, { type IBuffer, type IBufferLine, type Terminal } from '@xterm/headless';

export interface ScreenOptions {
  readonly columns: number;
  readonly rows: number;
  /** Lines above the screen that stay in memory. */
  readonly keptLines?: number;
  /** The emulator's answers to questions of the program: where the cursor is, say. */
  readonly onReply?: (data: string) => void;
  /** Told of each line that leaves memory, in order. */
  readonly onDropped?: (line: string, index: number) => void;
}

export interface ScreenView {
  /** Without the empty ones at the end. */
  readonly rows: readonly string[];
  /** From 0, on the screen. */
  readonly cursor: { readonly row: number; readonly column: number; readonly isVisible: boolean };
  readonly title: string;
  /** A full-screen program (vim, less, htop) is on. */
  readonly isAlternate: boolean;
}

export interface ScreenModes {
  readonly applicationCursor: boolean;
  readonly bracketedPaste: boolean;
}

export interface Screen {
  /** For handlers of escape sequences. */
  readonly terminal: Terminal;
  readonly columns: number;
  readonly rows: number;
  /** Bytes that were given and not yet looked at. */
  readonly pendingBytes: number;
  write(chunk: Uint8Array): void;
  /** Resolves when everything that was given has been looked at. */
  flush(): Promise<void>;
  resize(columns: number, rows: number): void;
  view(): ScreenView;
  modes(): ScreenModes;
  /** How often the screen was wiped, or the cursor sent home: by programs that draw rather than print. */
  readonly redraws: number;
  /** The number of the first line in memory. */
  firstLine(): number;
  /** All lines there ever were, up to the last that has something in it or the cursor. */
  totalLines(): number;
  /** The line that the cursor is in. */
  cursorLine(): number;
  /** Lines [from, to) as far as they are in memory, in text or with their colours. */
  lines(from: number, to: number, withAnsi?: boolean): string[];
  /** The screen with its colours. */
  ansiView(): string;
  /** Everything that is needed to draw it again in another terminal. */
  snapshot(): string;
  dispose(): void;
}

const KEPT_LINES = 2000;
/** So many more before the oldest are dropped, since dropping is not free. */
const SLACK_LINES = 1000;
/** A piece is nothing but line ends at worst; none of them may be dropped without being counted. */
const PIECE_BYTES = 1024;

export function createScreen(options: ScreenOptions): Screen {
  const kept = options.keptLines ?? KEPT_LINES;
  const roomy = kept + SLACK_LINES + PIECE_BYTES;
  const terminal = new headless.Terminal({
    cols: options.columns,
    rows: options.rows,
    scrollback: roomy,
    allowProposedApi: true,
    // A line of a pseudo-terminal ends with CR and LF already.
    convertEol: false,
  });
  const serializer = new serialize.SerializeAddon();
  terminal.loadAddon(serializer);
  terminal.loadAddon(new unicode11.Unicode11Addon());
  terminal.unicode.activeVersion = '11';
  let pendingBytes = 0;
  let dropped = 0;
  let title = '';
  let isCursorVisible = true;
  let redraws = 0;
  const normal = (): IBuffer => terminal.buffer.normal;

  if (options.onReply !== undefined) terminal.onData(options.onReply);
  terminal.onTitleChange((text) => {
    title = text;
  });
  const watchCursor = (isVisible: boolean) => (params: readonly (number | number[])[]) => {
    if (params.includes(25)) isCursorVisible = isVisible;
    return false;
  };
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'h' }, watchCursor(true));
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'l' }, watchCursor(false));
  // `clear` and `reset` throw lines away: they are counted before that.
  terminal.parser.registerCsiHandler({ final: 'J' }, (params) => {
    if (params[0] === 3) countDropped(normal().baseY);
    if (params[0] === 2) redraws++;
    return false;
  });
  terminal.parser.registerCsiHandler({ final: 'H' }, (params) => {
    if ((params[0] ?? 0) === 0 || (params[0] === 1 && (params[1] ?? 1) === 1)) redraws++;
    return false;
  });
  terminal.parser.registerEscHandler({ final: 'c' }, () => {
    countDropped(lastRow() + 1);
    isCursorVisible = true;
    return false;
  });

  /** The rows before this one are about to go. */
  function countDropped(rows: number): void {
    const buffer = normal();
    for (let row = 0; row < rows; ) {
      const next = endOfLine(buffer, row);
      options.onDropped?.(textOf(buffer, row, next), dropped);
      dropped++;
      row = next;
    }
  }

  function dropOld(): void {
    const buffer = normal();
    const above = buffer.length - terminal.rows;
    if (above < kept + SLACK_LINES) return;
    // Only whole lines: the rest of one would be taken for another.
    let cut = above - kept;
    while (cut > 0 && buffer.getLine(cut)?.isWrapped === true) cut--;
    countDropped(cut);
    terminal.options.scrollback = above - cut;
    terminal.options.scrollback = roomy;
  }

  /** The last row that has something in it, or the cursor. */
  function lastRow(): number {
    const buffer = normal();
    let row = buffer.length - 1;
    const cursor = buffer.baseY + buffer.cursorY;
    while (row > cursor && isEmpty(buffer.getLine(row))) row--;
    return row;
  }

  /** Row numbers of the first rows of lines [from, to), and where the last ends. */
  function rowsOf(from: number, to: number): { start: number; end: number }[] {
    const buffer = normal();
    const found: { start: number; end: number }[] = [];
    const last = lastRow();
    let line = dropped;
    for (let row = 0; row <= last && line < to; line++) {
      const next = endOfLine(buffer, row);
      if (line >= from) found.push({ start: row, end: next });
      row = next;
    }
    return found;
  }

  function lineOfRow(wanted: number): number {
    const buffer = normal();
    let line = dropped - 1;
    for (let row = 0; row <= wanted; row++) if (row === 0 || !isContinued(buffer, row)) line++;
    return line;
  }

  return {
    terminal,
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    get redraws() {
      return redraws;
    },
    get pendingBytes() {
      return pendingBytes;
    },
    write(chunk) {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        const piece = chunk.subarray(at, at + PIECE_BYTES);
        pendingBytes += piece.length;
        terminal.write(piece, () => {
          pendingBytes -= piece.length;
          dropOld();
        });
      }
    },
    flush: () => new Promise((resolve) => terminal.write('', resolve)),
    resize: (columns, rows) => terminal.resize(columns, rows),
    view() {
      const buffer = terminal.buffer.active;
      const rows: string[] = [];
      for (let row = 0; row < terminal.rows; row++)
        rows.push(
          buffer
            .getLine(buffer.baseY + row)
            ?.translateToString(true)
            .trimEnd() ?? '',
        );
      while (rows.at(-1) === '') rows.pop();
      return {
        rows,
        cursor: {
          row: buffer.cursorY,
          column: Math.min(buffer.cursorX, terminal.cols - 1),
          isVisible: isCursorVisible,
        },
        title,
        isAlternate: buffer.type === 'alternate',
      };
    },
    modes: () => ({
      applicationCursor: terminal.modes.applicationCursorKeysMode,
      bracketedPaste: terminal.modes.bracketedPasteMode,
    }),
    firstLine: () => dropped,
    totalLines: () => lineOfRow(lastRow()) + 1,
    cursorLine: () => lineOfRow(normal().baseY + normal().cursorY),
    lines(from, to, withAnsi = false) {
      const buffer = normal();
      return rowsOf(from, to).map(({ start, end }) =>
        withAnsi
          ? serializer
              .serialize({ range: { start, end: end - 1 }, excludeModes: true })
              .replaceAll('\r\n', '')
          : textOf(buffer, start, end),
      );
    },
    ansiView() {
      const text = serializer.serialize({ scrollback: 0, excludeModes: true });
      // The normal screen comes first, then the one that covers it.
      return terminal.buffer.active.type === 'alternate'
        ? (text.split(ENTER_ALTERNATE).at(-1) ?? text)
        : text;
    },
    snapshot: () => serializer.serialize({ scrollback: 0 }),
    dispose: () => terminal.dispose(),
  };
}

const ENTER_ALTERNATE = '\x1b[?1049h\x1b[H';

const isEmpty = (line: IBufferLine | undefined): boolean =>
  line === undefined || line.translateToString(true) === '';

const isContinued = (buffer: IBuffer, row: number): boolean => buffer.getLine(row)?.isWrapped === true;

/** The row after the last of the line that begins in this row. */
function endOfLine(buffer: IBuffer, start: number): number {
  let row = start + 1;
  while (row < buffer.length && isContinued(buffer, row)) row++;
  return row;
}

function textOf(buffer: IBuffer, start: number, end: number): string {
  let text = '';
  for (let row = start; row < end; row++)
    text += buffer.getLine(row)?.translateToString(row === end - 1) ?? '';
  // Nobody sees what a shell or an editor fills its line up with.
  return text.trimEnd();
}
