/**
 * What a shell is about to run, as far as it was typed through us: when a line is entered, the policy is asked about it,
 * with those before it that have not ended yet, since a command may go over several. After a key that may change the line
 * (an arrow, a completion) what the terminal shows counts, and Enter has to come alone; where nobody can tell what would
 * run, nothing is sent.
 */
import { createEarlierLines, MAX_LINES, QUIET, SETS_HISTORY } from './earlier-lines.ts';
import { isOneKey, isPlain, type LineKey, type LineReader, readLineKeys } from './line-keys.ts';
import type { InputFacts } from './protocol.ts';
import { type Refusal, refuse } from './refusals.ts';

/** The shell, as it is at the moment. */
export type ShellFacts = Omit<
  InputFacts,
  | 'isForShell'
  | 'isSecretPrompt'
  | 'variables'
  | 'innerShell'
  | 'isPartlyRead'
  | 'isPasswordProgram'
  | 'workingDirectory'
  | 'rules'
> & {
  /**
   * Under a list: keys that may run a line in some mode of an editor are refused, and a line only counts as it was typed. What
   * is shown is drawn by programs too, and a shell may count other columns than the terminal does.
   */
  readonly isStrict?: boolean;
  /** Lines before it have not ended: what they run may read it, or change who does. */
  readonly isBehind?: boolean;
  /** A key since then may have dropped some of them, which a shell need not say. */
  readonly isDropped?: boolean;
};

export type Decision =
  /** Nothing is entered. */
  | { readonly kind: 'open' }
  /** These commands, in which the line that is shown counts or not. */
  | {
      readonly kind: 'enter';
      readonly commands: string;
      readonly isShown: boolean;
      /** What the foreground process may leave of them, if it reads them after all. */
      readonly left?: readonly string[];
    }
  /** These, if the line is shown as it was typed before Enter comes. */
  | { readonly kind: 'verify'; readonly commands: string; readonly line: string }
  /** A program reads some of it, and the shell may run any of these, whatever that leaves; a text need be no command. */
  | { readonly kind: 'left'; readonly texts: readonly string[]; readonly isText: boolean }
  | Refusal;

export type Typing = ReturnType<typeof createTyping>;

/** What stands on the line: known, cancelled if the shell shows a prompt after it, to be seen, or not even that. */
type Content =
  | { readonly kind: 'known'; readonly text: string }
  | { readonly kind: 'cancelled'; readonly prompts: number }
  | { readonly kind: 'shown' }
  | { readonly kind: 'hidden' };

interface Line {
  readonly content: Content;
  /** Grows. */
  readonly entered: string[];
  /** Of those keys that come before an Enter. */
  readonly problem: 'edited' | 'run' | undefined;
}

const EMPTY: Content = { kind: 'known', text: '' };
const SHOWN: Content = { kind: 'shown' };

export function createTyping() {
  let content: Content = EMPTY;
  const earlier = createEarlierLines();
  let byPerson = 0;

  const current = (shell: ShellFacts): Content =>
    shell.byPerson === byPerson ? contentNow(content, shell) : SHOWN;
  const placed = (shell: ShellFacts): ShellFacts => ({
    ...shell,
    expandsHistory: shell.expandsHistory || earlier.mayHaveHistory(),
    isBehind: earlier.open(shell).length > 0,
    isDropped: earlier.isDropped(),
  });

  return {
    /** What the terminal shows decides, so that it must show everything first. */
    needsLook: (bytes: Uint8Array, shell: ShellFacts): boolean =>
      shell.isShellInFront && current(shell).kind === 'shown' && hasEnter(bytes, shell),
    isUnsettled: earlier.isUnsettled,
    settle: earlier.settle,
    decide: (bytes: Uint8Array, shell: ShellFacts): Decision =>
      decide(bytes, placed(shell), current(shell), earlier.open(shell)),
    /** For a program that may read only a part of it. */
    decideLeft: (bytes: Uint8Array, shell: InputFacts): Decision =>
      (shell.isPartlyRead && !hasEnter(bytes, shell) ? decideKeys : decideLeft)(bytes, current(shell)),
    /** It was typed at the shell. */
    commit(bytes: Uint8Array, shell: ShellFacts): void {
      const before = current(shell);
      const start = before.kind === 'shown' && hasEnter(bytes, shell) ? lineShown(bytes, shell) : before;
      const after = press(bytes, placed(shell), start === 'edited' ? before : start);
      ({ content } = after);
      earlier.noteKeys(bytes, shell);
      const isAhead = !shell.isShellInFront;
      // Nobody knows who gets what does not end with Enter.
      if (isAhead && content.kind === 'known' && content.text !== '') content = SHOWN;
      if (after.entered.length > 0) earlier.enter(after.entered, shell);
      ({ byPerson } = shell);
    },
    /** It was typed at another program, which may leave some of it to the shell. */
    pass(bytes: Uint8Array): void {
      const last = bytes.at(-1);
      const isQuiet = bytes.every((byte) => QUIET.has(byte)) && isEmpty(content);
      if (last === CR || last === LF || isQuiet) content = EMPTY;
      else if (bytes.length > 0) content = SHOWN;
      earlier.forget();
    },
    /** Whether a line with `!` in it may become another, whatever the shell says. */
    mayHaveHistory: earlier.mayHaveHistory,
    /** Another client may have typed. */
    forget(): void {
      content = SHOWN;
      earlier.forget();
    },
  };
}

