/**
 * What happened without anybody waiting for it: executions that ended in the background, and those that need something.
 * Kept for each principal, bounded, and told to each reader (a token in a session) once.
 */
import { renameId } from '../base/ids.ts';
import { maskBeginning } from '../security/security.ts';
import { durationOf, type ExecutionRecord, type Outcome, spanOf } from './record.ts';

interface About {
  readonly executionId: string;
  readonly terminalId?: string | undefined;
  readonly command: string;
}

export type NewsEvent = About &
  (
    | { readonly kind: 'finished'; readonly outcome: Outcome; readonly durationMs: number }
    | { readonly kind: 'password_prompt' | 'output_limit' }
  );

/** What an answer says already. */
export interface Told {
  /** Of executions that it shows as ended. */
  readonly ended: ReadonlySet<string>;
  /** Of a terminal that it shows. */
  readonly terminalId?: string | undefined;
}

export type News = ReturnType<typeof createNews>;

/** Of a principal: more is for process_list. */
const KEPT = 100;
/** In one answer. */
const SHOWN = 10;
/** Of one principal; the one that has not called for the longest makes room. */
const READERS = 200;
const COMMAND_CHARS = 80;

interface Board {
  readonly events: { readonly number: number; readonly event: NewsEvent }[];
  /** By reader: the number of the last event that it was told, or that was there before it. */
  readonly readers: Map<string, number>;
  last: number;
}

/** `overLimit`: those of a principal that go on without anybody waiting, and have printed more than is kept. */
export function createNews(overLimit: (principal: string) => readonly ExecutionRecord[]) {
  const boards = new Map<string, Board>();
  /** Of those that run. */
  const noted = new Set<string>();

  function boardOf(principal: string): Board {
    const board = boards.get(principal) ?? { events: [], readers: new Map(), last: 0 };
    boards.set(principal, board);
    return board;
  }

  function add(principal: string, event: NewsEvent): void {
    // Nobody has called yet: there is nobody to whom it would be news.
    const board = boards.get(principal);
    if (board === undefined) return;
    board.last += 1;
    board.events.push({ number: board.last, event });
    if (board.events.length > KEPT) board.events.shift();
  }

  return {
    /** What happens from now on is news to this reader. */
    open(principal: string, reader: string): void {
      const { readers, last } = boardOf(principal);
      const known = readers.get(reader) ?? last;
      readers.delete(reader);
      readers.set(reader, known);
      const [oldest] = readers.keys();
      if (readers.size > READERS && oldest !== undefined) readers.delete(oldest);
    },
    /** What the reader was not told yet, oldest first; `more` were left out. */
    take(principal: string, reader: string, told: Told): { events: NewsEvent[]; more: number } {
      for (const record of overLimit(principal)) {
        if (noted.has(record.id)) continue;
        noted.add(record.id);
        add(principal, { kind: 'output_limit', ...aboutOf(record) });
      }
      const { events, readers, last } = boardOf(principal);
      const known = readers.get(reader) ?? last;
      readers.set(reader, last);
      const fresh = events
        .filter(({ number, event }) => number > known && !isTold(event, told))
        .map(({ event }) => event);
      return { events: fresh.slice(-SHOWN), more: Math.max(0, fresh.length - SHOWN) };
    },
    finished(record: ExecutionRecord): void {
      const { outcome } = record;
      if (outcome === undefined) return;
      noted.delete(record.id);
      const durationMs = durationOf(spanOf(record), outcome.endedAtMs);
      add(record.owner, { kind: 'finished', ...aboutOf(record), outcome, durationMs });
    },
    passwordPrompt: (record: ExecutionRecord): void =>
      add(record.owner, { kind: 'password_prompt', ...aboutOf(record) }),
  };
}

function aboutOf({ id, command, terminal }: ExecutionRecord): About {
  return {
    executionId: id,
    ...(terminal !== undefined && { terminalId: renameId(id, 'term') }),
    command: maskBeginning(command === '' ? (terminal?.sessionName ?? '') : command, COMMAND_CHARS),
  };
}

function isTold(event: NewsEvent, { ended, terminalId }: Told): boolean {
  if (ended.has(event.executionId)) return true;
  return event.kind === 'password_prompt' && event.terminalId === terminalId;
}
