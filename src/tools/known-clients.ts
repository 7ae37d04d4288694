/**
 * What is known of clients: how long a call may take before one gives up on it (none that was tried extends its limit on
 * progress), and what of an answer it passes on. Up to most of that is used.
 */
import { countFitting } from '../base/fit-lines.ts';
import { LIMITS } from '../base/limits.ts';
import type { Settings } from '../base/settings.ts';
import type { ClientInfo, Tool } from './tool.ts';

interface KnownClient {
  readonly name: RegExp;
  readonly seconds: number;
  /** Of output in one answer; JSON makes a quarter more of it. */
  readonly bytes: number;
  /** It shows a model the structured part of an answer alone, where there is one. */
  readonly hidesText?: true;
  /** How much of a question it shows to a person. */
  readonly question?: { readonly lines: number; readonly columns: number };
}

const KNOWN: readonly KnownClient[] = [
  // No limit of time was hit in 400 s of silence; the person waits, so not for ever. It passes on 50,000 characters. Of a
  // question it shows three lines, cut at the width of the terminal.
  {
    name: /^claude-code/i,
    seconds: 300,
    bytes: 36 * 1024,
    hidesText: true,
    question: { lines: 3, columns: 76 },
  },
  // tool_timeout_sec is 300 by default. It cuts the middle out of what is longer than 12,700 characters.
  { name: /^codex/i, seconds: 240, bytes: 9 * 1024, hidesText: true },
  // 10 minutes by default; 40,000 characters.
  { name: /^gemini-cli/i, seconds: 300, bytes: 28 * 1024 },
];

const find = ({ name }: ClientInfo): KnownClient | undefined => KNOWN.find((known) => known.name.test(name));

export function patienceMs(client: ClientInfo, configuredSeconds: number | undefined): number {
  return (configuredSeconds ?? find(client)?.seconds ?? LIMITS.maxWaitSeconds) * 1000;
}

/** How much output an answer to it may hold, given how many characters a byte of it takes there. */
export function answerBytes(client: ClientInfo, charactersPerByte = 1): number {
  const known = find(client)?.bytes;
  return known === undefined ? LIMITS.inlineOutputBytesMax : Math.floor(known / charactersPerByte);
}

/** How many rows of a list an answer to it may hold: at least one. */
export const countRows = (rows: readonly string[], client: ClientInfo): number =>
  Math.max(1, countFitting(rows, answerBytes(client)));

/** Whether a tool is listed without an output schema and answered with text alone, a third of the tokens of both. */
export function answersInText(
  { isExact }: Pick<Tool, 'isExact'>,
  client: ClientInfo,
  answers: Settings['answers'],
): boolean {
  // The text alone does not say everything.
  if (isExact === true) return false;
  return answers === 'text' || (answers === 'auto' && find(client)?.hidesText === true);
}

const SHOWN_IN_PART = 'Only a part fits here. Decline unless you have read the whole call.';

/** A question as the client can show it: without blank lines, and saying so where a person will not see all of it. */
export function fitQuestion(question: string, client: ClientInfo): string {
  const fits = find(client)?.question;
  if (fits === undefined) return question;
  const [head = '', where = '', ...rest] = question.split('\n').filter((line) => line !== '');
  const lines = rest.flatMap((line) => wrap(line, fits.columns));
  const isCut = head.length > fits.columns || 2 + lines.length > fits.lines;
  return (isCut ? [head, SHOWN_IN_PART, ...lines, where] : [head, where, ...lines]).join('\n');
}

/** What continues a line is indented like it, so that it cannot pass for one of ours. */
function wrap(line: string, columns: number): string[] {
  const [indent = ''] = /^ */.exec(line) ?? [];
  const characters = Array.from(line.slice(indent.length));
  const width = columns - indent.length;
  const count = Math.max(1, Math.ceil(characters.length / width));
  return Array.from(
    { length: count },
    (_, n) => indent + characters.slice(n * width, (n + 1) * width).join(''),
  );
}
