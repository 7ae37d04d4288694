/**
 * A pattern as a table of states, for going through many lines at a few nanoseconds a byte. States are made when they
 * are first reached; a pattern that keeps on needing new ones is given up, so that the time stays linear.
 *
 * It tells which line matches, and stops at a byte that it cannot read: such a line is for RE2 itself to test.
 */
import { EMPTY, type Instruction, type Program } from '../base/program.ts';
import { classify, edgesOf, type HighBytes, isWord, NEWLINE, needs, RETURN } from './byte-classes.ts';
import { addByte, type Begun, possibleCodes } from './utf8.ts';

export interface Automaton {
  /** Goes to the beginning of a line, or into the middle of one. */
  begin(isLineStart: boolean): void;
  /**
   * Reads on, through the ends of lines, until something is to be done. `match` and `foreign` (which it cannot read)
   * leave `position` at a byte of the line, or at its newline; `failed` is for good.
   */
  run(bytes: Uint8Array, from: number, to: number): 'end' | 'match' | 'foreign' | 'failed';
  readonly position: number;
  /** What there is to say of a line that ends here without a newline, or goes on. */
  end(isLineEnd: boolean): 'end' | 'match' | 'foreign';
}

interface State {
  /** Instructions that wait for what follows, in order. */
  readonly waiting: readonly number[];
  readonly isBegin: boolean;
  readonly isAfterWord: boolean;
  /** After a \r that does not belong to the line if a newline follows. */
  readonly hasReturn: boolean;
  readonly begun: Begun;
  /** Of the character that has begun, where that is known already: a character that stands for all of its kind. */
  readonly kind: number | undefined;
}

type Step = State | 'match' | 'foreign';

/** Symbols that are not bytes: a line's end, and the end of a piece of it that goes on. */
const END = -1;
const BORDER = -2;
const BETWEEN: Begun = { missing: 0, code: 0 };

/** In the table where there is no state. */
const UNKNOWN = -1;
const MATCH = -2;
const FOREIGN = -3;

/** Ordinary patterns have some ten; a table of so many takes a megabyte at most. */
const MAX_STATES = 1000;
/** For making states, and one more for each byte read: a twentieth of a second, of which ordinary patterns need a few thousand. */
const MAX_STEPS = 1_000_000;

/** Undefined for a pattern that matches every line: there is nothing to look for. */
export function createAutomaton(program: Program, highBytes: HighBytes): Automaton | undefined {
  const edges = edgesOf(program.instructions);
  const high = highBytes === 'utf-8' && edges === undefined ? 'foreign' : highBytes;
  const walker = createWalker(program);
  const middle = walker.stateBefore(false);
  const start = walker.stateBefore(true);
  if (start === undefined || middle === undefined) return undefined;
  const after = createSteps(walker, { first: start, edges, high });
  const { classOf, stride } = classify(program.instructions, high, (edges?.length ?? 0) > 1);
  const table = new Int32Array(MAX_STATES * stride);
  let states: State[] = [];
  let places = new Map<string, number>();
  let [bytesRead, state, position] = [0, 0, 0];

  function placeOf(one: State): number {
    const key = keyOf(one);
    const known = places.get(key);
    if (known !== undefined) return known;
    if (states.length === MAX_STATES) {
      states = [];
      places = new Map();
    }
    const place = states.length * stride;
    states.push(one);
    places.set(key, place);
    table.fill(UNKNOWN, place, place + stride);
    return place;
  }

  /** What is behind an entry of the table that was not needed before. */
  const findOut = (place: number, symbol: number): number => {
    const before = states;
    const next = after(states[place / stride] ?? start, symbol);
    const value = next === 'foreign' ? FOREIGN : next === 'match' ? MATCH : placeOf(next);
    // Where the table was full it is a new one, in which this place is another state's.
    if (states === before) table[place + (classOf[symbol] ?? 0)] = value;
    return value;
  };

  return {
    begin: (isLineStart) => {
      state = placeOf(isLineStart ? start : middle);
    },
    run(bytes, from, to) {
      let at = from;
      while (walker.steps() <= MAX_STEPS + bytesRead) {
        const reached = runKnown(table, classOf, { state, bytes, from: at, to });
        bytesRead += reached.at - at;
        ({ at, state } = reached);
        if (at === to) return 'end';
        position = at;
        const symbol = bytes[at] ?? 0;
        const known = table[state + (classOf[symbol] ?? 0)] ?? UNKNOWN;
        const next = known === UNKNOWN ? findOut(state, symbol) : known;
        if (next === MATCH) return 'match';
        if (next === FOREIGN) return 'foreign';
        state = next;
        at++;
      }
      return 'failed';
    },
    get position() {
      return position;
    },
    end: (isLineEnd) => {
      const next = after(states[state / stride] ?? start, isLineEnd ? END : BORDER);
      return typeof next === 'string' ? next : 'end';
    },
  };
}

function keyOf({ waiting, isBegin, isAfterWord, hasReturn, begun, kind }: State): string {
  const flags = [isBegin, isAfterWord, hasReturn].map(Number).join('');
  return `${flags} ${begun.missing} ${begun.code} ${kind} ${waiting.join()}`;
}

/** The loop that everything else is there for. */
function runKnown(
  table: Int32Array,
  classOf: Uint8Array,
  { state, bytes, from, to }: { state: number; bytes: Uint8Array; from: number; to: number },
): { state: number; at: number } {
  let current = state;
  let at = from;
  for (; at < to; at++) {
    const next = table[current + (classOf[bytes[at] as number] as number)] as number;
    if (next < 0) break;
    current = next;
  }
  return { state: current, at };
}

