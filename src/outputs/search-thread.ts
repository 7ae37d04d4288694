/**
 * The thread that searches large outputs, so that other calls are answered meanwhile. There is one, started with the
 * first search that needs it and ended when there was none for a while. It gets blocks of bytes and tells which lines
 * match; it opens no files, and a search that nobody waits for any more just sends it no more blocks.
 */
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Hits } from './match-lines.ts';
import type { SearchThread, ThreadRequest } from './search.ts';

export interface OwnedSearchThread extends SearchThread {
  dispose(): Promise<void>;
}

/** What the two threads say to each other. */
export interface ThreadMessage {
  readonly id: number;
  readonly request: ThreadRequest;
}
export type ThreadAnswer =
  | { readonly id: number; readonly hits: Hits }
  | { readonly id: number; readonly problem: string };

interface Waiting {
  resolve(hits: Hits): void;
  reject(error: Error): void;
}

/** How long it stays without a search, and how long an answer may take before it is taken for lost. */
const TIMES: Readonly<Record<'idleMs' | 'answerMs', number>> = {
  idleMs: LIMITS.searchThreadIdleMs,
  answerMs: LIMITS.searchThreadAnswerMs,
};

const WORKER: WorkerOptions = {
  name: 'search',
  env: {},
  argv: [],
  execArgv: [],
  // stdout belongs to the transport.
  stdout: true,
  stderr: true,
  resourceLimits: { maxOldGenerationSizeMb: LIMITS.searchThreadMib },
};

/** `path` is that of the program of the thread. */
export function createSearchThread(path: string, times = TIMES): OwnedSearchThread {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;

  function start(Thread: typeof Worker): Worker {
    const started = new Thread(path, WORKER);
    // It never keeps the server alive: a caller that waits for an answer has a connection that does.
    started.unref();
    started.on('message', (answer: ThreadAnswer) => {
      const asked = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ('hits' in answer) asked?.resolve(answer.hits);
      else asked?.reject(failure(answer.problem));
      watch();
    });
    started.on('error', (error) => end(started, messageOf(error)));
    started.on('exit', () => end(started, 'it ended'));
    return started;
  }

  /** Whatever still waits for this one gets no answer any more; the next search starts another. */
  function end(ended: Worker, why: string): void {
    if (ended !== worker) return;
    worker = undefined;
    clearTimeout(timer);
    void ended.terminate();
    for (const { reject } of waiting.values()) reject(failure(why));
    waiting.clear();
  }

  /** Ends it where nobody needs it, and where it does not come back from what it was asked. */
  function watch(): void {
    clearTimeout(timer);
    const current = worker;
    if (current === undefined) return;
    const milliseconds = waiting.size === 0 ? times.idleMs : times.answerMs;
    timer = setTimeout(() => end(current, `no answer came in ${milliseconds} ms`), milliseconds).unref();
  }

  async function match(request: ThreadRequest, signal: AbortSignal | undefined): Promise<Hits> {
    const { Worker: Thread } = await import('node:worker_threads');
    signal?.throwIfAborted();
    const id = ++lastId;
    worker ??= start(Thread);
    const asked = new Promise<Hits>((resolve, reject) => void waiting.set(id, { resolve, reject }));
    const onAbort = (): void => {
      waiting.get(id)?.reject(signal?.reason as Error);
      waiting.delete(id);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    worker.postMessage({ id, request } satisfies ThreadMessage);
    watch();
    return asked.finally(() => signal?.removeEventListener('abort', onAbort));
  }

  return {
    createBuffer: () => Buffer.from(new SharedArrayBuffer(LIMITS.searchPieceBytes)),
    match,
    dispose: async () => {
      const last = worker;
      if (last === undefined) return;
      end(last, 'the server shuts down');
      await last.terminate();
    },
  };
}

function failure(why: string): ShellServerError {
  return new ShellServerError('SYSTEM_001', `The search failed: ${why}.`, {
    hint: 'Try again, with a simpler pattern or from a later offset.',
  });
}
