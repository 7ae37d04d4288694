/** A server's side of the questions to the operator: asks, waits for the answer, and remembers it on request. */
import { setTimeout as sleep } from 'node:timers/promises';
import { deadlineIn, msUntil } from '../../base/boot.ts';
import { isoTime, ticks } from '../../base/clock.ts';
import { createId } from '../../base/ids.ts';
import { LIMITS } from '../../base/limits.ts';
import { findPage } from './page-address.ts';
import {
  isAttended,
  isOpen,
  listStandingApprovals,
  type OperatorAnswer,
  type Question,
  type QuestionOptions,
  questionDirectory,
  readAnswer,
  remove,
  type StandingApproval,
  type Subject,
  sweep,
  writeRecord,
} from './question-store.ts';

export { announcePage } from './page-address.ts';
export {
  answerQuestion,
  attendQuestions,
  listQuestions,
  listStandingApprovals,
  type OperatorAnswer,
  type Question,
  REMEMBER,
  type Remember,
  revokeApproval,
  type StandingApproval,
  type Subject,
} from './question-store.ts';
export {
  answerSecret,
  createSecretQuestions,
  listSecretQuestions,
  readToEnd,
  type SecretAnswer,
  type SecretQuestion,
  type SecretQuestions,
} from './secret-questions.ts';

export interface Questions {
  /** An approval that was given earlier and holds for this. */
  standing(binding: string): StandingApproval | undefined;
  /** Whether an operator's program is there to show a question. */
  isAttended(): boolean;
  /** The address of the operator's page, where one is served on this machine. */
  page(): string | undefined;
  /**
   * Asks, or goes on waiting for a question that is open already; undefined where there is no answer in time. The
   * question then stays open for the next call. Rejects where the signal is aborted.
   */
  ask(
    subject: Subject,
    wait: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<{ readonly id: string; readonly answer: OperatorAnswer | undefined }>;
  /** Closes the question about this, where one is open, and returns its answer, where it has one. */
  settle(binding: string): OperatorAnswer | undefined;
  /** Remembers an approval; called once it is in the audit log. */
  grant(subject: Subject, answer: OperatorAnswer): void;
  /** Withdraws all that this server has asked. */
  dispose(): void;
}

const POLL_MS = 200;
const HOUR_MS = 3_600_000;
const SESSION_MS = 24 * HOUR_MS;

export function createQuestions(options: QuestionOptions & { readonly seconds: number }): Questions {
  const { instance, clock, stateDir } = options;
  const directory = questionDirectory(stateDir);
  const own = new Map<string, Question>();

  function open(subject: Subject): Question {
    const nowMs = clock.now();
    sweep(directory);
    const known = own.get(subject.binding);
    if (known !== undefined && isOpen(known)) return known;
    const [oldest] = own.values();
    if (oldest !== undefined && own.size >= LIMITS.openQuestions) close(oldest);
    const question: Question = {
      ...subject,
      id: createId('question'),
      instance,
      askedAt: isoTime(nowMs),
      expiresAt: isoTime(nowMs + options.seconds * 1000),
      deadline: deadlineIn(options.seconds * 1000),
    };
    writeRecord(directory, question);
    own.set(subject.binding, question);
    return question;
  }

  function close(question: Question): void {
    own.delete(question.binding);
    remove(directory, question.id);
  }

  return {
    standing: (binding) =>
      listStandingApprovals(stateDir, clock.now()).find(
        (approval) =>
          approval.binding === binding && (approval.instance === undefined || approval.instance === instance),
      ),
    isAttended: () => isAttended(directory, clock.now()),
    page: () => findPage(directory, clock.now()),
    async ask(subject, { timeoutMs, signal }) {
      const question = open(subject);
      const { id } = question;
      const waitMs = Math.min(timeoutMs, msUntil(question.deadline));
      try {
        const answer = await answerTo(() => readAnswer(directory, id), waitMs, signal);
        if (answer !== undefined) close(question);
        return { id, answer };
      } catch (error) {
        if (signal.aborted) close(question);
        throw error;
      }
    },
    settle(binding) {
      const question = own.get(binding);
      if (question === undefined) return undefined;
      const answer = isOpen(question) ? readAnswer(directory, question.id) : undefined;
      close(question);
      return answer;
    },
    grant(subject, answer) {
      if (answer.decision !== 'allow' || answer.remember === 'once') return;
      const holder = answer.remember === 'session' ? instance : undefined;
      writeRecord(directory, standingOf(subject, answer.by, clock.now(), holder));
    },
    dispose() {
      for (const question of own.values()) close(question);
      for (const { id, instance: holder } of listStandingApprovals(stateDir, clock.now()))
        if (holder === instance) remove(directory, id);
    },
  };
}

/** Undefined where there is none in time. */
async function answerTo(
  read: () => OperatorAnswer | undefined,
  waitMs: number,
  signal: AbortSignal,
): Promise<OperatorAnswer | undefined> {
  // A clock that is set must neither cut the wait short nor draw it out.
  const deadline = ticks() + waitMs;
  for (;;) {
    const answer = read();
    const leftMs = deadline - ticks();
    if (answer !== undefined || leftMs <= 0) return answer;
    await sleep(Math.min(POLL_MS, leftMs), undefined, { signal });
  }
}

/** For one server until it ends, or for all of them. */
function standingOf(
  subject: Subject,
  by: string,
  nowMs: number,
  instance: string | undefined,
): StandingApproval {
  const { text: _, ...about } = subject;
  const ms = instance === undefined ? HOUR_MS : SESSION_MS;
  return {
    ...about,
    id: createId('grant'),
    ...(instance !== undefined && { instance }),
    by,
    grantedAt: isoTime(nowMs),
    expiresAt: isoTime(nowMs + ms),
    deadline: deadlineIn(ms),
  };
}
