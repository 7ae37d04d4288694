/**
 * What the shell says about itself, through marks in its output (OSC 133) that our start-up scripts let it write: a
 * prompt is shown, a command runs, it has ended with this code. Each mark carries a number that was given to this shell
 * alone, so that a program cannot say such things in its name.
 */
import type { IMarker } from '@xterm/headless';
import type { Screen } from './screen.ts';

export type ShellState = 'unknown' | 'prompt' | 'running';

export interface FinishedCommand {
  readonly exitCode: number | undefined;
  /** What it wrote, as far as that is still in memory. */
  readonly output: string;
  /** Its first lines have left memory. */
  readonly isCut: boolean;
  /** How many commands had ended by then. */
  readonly number: number;
  /** How many had begun when it did. */
  readonly begun: number;
  /** The line in which it ended. */
  readonly lastLine: number;
}

export interface Marks {
  readonly state: ShellState;
  /** The shell shows a prompt, and as far as it tells nothing runs. */
  readonly isIdle: boolean;
  readonly lastExitCode: number | undefined;
  /** Commands that have ended since the shell started, and that have begun. */
  readonly finished: number;
  readonly begun: number;
  /** How often the shell has come back to a prompt, with nothing on its line. */
  readonly prompts: number;
  /** The cursor is where the last of them ended. */
  readonly isFresh: boolean;
  /** As it said with the last of them. */
  readonly expandsHistory: boolean;
  readonly lastCommand: FinishedCommand | undefined;
  /** What stands behind the prompt; undefined where none is shown. */
  promptLine(): string | undefined;
  /** What of it stands before the cursor. */
  beforeCursor(): string | undefined;
}

interface Place {
  readonly marker: IMarker | undefined;
  readonly column: number;
}

export function watchMarks(screen: Screen, nonce: string, hasCommandMark: boolean): Marks {
  const { terminal } = screen;
  // A shell that says nothing when a command begins may be running one.
  const atPrompt = hasCommandMark ? 'prompt' : 'unknown';
  let state: ShellState = 'unknown';
  let finished = 0;
  let begun = 0;
  let prompts = 0;
  let expandsHistory = true;
  let lastExitCode: number | undefined;
  let lastCommand: FinishedCommand | undefined;
  let began: Place | undefined;
  /** Where the input of the last prompt began. */
  let prompted: Place | undefined;

  const here = (): Place => ({ marker: terminal.registerMarker(0), column: terminal.buffer.active.cursorX });

  const isUntouched = (): boolean => !hasCommandMark && isFresh();

  function isFresh(): boolean {
    if (prompted?.marker === undefined) return false;
    const { baseY, cursorY, cursorX } = terminal.buffer.normal;
    return prompted.marker.line === baseY + cursorY && prompted.column === cursorX;
  }

  function leave(place: Place | undefined): void {
    place?.marker?.dispose();
  }

  function end(code: string): void {
    const place = hasCommandMark ? began : prompted;
    // An empty line ends nothing.
    if (place === undefined) return;
    finished++;
    lastExitCode = Number.isInteger(Number(code)) ? Number(code) : undefined;
    const { output, isCut } = textSince(screen, place);
    // Where only prompts are marked, the command that was typed precedes its output.
    const own = hasCommandMark || isCut ? output : output.slice(output.indexOf('\n') + 1);
    lastCommand = {
      exitCode: lastExitCode,
      output: own,
      isCut,
      number: finished,
      begun,
      lastLine: screen.cursorLine(),
    };
    leave(place);
    began = undefined;
    prompted = undefined;
  }

  const handlers: Readonly<Record<string, (first: string, second: string | undefined) => void>> = {
    // The prompt is there when all of it is.
    B: () => {
      state = atPrompt;
      leave(prompted);
      prompted = here();
      if (!hasCommandMark) begun++;
    },
    C: () => {
      state = 'running';
      // Of several commands that came in one paste, the first.
      if (began === undefined) {
        began = here();
        begun++;
      }
    },
    D: (code, flags) => {
      prompts++;
      // What cannot be the shell's flags says nothing.
      expandsHistory = flags === undefined || !/^[A-GI-Za-z0-9]*$/.test(flags);
      end(code);
    },
  };

  terminal.parser.registerOscHandler(133, (data) => {
    const [kind = '', ...rest] = data.split(';');
    if (rest.at(-1) !== `aid=${nonce}`) return true;
    handlers[kind]?.(rest[0] ?? '', rest.length > 2 ? rest[1] : undefined);
    return true;
  });

  return {
    get state() {
      return state;
    },
    get isIdle() {
      return state === 'prompt' || isUntouched();
    },
    get lastExitCode() {
      return lastExitCode;
    },
    get begun() {
      // Where only prompts are marked, a command begins with the first thing that is typed after one.
      return isUntouched() ? begun - 1 : begun;
    },
    get finished() {
      return finished;
    },
    get prompts() {
      return prompts;
    },
    get isFresh() {
      return state !== 'running' && isFresh();
    },
    get expandsHistory() {
      return expandsHistory;
    },
    get lastCommand() {
      return lastCommand;
    },
    promptLine: () => (state === 'prompt' && prompted !== undefined ? lineFrom(screen, prompted) : undefined),
    beforeCursor: () =>
      state === 'prompt' && prompted !== undefined ? lineUntilCursor(screen, prompted) : undefined,
  };
}

