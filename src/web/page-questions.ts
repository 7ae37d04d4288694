/** The questions of servers, as `mcp-shell-server questions` answers them. */
import { systemClock } from '../base/clock.ts';
import { currentUser } from '../base/user.ts';
import {
  answerQuestion,
  answerSecret,
  attendQuestions,
  listQuestions,
  listSecretQuestions,
  listStandingApprovals,
  type Remember,
  revokeApproval,
} from '../security/questions/questions.ts';
import type { Actions } from './actions.ts';
import type { Session } from './page-sessions.ts';
import type { ListEvent } from './wire.ts';

export interface PageQuestions {
  list(): Pick<ListEvent, 'questions' | 'approvals' | 'secrets'>;
  /** Servers ask as long as a page is open that can answer. Returns what ends it. */
  attend(): () => void;
  allow(session: Session, id: string, remember: Remember): void;
  deny(session: Session, id: string, reason: string | undefined): void;
  revoke(session: Session, id: string): void;
  /** Goes to the program that asks and nowhere else; undefined is a no. */
  giveSecret(session: Session, id: string, secret: string | undefined): Promise<void>;
}

export function createPageQuestions(stateDir: string, actions: Actions): PageQuestions {
  const { now } = systemClock;
  const nameOf = ({ name }: Session): string => `${currentUser().username}, ${name}`;
  let attended: { close(): void } | undefined;
  let pages = 0;
  return {
    list: () => ({
      questions: listQuestions(stateDir, now()),
      approvals: listStandingApprovals(stateDir, now()),
      secrets: listSecretQuestions(stateDir, now()),
    }),
    attend() {
      pages++;
      attended ??= attendQuestions(stateDir);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        pages--;
        if (pages > 0) return;
        attended?.close();
        attended = undefined;
      };
    },
    allow(session, id, remember) {
      actions.record(session, { action: 'allow', questionId: id });
      answerQuestion(stateDir, id, { decision: 'allow', remember, by: nameOf(session) }, now());
    },
    deny(session, id, reason) {
      actions.record(session, { action: 'deny', questionId: id });
      const by = nameOf(session);
      answerQuestion(stateDir, id, { decision: 'deny', by, ...(reason !== undefined && { reason }) }, now());
    },
    revoke(session, id) {
      const { command, principal } = revokeApproval(stateDir, id, now());
      actions.write(session, { event: 'approval_revoked', remembered: id, command, of: principal });
    },
    async giveSecret(session, id, secret) {
      actions.record(session, { action: secret === undefined ? 'deny' : 'give_secret', questionId: id });
      const by = nameOf(session);
      const answer =
        secret === undefined
          ? ({ decision: 'deny', by } as const)
          : ({ decision: 'given', by, secret } as const);
      await answerSecret(stateDir, id, answer, now());
    },
  };
}
