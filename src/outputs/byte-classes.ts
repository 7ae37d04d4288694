/** What an automaton can tell apart: bytes, characters beyond ASCII, and places between them. */
import type { Instruction } from '../base/program.ts';
import { nextInCharacter } from './utf8.ts';

/** What bytes from 128 on are: characters, parts of characters, or nothing that can be read. */
export type HighBytes = 'latin1' | 'utf-8' | 'foreign';

export const NEWLINE = 10;
export const RETURN = 13;

/** Bytes that no instruction tells apart share a column of the table. */
export function classify(
  instructions: readonly Instruction[],
  high: HighBytes,
  hasEdges: boolean,
): { classOf: Uint8Array; stride: number } {
  const classOf = new Uint8Array(256);
  const known = new Map<string, number>();
  const takers = instructions.filter((one) => one.kind === 'character');
  for (let byte = 0; byte < 256; byte++) {
    const isCharacter = byte < 0x80 || high === 'latin1';
    const isEnd = byte === NEWLINE || byte === RETURN;
    const taken = isCharacter ? takers.map((taker) => Number(taker.takes(byte))).join('') : '';
    const steps = isCharacter
      ? []
      : [0, 1, 2, 3, 4, 5, 6, 7].map((missing) => nextInCharacter(missing, byte));
    const rest = hasEdges ? byte : steps.join();
    const kind = isCharacter ? `${isEnd ? byte : ''} ${isWord(byte)} ${taken}` : high === 'utf-8' ? rest : '';
    const key = `${isCharacter} ${kind}`;
    const number = known.get(key) ?? known.size;
    known.set(key, number);
    classOf[byte] = number;
  }
  return { classOf, stride: known.size };
}

/** The code points beyond ASCII at which a new kind begins; undefined where they are not known. */
export function edgesOf(instructions: readonly Instruction[]): readonly number[] | undefined {
  const edges = new Set([0x80]);
  for (const instruction of instructions) {
    if (instruction.kind !== 'character') continue;
    if (instruction.edges === undefined) return undefined;
    for (const edge of instruction.edges) edges.add(edge);
  }
  return [...edges].sort((a, b) => a - b);
}

export function needs(instruction: Instruction, condition: number): boolean {
  return instruction.kind === 'empty' && (instruction.needs & condition) !== 0;
}

export function isWord(character: number): boolean {
  return (
    (character >= 48 && character <= 57) ||
    (character >= 65 && character <= 90) ||
    character === 95 ||
    (character >= 97 && character <= 122)
  );
}
