/**
 * What a person would see: a terminal emulator, fed with what a program writes, and read as lines. Lines are counted as
 * the program wrote them, whatever the width of the screen broke them into, from the first it ever wrote: a number
 * stays what it is when the line has left memory or the screen was resized.
 */
// CommonJS, whose exports Node gives as the default one.
/* oxlint-disable import/default, import/no-named-as-default-member */
import serialize from '@xterm/addon-serialize';
import type { IBuffer, IBufferLine, Terminal } from '@xterm/headless';
import type { InputModes } from '../protocol.ts';
import { withDeadline } from './deadline.ts';
import { createEmulator } from './emulator.ts';
import { createFlood, endOfLines, findUnseen } from './flood.ts';
import { createHead, HEAD_ROWS, type Head } from './head.ts';
import { createLeaving, isContinued } from './leaving.ts';

export interface ScreenOptions {
  readonly columns: number;
  readonly rows: number;
  /** Rows above the screen that stay in memory; not fewer than a piece of input can push out. */
  readonly keptRows?: number;
  /** The emulator's answers to questions of the program: where the cursor is, say. */
  readonly onReply?: (data: string) => void;
  /** Called with each line that leaves memory, in order: then every line is drawn, and none held. */
  readonly onDropped?: (line: string, index: number) => void;
  /** Something new is on the screen. */
  readonly onParsed?: () => void;
  /** Output that takes longer to draw makes `write` and everything that reads throw. */
  readonly deadlineMs?: number;
}

export interface ScreenView {
  /** Without the empty ones at the end. */
  readonly rows: readonly string[];
  /** From 0, on the screen. */
  readonly cursor: { readonly row: number; readonly column: number; readonly isVisible: boolean };
  readonly title: string;
  readonly isAlternate: boolean;
}

export interface Screen {
  /** For handlers of escape sequences. */
  readonly terminal: Terminal;
  /** The first lines of what comes of an input. */
  readonly head: Pick<Head, 'begin' | 'lines'>;
  readonly columns: number;
  readonly rows: number;
  /** A full-screen program (vim, less, htop) is on. */
  readonly isAlternate: boolean;
  /** Under a flood it is on the screen a moment later. The bytes are free for other use. */
  write(chunk: Uint8Array): void;
  /** What was written is on the screen, and was reported. Everything that reads the screen does this first. */
  catchUp(): void;
  resize(columns: number, rows: number): void;
  view(): ScreenView;
  modes(): InputModes;
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
  /** Reports the lines that are left, as if they left memory: nothing can be read afterwards. */
  dropAll(): void;
  dispose(): void;
}

const KEPT_ROWS = 2000;
/** A byte pushes out one row at most: which rows can leave is known before a piece is parsed. */
const PIECE_BYTES = 1024;
/** A piece takes milliseconds; the server waits for longer than this before it kills the host. */
const DEADLINE_MS = 10_000;
/** A program may set a title of megabytes; nobody can read more than this. */
const MAX_TITLE_CHARS = 256;

