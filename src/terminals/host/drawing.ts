/**
 * Draws what a program writes: in pieces, so that the rows which leave memory are counted, and no longer than a deadline.
 * Lines of a flood that nobody could see are counted without being drawn.
 */
import type { Terminal } from '@xterm/headless';
import { LIMITS } from '../../base/limits.ts';
import { lastRow, lastWritten } from './buffer-lines.ts';
import { withDeadline } from './deadline.ts';
import { createEmulator, type Emulator } from './emulator.ts';
import { createFlood, endOfLines, findUnseen } from './flood.ts';
import { createHead, HEAD_ROWS, type Head } from './head.ts';
import { createLeaving, type Leaving } from './leaving.ts';
import { watchSettings } from './screen-settings.ts';

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

const KEPT_ROWS = 2000;
/** A byte pushes out one row at most: which rows can leave is known before a piece is parsed. */
const PIECE_BYTES = 1024;
/** Of the rows in memory the noted ones are enough for a piece, and for a screen that is pushed out in the middle of it. */
const MIN_KEPT_ROWS = PIECE_BYTES + LIMITS.terminalHeight;
/** A piece takes milliseconds; the server waits for longer than this before it kills the host. */
const DEADLINE_MS = 10_000;

export type Drawing = ReturnType<typeof createDrawing>;

export function createDrawing(options: ScreenOptions) {
  const keptRows = Math.max(options.keptRows ?? KEPT_ROWS, MIN_KEPT_ROWS);
  const emulator = createEmulator({
    columns: options.columns,
    rows: options.rows,
    keptRows,
    isReplay: options.onDropped !== undefined,
    onReply: (data) => options.onReply?.(data),
    onTrim: (rows) => leaving.trim(rows),
    onReset() {
      dropWhole(leaving, lastWritten(terminal.buffer.normal) + 1);
      settings.isCursorVisible = true;
    },
    onPush() {
      if (terminal.rows + PIECE_BYTES > room()) noteAgain(leaving);
    },
    onWiped(isReset) {
      // The emulator leaves markers as they were.
      if (isReset) head.forget();
      onWiped?.(isReset);
    },
    onErase(part) {
      if (part === 3) dropAbove(terminal, leaving);
      if (part === 2) settings.redraws++;
    },
  });
  const { terminal } = emulator;
  let onWiped: ((isReset: boolean) => void) | undefined;
  const leaving = createLeaving(() => terminal.buffer.normal, options.onDropped);
  const head = createHead(terminal);
  const settings = watchSettings(terminal);
  /** So many rows can come before the oldest one leaves. */
  const room = (): number => keptRows + terminal.rows - terminal.buffer.normal.length;
  const skipsUnseen = options.onDropped === undefined;
  const pieces = createPieces(emulator, { keptRows, room, leaving, head, skipsUnseen });
  const drawInTime = withDeadline(pieces.draw, options.deadlineMs ?? DEADLINE_MS);
  let version = 0;
  const flood = createFlood((bytes) => {
    version++;
    // A deadline takes a thread.
    if (emulator.isBetweenSequences() && (isText(bytes) || isHarmless(bytes))) pieces.draw(bytes);
    else drawInTime(bytes);
    options.onParsed?.();
  });

  return {
    terminal,
    leaving,
    head,
    settings,
    /** Another one where something may have been drawn since. */
    version: () => version,
    isParsing: pieces.isParsing,
    write: flood.write,
    /** Also in the middle of a piece, for handlers of sequences. */
    catchUp(): void {
      flood.catchUp();
      leaving.settle();
    },
    /** Called when what was on the screen or above it is gone. */
    whenWiped(listener: (isReset: boolean) => void): void {
      onWiped = listener;
    },
    dropAll: () => dropWhole(leaving, lastRow(terminal.buffer.normal) + 1),
    dispose(): void {
      flood.dispose();
      terminal.dispose();
    },
  };
}

/** Nothing comes behind these rows. */
function dropWhole(leaving: Leaving, rows: number): void {
  leaving.drop(rows);
  leaving.endLine();
}

/** In the middle of a piece, when some of those that were noted may have left. */
function noteAgain(leaving: Leaving): void {
  leaving.settle();
  leaving.note();
}

/** `clear` and `reset` throw rows away. */
function dropAbove(terminal: Terminal, leaving: Leaving): void {
  if (terminal.buffer.active.type !== 'normal') return;
  const above = terminal.buffer.normal.length - terminal.rows;
  leaving.drop(above);
  // The emulator is about to report them.
  leaving.trim(-above);
}

interface PiecesOptions {
  readonly keptRows: number;
  room(): number;
  readonly leaving: Leaving;
  readonly head: Head;
  readonly skipsUnseen: boolean;
}

function createPieces(
  { terminal, parse, isPlain }: Emulator,
  { keptRows, room, leaving, head, skipsUnseen }: PiecesOptions,
) {
  let isParsing = false;

  function drawPiece(piece: Uint8Array): void {
    if (piece.length > room()) leaving.note();
    isParsing = true;
    parse(piece);
    isParsing = false;
    leaving.settle();
    head.check();
  }

  function drawAll(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) drawPiece(bytes.subarray(at, at + PIECE_BYTES));
  }

  return {
    isParsing: () => isParsing,
    draw(bytes: Uint8Array): void {
      // Those that stay, and those on the screen, which the first ones may be written over.
      const kept = keptRows + 2 * terminal.rows;
      const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      let drawn = 0;
      while (skipsUnseen && all.length > 2 * kept) {
        const unseen = findUnseen(all, drawn, terminal.cols, kept);
        if (unseen === undefined) break;
        drawAll(all.subarray(drawn, unseen.from));
        const seen = head.isWaiting()
          ? endOfLines(all, unseen, HEAD_ROWS + 1)
          : { at: unseen.from, lines: 0 };
        drawAll(all.subarray(unseen.from, seen.at));
        if (isPlain()) leaving.skip(unseen.lines - seen.lines);
        else drawAll(all.subarray(seen.at, unseen.to));
        drawn = unseen.to;
      }
      drawAll(all.subarray(drawn));
    },
  };
}

/** Few bytes, with no other sequences than those that move, colour, erase, set a mode or name something: prompts and echoes. */
const isHarmless = (bytes: Uint8Array): boolean =>
  bytes.length <= PIECE_BYTES && (bytes[0] ?? 0) < 0x80 && HARMLESS.test(latin1Of(bytes));

const latin1Of = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('latin1');

/** None of them is repeated, whatever its numbers. Without \xC2, with which controls of two bytes begin. */
const HARMLESS =
  // oxlint-disable-next-line no-control-regex
  /^(?:[\0-\x1A\x1C-\x7F\x80-\xC1\xC3-\xF4]|\x1B\[[\d;?]{0,32}[A-DGHJKhlm]|\x1B\][^\x07\x1B]*(?:\x07|\x1B\\))*$/;

/** Neither ESC nor a control of two bytes, or its second one. */
const isText = (bytes: Uint8Array): boolean =>
  (bytes[0] ?? 0) < 0x80 && !bytes.includes(0x1b) && !bytes.includes(0xc2);
