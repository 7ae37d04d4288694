/**
 * What a person would see: a terminal emulator, fed with what a program writes, and read as lines. Lines are counted as
 * the program wrote them, whatever the width of the screen broke them into, from the first it ever wrote: a number
 * stays what it is when the line has left memory or the screen was resized.
 */
// CommonJS, whose exports Node gives as the default one.
/* oxlint-disable import/default, import/no-named-as-default-member */
import serialize from '@xterm/addon-serialize';
import type { Terminal } from '@xterm/headless';
import type { InputModes } from '../protocol.ts';
import { createDrawing, type ScreenOptions } from './drawing.ts';
import { createLines } from './screen-lines.ts';
import type { Settings } from './screen-settings.ts';

export type Screen = ReturnType<typeof createScreen>;

export function createScreen(options: ScreenOptions) {
  const drawing = createDrawing(options);
  const { terminal, leaving, head, settings, catchUp } = drawing;
  const serializer = new serialize.SerializeAddon();
  terminal.loadAddon(serializer);
  const lines = createLines(drawing, serializer, options.onDropped);
  const afterAll =
    <Result>(read: () => Result) =>
    (): Result => {
      catchUp();
      return read();
    };

  return {
    /** For handlers of escape sequences. */
    terminal,
    /** The first lines of what comes of an input. */
    head: { begin: afterAll(head.begin), lines: head.lines },
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    /** A full-screen program (vim, less, htop) is on. */
    get isAlternate() {
      catchUp();
      return isAlternate(terminal);
    },
    /** How often the screen was wiped, or the cursor sent home: by programs that draw rather than print. */
    get redraws() {
      catchUp();
      return settings.redraws;
    },
    /** Under a flood it is on the screen a moment later. The bytes are free for other use. */
    write: drawing.write,
    /** What was written is on the screen, and was reported. Everything that reads the screen does this first. */
    catchUp,
    resize: lines.resize,
    view: afterAll(() => viewOf(terminal, settings)),
    modes: afterAll(() => modesOf(terminal)),
    /** The number of the first line in memory. */
    firstLine: afterAll(leaving.lines),
    /** All lines there ever were, up to the last that has something in it or the cursor. */
    totalLines: lines.total,
    /** The line that the cursor is in. */
    cursorLine: lines.ofCursor,
    lineOfRow: lines.ofRow,
    /** Lines [from, to) as far as they are in memory, in text or with their colours. */
    lines: lines.read,
    /** The screen with its colours. */
    ansiView: afterAll(() => {
      const text = serializer.serialize({ scrollback: 0, excludeModes: true });
      // The normal screen comes first, then the one that covers it.
      return isAlternate(terminal) ? (text.split(ENTER_ALTERNATE).at(-1) ?? text) : text;
    }),
    /** Everything that is needed to draw it again in another terminal. */
    snapshot: afterAll(() => serializer.serialize({ scrollback: 0 })),
    /** In the middle of what is parsed. */
    whenWiped: drawing.whenWiped,
    /** Where the screen begins. */
    topLine: afterAll(() => lines.ofRow(terminal.buffer.normal.baseY).line),
    /** Reports the lines that are left, as if they left memory: nothing can be read afterwards. */
    dropAll: afterAll(drawing.dropAll),
    dispose: drawing.dispose,
  };
}

const ENTER_ALTERNATE = '\x1b[?1049h\x1b[H';

const isAlternate = (terminal: Terminal): boolean => terminal.buffer.active.type === 'alternate';

function viewOf(terminal: Terminal, { title, isCursorVisible }: Settings) {
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
    /** Without the empty ones at the end. */
    rows,
    /** From 0, on the screen. */
    cursor: {
      row: buffer.cursorY,
      column: Math.min(buffer.cursorX, terminal.cols - 1),
      isVisible: isCursorVisible,
    },
    title,
    isAlternate: isAlternate(terminal),
  };
}

function modesOf(terminal: Terminal): InputModes {
  const { applicationCursorKeysMode, bracketedPasteMode } = terminal.modes;
  return {
    applicationCursor: applicationCursorKeysMode,
    bracketedPaste: bracketedPasteMode,
    isAlternate: isAlternate(terminal),
  };
}
