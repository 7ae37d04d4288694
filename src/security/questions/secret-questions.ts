/**
 * Passwords that programs of a command ask the operator for. The question is a file among the others; the answer is not: it
 * goes through a socket beside it to the server that asks, so that it is in no file.
 */
import { createServer, type Socket } from 'node:net';
import { attempt } from '../../base/attempt.ts';
import { deadlineIn } from '../../base/boot.ts';
import { isoTime } from '../../base/clock.ts';
import { errnoOf, ShellServerError } from '../../base/errors.ts';
import { makePrivateDirectory } from '../../base/files.ts';
import { createId } from '../../base/ids.ts';
import { LIMITS } from '../../base/limits.ts';
import { connectSocket, listenOn } from '../../base/sockets.ts';
import {
  type Asked,
  notOpen,
  type QuestionOptions,
  questionDirectory,
  readAll,
  remove,
  socketOf,
  sweep,
  writeRecord,
} from './question-store.ts';

/** Who asks, and with which words. */
export interface SecretSubject {
  readonly executionId: string;
  readonly principal: string;
  readonly client: string;
  readonly command: string;
  readonly directory: string;
  /** The text of the program, which may say anything. */
  readonly prompt: string;
}

export type SecretQuestion = SecretSubject & Asked;

export type SecretAnswer =
  | { readonly decision: 'given'; readonly by: string; readonly secret: string }
  | { readonly decision: 'deny'; readonly by: string };

export function listSecretQuestions(stateDir: string): SecretQuestion[] {
  return readAll<SecretQuestion>(questionDirectory(stateDir), 'secret');
}

/** Hands the answer to the server that asks; the first one counts. */
export async function answerSecret(
  stateDir: string,
  id: string,
  answer: SecretAnswer,
): Promise<SecretQuestion> {
  const question = listSecretQuestions(stateDir).find((each) => each.id === id);
  if (question === undefined) throw notOpen(id);
  if (answer.decision === 'given') checkSecret(answer.secret);
  let socket: Socket;
  try {
    socket = await connectSocket(socketOf(questionDirectory(stateDir), id));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ECONNREFUSED') throw notOpen(id);
    throw error;
  }
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  socket.end(JSON.stringify(answer));
  if ((await readToEnd(socket, TAKEN.length)) !== TAKEN) throw notOpen(id);
  return question;
}

function checkSecret(secret: string): void {
  const isLine = secret !== '' && !/[\r\n\0]/.test(secret);
  if (isLine && Buffer.byteLength(secret) <= LIMITS.secretBytes) return;
  throw new ShellServerError('PARAM_002', 'The answer must be one line of text that is not empty.', {
    hint: `It may have up to ${LIMITS.secretBytes} bytes.`,
  });
}

export type SecretQuestions = ReturnType<typeof createSecretQuestions>;

export function createSecretQuestions(options: QuestionOptions) {
  const { instance, clock } = options;
  const directory = questionDirectory(options.stateDir);
  return {
    /** The answer; undefined where there is none in time. Rejects where the signal is aborted. */
    async ask(
      subject: SecretSubject,
      { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
      onAsked: (id: string) => void,
    ): Promise<SecretAnswer | undefined> {
      signal.throwIfAborted();
      const nowMs = clock.now();
      sweep(directory);
      const id = createId('secret');
      const question: SecretQuestion = {
        ...subject,
        id,
        instance,
        askedAt: isoTime(nowMs),
        expiresAt: isoTime(nowMs + timeoutMs),
        deadline: deadlineIn(timeoutMs),
      };
      const server = createServer({ allowHalfOpen: true });
      let settle: (answer: SecretAnswer | undefined) => void = () => undefined;
      const answered = new Promise<SecretAnswer | undefined>((resolve) => {
        settle = resolve;
      });
      let isTaken = false;
      server.on('connection', (socket) => {
        socket.setTimeout(ANSWER_MS, () => socket.destroy());
        readToEnd(socket, MAX_ANSWER)
          .then((text) => {
            const answer = isTaken ? undefined : parseAnswer(text);
            isTaken ||= answer !== undefined;
            socket.end(answer === undefined ? '' : TAKEN);
            if (answer !== undefined) settle(answer);
          })
          .catch(() => socket.destroy());
      });
      const timer = setTimeout(() => settle(undefined), timeoutMs);
      const stop = (): void => settle(undefined);
      signal.addEventListener('abort', stop, { once: true });
      try {
        makePrivateDirectory(directory);
        // Before it is shown, or an answer that comes at once would find nobody.
        await listenOn(server, socketOf(directory, id));
        writeRecord(directory, question);
        onAsked(id);
        const answer = await answered;
        signal.throwIfAborted();
        return answer;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        server.close();
        remove(directory, id);
      }
    },
  };
}

const TAKEN = 'taken';
/** Both ends are on this machine and write at once. */
const ANSWER_MS = 5000;
/** JSON may write a byte as six. */
const MAX_ANSWER = LIMITS.secretBytes * 6 + 1024;

function parseAnswer(text: string): SecretAnswer | undefined {
  const answer = attempt(() => JSON.parse(text) as Partial<SecretAnswer> & { readonly secret?: unknown });
  if (typeof answer?.by !== 'string') return undefined;
  if (answer.decision === 'deny') return { decision: 'deny', by: answer.by };
  if (answer.decision !== 'given' || typeof answer.secret !== 'string') return undefined;
  return { decision: 'given', by: answer.by, secret: answer.secret };
}

/** Rejects where there is more. */
export function readToEnd(socket: Socket, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) socket.destroy(new Error('too long'));
    });
    socket.once('error', reject);
    socket.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    socket.once('close', () => reject(new Error('closed')));
  });
}
