/**
 * What a terminal wrote, as it came: the bytes in `raw`, and when they came in `timing`. From these two every line that
 * has left memory is shown again, and when the terminal is closed they become a transcript and a recording that can be
 * played (asciicast, version 2).
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { writeAllSync } from '../base/files.ts';
import { createSink, openSource, type Sink } from '../outputs/outputs.ts';

const RAW = 'raw';
const TIMING = 'timing';

/** Output that comes within this time is one event: more than a person sees. */
const EVENT_MS = 16;
/** From here on events get longer, not more. */
const MANY_EVENTS = 100_000;
const LONG_EVENT_MS = 1000;
const READ_BYTES = 64 * 1024;

interface RecorderOptions {
  readonly maxBytes: number;
  readonly tailBytes: number;
  readonly columns: number;
  readonly rows: number;
  /** By the clock. */
  readonly createdAtMs: number;
  /** Of the time since then. */
  now(): number;
}

export function createRecorder(directory: string, options: RecorderOptions) {
  const raw: Sink = createSink(join(directory, RAW), {
    limitBytes: options.maxBytes,
    tailBytes: options.tailBytes,
  });
  const timing = openSync(join(directory, TIMING), 'a', 0o600);
  const beganAt = options.now();
  let events = 0;
  let pending = 0;
  let pendingSince = 0;
  let isClosed = false;

  function note(line: string): void {
    events++;
    try {
      writeSync(timing, `${line}\n`);
    } catch {
      // A full disk: the bytes that did not fit are missing too, and the terminal goes on.
    }
  }

  function flush(): void {
    if (pending > 0) note(`${pendingSince} o ${pending}`);
    pending = 0;
  }

  note(`${options.createdAtMs} s ${options.columns}x${options.rows}`);
  return {
    write(chunk: Uint8Array): void {
      if (isClosed) return;
      const at = options.now() - beganAt;
      const longest = events > MANY_EVENTS ? LONG_EVENT_MS : EVENT_MS;
      if (pending > 0 && at - pendingSince >= longest) flush();
      if (pending === 0) pendingSince = at;
      pending += chunk.length;
      raw.write(chunk);
    },
    resize(columns: number, rows: number): void {
      if (isClosed) return;
      flush();
      note(`${options.now() - beganAt} r ${columns}x${rows}`);
    },
    close(): void {
      if (isClosed) return;
      isClosed = true;
      flush();
      raw.close();
      closeSync(timing);
    },
  };
}

interface Resize {
  readonly kind: 'resize';
  readonly atMs: number;
  readonly columns: number;
  readonly rows: number;
}
type Event = { readonly kind: 'output'; readonly atMs: number; readonly bytes: number } | Resize;

type Timing = ReturnType<typeof readTiming>;

function readTiming(directory: string) {
  let beganAtMs = 0;
  let size = { columns: 80, rows: 24 };
  const events: Event[] = [];
  for (const line of readFileSync(join(directory, TIMING), 'latin1').split('\n')) {
    const [at = '', kind, what = ''] = line.split(' ');
    const atMs = Number(at);
    if (kind === 'o') events.push({ kind: 'output', atMs, bytes: Number(what) });
    if (kind !== 'r' && kind !== 's') continue;
    const [columns = 80, rows = 24] = what.split('x').map(Number);
    if (kind === 'r') events.push({ kind: 'resize', atMs, columns, rows });
    else {
      beganAtMs = atMs;
      size = { columns, rows };
    }
  }
  return { beganAtMs, ...size, events };
}

/** A piece of what was written, or of what was not kept. */
type Piece =
  | { readonly kind: 'bytes'; readonly atMs: number; readonly data: Buffer }
  | { readonly kind: 'gap'; readonly atMs: number; readonly bytes: number }
  | Resize;

/** All of it, in order. What came after the last event that was noted belongs to it. */
function* readPieces(directory: string, { events }: Timing): Generator<Piece> {
  const source = openSource(join(directory, RAW), {});
  if (source === undefined) return;
  try {
    const size = source.size();
    const gap = source.gaps()[0];
    let offset = 0;
    let atMs = 0;
    function* until(end: number): Generator<Piece> {
      while (offset < end) {
        if (gap !== undefined && offset >= gap.from && offset < gap.to) {
          yield { kind: 'gap', atMs, bytes: gap.to - gap.from };
          offset = gap.to;
          continue;
        }
        const data = Buffer.from(source?.read(offset, Math.min(READ_BYTES, end - offset)) ?? []);
        if (data.length === 0) return;
        offset += data.length;
        yield { kind: 'bytes', atMs, data };
      }
    }
    let expected = 0;
    for (const event of events) {
      atMs = event.atMs;
      if (event.kind === 'resize') yield event;
      else {
        expected += event.bytes;
        yield* until(Math.min(expected, size));
      }
    }
    yield* until(size);
  } finally {
    source.close();
  }
}

