/** A terminal's recording (asciicast, version 2) in pieces that a page plays one after the other. */
import { attempt } from '../base/attempt.ts';
import { LIMITS } from '../base/limits.ts';
import type { ByteSource } from '../outputs/outputs.ts';
import type { RecordedEvent, RecordingAnswer } from './wire.ts';

const PIECE_BYTES = 512 * 1024;
/** A line is one event, of at most 64 KiB of output, each byte of which JSON may write as six. */
const MAX_LINE_BYTES = 1024 * 1024;

/** From this offset, which is 0 or comes from the answer before. */
export function readRecordingPiece(source: ByteSource, offset: number): RecordingAnswer {
  const { lines, nextOffset } = readLines(source, offset);
  return {
    ...readHeader(source),
    durationMs: lastEvent(source)?.[0] ?? 0,
    events: lines.flatMap(parseEvent),
    ...(nextOffset < source.size() && { nextOffset }),
  };
}

function readLines(
  source: ByteSource,
  offset: number,
): { readonly lines: readonly string[]; readonly nextOffset: number } {
  for (let length = PIECE_BYTES; length <= MAX_LINE_BYTES; length *= 2) {
    const bytes = Buffer.from(source.read(offset, length));
    const end = bytes.lastIndexOf('\n') + 1;
    if (end > 0)
      return { lines: bytes.toString('utf8', 0, end).trimEnd().split('\n'), nextOffset: offset + end };
  }
  return { lines: [], nextOffset: source.size() };
}

function readHeader(source: ByteSource): { readonly columns: number; readonly rows: number } {
  const [first = ''] = readLines(source, 0).lines;
  const { width, height } = (parse(first) ?? {}) as { readonly width?: unknown; readonly height?: unknown };
  return { columns: columnsOf(width), rows: rowsOf(height) };
}

function lastEvent(source: ByteSource): RecordedEvent | undefined {
  const from = Math.max(0, source.size() - MAX_LINE_BYTES);
  const lines = Buffer.from(source.read(from, MAX_LINE_BYTES)).toString('utf8').trimEnd().split('\n');
  return parseEvent(lines.at(-1) ?? '')[0];
}

/** Nothing for a line that is no event. */
function parseEvent(line: string): RecordedEvent[] {
  const event = parse(line);
  if (!Array.isArray(event)) return [];
  const [at, kind, text] = event as unknown[];
  if (typeof at !== 'number' || !(at >= 0) || typeof text !== 'string') return [];
  const atMs = Math.round(at * 1000);
  if (kind === 'o' || kind === 'm') return [[atMs, kind, text]];
  const [, columns, rows] = /^(\d{1,9})x(\d{1,9})$/.exec(text) ?? [];
  return kind === 'r' && rows !== undefined
    ? [[atMs, 'r', `${columnsOf(Number(columns))}x${rowsOf(Number(rows))}`]]
    : [];
}

const parse = (line: string): unknown => attempt(() => JSON.parse(line) as unknown);

const sizeOf = (value: unknown, most: number, otherwise: number): number =>
  typeof value === 'number' && value >= 1 ? Math.min(Math.floor(value), most) : otherwise;
/** No terminal is larger; a recording that says otherwise is damaged. */
const columnsOf = (value: unknown): number => sizeOf(value, LIMITS.terminalWidth, 80);
const rowsOf = (value: unknown): number => sizeOf(value, LIMITS.terminalHeight, 24);
