/**
 * The terminal emulator, with what its pinned version has beside its documented parts: input is parsed at once, rows
 * that leave its memory are reported, and no sequence makes it repeat something for hours, or something long.
 */
// CommonJS, whose exports Node gives as the default one; what is inside has names with underscores.
/* oxlint-disable import/default, import/no-named-as-default-member, no-underscore-dangle */
import unicode11 from '@xterm/addon-unicode11';
import headless, { type IDisposable, type Terminal } from '@xterm/headless';
import { boundCells, type Line } from './long-cells.ts';

export type Emulator = ReturnType<typeof createEmulator>;

interface EmulatorOptions {
  readonly columns: number;
  readonly rows: number;
  /** Rows above the screen that stay in memory. */
  readonly keptRows: number;
  /** It draws what another one has drawn: what erases takes the time that it takes, so that both have the same lines. */
  readonly isReplay: boolean;
  /** The emulator's answers to questions of the program: where the cursor is, say. */
  onReply(data: string): void;
  /** So many of the oldest rows have left the normal screen's memory. */
  onTrim(rows: number): void;
  /** Everything is about to be thrown away. */
  onReset(): void;
  /** All rows of the normal screen are about to join those above it. */
  onPush(): void;
  /** A part of the screen is about to be erased: `CSI Ps J`. */
  onErase(part: number): void;
  /** What was on the screen or above it is gone: what is written now begins in its first row. */
  onWiped(isReset: boolean): void;
}

interface Inside {
  readonly buffers: {
    readonly active: unknown;
    readonly normal: { readonly lines: Lines; readonly scrollTop: number; readonly scrollBottom: number };
  };
  readonly _inputHandler: {
    readonly _parser: {
      readonly currentState: number;
      /** By sequence; the last one is asked first. */
      readonly _csiHandlers: Readonly<Record<string, Handler[]>>;
      readonly _escHandlers: Readonly<Record<string, Handler[]>>;
    };
  } & Readonly<Record<(typeof USED)[number], Handler>>;
  /** Unlike the documented one, it gets the parameters themselves and not a copy. */
  registerCsiHandler(id: { readonly prefix?: string; readonly final: string }, handler: Handler): IDisposable;
  registerEscHandler(id: { readonly final: string }, handler: Handler): IDisposable;
}

/** The parameters of a sequence. */
interface Given {
  readonly params: Int32Array;
  readonly length: number;
}

/** Modes that show the other screen. */
const SCREENS = new Set([47, 1047, 1049]);

/** True where nothing else needs to handle the sequence; of one without parameters none are given. */
type Handler = (given: Given) => boolean;

const LINE_PARTS = ['addCodepointToCell', 'getString'] as const;

const USED = ['eraseInDisplay', 'setModePrivate', 'resetModePrivate', 'fullReset'] as const;

interface Lines {
  get(row: number): Line | undefined;
  onTrim(listener: (rows: number) => void): IDisposable;
}

export function createEmulator(options: EmulatorOptions) {
  const terminal = new headless.Terminal({
    cols: options.columns,
    rows: options.rows,
    scrollback: options.keptRows,
    allowProposedApi: true,
    // A line of a pseudo-terminal ends with CR and LF already.
    convertEol: false,
  });
  terminal.loadAddon(new unicode11.Unicode11Addon());
  terminal.unicode.activeVersion = '11';
  terminal.onData((data) => {
    if (data !== '') options.onReply(data);
  });
  const inside = insideOf(terminal);
  boundSlowOnes(inside, createEraser(terminal, inside, options), options.isReplay);
  clampRepetitions(terminal, inside);
  boundCells(inside.buffers.normal.lines.get(0) as Line);
  let watched: Lines | undefined;
  /** A reset makes new ones. */
  const watch = (): void => {
    const { lines } = inside.buffers.normal;
    if (lines === watched) return;
    watched = lines;
    lines.onTrim(options.onTrim);
  };
  watch();
  const isBetweenSequences = (): boolean => inside._inputHandler._parser.currentState === GROUND;
  return {
    terminal,
    /** Everything has been parsed when it returns. */
    parse(bytes: Uint8Array): void {
      // What follows a person's input is parsed at once; anything else would wait for a timer.
      terminal.input('', true);
      terminal.write(bytes);
      watch();
    },
    isBetweenSequences,
    /** And on the normal screen, with all of it scrolling: a line feed at the bottom pushes out a row. */
    isPlain: () => scrollsWhole(terminal, inside) && isBetweenSequences(),
  };
}

/** It shows the normal screen, of which no part scrolls alone. */
function scrollsWhole(terminal: Terminal, { buffers: { active, normal } }: Inside): boolean {
  return active === normal && normal.scrollTop === 0 && normal.scrollBottom === terminal.rows - 1;
}

/** The parser's state between sequences. */
const GROUND = 0;

/** So much time for slow sequences in so long; 16 KiB of them would otherwise hold up every terminal for a minute. */
const SLOW_MS = 250;
const SLOW_EVERY_MS = 1000;
/** A sequence that took longer is slow: it moves, clears or exchanges a large screen. */
const SLOW_FROM_MS = 0.02;
/** Of one kind of sequence; the others go on. The first one of each kind takes a while, and so does clearing memory. */
const OWN_MS = 5;
/** Of what erases the screen: lines that are left out there are lost. In a replay, of all of it: a caller waits for that. */
const ERASE_MS = 600;
const REPLAY_ERASE_MS = 4000;

