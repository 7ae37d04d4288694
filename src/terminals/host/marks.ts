/**
 * What the shell says about itself, through marks in its output (OSC 133) that our start-up scripts let it write: a
 * prompt is shown, a command runs, it has ended with this code. Each mark carries a number that was given to this shell
 * alone, so that a program cannot say such things in its name.
 */
import type { IMarker } from '@xterm/headless';
import type { Editing } from '../protocol.ts';
import { filledColumns, isContinued } from './buffer-lines.ts';
import type { Screen } from './screen.ts';
import { createTypedZones, type TypedZones } from './typed-zones.ts';

interface FinishedCommand {
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

export type Marks = ReturnType<typeof watchMarks>;

interface Place {
  readonly marker: IMarker | undefined;
  readonly column: number;
  /** What was there is gone, by the program's own wish. */
  readonly isWiped?: boolean;
}

export function watchMarks(screen: Screen, nonce: string, hasCommandMark: boolean) {
  const { marks, handlers } = followShell(screen, hasCommandMark);
  screen.terminal.parser.registerOscHandler(133, (data) => {
    const [kind = '', ...rest] = data.split(';');
    if (rest.at(-1) !== `aid=${nonce}`) return true;
    handlers[kind]?.(rest.slice(0, -1));
    return true;
  });
  return marks as Readonly<typeof marks>;
}

/** Of a shell that has said nothing yet. */
const UNMARKED = {
  state: 'unknown' as 'unknown' | 'prompt' | 'running',
  lastExitCode: undefined as number | undefined,
  /** Commands that have ended since the shell started. */
  finished: 0,
  /** How often the shell has come back to a prompt, with nothing on its line. */
  prompts: 0,
  /** As it said with the last of them. */
  expandsHistory: true,
  editing: undefined as Editing | undefined,
  lastCommand: undefined as FinishedCommand | undefined,
};

type MarkHandlers = Readonly<Record<string, (values: readonly string[]) => void>>;

/** The marks, and what each kind of them changes. */
function followShell(screen: Screen, hasCommandMark: boolean) {
  let begun = 0;
  let began: Place | undefined;
  /** Where the input of the last prompt began. */
  let prompted: Place | undefined;
  const typed = createTypedZones(screen);
  const wiped = watchWipes(screen, () => (hasCommandMark ? [began, prompted] : [prompted]), typed);

  const isUntouched = (): boolean => !hasCommandMark && isAtCursor(screen, prompted);

  const marks = {
    ...UNMARKED,
    /** Lines of the screen without what was typed at its prompts. */
    withoutTyped: typed.leaveOut,
    /** The shell shows a prompt, and as far as it tells nothing runs. */
    get isIdle(): boolean {
      return marks.state === 'prompt' || isUntouched();
    },
    /** Commands that have begun. */
    get begun(): number {
      // Where only prompts are marked, a command begins with the first thing that is typed after one.
      return isUntouched() ? begun - 1 : begun;
    },
    /** The cursor is where the last prompt ended. */
    get isFresh(): boolean {
      return marks.state !== 'running' && isAtCursor(screen, prompted);
    },
    /** What stands behind the prompt; undefined where none is shown. */
    promptLine: () => (marks.state === 'prompt' ? lineFrom(screen, prompted) : undefined),
    /** What of it stands before the cursor. */
    beforeCursor: () => (marks.state === 'prompt' ? lineUntilCursor(screen, prompted) : undefined),
  };

  function end(code: string): void {
    const place = hasCommandMark ? began : prompted;
    // An empty line ends nothing.
    if (place === undefined) return;
    const exitCode = Number.isInteger(Number(code)) ? Number(code) : undefined;
    const about = { exitCode, number: ++marks.finished, begun, lastLine: screen.cursorLine() };
    marks.lastExitCode = exitCode;
    marks.lastCommand = { ...outputSince(screen, wiped.place() ?? place, hasCommandMark), ...about };
    began = prompted = wiped.forget(place);
  }

  const handlers: MarkHandlers = {
    // The prompt is there when all of it is.
    B: () => {
      // A shell that says nothing when a command begins may be running one.
      marks.state = hasCommandMark ? 'prompt' : 'unknown';
      prompted?.marker?.dispose();
      prompted = placeOfCursor(screen);
      if (hasCommandMark) typed.begin();
      else begun++;
    },
    C: () => {
      marks.state = 'running';
      typed.end();
      // Of several commands that came in one paste, the first.
      if (began !== undefined) return;
      began = placeOfCursor(screen);
      begun++;
    },
    D: ([code = '', flags, editing]) => {
      marks.prompts++;
      Object.assign(marks, { expandsHistory: mayExpandHistory(flags), editing: editingOf(editing) });
      end(code);
    },
  };
  return { marks, handlers };
}

/** Where what a command wrote begins since it cleared the terminal; the first of the known places is where it began. */
function watchWipes(screen: Screen, known: () => readonly (Place | undefined)[], typed: TypedZones) {
  let place: Place | undefined;
  function forget(...others: readonly (Place | undefined)[]): undefined {
    for (const each of [place, ...others]) each?.marker?.dispose();
    place = undefined;
  }
  screen.whenWiped((isReset) => {
    const [began] = known();
    if (isReset) {
      // The emulator leaves markers where they were.
      forget(...known());
      typed.forget();
    }
    if (began === undefined || rowOf(place ?? began) !== undefined) return;
    forget();
    place = { marker: markerAtTop(screen), column: 0, isWiped: true };
  });
  return { place: () => place, forget };
}

/** What cannot be the shell's flags says nothing. */
const mayExpandHistory = (flags: string | undefined): boolean =>
  flags === undefined || !/^[A-GI-Za-z0-9]*$/.test(flags);

const editingOf = (said: string | undefined): Editing | undefined =>
  said === undefined || said === 'emacs' ? said : 'other';

const placeOfCursor = ({ terminal }: Screen): Place => ({
  marker: terminal.registerMarker(0),
  column: terminal.buffer.active.cursorX,
});

/** In the first row of the screen. */
const markerAtTop = ({ terminal }: Screen): IMarker | undefined =>
  terminal.registerMarker(-terminal.buffer.active.cursorY);

function isAtCursor({ terminal }: Screen, place: Place | undefined): boolean {
  if (place?.marker === undefined || place.marker.isDisposed) return false;
  const { baseY, cursorY, cursorX } = terminal.buffer.normal;
  return place.marker.line === baseY + cursorY && place.column === cursorX;
}

/** Undefined where it has left memory. */
const rowOf = (place: Place | undefined): number | undefined =>
  place?.marker === undefined || place.marker.isDisposed || place.marker.line < 0
    ? undefined
    : place.marker.line;

/** From there to the end of the line, wherever the cursor is in it. */
function lineFrom({ terminal }: Screen, place: Place | undefined): string | undefined {
  const buffer = terminal.buffer.normal;
  const first = rowOf(place);
  if (place === undefined || first === undefined) return undefined;
  let text = '';
  for (let row = first; row < buffer.length; row++) {
    const line = buffer.getLine(row);
    if (line === undefined || (row > first && !line.isWrapped)) break;
    const isLast = !isContinued(buffer, row + 1);
    const to = isLast ? undefined : filledColumns(buffer, row);
    text += line.translateToString(isLast, row === first ? place.column : 0, to);
  }
  return text;
}

/** From there to the cursor, spaces and all. */
function lineUntilCursor({ terminal }: Screen, place: Place | undefined): string | undefined {
  const buffer = terminal.buffer.normal;
  const first = rowOf(place);
  if (place === undefined || first === undefined) return undefined;
  const last = buffer.baseY + buffer.cursorY;
  let text = '';
  for (let row = first; row <= last; row++) {
    const to = row === last ? buffer.cursorX : filledColumns(buffer, row);
    text += buffer.getLine(row)?.translateToString(false, row === first ? place.column : 0, to) ?? '';
  }
  return text;
}

function outputSince(screen: Screen, place: Place, hasCommandMark: boolean) {
  const { output, isCut, isOver } = textSince(screen, place);
  // Where only prompts are marked, the command that was typed precedes its output.
  const hasTyped = !hasCommandMark && !isCut && !isOver && place.isWiped !== true;
  return { output: hasTyped ? output.slice(output.indexOf('\n') + 1) : output, isCut };
}

/** From there to the cursor; wrapped lines are one. */
function textSince({ terminal }: Screen, place: Place) {
  const buffer = terminal.buffer.active;
  const began = rowOf(place);
  const last = buffer.baseY + buffer.cursorY;
  // A program that went back up wrote over what was there.
  const isOver = began !== undefined && began > last;
  const first = isOver ? buffer.baseY : (began ?? 0);
  let text = '';
  for (let row = first; row <= last; row++) {
    const line = buffer.getLine(row);
    if (line === undefined) continue;
    const from = row === began ? place.column : 0;
    const isJoined = row < last && isContinued(buffer, row + 1);
    const to = row === last ? buffer.cursorX : isJoined ? filledColumns(buffer, row) : undefined;
    text += line.translateToString(!isJoined, from, to);
    if (row < last && !isJoined) text += '\n';
  }
  return { output: withoutFilling(text, terminal.cols), isCut: began === undefined, isOver };
}

/** zsh fills up a last line that does not end, so that its prompt begins a new one. */
function withoutFilling(text: string, columns: number): string {
  const lines = text.split('\n').map((line) => (line.length >= columns ? line.replace(/ +$/, '') : line));
  // What is left of it is the new line.
  const isFilled = lines.at(-1) === '' && lines.length > 1 && text.split('\n').at(-2) !== lines.at(-2);
  return (isFilled ? lines.slice(0, -1) : lines).join('\n');
}
