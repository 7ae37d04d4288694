/**
 * What a shell is about to run, as far as it was typed through us: when a line is entered, the policy is asked about it,
 * with those before it that have not ended yet, since a command may go over several. After a key that may change the line
 * (an arrow, a completion) what the terminal shows counts.
 */
import type { Typed } from './protocol.ts';

/** The shell, as it is at the moment. */
export interface ShellLine {
  /** What stands behind its prompt; undefined where there is none, or nobody can tell. */
  readonly shown: string | undefined;
  /** How many commands have ended. */
  readonly finished: number;
}

export interface Typing {
  /** The commands that this would enter; undefined where it enters none, or nobody can tell. */
  preview(typed: Typed, line: ShellLine): string | undefined;
  /** Whether what the terminal shows decides what this would enter. */
  isShownOnly(typed: Typed): boolean;
  /** It was typed. */
  commit(typed: Typed, line: ShellLine): void;
  /** Somebody else may have typed, or another program was in front. */
  forget(): void;
}

interface Line {
  /** What stands there; undefined: unknown. */
  readonly text: string | undefined;
  readonly entered: readonly string[];
}

/** A shell that does not say when a command has ended would otherwise be asked about all there ever were. */
const MAX_LINES = 50;

export function createTyping(): Typing {
  let text: string | undefined = '';
  /** Entered, and not known to have ended. */
  let earlier: readonly string[] = [];
  let finished = 0;

  function after(typed: Typed, line: ShellLine): Line {
    const open = line.finished === finished ? earlier : [];
    return charactersOf(typed).reduce(press, { text: text ?? line.shown, entered: open });
  }

  return {
    preview(typed, line) {
      const before = line.finished === finished ? earlier.length : 0;
      const { entered } = after(typed, line);
      return entered.length === before ? undefined : entered.join('\n');
    },
    isShownOnly: (typed) => text === undefined && charactersOf(typed).some(isEnd),
    commit(typed, line) {
      earlier = after(typed, line).entered.slice(-MAX_LINES);
      // Where it was not known before, what comes may stand anywhere in it.
      ({ text } = charactersOf(typed).reduce(press, { text, entered: [] }));
      ({ finished } = line);
    },
    forget() {
      text = '';
      earlier = [];
    },
  };
}

/** As what they would be on a keyboard; a key without a character is an escape. */
function charactersOf(typed: Typed): string[] {
  if (typed.kind === 'keys') return typed.keys.map(characterOf);
  const text = typed.kind === 'text' ? typed.text : Buffer.from(typed.base64, 'base64').toString('utf8');
  return [...Array.from(text.replaceAll('\r\n', '\n')), ...(typed.isEntered ? ['\n'] : [])];
}

const KEYS: Readonly<Record<string, string>> = {
  enter: '\n',
  return: '\n',
  cr: '\n',
  space: ' ',
  'ctrl+c': '\x03',
  '^c': '\x03',
  'ctrl-c': '\x03',
  'c-c': '\x03',
  'ctrl+u': '\x15',
  '^u': '\x15',
  'ctrl+m': '\n',
  'ctrl+j': '\n',
  backspace: '\x7f',
};

const characterOf = (key: string): string =>
  KEYS[key.toLowerCase()] ?? (Array.from(key).length === 1 ? key : '\x1b');

const isEnd = (character: string): boolean => character === '\n' || character === '\r';

function press(line: Line, character: string): Line {
  if (isEnd(character)) {
    const entered = line.text === undefined ? line.entered : [...line.entered, line.text];
    return { text: '', entered };
  }
  // What was on the line is gone.
  if (character === '\x03' || character === '\x15') return { ...line, text: '' };
  if (line.text === undefined) return line;
  if (character === '\x7f' || character === '\b')
    return { ...line, text: Array.from(line.text).slice(0, -1).join('') };
  const isPlain = character >= ' ';
  return { ...line, text: isPlain ? line.text + character : undefined };
}
