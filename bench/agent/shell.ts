/**
 * What a model does with a shell, whatever tool it has: the tasks are written against this, and each kind of tool does it
 * in as few turns as it can. Times are a tenth of what they are in earnest, with those of the tools.
 */
import { encode } from 'gpt-tokenizer';

/** What the model has read about one command, and what it makes of it. */
export interface Seen {
  readonly text: string;
  /** As the model believes. */
  readonly failed: boolean;
}

export interface Job {
  readonly id: string;
  /** What it has read of it so far. */
  readonly seen: Seen;
}

export interface Shell {
  /** A short command. */
  run(command: string): Promise<Seen>;
  /** A command that turns out to take minutes; answers when it is over. */
  long(command: string): Promise<Seen>;
  /** Starts something that goes on, and answers when it is ready or has failed. */
  serve(command: string, ready: { readonly port: number; readonly line: string }): Promise<Job>;
  /** Starts something to come back to. */
  later(command: string): Promise<Job>;
  /** How that is doing; `had` is everything that was read since. */
  check(job: Job, had: string): Promise<Seen>;
  /** All of them at the same time. */
  many(commands: readonly string[]): Promise<Seen[]>;
  /** The next line of a job that has this in it. */
  next(job: Job, text: string): Promise<Seen>;
  /** Lines with this in the output of a command that prints much more than can be read, and cannot be run twice cheaply. */
  find(command: string, text: string): Promise<Seen>;
  /** Runs a program that asks, and answers what it asks. */
  interact(command: string, answer: (shown: string) => string | undefined): Promise<Seen>;
  stop(job: Job): Promise<void>;
  close(): Promise<void>;
}

/** Counts what a model pays for. */
export interface Meter {
  /** One turn, however many calls are made in it. */
  turn<Value>(work: () => Promise<Value>): Promise<Value>;
  /** One call, with all that the model reads of its answer. */
  read(text: string): string;
  totals(): Totals;
}

export interface Totals {
  readonly turns: number;
  readonly calls: number;
  readonly bytes: number;
  readonly tokens: number;
}

export function createMeter(): Meter {
  const counts = { turns: 0, calls: 0, bytes: 0, tokens: 0 };
  return {
    turn(work) {
      counts.turns += 1;
      return work();
    },
    read(text) {
      counts.calls += 1;
      counts.bytes += Buffer.byteLength(text);
      counts.tokens += encode(text, { allowedSpecial: 'all' }).length;
      return text;
    },
    totals: () => ({ ...counts }),
  };
}

/** The judgement of a reader: the exit code, or words that nobody overlooks. Lines that count no failures are none. */
export function looksFailed(text: string, exitCode: number | undefined): boolean {
  if (exitCode !== undefined && exitCode !== 0) return true;
  return text
    .split('\n')
    .filter((line) => !/\b0 (?:failed|failures|errors)\b|no errors/i.test(line))
    .some((line) => /\b(?:error|failed|failure|fatal|panic|exited [1-9])\b/i.test(line));
}
