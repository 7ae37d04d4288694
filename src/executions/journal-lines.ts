/** The lines of the journal: a summary that is read at every start, and details that are read on request. */
import { isUtf8 } from 'node:buffer';
import { attempt } from '../base/attempt.ts';
import type { StoredContent, StreamType } from '../outputs/types.ts';
import { maskBeginning } from '../security/security.ts';
import type { ExecutionMode, ExecutionRecord, Outcome, Span, Status } from './record.ts';

export interface Summary extends Span {
  readonly id: string;
  readonly owner: string;
  /** The first part of it. */
  readonly command: string;
  readonly mode: ExecutionMode;
  readonly status: Status;
  readonly sessionId?: string | undefined;
  /** Of a terminal. */
  readonly sessionName?: string | undefined;
  readonly directory: string;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly pid?: number | undefined;
  readonly streams: readonly StreamType[];
}

const COMMAND_CHARS = 300;

/** It began; its process is known; it ended. */
export type Kind = 'B' | 'N' | 'E';

export interface EndDetails {
  readonly outcome: unknown;
  readonly output?: EncodedContent;
}

interface EncodedContent {
  /** Text as it is, and anything else in base64. */
  readonly streams: Readonly<Record<string, string | { readonly base64: string } | undefined>>;
  /** Absent where the order was deleted. */
  readonly arrival?: StoredContent['arrival'] | undefined;
}

export function encodeContent({ streams, arrival }: StoredContent): EncodedContent {
  const encoded = [...streams].map(([type, bytes]) => {
    const text = isUtf8(bytes) ? bytes.toString('utf8') : undefined;
    // Control characters take six bytes in JSON.
    const isText = text !== undefined && JSON.stringify(text).length < bytes.length * 2 + 16;
    return [type, isText ? text : { base64: bytes.toString('base64') }];
  });
  return { streams: Object.fromEntries(encoded) as EncodedContent['streams'], arrival };
}

export function decodeContent({ streams, arrival = [] }: EncodedContent): StoredContent {
  const decoded = Object.entries(streams).flatMap(([type, value]): [StreamType, Buffer][] => {
    if (value === undefined) return [];
    const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.base64, 'base64');
    return [[type as StreamType, bytes]];
  });
  return { streams: new Map(decoded), arrival };
}

export const parse = (text: string | undefined): unknown =>
  text === undefined ? undefined : attempt(() => JSON.parse(text) as unknown);

export function howEnded({ status, endedAtMs, durationMs, exitCode, signal }: Outcome): Partial<Summary> {
  return {
    status,
    endedAtMs,
    ...(durationMs !== undefined && { durationMs }),
    ...(exitCode !== undefined && { exitCode }),
    ...(signal !== undefined && { signal }),
  };
}

export function summarize(record: ExecutionRecord): Summary {
  return {
    id: record.id,
    owner: record.owner,
    // A slice would keep the whole string alive behind it.
    command: Buffer.from(maskBeginning(record.command, COMMAND_CHARS)).toString(),
    mode: record.mode,
    status: 'running',
    ...(record.sessionId !== undefined && { sessionId: record.sessionId }),
    ...(record.terminal !== undefined && { sessionName: record.terminal.sessionName }),
    directory: record.directory,
    createdAtMs: record.createdAtMs,
    ...(record.createdTicks !== undefined && { createdTicks: record.createdTicks }),
    streams: record.streams,
  };
}