/** Replays it, and reports each line; ends early where `onLine` answers false, and at a gap if it should. */
async function replay(
  directory: string,
  onLine: (line: string, index: number) => boolean,
  stopsAtGap: boolean,
): Promise<void> {
  const timing = readTiming(directory);
  let goesOn = true;
  const { createScreen } = await import('./host/screen.ts');
  const screen = createScreen({
    columns: timing.columns,
    rows: timing.rows,
    // No more than must be.
    keptRows: 0,
    onDropped: (line, index) => {
      if (goesOn) goesOn = onLine(line, index);
    },
  });
  try {
    for (const piece of readPieces(directory, timing)) {
      if (!goesOn) return;
      if (piece.kind === 'gap' && stopsAtGap) break;
      if (piece.kind === 'gap') screen.write(Buffer.from(`\r\n[${piece.bytes} bytes were not kept]\r\n`));
      else if (piece.kind === 'resize') screen.resize(piece.columns, piece.rows);
      else screen.write(piece.data);
      await nextTurn();
    }
    screen.dropAll();
  } finally {
    screen.dispose();
  }
}

/** Lines [from, to) of a terminal that is open; fewer where they were not kept. */
export async function readOldLines(directory: string, from: number, to: number): Promise<string[]> {
  const lines: string[] = [];
  const onLine = (line: string, index: number): boolean => {
    if (index >= from && index < to) lines.push(line);
    return index + 1 < to;
  };
  await replay(directory, onLine, true);
  return lines;
}

/** It is replayed in less time than it takes to start a process. */
export const isShort = (directory: string): boolean => statSync(join(directory, RAW)).size <= READ_BYTES;

export const TRANSCRIPT = 'log';
export const CAST = 'cast';

/** Writes the transcript and the recording, from the bytes as they came. */
export async function saveHistory(directory: string, title: string): Promise<void> {
  // Without the emulator, so that there is something whatever becomes of the rest.
  await writeCast(directory, title);
  const transcript = openSync(join(directory, TRANSCRIPT), 'w', 0o600);
  let text = '';
  const flush = (): void => {
    writeAllSync(transcript, Buffer.from(text));
    text = '';
  };
  try {
    const onLine = (line: string): boolean => {
      text += `${line}\n`;
      // Two million lines are as many system calls otherwise.
      if (text.length >= READ_BYTES) flush();
      return true;
    };
    await replay(directory, onLine, false);
    flush();
  } finally {
    closeSync(transcript);
  }
}

/** Of one that could not be shown again to its end. */
export function endTranscript(directory: string): void {
  const words = '\n[The rest could not be made readable in time: the recording has it.]\n';
  appendFileSync(join(directory, TRANSCRIPT), words, { mode: 0o600 });
}

export function discardHistory(directory: string): void {
  for (const name of [TRANSCRIPT, CAST]) rmSync(join(directory, name), { force: true });
}

export const hasTranscript = (directory: string): boolean => existsSync(join(directory, TRANSCRIPT));

export const isRecorded = (directory: string): boolean =>
  [RAW, TIMING].some((name) => existsSync(join(directory, name)));

export function discardRaw(directory: string): void {
  for (const name of [RAW, `${RAW}.tail`, TIMING]) rmSync(join(directory, name), { force: true });
}

async function writeCast(directory: string, title: string): Promise<void> {
  const timing = readTiming(directory);
  const cast = openSync(join(directory, CAST), 'w', 0o600);
  const decoder = new TextDecoder();
  const write = (value: unknown): void => writeAllSync(cast, Buffer.from(`${JSON.stringify(value)}\n`));
  try {
    write({
      version: 2,
      width: timing.columns,
      height: timing.rows,
      timestamp: Math.floor(timing.beganAtMs / 1000),
      title,
      env: { TERM: 'xterm-256color' },
    });
    for (const piece of readPieces(directory, timing)) {
      const at = piece.atMs / 1000;
      if (piece.kind === 'resize') write([at, 'r', `${piece.columns}x${piece.rows}`]);
      else if (piece.kind === 'gap') write([at, 'm', `${piece.bytes} bytes were not kept`]);
      else {
        const text = decoder.decode(piece.data, { stream: true });
        if (text !== '') write([at, 'o', text]);
      }
      await nextTurn();
    }
  } finally {
    closeSync(cast);
  }
}