/** As it is, where prompts count. */
function contentNow(content: Content, { prompts }: ShellFacts): Content {
  if (content.kind !== 'cancelled') return content;
  return prompts > content.prompts ? EMPTY : SHOWN;
}

/** Behind such a key it is not known who reads on, and which lines still count. */
const isMixed = (bytes: Uint8Array): boolean =>
  bytes.some((byte) => QUIET.has(byte)) && !bytes.every((byte) => QUIET.has(byte));

/** `before` stands on the line; `earlier` are the lines that have not ended yet. */
function decide(bytes: Uint8Array, shell: ShellFacts, before: Content, earlier: readonly string[]): Decision {
  const isQuiet = bytes.every((byte) => QUIET.has(byte)) && isEmpty(before);
  if (shell.isStrict === true && isMixed(bytes)) return refuse('together');
  // A letter may end the line, or take back the last one.
  if ((shell.lineKeys === 'changed' || shell.editorKeys === 'changed') && !isQuiet) return refuse('keys');
  if (!hasEnter(bytes, shell)) {
    const { problem } = press(bytes, shell, before);
    if (problem !== 'run') return { kind: 'open' };
    return refuse(readerOf(shell) === 'anybody' ? 'early' : 'run');
  }
  if (before.kind === 'shown' && shell.isStrict === true) return refuse('retype');
  const start = before.kind === 'shown' ? lineShown(bytes, shell) : before;
  if (start === 'edited') return refuse(start);
  const { entered, problem } = press(bytes, shell, start);
  if (!shell.isShellInFront && (start.kind !== 'known' || problem !== undefined)) return refuse('early');
  if (start.kind !== 'known') return refuse('hidden');
  if (problem !== undefined) return refuse(problem);
  if (shell.prompts > 0 && earlier.length >= MAX_LINES) return refuse('hidden');
  const commands = [...earlier, ...entered].join('\n');
  if (mayExpand(commands, shell)) return refuse('history');
  if (!shell.isShellInFront && shell.isStrict === true) return enterAhead(commands, entered);
  if (shell.isStrict === true && shell.isDropped === true) return enterDropped(commands, earlier, entered);
  if (before.kind === 'known') return { kind: 'enter', commands, isShown: false };
  if (start.text !== '') return { kind: 'enter', commands: withShorter(commands, shell), isShown: true };
  // Nothing is shown: the line is empty, or what stands there cannot be seen.
  const [line = '', ...others] = entered;
  const isWhole = others.length === 0 && !line.includes('\n') && line.trim() !== '' && endsLine(bytes);
  return isWhole ? { kind: 'verify', commands, line } : refuse('hidden');
}

/** Who reads it is not known yet: the shell gets the lines, or what a program leaves of them. */
function enterAhead(commands: string, entered: readonly string[]): Decision {
  const lines = entered
    .join('\n')
    .split('\n')
    .map((line) => Array.from(line));
  const length = lines.reduce((total, line) => total + line.length, 0);
  if (length > MAX_LEFT) return refuse('early');
  return { kind: 'enter', commands, isShown: false, left: lines.flatMap(endsOf) };
}

/** A key may have dropped any of the lines before it. */
function enterDropped(commands: string, earlier: readonly string[], entered: readonly string[]): Decision {
  if (earlier.length > MAX_LEFT) return refuse('hidden');
  const left = earlier.map((_, at) => [...earlier.slice(at + 1), ...entered].join('\n'));
  return { kind: 'enter', commands, isShown: false, left };
}

/** For a command that reads single keys; the line editor gets those that it does not read. */
function decideKeys(bytes: Uint8Array, before: Content): Decision {
  const isKey = isPlain(bytes) || isOneKey(bytes) || bytes.every((byte) => QUIET.has(byte));
  return isKey && (isPlain(bytes) || isEmpty(before)) ? { kind: 'open' } : refuse('apart');
}

/** The line has to be sent whole: of the parts of one nobody can tell what the shell gets. */
function decideLeft(bytes: Uint8Array, before: Content): Decision {
  if (bytes.every((byte) => QUIET.has(byte))) return { kind: 'open' };
  const text = Buffer.from(bytes).toString('utf8');
  const characters = Array.from(text.slice(0, -1));
  const isText = endsLine(bytes) && characters.every((each) => !CONTROL.test(each));
  if (!isEmpty(before) || !isText || characters.length > MAX_LEFT) return refuse('alone');
  return { kind: 'left', texts: endsOf(characters), isText: false };
}

const isEmpty = (content: Content): boolean => content.kind === 'known' && content.text === '';

/** What is left of it by programs that read so much of it. */
export const endsOf = (characters: readonly string[]): string[] =>
  characters.map((_, from) => characters.slice(from).join(''));

