/** The terminal emulator, loaded when a terminal is shown. */
import { type ITheme, Terminal } from '@xterm/xterm';

export type Screen = ReturnType<typeof createScreen>;

export interface ScreenOptions {
  readonly columns: number;
  readonly rows: number;
  onTyped(text: string): void;
}

const SCROLLBACK = 5000;
/** The emulator parses what it is given at once, and lets the page breathe in between. */
const PIECE_LENGTH = 2048;

export function createScreen(element: HTMLElement, options: ScreenOptions) {
  const restore = allowOwnStyles();
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const terminal = new Terminal({
    cols: options.columns,
    rows: options.rows,
    scrollback: SCROLLBACK,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
    fontSize: 12,
    disableStdin: true,
    theme: readTheme(),
    minimumContrastRatio: 4.5,
  });
  clampRepetitions(terminal);
  terminal.open(element);
  restore();
  terminal.onData(options.onTyped);
  const repaint = (): void => {
    terminal.options.theme = readTheme();
  };
  dark.addEventListener('change', repaint);
  return {
    /** Resolves when it is drawn. */
    write(data: string | Uint8Array): Promise<void> {
      for (let at = 0; at < data.length - PIECE_LENGTH; at += PIECE_LENGTH)
        terminal.write(data.slice(at, at + PIECE_LENGTH));
      const rest = data.slice(Math.max(0, Math.ceil(data.length / PIECE_LENGTH) - 1) * PIECE_LENGTH);
      return new Promise((resolve) => terminal.write(rest, resolve));
    },
    /** Empties it, as after a new start. */
    reset: () => terminal.reset(),
    resize: (columns: number, rows: number) => terminal.resize(columns, rows),
    setTyping(isAllowed: boolean): void {
      terminal.options.disableStdin = !isAllowed;
      terminal.options.cursorBlink = isAllowed;
      if (isAllowed) terminal.focus();
    },
    dispose(): void {
      dark.removeEventListener('change', repaint);
      terminal.dispose();
    },
  };
}

interface Inside {
  /** Unlike the documented one, it gets the parameters themselves and not a copy. */
  registerCsiHandler(
    id: { readonly final: string },
    handle: (given: { params: Int32Array }) => boolean,
  ): void;
}

/** `CSI 2147483647 L` inserts as many lines, one after the other. More than the screen has make no difference. */
function clampRepetitions(terminal: Terminal): void {
  // oxlint-disable-next-line no-underscore-dangle
  const { _core: inside } = terminal as unknown as { readonly _core: Inside };
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

/**
 * The emulator makes style elements while it opens; the content policy lets those in that have the nonce of this page.
 * Returns what ends it.
 */
function allowOwnStyles(): () => void {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? '';
  const create = document.createElement;
  document.createElement = (name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = create.call(document, name, options);
    if (name === 'style') element.nonce = nonce;
    return element;
  };
  return () => {
    document.createElement = create;
  };
}

const COLORS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

function readTheme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: read('--terminal'),
    foreground: read('--text'),
    cursor: read('--accent'),
    selectionBackground: read('--chosen'),
    ...Object.fromEntries(COLORS.map((name, index) => [name, read(`--c${index}`)])),
    ...Object.fromEntries(
      COLORS.map((name, index) => [
        `bright${name.replace(/^./, (first) => first.toUpperCase())}`,
        read(`--c${index}`),
      ]),
    ),
  };
}