/** From there to the end of the line, wherever the cursor is in it. */
function lineFrom({ terminal }: Screen, { marker, column }: Place): string | undefined {
  const buffer = terminal.buffer.normal;
  if (marker === undefined || marker.isDisposed || marker.line < 0) return undefined;
  let text = '';
  for (let row = marker.line; row < buffer.length; row++) {
    const line = buffer.getLine(row);
    if (line === undefined || (row > marker.line && !line.isWrapped)) break;
    text += line.translateToString(true, row === marker.line ? column : 0);
  }
  return text;
}

/** From there to the cursor, spaces and all. */
function lineUntilCursor({ terminal }: Screen, { marker, column }: Place): string | undefined {
  const buffer = terminal.buffer.normal;
  if (marker === undefined || marker.isDisposed || marker.line < 0) return undefined;
  const last = buffer.baseY + buffer.cursorY;
  let text = '';
  for (let row = marker.line; row <= last; row++) {
    const to = row === last ? buffer.cursorX : undefined;
    text += buffer.getLine(row)?.translateToString(false, row === marker.line ? column : 0, to) ?? '';
  }
  return text;
}

/** From there to the cursor; wrapped lines are one. */
function textSince({ terminal }: Screen, { marker, column }: Place): { output: string; isCut: boolean } {
  const buffer = terminal.buffer.active;
  const isLost = marker === undefined || marker.isDisposed || marker.line < 0;
  const first = isLost ? 0 : marker.line;
  const last = buffer.baseY + buffer.cursorY;
  let text = '';
  for (let row = first; row <= last; row++) {
    const line = buffer.getLine(row);
    if (line === undefined) continue;
    const from = row === first && !isLost ? column : 0;
    const to = row === last ? buffer.cursorX : undefined;
    const isJoined = buffer.getLine(row + 1)?.isWrapped === true && row < last;
    text += line.translateToString(!isJoined, from, to);
    if (row < last && !isJoined) text += '\n';
  }
  return { output: withoutFilling(text, terminal.cols), isCut: isLost };
}

/** zsh fills up a last line that does not end, so that its prompt begins a new one. */
function withoutFilling(text: string, columns: number): string {
  const lines = text.split('\n').map((line) => (line.length >= columns ? line.replace(/ +$/, '') : line));
  // What is left of it is the new line.
  const isFilled = lines.at(-1) === '' && lines.length > 1 && text.split('\n').at(-2) !== lines.at(-2);
  return (isFilled ? lines.slice(0, -1) : lines).join('\n');
}
