/** Questions and answers over a stream, one JSON value a line; each side may ask and tell. */
import type { Socket } from 'node:net';
import { decodeError, type EncodedError, encodeError, messageOf, ShellServerError } from '../base/errors.ts';

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

interface Answered {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: EncodedError;
}

type Message =
  | Asked
  | Answered
  | { readonly cancel: number }
  | { readonly noted: number }
  | { readonly event: string };

export type Channel = ReturnType<typeof createChannel>;

/** A question while it is answered. */
export interface Answering {
  readonly signal: AbortSignal;
  /** Tells the asker that what it waits for has begun: at once, and before anything that is said later. */
  note(): void;
}

export type Answerer = (method: string, params: unknown, answering: Answering) => Promise<unknown>;

/** A screen with colours has some hundred KiB; a line of this length is nobody's. */
const MAX_LINE_CHARS = 64 * 1024 * 1024;

type Send = (message: object) => void;

export function createChannel(socket: Socket, answer: Answerer) {
  const eventListeners: ((event: unknown) => void)[] = [];
  const closeListeners: (() => void)[] = [];
  let isClosed = false;

  const send: Send = (message) => {
    if (!isClosed) socket.write(`${JSON.stringify(message)}\n`);
  };
  const questions = createQuestions(send);
  const answers = createAnswers(answer, send);

  function receive(line: string): void {
    const message = JSON.parse(line) as Message;
    if ('method' in message) void answers.run(message);
    else if ('cancel' in message) answers.cancel(message.cancel);
    else if ('noted' in message) questions.note(message.noted);
    else if ('event' in message) for (const listener of eventListeners) listener(message);
    else questions.settle(message);
  }

  readLines(socket, receive);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    answers.cancelAll();
    questions.rejectAll();
    for (const listener of closeListeners) listener();
  });

  return {
    /** Throws what the other side threw, or SYSTEM_001 where it is gone. */
    ask: (method: string, params: unknown, by: AskedBy = {}): Promise<unknown> =>
      isClosed ? Promise.reject(new Gone()) : questions.ask(method, params, by),
    tell: send,
    /** What was said and the other side has not read yet. */
    get pendingBytes() {
      return socket.writableLength;
    },
    onEvent: (listener: (event: unknown) => void): void => void eventListeners.push(listener),
    onClose: (listener: () => void): void => void (isClosed ? listener() : closeListeners.push(listener)),
    /** Resolves when what was said has left. */
    end: (): Promise<void> =>
      new Promise((resolve) => {
        if (isClosed) return resolve();
        socket.once('close', () => resolve());
        socket.end();
      }),
    destroy: () => void socket.destroy(),
  };
}

/** What is not our protocol ends the connection: there is nothing to answer. */
function readLines(socket: Socket, receive: (line: string) => void): void {
  let buffered: string[] = [];
  let bufferedChars = 0;
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const [first = '', ...rest] = text.split('\n');
    buffered.push(first);
    bufferedChars += first.length;
    if (bufferedChars > MAX_LINE_CHARS) socket.destroy();
    if (rest.length === 0) return;
    const last = rest.pop() ?? '';
    const lines = [buffered.join(''), ...rest];
    buffered = [last];
    bufferedChars = last.length;
    try {
      for (const line of lines) receive(line);
    } catch {
      socket.destroy();
    }
  });
}

/** Of the other side, while they are being answered. */
function createAnswers(answer: Answerer, send: Send) {
  const running = new Map<number, AbortController>();
  return {
    async run({ id, method, params }: Asked): Promise<void> {
      const controller = new AbortController();
      running.set(id, controller);
      try {
        const answering = { signal: controller.signal, note: () => send({ noted: id }) };
        send({ id, result: (await answer(method, params, answering)) ?? {} });
      } catch (error) {
        send({ id, error: encodeError(error instanceof ShellServerError ? error : unexpected(error)) });
      } finally {
        running.delete(id);
      }
    },
    cancel: (id: number): void => running.get(id)?.abort(),
    cancelAll(): void {
      for (const controller of running.values()) controller.abort();
    },
  };
}

export interface AskedBy {
  readonly signal?: AbortSignal | undefined;
  /** Called when the other side notes it. */
  onNoted?(): void;
}

interface Waiting extends AskedBy {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Ours, until the other side answers. */
function createQuestions(send: Send) {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  return {
    ask(method: string, params: unknown, { signal, onNoted }: AskedBy): Promise<unknown> {
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      const id = ++lastId;
      const asked = new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject, ...(onNoted && { onNoted }) });
      });
      const cancel = (): void => {
        waiting.get(id)?.reject(signal?.reason);
        waiting.delete(id);
        send({ cancel: id });
      };
      signal?.addEventListener('abort', cancel, { once: true });
      send({ id, method, params });
      return asked.finally(() => signal?.removeEventListener('abort', cancel));
    },
    note: (id: number): void => waiting.get(id)?.onNoted?.(),
    settle({ id, result, error }: Answered): void {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(decodeError(error));
    },
    rejectAll(): void {
      for (const { reject } of waiting.values()) reject(new Gone());
      waiting.clear();
    },
  };
}

/** Nobody is there to answer. */
export class Gone extends ShellServerError {
  constructor(message = 'The process that holds the terminals is gone.') {
    super('SYSTEM_001', message, {
      hint: 'Open another terminal. What the last ones wrote is kept: list_execution_outputs.',
    });
  }
}

const unexpected = (error: unknown): ShellServerError =>
  new ShellServerError('SYSTEM_001', `A terminal failed unexpectedly: ${messageOf(error)}`);