/** Each of so many texts is judged. */
export const MAX_LEFT = 200;
const CONTROL = /\p{Cc}|\ufffd/u;

function press(bytes: Uint8Array, shell: ShellFacts, from: Content): Line {
  const keys = keysOf(bytes, shell);
  const start: Line = { content: from, entered: [], problem: undefined };
  return keys.reduce((line, key) => pressKey(line, key, shell), start);
}

const CR = 0x0d;
const LF = 0x0a;
const EOT = 0x04;

function readerOf(shell: ShellFacts): LineReader {
  const { lineKeys, isShellInFront, editing, isStrict = false } = shell;
  if (isStrict && (!isShellInFront || shell.isBehind === true)) return 'anybody';
  if (!isShellInFront) return 'nobody';
  if (lineKeys !== undefined) return lineKeys === 'usual' ? 'kernel' : 'kernel with other keys';
  // A shell that does not tell may be in vi mode, in which Escape makes commands of letters.
  const isVi = editing === 'other' || (editing === undefined && isStrict);
  if (shell.editorKeys === 'unusual') return 'editor with other keys';
  if (isVi) return 'vi';
  return isStrict ? 'emacs' : 'editor';
}

function keysOf(bytes: Uint8Array, shell: ShellFacts): LineKey[] {
  const reader = readerOf(shell);
  const isEditor = shell.isShellInFront && shell.lineKeys === undefined;
  return readLineKeys(bytes, reader, isEditor && shell.modes.bracketedPaste);
}

const hasEnter = (bytes: Uint8Array, shell: ShellFacts): boolean =>
  keysOf(bytes, shell).some(({ kind }) => kind === 'enter');

const endsLine = (bytes: Uint8Array): boolean => bytes.at(-1) === CR || bytes.at(-1) === LF;

/** The line as it is shown, where more is typed behind it; else why that cannot be told. */
function lineShown(bytes: Uint8Array, { promptLine, beforeCursor }: ShellFacts): Content | 'edited' {
  if (promptLine === undefined || beforeCursor === undefined) return { kind: 'hidden' };
  if (bytes.length === 1) return { kind: 'known', text: promptLine };
  const isAtEnd = promptLine.trimEnd() === beforeCursor.trimEnd();
  return isAtEnd ? { kind: 'known', text: beforeCursor } : 'edited';
}

/** What stands behind the cursor may be a suggestion, and not on the line at all. */
function withShorter(commands: string, { promptLine = '', beforeCursor = '' }: ShellFacts): string {
  return promptLine.trimEnd() === beforeCursor.trimEnd() ? commands : `${commands}\n${beforeCursor}`;
}

/** A line before it may have switched that on. */
export const mayExpand = (
  commands: string,
  { expandsHistory }: Pick<ShellFacts, 'expandsHistory'>,
): boolean => /(?:^|\n)\s*\^|!(?![\s=]|$)/.test(commands) && (expandsHistory || SETS_HISTORY.test(commands));

function pressKey(line: Line, key: LineKey, shell: ShellFacts): Line {
  const { content } = line;
  const isKnown = content.kind === 'known';
  const become = (next: Content): Line => ({ ...line, content: next });
  switch (key.kind) {
    case 'enter':
      if (isKnown) line.entered.push(content.text);
      return { ...line, content: EMPTY, problem: line.problem ?? (isKnown ? undefined : 'edited') };
    case 'text':
      return isKnown ? become({ kind: 'known', text: content.text + key.text }) : line;
    case 'redraw':
      return line;
    case 'idle':
      return isEmpty(content) ? line : become(SHOWN);
    case 'cancel': {
      if (isEmpty(content)) return line;
      // It may be bound to another function: a prompt shows it, where the shell reports prompts.
      if (shell.prompts === 0) return become(EMPTY);
      return become(shell.isShellInFront ? { kind: 'cancelled', prompts: shell.prompts } : SHOWN);
    }
    case 'kill':
      return isKnown ? become(EMPTY) : line;
    case 'erase':
      // Of other characters it depends on the locale how many bytes go, and on the shell how many marks.
      return isKnown && /(?:^|[ -~])$/.test(content.text)
        ? become({ kind: 'known', text: content.text.slice(0, -1) })
        : become(SHOWN);
    case 'edit':
      return become(content.kind === 'hidden' ? content : SHOWN);
    case 'hide':
      return become({ kind: 'hidden' });
    case 'end':
      if (isEmpty(content)) return line;
      return { ...line, content: { kind: 'hidden' }, problem: 'run' };
    case 'run':
      return { ...line, content: { kind: 'hidden' }, problem: 'run' };
  }
}

/** Whether it is one password, perhaps a part of it, or keys alone: what follows its line is for the next reader. */
export function isAlone(bytes: Uint8Array): boolean {
  if (bytes.every((byte) => QUIET.has(byte))) return true;
  return (
    bytes.subarray(0, -1).every((byte) => byte !== CR && byte !== LF && byte !== EOT) && bytes.at(-1) !== EOT
  );
}
