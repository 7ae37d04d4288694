/**
 * No answer is longer than clients take: the SDK's reads lines of 10 MiB over stdio, and closes the connection at a longer
 * one, with which all of its work ends. What counts is how long JSON makes it: a control character takes six bytes, and
 * both views have the output.
 */
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Answer } from '../tools/tool.ts';

/** Of a character in JSON: `\u0001`. */
const MAX_CHARACTER_BYTES = 6;
/** Around a text, a number or the name of a member: quotes, colon, comma. */
const PUNCTUATION = 4;
/** A number in JSON, at most. */
const NUMBER_BYTES = 25;
/** Measured at a time: the JSON of all of it may be longer than a string can be. */
const PIECE = 1024 * 1024;
/** What is aimed at, so that one try is nearly always enough. */
const AIM = 0.9;
/** By the last a thousandth is left at most, unless what is long is no output. */
const TRIES = 64;

/** The answer, or the same with less output where it is too long. */
export async function fitAnswer(answer: Answer<unknown>): Promise<Answer<unknown>> {
  let bytes = jsonBytes(answer);
  // Of the first one: characters need not take the same room everywhere in it, nor less of it be shorter at once.
  let share = 1;
  let fitting: Answer<unknown> | undefined = answer;
  for (let tries = 0; bytes > LIMITS.answerBytes; tries++) {
    share *= (AIM * LIMITS.answerBytes) / bytes;
    fitting = tries < TRIES ? await answer.shorter?.(share) : undefined;
    if (fitting === undefined) throw tooLong(jsonBytes(answer));
    bytes = jsonBytes(fitting);
  }
  return fitting;
}

/** Exactly where that matters. */
function jsonBytes(answer: Answer<unknown>): number {
  const most = sizeOf(answer, mostBytesOf);
  return most <= LIMITS.answerBytes ? most : sizeOf(answer, bytesOf);
}

function tooLong(bytes: number): ShellServerError {
  return new ShellServerError(
    'RESOURCE_005',
    `The call was carried out, but its answer of ${bytes} bytes is longer than clients take.`,
    { hint: `Ask for less in one call: an answer may have ${LIMITS.answerBytes} bytes.` },
  );
}

/** By a loop, since what a command printed as JSON may be nested deeper than calls can be. */
function sizeOf({ data, text, more, meta }: Answer<unknown>, sizeOfText: (text: string) => number): number {
  const waiting: unknown[] = [data, text, more, meta];
  let size = 0;
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string') size += sizeOfText(value) + PUNCTUATION;
    else if (typeof value !== 'object' || value === null) size += NUMBER_BYTES;
    else {
      size += PUNCTUATION;
      const isList = Array.isArray(value);
      for (const [name, member] of Object.entries(value)) {
        if (!isList) size += sizeOfText(name) + PUNCTUATION;
        waiting.push(member);
      }
    }
  }
  return size;
}

/** Without a look at it, which is enough for nearly every answer. */
const mostBytesOf = (text: string): number => MAX_CHARACTER_BYTES * text.length;

function bytesOf(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += PIECE)
    bytes += Buffer.byteLength(JSON.stringify(text.slice(at, at + PIECE)));
  return bytes;
}