export function createScreen(options: ScreenOptions): Screen {
  const keptRows = Math.max(options.keptRows ?? KEPT_ROWS, PIECE_BYTES);
  const { terminal, parse, isPlain } = createEmulator({
    columns: options.columns,
    rows: options.rows,
    keptRows,
    onReply: (data) => options.onReply?.(data),
    onTrim: (rows) => leaving.trim(rows),
    onReset: () => onReset(),
    onErase: (part) => onErase(part),
  });
  const serializer = new serialize.SerializeAddon();
  terminal.loadAddon(serializer);
  const normal = (): IBuffer => terminal.buffer.normal;
  const leaving = createLeaving(normal, options.onDropped);
  const head = createHead(terminal);
  /** The rows in which lines begin, until something changes. */
  let starts: readonly number[] | undefined;
  let isParsing = false;
  let title = '';
  let isCursorVisible = true;
  let redraws = 0;

  terminal.onTitleChange((text) => {
    title = text;
  });
  const cutTitle = (text: string): boolean => {
    const isLong = text.length > MAX_TITLE_CHARS;
    if (isLong) title = text.slice(0, MAX_TITLE_CHARS);
    return isLong;
  };
  for (const number of [0, 2]) terminal.parser.registerOscHandler(number, cutTitle);
  // The name of an icon, which nobody reads.
  terminal.parser.registerOscHandler(1, () => true);
  const watchCursor = (isVisible: boolean) => (params: readonly (number | number[])[]) => {
    if (params.includes(25)) isCursorVisible = isVisible;
    return false;
  };
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'h' }, watchCursor(true));
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'l' }, watchCursor(false));
  terminal.parser.registerCsiHandler({ final: 'H' }, (params) => {
    if ((params[0] ?? 0) === 0 || (params[0] === 1 && (params[1] ?? 1) === 1)) redraws++;
    return false;
  });

  /** `clear` and `reset` throw rows away. */
  function onErase(part: number): void {
    if (part === 3 && terminal.buffer.active.type === 'normal') {
      const above = normal().length - terminal.rows;
      leaving.drop(above);
      // The emulator is about to report them.
      leaving.trim(-above);
    }
    if (part === 2) redraws++;
  }

  function onReset(): void {
    leaving.drop(lastRow() + 1);
    leaving.endLine();
    isCursorVisible = true;
  }

  function take(piece: Uint8Array): void {
    if (piece.length > keptRows + terminal.rows - normal().length) leaving.note();
    isParsing = true;
    parse(piece);
    isParsing = false;
    leaving.settle();
    head.check();
  }

  function draw(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) take(bytes.subarray(at, at + PIECE_BYTES));
  }

  function drawSeen(bytes: Uint8Array): void {
    starts = undefined;
    // Those that stay, and those on the screen, which the first ones may be written over.
    const kept = keptRows + 2 * terminal.rows;
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let drawn = 0;
    if (options.onDropped === undefined && all.length > 2 * kept)
      for (
        let unseen = findUnseen(all, 0, terminal.cols, kept);
        unseen !== undefined;
        unseen = findUnseen(all, drawn, terminal.cols, kept)
      ) {
        draw(all.subarray(drawn, unseen.from));
        const seen = head.isWaiting ? endOfLines(all, unseen, HEAD_ROWS + 1) : { at: unseen.from, lines: 0 };
        draw(all.subarray(unseen.from, seen.at));
        if (isPlain()) leaving.skip(unseen.lines - seen.lines);
        else draw(all.subarray(seen.at, unseen.to));
        drawn = unseen.to;
      }
    draw(all.subarray(drawn));
  }

  const drawInTime = withDeadline(drawSeen, options.deadlineMs ?? DEADLINE_MS);
  const flood = createFlood((bytes) => {
    // Only within a sequence can the emulator fail to return, and a deadline costs a tenth of a millisecond.
    if (isText(bytes) && isPlain()) drawSeen(bytes);
    else drawInTime(bytes);
    options.onParsed?.();
  });

  /** Also in the middle of a piece, for handlers of sequences. */
  function catchUp(): void {
    flood.catchUp();
    leaving.settle();
  }

  /** The last row that has something in it, or the cursor. */
  function lastRow(): number {
    const buffer = normal();
    let row = buffer.length - 1;
    const cursor = buffer.baseY + buffer.cursorY;
    while (row > cursor && isEmpty(buffer.getLine(row))) row--;
    return row;
  }

  /** The rows in which lines begin; what is left of one that began before them is not read. */
  function firstRows(): readonly number[] {
    catchUp();
    if (starts !== undefined && !isParsing) return starts;
    const found: number[] = [];
    const buffer = normal();
    const last = lastRow();
    for (let row = 0; row <= last; row++) if (!isContinued(buffer, row)) found.push(row);
    if (!isParsing) starts = found;
    return found;
  }

  function totalLines(): number {
    const inMemory = firstRows().length;
    return leaving.lines + inMemory;
  }

  function lineOfRow(wanted: number): number {
    const index = firstRows().findLastIndex((row) => row <= wanted);
    return Math.max(0, leaving.lines + index);
  }

  function lines(from: number, to: number, withAnsi = false): string[] {
    const rows = firstRows();
    const buffer = normal();
    const found = rows.slice(Math.max(0, from - leaving.lines), Math.max(0, to - leaving.lines));
    return found.map((start) => {
      const end = endOfLine(buffer, start);
      if (!withAnsi) return textOf(buffer, start, end);
      const range = { start, end: end - 1 };
      return serializer.serialize({ range, excludeModes: true }).replaceAll('\r\n', '');
    });
  }

  return {
    terminal,
    head: {
      begin() {
        catchUp();
        head.begin();
      },
      lines: head.lines,
    },
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    get isAlternate() {
      catchUp();
      return terminal.buffer.active.type === 'alternate';
    },
    get redraws() {
      catchUp();
      return redraws;
    },
    write: flood.write,
    catchUp,
    resize(columns, rows) {
      const total = totalLines();
      const first = leaving.lines;
      const before = options.onDropped === undefined ? [] : lines(first, total);
      terminal.resize(columns, rows);
      starts = undefined;
      leaving.forget();
      // Narrower rows are more of them, and the oldest may have left.
      const gone = leaving.takeTrimmed() > 0 ? total - totalLines() : 0;
      if (gone <= 0) return;
      leaving.endLine();
      leaving.skip(gone);
      for (const [at, line] of before.slice(0, gone).entries()) options.onDropped?.(line, first + at);
    },
    view() {
      catchUp();
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
    modes() {
      catchUp();
      const { applicationCursorKeysMode, bracketedPasteMode } = terminal.modes;
      return {
        applicationCursor: applicationCursorKeysMode,
        bracketedPaste: bracketedPasteMode,
        isAlternate: terminal.buffer.active.type === 'alternate',
      };
    },
    firstLine() {
      catchUp();
      return leaving.lines;
    },
    totalLines,
    cursorLine() {
      catchUp();
      return lineOfRow(normal().baseY + normal().cursorY);
    },
    lines,
    ansiView() {
      catchUp();
      const text = serializer.serialize({ scrollback: 0, excludeModes: true });
      // The normal screen comes first, then the one that covers it.
      return terminal.buffer.active.type === 'alternate'
        ? (text.split(ENTER_ALTERNATE).at(-1) ?? text)
        : text;
    },
    snapshot() {
      catchUp();
      return serializer.serialize({ scrollback: 0 });
    },
    dropAll() {
      catchUp();
      leaving.drop(lastRow() + 1);
      leaving.endLine();
    },
    dispose() {
      flood.dispose();
      terminal.dispose();
    },
  };
}

const ENTER_ALTERNATE = '\x1b[?1049h\x1b[H';

/** Neither ESC nor a control of two bytes, or its second one. */
const isText = (bytes: Uint8Array): boolean =>
  (bytes[0] ?? 0) < 0x80 && !bytes.includes(0x1b) && !bytes.includes(0xc2);

const isEmpty = (line: IBufferLine | undefined): boolean =>
  line === undefined || line.translateToString(true) === '';

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
