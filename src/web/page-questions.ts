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

export type PageQuestions = ReturnType<typeof createPageQuestions>;

export function createPageQuestions(stateDir: string, actions: Actions) {
  const { now } = systemClock;
  const nameOf = ({ name }: Session): string => `${currentUser().username}, ${name}`;
  let attended: { close(): void } | undefined;
  let pages = 0;
  return {
    list: (): Pick<ListEvent, 'questions' | 'approvals' | 'secrets'> => ({
      questions: listQuestions(stateDir),
      approvals: listStandingApprovals(stateDir, now()),
      secrets: listSecretQuestions(stateDir),
    }),
    /** Servers ask as long as a page is open that can answer. Returns what ends it. */
    attend(): () => void {
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
    allow(session: Session, id: string, remember: Remember): void {
      actions.record(session, { action: 'allow', questionId: id });
      answerQuestion(stateDir, id, { decision: 'allow', remember, by: nameOf(session) });
    },
    deny(session: Session, id: string, reason: string | undefined): void {
      actions.record(session, { action: 'deny', questionId: id });
      const by = nameOf(session);
      answerQuestion(stateDir, id, { decision: 'deny', by, ...(reason !== undefined && { reason }) });
    },
    revoke(session: Session, id: string): void {
      const { command, principal } = revokeApproval(stateDir, id, now());
      actions.write(session, { event: 'approval_revoked', remembered: id, command, of: principal });
    },
    /** Goes to the program that asks and nowhere else; undefined is a no. */
    async giveSecret(session: Session, id: string, secret: string | undefined): Promise<void> {
      actions.record(session, { action: secret === undefined ? 'deny' : 'give_secret', questionId: id });
      const by = nameOf(session);
      const answer =
        secret === undefined
          ? ({ decision: 'deny', by } as const)
          : ({ decision: 'given', by, secret } as const);
      await answerSecret(stateDir, id, answer);
    },
  };
}
