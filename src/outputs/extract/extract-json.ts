/** JSON in an output: the whole of it, a value on each line, or values between other lines. */
import { attempt } from '../../base/attempt.ts';
import { ShellServerError } from '../../base/errors.ts';
import type { JsonValues } from './results.ts';

/** How far all attempts together may look, in characters: a text of opening brackets would take forever. */
const MAX_STEPS = 8_000_000;
const MAX_VALUES = 10_000;

export function parseJson(text: string): JsonValues | undefined {
  try {
    return { kind: 'json', values: [JSON.parse(text) as unknown] };
  } catch {
    const values = findValues(text);
    return values.length === 0 ? undefined : { kind: 'json', values };
  }
}

/** Objects and arrays that begin a line. */
function findValues(text: string): unknown[] {
  const values: unknown[] = [];
  const begin = /^[ \t]*[[{]/gm;
  let steps = 0;
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    const from = begin.lastIndex - 1;
    const { end, looked } = findEnd(text, from, MAX_STEPS - steps);
    steps += looked;
    const value = end && attempt(() => JSON.parse(text.slice(from, end)) as unknown);
    if (value !== undefined) {
      values.push(value);
      begin.lastIndex = end ?? begin.lastIndex;
    }
    if (steps >= MAX_STEPS || values.length >= MAX_VALUES) break;
  }
  return values;
}

/** Where its brackets are closed, with strings left out. */
function findEnd(text: string, from: number, most: number): { end: number | undefined; looked: number } {
  let depth = 0;
  let isText = false;
  const to = Math.min(text.length, from + most);
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (isText) {
      if (code === 0x5c) at++;
      else if (code === 0x22) isText = false;
      else if (code === 0x0a) return { end: undefined, looked: at - from };
    } else if (code === 0x22) isText = true;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) {
      depth--;
      if (depth === 0) return { end: at + 1, looked: at - from };
    }
  }
  return { end: undefined, looked: to - from };
}

/** RFC 6901; undefined where there is nothing. */
export function atPointer(value: unknown, pointer: string): unknown {
  if (pointer === '') return value;
  if (!pointer.startsWith('/'))
    throw new ShellServerError(
      'PARAM_002',
      'path is not a JSON Pointer: it must be empty or begin with "/".',
      {
        hint: 'For example "/items/0/name".',
        details: { parameter: 'path' },
      },
    );
  let current = value;
  for (const part of pointer.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    if (Array.isArray(current) && !/^\d+$/.test(key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}
