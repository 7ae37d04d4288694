/**
 * Text that every match of a pattern has in it, as `took ` in `took \d+ms`: lines without it need not be tested, and
 * plain text is found many times faster than a pattern.
 */
import type { Instruction, Program } from '../base/program.ts';

/** Above this it is not worth the time: the work is quadratic in the worst case. */
const MAX_INSTRUCTIONS = 500;

/** The longest; undefined where there is none. Only ASCII, which is the same bytes in every encoding but UTF-16. */
export function requiredText(program: Program): string | undefined {
  const { instructions, start } = program;
  if (instructions.length > MAX_INSTRUCTIONS) return undefined;
  const matches = instructions.flatMap((one, place) => (one.kind === 'match' ? [place] : []));
  const isRequired = (place: number): boolean => !canReach(instructions, start, matches, place);
  let longest = '';
  for (let place = 0; place < instructions.length; place++) {
    if (characterAt(instructions, place) === undefined || !isRequired(place)) continue;
    const text = textFrom(instructions, place);
    if (text.length > longest.length) longest = text;
  }
  return longest === '' ? undefined : longest;
}

/** The characters that must follow one another once the first of them was taken. */
function textFrom(instructions: readonly Instruction[], place: number): string {
  let text = '';
  const seen = new Set<number>();
  for (let at = place; !seen.has(at); ) {
    seen.add(at);
    const instruction = instructions[at];
    const character = characterAt(instructions, at);
    const isForced = character !== undefined || instruction?.kind === 'pass' || instruction?.kind === 'empty';
    if (!isForced || instruction === undefined || !('next' in instruction)) break;
    if (character !== undefined) text += String.fromCharCode(character);
    at = instruction.next;
  }
  return text;
}

function characterAt(instructions: readonly Instruction[], place: number): number | undefined {
  const instruction = instructions[place];
  const only = instruction?.kind === 'character' ? instruction.only : undefined;
  return only !== undefined && only < 128 && only !== 10 && only !== 13 ? only : undefined;
}

/** Whether any of `goals` can be reached without the instruction at `without`. */
function canReach(
  instructions: readonly Instruction[],
  start: number,
  goals: readonly number[],
  without: number,
): boolean {
  const seen = new Set([without]);
  const open = [start];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (seen.has(place)) continue;
    seen.add(place);
    const instruction = instructions[place];
    if (goals.includes(place)) return true;
    if (instruction === undefined || instruction.kind === 'match' || instruction.kind === 'fail') continue;
    open.push(instruction.next);
    if (instruction.kind === 'either') open.push(instruction.other);
  }
  return false;
}
