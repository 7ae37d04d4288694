/**
 * The program that RE2 compiles a pattern to: a graph in which each instruction takes a character, or chooses, or
 * asks where it stands. From it follows what a pattern needs, without reading its text a second time.
 *
 * RE2JS has no public way to it, so its shape is checked: a program that is not as expected is not used.
 */
import type { RE2JS } from 're2js';

/** What must hold between two characters for an `empty` instruction to go on; combined as bits. */
export const EMPTY = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, wordBoundary: 16, noBoundary: 32 };

export type Instruction =
  | { readonly kind: 'either'; readonly next: number; readonly other: number }
  | { readonly kind: 'pass'; readonly next: number }
  | { readonly kind: 'empty'; readonly next: number; readonly needs: number }
  | {
      readonly kind: 'character';
      readonly next: number;
      /** The only one that it takes; undefined where it takes several. */
      readonly only: number | undefined;
      /** Code points beyond ASCII from which on it may be otherwise; undefined where they are not known. */
      readonly edges: readonly number[] | undefined;
      takes(codePoint: number): boolean;
    }
  | { readonly kind: 'match' }
  | { readonly kind: 'fail' };

export interface Program {
  readonly start: number;
  readonly instructions: readonly Instruction[];
}

interface RawInstruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: ArrayLike<number>;
  matchRune(codePoint: number): boolean;
}

/** Numbers of RE2JS's instructions. */
const OP = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  empty: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  rune1: 9,
  any: 10,
  anyNotNewline: 11,
};

/** Of letters of ASCII, where case does not count: the long s and the kelvin sign. */
const OTHER_FORMS = [0x17f, 0x212a];
const LAST_CODE_POINT = 0x10ffff;

export function programOf(compiled: RE2JS): Program | undefined {
  const prog = compiled.re2Input?.prog as { start?: unknown; inst?: unknown } | undefined;
  if (typeof prog?.start !== 'number' || !Array.isArray(prog.inst)) return undefined;
  const instructions: Instruction[] = [];
  for (const raw of prog.inst as RawInstruction[]) {
    const instruction = instructionOf(raw);
    if (instruction === undefined) return undefined;
    instructions.push(instruction);
  }
  return { start: prog.start, instructions };
}

function instructionOf(raw: RawInstruction): Instruction | undefined {
  const { op, out: next, arg, runes } = raw;
  switch (op) {
    case OP.alt:
    case OP.altMatch:
      return { kind: 'either', next, other: arg };
    case OP.capture:
    case OP.nop:
      return { kind: 'pass', next };
    case OP.empty:
      return { kind: 'empty', next, needs: arg };
    case OP.rune:
    case OP.rune1:
    case OP.any:
    case OP.anyNotNewline: {
      // One rune with an argument stands for all that differ from it in case only.
      const only = runes.length === 1 && arg === 0 ? runes[0] : undefined;
      const takes = (codePoint: number): boolean => raw.matchRune(codePoint);
      return { kind: 'character', next, only, edges: edgesOf(raw), takes };
    }
    case OP.match:
      return { kind: 'match' };
    case OP.fail:
      return { kind: 'fail' };
    default:
      return undefined;
  }
}

/** Runes are one character, or the first and the last of each range. */
function edgesOf(raw: RawInstruction): readonly number[] | undefined {
  const runes = Array.from(raw.runes);
  if (runes.length === 1 && raw.arg !== 0) {
    if ((runes[0] ?? 0) >= 0x80) return undefined;
    return OTHER_FORMS.flatMap((form) => (raw.matchRune(form) ? [form, form + 1] : []));
  }
  const ends = runes.length === 1 ? [...runes, ...runes] : runes;
  const edges = ends.map((rune, index) => (index % 2 === 0 ? rune : rune + 1));
  return edges.filter((edge) => edge > 0x80 && edge <= LAST_CODE_POINT);
}
