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

type Message = Asked | Answered | { readonly cancel: number } | { readonly event: string };

export interface Channel {
  /** Throws what the other side threw, or SYSTEM_001 where it is gone. */
  ask(method: string, params: unknown, signal?: AbortSignal): Promise<unknown>;
  tell(event: object): void;
  /** What was said and the other side has not read yet. */
  readonly pendingBytes: number;
  onEvent(listener: (event: unknown) => void): void;
  onClose(listener: () => void): void;
  /** Resolves when what was said has left. */
  end(): Promise<void>;
  destroy(): void;
}

export type Answerer = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>;

/** A screen with colours has some hundred KiB; a line of this length is nobody's. */
const MAX_LINE_CHARS = 64 * 1024 * 1024;

export function createChannel(socket: Socket, answer: Answerer): Channel {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  const running = new Map<number, AbortController>();
  const eventListeners: ((event: unknown) => void)[] = [];
  const closeListeners: (() => void)[] = [];
  let lastId = 0;
  let isClosed = false;
  let buffered: string[] = [];
  let bufferedChars = 0;

  const send = (message: object): void => {
    if (!isClosed) socket.write(`${JSON.stringify(message)}\n`);
  };

  async function run({ id, method, params }: Asked): Promise<void> {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      send({ id, result: (await answer(method, params, controller.signal)) ?? {} });
    } catch (error) {
      send({ id, error: encodeError(error instanceof ShellServerError ? error : unexpected(error)) });
    } finally {
      running.delete(id);
    }
  }

  function receive(line: string): void {
    const message = JSON.parse(line) as Message;
    if ('method' in message) void run(message);
    else if ('cancel' in message) running.get(message.cancel)?.abort();
    else if ('event' in message) for (const listener of eventListeners) listener(message);
    else {
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error === undefined) asked?.resolve(message.result);
      else asked?.reject(decodeError(message.error));
    }
  }

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
      // Not our protocol: there is nothing to answer.
      socket.destroy();
    }
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    for (const controller of running.values()) controller.abort();
    for (const { reject } of waiting.values()) reject(new Gone());
    waiting.clear();
    for (const listener of closeListeners) listener();
  });

  return {
    ask(method, params, signal) {
      if (isClosed) return Promise.reject(new Gone());
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          waiting.delete(id);
          send({ cancel: id });
          reject(signal?.reason);
        };
        const settle = (): void => signal?.removeEventListener('abort', onAbort);
        waiting.set(id, {
          resolve: (value) => {
            settle();
            resolve(value);
          },
          reject: (error) => {
            settle();
            reject(error);
          },
        });
        if (signal?.aborted === true) return onAbort();
        signal?.addEventListener('abort', onAbort, { once: true });
        send({ id, method, params });
      });
    },
    tell: send,
    get pendingBytes() {
      return socket.writableLength;
    },
    onEvent: (listener) => void eventListeners.push(listener),
    onClose: (listener) => void (isClosed ? listener() : closeListeners.push(listener)),
    end: () =>
      new Promise((resolve) => {
        if (isClosed) return resolve();
        socket.once('close', () => resolve());
        socket.end();
      }),
    destroy: () => void socket.destroy(),
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
