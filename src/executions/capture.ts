/**
 * Copies what a process prints to its sinks.
 *
 * The process's end is its exit, never the end of its output: a child in the background may hold the pipe open for
 * hours. What was written before the exit is in the pipe by then, and is read out at once. Most commands are over before
 * anything needs to be notified; so output is only listened for after a moment.
 */
import { closeSync } from 'node:fs';
import type { Sink, StreamType } from '../outputs/types.ts';
import { createMasker } from '../security/security.ts';
import { type Copy, createCopy } from './copy.ts';
import type { Turns } from './copy-turns.ts';
import { linkOf, type Pipe } from './pipes.ts';

export interface OutputPipes {
  /** Of both, where they are merged. */
  readonly stdout: Pipe | undefined;
  readonly stderr: Pipe | undefined;
  /** Descriptor 3, for the session's state; read to a bounded buffer. */
  readonly state: Pipe | undefined;
}

export interface Capture {
  /** Links of the output pipes, by which a leftover is recognised. */
  pipeLinks(): ReadonlySet<string>;
  /** Called with each chunk, until the function that is returned is called. */
  onOutput(listener: (chunk: Uint8Array) => void): () => void;
  /**
   * From here on what it prints comes to the sinks, which are then closed with the pipes; those without a sink are
   * closed now. Values of `masked` are replaced.
   */
  copyTo(sinks: ReadonlyMap<StreamType, Sink>, masked?: readonly string[]): void;
  /** From here on this is replaced too. */
  mask(value: string): void;
  /** Reads what is in the pipes now; everything written before the call is in the sinks after it. */
  drain(): void;
  /** What the command left on descriptor 3. */
  state(): Buffer;
  /** What is in the pipe of stderr now, where nothing is copied yet. */
  peek(): string;
  /** Closes the pipes and the sinks. */
  close(): void;
}

const STATE_MAX_BYTES = 256 * 1024;
/** Longer than most commands take, on a slow machine too; a full pipe (64 KiB) waits for as long as this, once. */
const LISTEN_AFTER_MS = 20;

export function createCapture({ stdout, stderr, state }: OutputPipes, turns: Turns): Capture {
  const listeners = new Set<(chunk: Uint8Array) => void>();
  const stateChunks: Buffer[] = [];
  let stateBytes = 0;
  let open: ReadonlyMap<StreamType, Sink> = new Map();
  let copies: Copy[] | undefined;
  let listening: NodeJS.Timeout | undefined;
  const pipes = [stdout, stderr, state].filter((pipe) => pipe !== undefined);
  const writers: ReturnType<typeof createWriter>[] = [];

  const toSink = (sink: Sink, masked: readonly string[]): ((chunk: Uint8Array) => void) => {
    const writer = createWriter(masked, (chunk) => {
      if (chunk.length === 0) return;
      sink.write(chunk);
      for (const listener of listeners) listener(chunk);
    });
    writers.push(writer);
    return writer.write;
  };
  const keepState = (chunk: Uint8Array): void => {
    stateBytes += chunk.length;
    if (stateBytes <= STATE_MAX_BYTES) stateChunks.push(Buffer.from(chunk));
  };

  return {
    pipeLinks: () =>
      new Set([stdout, stderr].flatMap((pipe) => (pipe === undefined ? [] : (linkOf(pipe.readFd) ?? [])))),
    onOutput(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    copyTo(sinks, masked = []) {
      open = sinks;
      copies = [];
      for (const pipe of pipes) {
        const sink = pipe === stdout ? (sinks.get('combined') ?? sinks.get('stdout')) : sinks.get('stderr');
        if (pipe === state) copies.push(createCopy(pipe.readFd, keepState, turns));
        else if (sink === undefined) closeSync(pipe.readFd);
        else copies.push(createCopy(pipe.readFd, toSink(sink, masked), turns));
      }
      listening = setTimeout(() => {
        for (const copy of copies ?? []) copy.listen();
      }, LISTEN_AFTER_MS);
    },
    mask(value) {
      for (const writer of writers) writer.mask(value);
    },
    drain() {
      for (const copy of copies ?? []) copy.drain();
    },
    state: () => (stateBytes <= STATE_MAX_BYTES ? Buffer.concat(stateChunks) : Buffer.alloc(0)),
    peek() {
      const chunks: Buffer[] = [];
      if (copies !== undefined || stderr === undefined) return '';
      const copy = createCopy(stderr.readFd, (chunk) => chunks.push(Buffer.from(chunk)), turns);
      copy.drain();
      return Buffer.concat(chunks).toString('utf8');
    },
    close() {
      clearTimeout(listening);
      if (copies === undefined) for (const { readFd } of pipes) closeSync(readFd);
      for (const copy of copies ?? []) copy.close();
      copies = [];
      for (const writer of writers) writer.flush();
      for (const sink of open.values()) sink.close();
      listeners.clear();
    },
  };
}

/** Passes chunks on with the values in them replaced. */
function createWriter(masked: readonly string[], pass: (chunk: Uint8Array) => void) {
  let values = masked;
  let masker = masked.length === 0 ? undefined : createMasker(masked);
  return {
    write: (chunk: Uint8Array): void => pass(masker === undefined ? chunk : masker.push(chunk)),
    mask(value: string): void {
      values = [...values, value];
      const next = createMasker(values);
      if (masker !== undefined) pass(next.push(masker.held()));
      masker = next;
    },
    flush: (): void => pass(masker?.rest() ?? NOTHING),
  };
}

const NOTHING = new Uint8Array();
