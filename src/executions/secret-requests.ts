/**
 * Programs of an execution that ask for a password (security/askpass.ts): which execution it is, whether the operator may be
 * asked, and the way of the answer, which goes to the program and into no file. Nobody there means no, and so does the
 * first no for all that the execution asks later.
 */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { once } from '../base/once.ts';
import { listenOn } from '../base/sockets.ts';
import {
  type Questions,
  readToEnd,
  type SecretAnswer,
  type SecretQuestions,
} from '../security/questions/questions.ts';
import {
  ASKPASS_SOCKET,
  GIVEN,
  MARKER_NAME,
  makeAskpass,
  maskBeginning,
  REFUSED,
  type Security,
} from '../security/security.ts';
import type { Running, RunningEntry } from './running.ts';

export interface SecretRequestOptions {
  readonly security: Pick<Security, 'askpass' | 'audit'>;
  readonly running: Pick<Running, 'entries'>;
  readonly questions: Pick<Questions, 'isAttended'> & {
    readonly secrets: SecretQuestions;
    readonly links?: SecretLinks;
  };
  readonly log: Log;
}

/** Leads the person at a client to the operator's page. */
interface SecretLinks {
  canLead(principal: string): boolean;
  /** The signal is aborted where the person will not look at it. */
  lead(
    principal: string,
    view: { readonly path: string; readonly message: string },
  ): { readonly refused: AbortSignal; end(): void } | undefined;
}

type Refusal = keyof typeof REFUSALS;

const REFUSALS = {
  nobody:
    'no operator is there. The operator can open the page (`mcp-shell-server web`) or run `mcp-shell-server questions watch`; then try again',
  unknown: 'this program belongs to no execution of the server',
  often: 'this execution has asked too often',
  denied: 'the operator has said no',
  expired: 'the operator has not answered in time',
  failed: 'the question could not be asked',
} as const;

/** What one execution has asked for. */
interface Asked {
  count: number;
  open: number;
  isDenied: boolean;
}

export function createSecretRequests(options: SecretRequestOptions) {
  const { running, questions, log } = options;
  const asked = new WeakMap<RunningEntry['live'], Asked>();
  const server = createServer({ allowHalfOpen: true });
  server.maxConnections = LIMITS.openSecrets;

  async function answer(socket: Socket): Promise<void> {
    const text = await readToEnd(socket, MAX_QUESTION);
    socket.setTimeout(0);
    const newline = text.indexOf('\n');
    const entry = newline === -1 ? undefined : await findEntry(text.slice(0, newline));
    if (entry === undefined) return refuse(socket, 'unknown');
    const known = asked.get(entry.live) ?? { count: 0, open: 0, isDenied: false };
    asked.set(entry.live, known);
    if (known.isDenied) return refuse(socket, 'denied');
    if (known.count >= LIMITS.secretsPerExecution || known.open >= OPEN_PER_EXECUTION)
      return refuse(socket, 'often');
    if (!questions.isAttended() && questions.links?.canLead(entry.record.owner) !== true)
      return refuse(socket, 'nobody');
    known.count++;
    known.open++;
    const prompt = text.slice(newline + 1, newline + 1 + LIMITS.secretPromptCharacters);
    const given = await ask(options, socket, entry, prompt).finally(() => known.open--);
    if (given?.decision === 'given') {
      for (const form of formsOf(given.secret)) entry.live.mask(form);
      socket.end(`${GIVEN}${given.secret}`);
      return;
    }
    known.isDenied ||= given !== undefined;
    refuse(socket, given === undefined ? 'expired' : 'denied');
  }

  /** It may ask before it is in the table. */
  async function findEntry(marker: string): Promise<RunningEntry | undefined> {
    const wanted = `${MARKER_NAME}=${marker}`;
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      const found = [...running.entries.values()].find(({ record }) => record.marker === wanted);
      if (found !== undefined) return found;
      await sleep(FIND_MS);
    }
    return undefined;
  }

  server.on('connection', (socket) => {
    // Its other end may be gone at any time.
    socket.on('error', () => undefined);
    socket.setTimeout(QUESTION_MS, () => socket.destroy());
    answer(socket).catch((error: unknown) => {
      log.debug('a password could not be asked for', { error: messageOf(error) });
      refuse(socket, 'failed');
    });
  });

  /** From here on, where the operator's settings allow it; a failure is logged. */
  const listen = once(async () => {
    const directory = options.security.askpass();
    if (directory === undefined) return;
    try {
      await listenOn(server, join(makeAskpass(directory), ASKPASS_SOCKET));
      server.unref();
    } catch (error) {
      log.warn('programs cannot ask the operator for passwords', { error: messageOf(error) });
    }
  });

  return { open: listen, dispose: () => void server.close() };
}

/** Until the program no longer waits for the answer, or its execution has ended. */
async function ask(
  { questions, security }: SecretRequestOptions,
  socket: Socket,
  entry: RunningEntry,
  prompt: string,
): Promise<SecretAnswer | undefined> {
  const { record, client = '', requestId } = entry;
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error('nobody waits for the answer'));
  socket.once('close', leave);
  void entry.live.finished.then(leave);
  const about = { principal: record.owner, client, requestId, executionId: record.id };
  const subject = {
    executionId: record.id,
    principal: record.owner,
    client,
    command: maskBeginning(record.command, COMMAND_CHARACTERS),
    directory: record.directory,
    prompt,
  };
  const wait = { timeoutMs: LIMITS.secretSeconds * 1000, signal: gone.signal };
  let led: ReturnType<SecretLinks['lead']>;
  try {
    const given = await questions.secrets.ask(subject, wait, (questionId) => {
      security.audit.write({
        event: 'secret_asked',
        ...about,
        questionId,
        prompt: maskBeginning(prompt, 200),
      });
      led = questions.links?.lead(record.owner, { path: `s/${questionId}`, message: LEADS_TO });
      led?.refused.addEventListener('abort', leave, { once: true });
    });
    const event = given?.decision === 'given' ? 'secret_given' : 'secret_refused';
    const by = given === undefined ? undefined : `operator ${given.by}`;
    security.audit.write({ event, ...about, ...(by === undefined ? { reason: 'expired' } : { by }) });
    return given;
  } catch (error) {
    if (!gone.signal.aborted) throw error;
    const isRefused = led?.refused.aborted === true;
    security.audit.write({
      event: 'secret_refused',
      ...about,
      reason: isRefused ? 'declined' : 'withdrawn',
    });
    return isRefused ? { decision: 'deny', by: 'the person at the client' } : undefined;
  } finally {
    led?.end();
  }
}

/** As programs print it: as it is, and in an address. Shorter ones would be found everywhere. */
function formsOf(secret: string): string[] {
  return [...new Set([secret, encodeURIComponent(secret)])].filter(
    (form) => form.length >= MIN_MASKED_LENGTH,
  );
}

const MIN_MASKED_LENGTH = 4;
const LEADS_TO =
  "A program asks for a password on the operator's page of mcp-shell-server. Type passwords only there.";
const MAX_QUESTION = 8192;
/** The program writes it at once. */
const QUESTION_MS = 2000;
/** Of the command, in a question. */
const COMMAND_CHARACTERS = 4000;
/** One after the other, as a person answers; a few programs may ask at once. */
const OPEN_PER_EXECUTION = 4;
const FIND_ATTEMPTS = 20;
const FIND_MS = 50;

function refuse(socket: Socket, why: Refusal): void {
  socket.end(`${REFUSED}${REFUSALS[why]}`);
}