/** Beyond that they do nothing: a screen that is drawn so often is seen by nobody. */
function boundSlowOnes(inside: Inside, { erase, reset }: Eraser, isReplay: boolean): void {
  const { _inputHandler: handlers } = inside;
  let window = { began: 0, spentMs: 0 };
  const bound = (handle: Handler, skip: Handler = () => true, mostMs = OWN_MS, isOnce = false): Handler => {
    let own = { in: window, spentMs: 0 };
    return (given) => {
      const now = performance.now();
      if (now - window.began > SLOW_EVERY_MS) window = { began: now, spentMs: 0 };
      if (own.in !== window && !isOnce) own = { in: window, spentMs: 0 };
      if ((window.spentMs > SLOW_MS || isOnce) && own.spentMs > mostMs) return skip(given);
      const isHandled = handle(given);
      const took = performance.now() - now;
      if (took > SLOW_FROM_MS) {
        window.spentMs += took;
        own.spentMs += took;
      }
      return isHandled;
    };
  };
  const { _csiHandlers: csi, _escHandlers: esc } = handlers._parser;
  for (const each of [...Object.values(csi), ...Object.values(esc)])
    for (const [at, handle] of each.entries()) each[at] = bound(handle);

  let late: (() => unknown) | undefined;
  const exchange = (name: 'setModePrivate' | 'resetModePrivate'): Handler => {
    // Which of two screens is shown must be right in the end.
    const run = bound(
      (given) => handlers[name](given),
      (given) => {
        if (late === undefined)
          setTimeout(() => {
            late?.();
            late = undefined;
          }, SLOW_EVERY_MS).unref();
        // The parser uses its own again for the next sequence.
        const kept = { params: given.params.slice(), length: given.length };
        late = () => handlers[name](kept);
        return true;
      },
    );
    return (given) => given.params.subarray(0, given.length).some((mode) => SCREENS.has(mode)) && run(given);
  };
  inside.registerCsiHandler({ prefix: '?', final: 'h' }, exchange('setModePrivate'));
  inside.registerCsiHandler({ prefix: '?', final: 'l' }, exchange('resetModePrivate'));
  const boundLonger = (handle: Handler): Handler =>
    bound(handle, undefined, isReplay ? REPLAY_ERASE_MS : ERASE_MS, isReplay);
  const boundErase = boundLonger(erase);
  inside.registerCsiHandler({ final: 'J' }, boundErase);
  // xterm.js takes no notice of characters that are protected.
  inside.registerCsiHandler({ prefix: '?', final: 'J' }, boundErase);
  inside.registerEscHandler({ final: 'c' }, boundLonger(reset));
}

type Eraser = ReturnType<typeof createEraser>;

/**
 * What is erased was written, and is still to be read: where the whole screen is, its rows join those above it first, as in
 * PuTTY. So the number of a line means no other one later, unless a program writes over it.
 */
function createEraser(terminal: Terminal, inside: Inside, options: EmulatorOptions) {
  const { _inputHandler: handlers } = inside;

  /** What is left are rows without a character; true where none of them has a background to be erased. */
  function push(): boolean {
    if (!scrollsWhole(terminal, inside)) return false;
    options.onPush();
    terminal.options.scrollOnEraseInDisplay = true;
    handlers.eraseInDisplay({ params: Int32Array.of(ALL), length: 1 });
    terminal.options.scrollOnEraseInDisplay = false;
    return !hasBackground(terminal);
  }

  return {
    erase(given: Given): boolean {
      const part = given.params[0] ?? 0;
      const { cursorX, cursorY } = terminal.buffer.active;
      const isAll = part === ALL || (part === 0 && cursorX === 0 && cursorY === 0);
      const isErased = isAll && push();
      options.onErase(part);
      const isHandled = isErased || handlers.eraseInDisplay(given);
      if (isAll || part === ABOVE) options.onWiped(false);
      return isHandled;
    },
    reset(given: Given): boolean {
      options.onReset();
      const isHandled = handlers.fullReset(given);
      options.onWiped(true);
      return isHandled;
    },
  };
}

function hasBackground(terminal: Terminal): boolean {
  const { normal } = terminal.buffer;
  for (let row = normal.baseY; row < normal.baseY + terminal.rows; row++)
    if (normal.getLine(row)?.getCell(0)?.isBgDefault() === false) return true;
  return false;
}

/** Of `CSI Ps J`: the screen, and what is above it. */
const ALL = 2;
const ABOVE = 3;

/** `CSI 2147483647 L` inserts as many lines, one after the other. More than the screen has make no difference. */
function clampRepetitions(terminal: Terminal, inside: Inside): void {
  const clamp = (finals: string, most: () => number): void => {
    for (const final of finals)
      inside.registerCsiHandler({ final }, ({ params }) => {
        params[0] = Math.min(params[0] ?? 0, most());
        return false;
      });
  };
  clamp('LMST', () => terminal.rows);
  // Of the last one, which repeats a character, no program asks for more than a row.
  clamp('IZb', () => terminal.cols);
}

function insideOf(terminal: Terminal): Inside {
  const { _core: inside } = terminal as unknown as { readonly _core?: Partial<Inside> };
  const isThere =
    typeof inside?.registerCsiHandler === 'function' &&
    inside.buffers?.normal.lines.onTrim !== undefined &&
    LINE_PARTS.every((name) => typeof inside.buffers?.normal.lines.get(0)?.[name] === 'function') &&
    inside.buffers.normal.scrollTop === 0 &&
    inside._inputHandler?._parser.currentState === GROUND &&
    typeof inside._inputHandler._parser._csiHandlers === 'object' &&
    typeof inside._inputHandler._parser._escHandlers === 'object' &&
    USED.every((name) => typeof inside._inputHandler?.[name] === 'function');
  if (!isThere) throw new Error('This version of xterm.js lacks what the terminals need.');
  return inside as Inside;
}
