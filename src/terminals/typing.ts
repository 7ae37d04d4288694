/**
 * What stands on the shell's line, as far as it was typed through us: when it is entered, the policy is asked about it.
 * After a key that may change the line (an arrow, a completion) nobody but the shell knows what stands there.
 */
import type { Typed } from './protocol.ts';

export interface Typing {
  /** The commands that this would enter; undefined where it enters none, or nobody can tell. */
  preview(typed: Typed): string | undefined;
  /** It was typed. */
  commit(typed: Typed): void;
  /** Somebody else may have typed, or another program was in front. */
  forget(): void;
}

interface Line {
  /** What stands there; undefined: unknown. */
  readonly text: string | undefined;
  readonly entered: readonly string[];
}

export function createTyping(): Typing {
  let text: string | undefined = '';

  const after = (typed: Typed): Line => charactersOf(typed).reduce(press, { text, entered: [] });

  return {
    preview(typed) {
      const { entered } = after(typed);
      return entered.length === 0 ? undefined : entered.join('\n');
    },
    commit(typed) {
      ({ text } = after(typed));
    },
    forget() {
      text = '';
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

function press(line: Line, character: string): Line {
  if (character === '\n' || character === '\r') {
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
