/**
 * Counting and finding bytes sixteen at a time. JavaScript has no such instructions, WebAssembly has: a hundred
 * mebibytes are counted in some ten milliseconds instead of a hundred and fifty. The module is written out below.
 *
 * Its memory is for one look at a time: what is read into it is good until the next call that waits.
 */
import { attempt } from '../base/attempt.ts';
import { LIMITS } from '../base/limits.ts';
import { once } from '../base/once.ts';

/** A byte, and how far from the place it is. */
export interface Mark {
  readonly distance: number;
  readonly byte: number;
}
export type Marks = readonly [Mark, Mark, Mark, Mark];

/** What is used of it: Node's types have the name only. */
declare const WebAssembly: {
  readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
};

/** Undefined where WebAssembly is switched off, or there is not enough address space for its memory. */
export const byteKernel = once(() => attempt(createKernel));

const PAGE_BYTES = 64 * 1024;
const STEP_BYTES = 16;

function createKernel() {
  // One page more: a step may begin at the last byte, and a mark may be as far from there as a pattern is long.
  const wasm = new WebAssembly.Memory({ initial: LIMITS.searchPieceBytes / PAGE_BYTES + 1 });
  const module = new WebAssembly.Module(new Uint8Array(encodeModule()));
  const { exports } = new WebAssembly.Instance(module, { host: { memory: wasm } });
  const { count, find } = exports as {
    count: (from: number, to: number, byte: number) => number;
    find: (from: number, to: number, ...marks: number[]) => number;
  };
  const memory = Buffer.from(wasm.buffer, 0, LIMITS.searchPieceBytes);

  /** Where the bytes lie in the memory. */
  function place(bytes: Buffer): number {
    if (bytes.buffer === wasm.buffer) return bytes.byteOffset;
    bytes.copy(memory);
    return 0;
  }

  return {
    /** To be read into; bytes that lie elsewhere are copied here first. */
    memory,
    count: (bytes: Buffer, byte: number): number => {
      let total = 0;
      for (let from = 0; from < bytes.length; from += memory.length) {
        const part = bytes.subarray(from, from + memory.length);
        const start = place(part);
        const whole = part.length - (part.length % STEP_BYTES);
        total += count(start, start + whole, byte);
        for (let index = whole; index < part.length; index++) if (part[index] === byte) total++;
      }
      return total;
    },
    /** The first place from `from` on that has all of the marks; -1 where there is none. */
    find: (bytes: Buffer, from: number, to: number, [a, b, c, d]: Marks): number => {
      const start = place(bytes);
      const [first, last] = [start + from, start + to];
      const found = find(
        first,
        last,
        a.distance,
        a.byte,
        b.distance,
        b.byte,
        c.distance,
        c.byte,
        d.distance,
        d.byte,
      );
      return found === -1 ? -1 : found - start;
    },
  };
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** Opcodes, by the names that the specification has for them. */
const I32 = 0x7f;
const V128 = 0x7b;
const BLOCK = [0x02, 0x40];
const LOOP = [0x03, 0x40];
const IF = [0x04, 0x40];
const END = [0x0b];
const RETURN = [0x0f];
const branch = (depth: number): number[] => [0x0c, depth];
const branchIf = (depth: number): number[] => [0x0d, depth];
const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const tee = (local: number): number[] => [0x22, local];
const constant = (value: number): number[] => [0x41, ...signed(value)];
const LESS = [0x49];
const MORE = [0x4b];
const NOT_LESS = [0x4f];
const COUNT_TRAILING_ZEROS = [0x68];
const ADD = [0x6a];
const vector = (opcode: number, ...rest: number[]): number[] => [0xfd, ...unsigned(opcode), ...rest];
const LOAD = vector(0, 0, 0);
const ZERO = vector(12, ...Array.from({ length: STEP_BYTES }, () => 0));
const SPLAT = vector(15);
const lane = (index: number): number[] => vector(27, index);
const EQUAL = vector(35);
const AND = vector(78);
const BITMASK = vector(100);
const SUBTRACT = vector(113);
const ADD_PAIRS_OF_8 = vector(125);
const ADD_PAIRS_OF_16 = vector(127);

/**
 * count(from, to, byte): a comparison gives -1 in each of 16 lanes that are equal, so subtracting it counts; a lane of
 * eight bits has room for 255 of them before they are added up.
 */
function countCode(): number[] {
  const [from, to, byte, total, stop, wanted, sums] = [0, 1, 2, 3, 4, 5, 6];
  return [
    [get(byte), SPLAT, set(wanted)],
    [BLOCK, LOOP, get(from), get(to), NOT_LESS, branchIf(1), ZERO, set(sums)],
    [get(from), constant(255 * STEP_BYTES), ADD, set(stop)],
    [get(stop), get(to), MORE, IF, get(to), set(stop), END],
    [LOOP, get(sums), get(from), LOAD, get(wanted), EQUAL, SUBTRACT, set(sums)],
    [get(from), constant(STEP_BYTES), ADD, tee(from), get(stop), LESS, branchIf(0), END],
    [get(sums), ADD_PAIRS_OF_8, ADD_PAIRS_OF_16, set(sums), get(total)],
    [0, 1, 2, 3].flatMap((index) => [get(sums), lane(index), ADD]),
    [set(total), branch(0), END, END, get(total)],
  ].flat(2);
}

/** find(from, to, distance, byte, distance, byte, …): 16 places are looked at together. */
function findCode(): number[] {
  const [from, to, mask] = [0, 1, 10];
  const marks = [0, 1, 2, 3].map((mark) => ({
    distance: 2 + 2 * mark,
    byte: 3 + 2 * mark,
    wanted: 11 + mark,
  }));
  return [
    marks.flatMap(({ byte, wanted }) => [get(byte), SPLAT, set(wanted)]),
    [BLOCK, LOOP, get(from), get(to), NOT_LESS, branchIf(1)],
    marks.flatMap(({ distance, wanted }) => [get(from), get(distance), ADD, LOAD, get(wanted), EQUAL]),
    [AND, AND, AND, BITMASK, tee(mask)],
    [IF, get(mask), COUNT_TRAILING_ZEROS, get(from), ADD, tee(from), get(to), NOT_LESS, branchIf(2)],
    [get(from), RETURN, END],
    [get(from), constant(STEP_BYTES), ADD, set(from), branch(0), END, END, constant(-1)],
  ].flat(2);
}

function encodeModule(): number[] {
  const section = (id: number, body: number[]): number[] => [id, ...unsigned(body.length), ...body];
  const text = (value: string): number[] => [value.length, ...Buffer.from(value)];
  const type = (parameters: number): number[] => [0x60, parameters, ...Array(parameters).fill(I32), 1, I32];
  const code = (locals: number[], body: number[]): number[] => {
    const whole = [...locals, ...body, ...END];
    return [...unsigned(whole.length), ...whole];
  };
  return [
    ...MAGIC,
    ...section(1, [2, ...type(3), ...type(10)]),
    ...section(2, [1, ...text('host'), ...text('memory'), 2, 0, 1]),
    ...section(3, [2, 0, 1]),
    ...section(7, [2, ...text('count'), 0, 0, ...text('find'), 0, 1]),
    ...section(10, [
      2,
      ...code([2, 2, I32, 2, V128], countCode()),
      ...code([2, 1, I32, 4, V128], findCode()),
    ]),
  ];
}

/** LEB128, as the format has all its numbers. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  const isLast = value >= -0x40 && value < 0x40;
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
