/** A server's side of the questions to the operator: asks, waits for the answer, and remembers it on request. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, isoTime, ticks } from '../../base/clock.ts';
import { createId } from '../../base/ids.ts';
import { LIMITS } from '../../base/limits.ts';
import { findPage } from './page-address.ts';
import {
  isAttended,
  listStanding,
  type OperatorAnswer,
  type Question,
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
  ask(subject: Subject, wait: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<Asked>;
  /** Closes the question about this, where one is open, and returns its answer, where it has one. */
  settle(binding: string): OperatorAnswer | undefined;
  /** Remembers an approval; called once it is in the audit log. */
  grant(subject: Subject, answer: OperatorAnswer): void;
  /** Withdraws all that this server has asked. */
  dispose(): void;
}

export interface Asked {
  readonly id: string;
  readonly answer: OperatorAnswer | undefined;
}

const POLL_MS = 200;
const HOUR_MS = 3_600_000;
const SESSION_MS = 24 * HOUR_MS;

export function createQuestions(options: {
  readonly stateDir: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly seconds: number;
}): Questions {
  const { instance, clock, seconds } = options;
  const directory = questionDirectory(options.stateDir);
  const own = new Map<string, Question>();

  function open(subject: Subject): Question {
    const nowMs = clock.now();
    sweep(directory, nowMs);
    const known = own.get(subject.binding);
    if (known !== undefined && Date.parse(known.expiresAt) > nowMs) return known;
    if (own.size >= LIMITS.openQuestions) {
      const [oldest] = own.values();
      if (oldest !== undefined) close(oldest);
    }
    const question: Question = {
      ...subject,
      id: createId('question'),
      instance,
      askedAt: isoTime(nowMs),
      expiresAt: isoTime(nowMs + seconds * 1000),
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
      listStanding(directory, clock.now()).find(
        (approval) =>
          approval.binding === binding && (approval.instance === undefined || approval.instance === instance),
      ),
    isAttended: () => isAttended(directory, clock.now()),
    page: () => findPage(directory, clock.now()),
    async ask(subject, { timeoutMs, signal }) {
      const question = open(subject);
      const { id } = question;
      // A clock that is set must neither cut the wait short nor draw it out.
      const deadline = ticks() + Math.min(timeoutMs, Date.parse(question.expiresAt) - clock.now());
      for (;;) {
        const answer = readAnswer(directory, id);
        if (answer !== undefined) {
          close(question);
          return { id, answer };
        }
        const leftMs = deadline - ticks();
        if (leftMs <= 0) return { id, answer: undefined };
        try {
          await sleep(Math.min(POLL_MS, leftMs), undefined, { signal });
        } catch (error) {
          close(question);
          throw error;
        }
      }
    },
    settle(binding) {
      const question = own.get(binding);
      if (question === undefined) return undefined;
      const isOpen = Date.parse(question.expiresAt) > clock.now();
      const answer = isOpen ? readAnswer(directory, question.id) : undefined;
      close(question);
      return answer;
    },
    grant(subject, answer) {
      if (answer.decision !== 'allow' || answer.remember === 'once') return;
      const nowMs = clock.now();
      const { text: _, ...about } = subject;
      const standing: StandingApproval = {
        ...about,
        id: createId('grant'),
        ...(answer.remember === 'session' && { instance }),
        by: answer.by,
        grantedAt: isoTime(nowMs),
        expiresAt: isoTime(nowMs + (answer.remember === 'session' ? SESSION_MS : HOUR_MS)),
      };
      writeRecord(directory, standing);
    },
    dispose() {
      for (const question of own.values()) close(question);
      for (const { id, instance: holder } of listStanding(directory, clock.now()))
        if (holder === instance) remove(directory, id);
    },
  };
}
