/** The terminal emulator, loaded when a terminal is shown. */
import { type ITheme, Terminal } from '@xterm/xterm';

export interface Screen {
  write(data: string | Uint8Array): void;
  resize(columns: number, rows: number): void;
  setTyping(isAllowed: boolean): void;
  dispose(): void;
}

export interface ScreenOptions {
  readonly columns: number;
  readonly rows: number;
  onTyped(text: string): void;
}

const SCROLLBACK = 5000;

export function createScreen(element: HTMLElement, options: ScreenOptions): Screen {
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
  terminal.open(element);
  restore();
  terminal.onData(options.onTyped);
  const repaint = (): void => {
    terminal.options.theme = readTheme();
  };
  dark.addEventListener('change', repaint);
  return {
    write: (data) => terminal.write(data),
    resize: (columns, rows) => terminal.resize(columns, rows),
    setTyping(isAllowed) {
      terminal.options.disableStdin = !isAllowed;
      terminal.options.cursorBlink = isAllowed;
      if (isAllowed) terminal.focus();
    },
    dispose() {
      dark.removeEventListener('change', repaint);
      terminal.dispose();
    },
  };
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