/** Follows instructions that take no character, and counts how many. */
function createWalker({ instructions, start }: Program) {
  const marks = new Int32Array(instructions.length);
  let mark = 0;
  let steps = 0;

  /** Those on the way that are wanted, through conditions that hold; undefined where it leads to a match. */
  function walk(from: readonly number[], isWanted: Test, holds: number): number[] | undefined {
    mark++;
    const found: number[] = [];
    const open = [...from];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const instruction = instructions[place];
      if (instruction === undefined || marks[place] === mark) continue;
      marks[place] = mark;
      steps++;
      if (instruction.kind === 'match') return undefined;
      if (instruction.kind === 'pass' || instruction.kind === 'either') open.push(instruction.next);
      if (instruction.kind === 'either') open.push(instruction.other);
      if (instruction.kind === 'empty' && (instruction.needs & ~holds) === 0) open.push(instruction.next);
      if (isWanted(instruction)) found.push(place);
    }
    return found;
  }

  /** What waits for a character or for a condition, which is then not known yet. */
  const expand = (from: readonly number[], isBegin: boolean): number[] | undefined =>
    walk(
      from,
      (instruction) =>
        instruction.kind === 'character' ||
        // What is only at the beginning of a line does not come again.
        (instruction.kind === 'empty' && (isBegin || !needs(instruction, EMPTY.beginLine | EMPTY.beginText))),
      0,
    )?.sort((a, b) => a - b);

  return {
    instructions,
    steps: () => steps,
    stateBefore(isBegin: boolean): State | undefined {
      const waiting = expand([start], isBegin);
      return waiting && { ...PLAIN, waiting, isBegin };
    },
    /** From these on, or from the start of the pattern. */
    waitingAfter: (reached: readonly number[]) => expand([...reached, start], false),
    /** What waits for a character once it is known what holds here; undefined where that is a match. */
    settle: (waiting: readonly number[], holds: number): Instruction[] | undefined =>
      walk(waiting, ({ kind }) => kind === 'character', holds)?.flatMap((place) => instructions[place] ?? []),
  };
}

type Test = (instruction: Instruction) => boolean;

const PLAIN = { isAfterWord: false, hasReturn: false, begun: BETWEEN, kind: undefined };

interface Reading {
  readonly first: State;
  readonly edges: readonly number[] | undefined;
  readonly high: HighBytes;
}

/** What follows a state with one symbol more. */
function createSteps(
  { instructions, settle, waitingAfter }: ReturnType<typeof createWalker>,
  { first, edges, high }: Reading,
): (from: State, symbol: number) => Step {
  const usesWords = instructions.some((one) => needs(one, EMPTY.wordBoundary | EMPTY.noBoundary));

  function after(from: State, symbol: number): Step {
    if (from.hasReturn) {
      const before = { ...from, hasReturn: false };
      if (symbol === NEWLINE || symbol === END) return after(before, symbol);
      const between = afterCharacter(before, RETURN);
      return typeof between === 'string' ? between : after(between, symbol);
    }
    if (symbol >= 0 && high === 'utf-8') return afterByte(from, symbol);
    if (symbol >= 0x80 && high === 'foreign') return 'foreign';
    // At a border the rest of a character is in the next piece; at the end of a line there is none.
    if (from.begun.missing > 0 && symbol === END) return 'foreign';
    return afterWhole(from, symbol);
  }

  function afterByte(from: State, byte: number): Step {
    const begun = addByte(from.begun, byte);
    if (begun === undefined) return 'foreign';
    if (byte < 0x80) return afterWhole(from, byte);
    if (begun.missing === 0) return afterCharacter(from, from.kind ?? kindOf(begun.code));
    const last = kindOf(begun.code + possibleCodes(begun) - 1);
    const kind = from.kind ?? (last === kindOf(begun.code) ? last : undefined);
    // What else it can become does not matter then: the state is the same.
    return { ...from, kind, begun: kind === undefined ? begun : { ...begun, code: 0 } };
  }

  /** The first of the characters that no instruction tells from this one. */
  function kindOf(code: number): number {
    return edges?.findLast((edge) => edge <= code) ?? code;
  }

  function afterWhole(from: State, symbol: number): Step {
    if (symbol === RETURN) return { ...from, hasReturn: true };
    if (symbol !== NEWLINE && symbol !== END) return afterCharacter(from, symbol);
    const holds = EMPTY.endLine | EMPTY.endText | holdsAt(from, false);
    return settle(from.waiting, holds) === undefined ? 'match' : first;
  }

  function afterCharacter(from: State, character: number): Step {
    const characters = settle(from.waiting, holdsAt(from, isWord(character)));
    if (characters === undefined) return 'match';
    const reached = characters.flatMap((one) =>
      one.kind === 'character' && character >= 0 && one.takes(character) ? [one.next] : [],
    );
    const waiting = waitingAfter(reached);
    if (waiting === undefined) return 'match';
    return { ...PLAIN, waiting, isBegin: false, isAfterWord: usesWords && isWord(character) };
  }

  return after;
}

function holdsAt(from: State, isBeforeWord: boolean): number {
  const begin = from.isBegin ? EMPTY.beginLine | EMPTY.beginText : 0;
  return begin | (from.isAfterWord === isBeforeWord ? EMPTY.noBoundary : EMPTY.wordBoundary);
}
