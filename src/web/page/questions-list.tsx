/** Commands that wait for approval, and approvals that are remembered. */
import type { JSX } from 'preact';
import type { ApprovalRow } from '../wire.ts';
import { request } from './api.ts';
import { AskedList, leftOf } from './asked.tsx';
import { act } from './asking.ts';
import { showSpan } from './format.ts';
import { approvals, notice, questions, session } from './page-state.ts';
import { visible } from './text.ts';

export const Questions = (): JSX.Element | null => (
  <AskedList
    label="Questions"
    title="Needs your approval"
    state="asks"
    shownAs="question"
    rows={questions.value}
  />
);

const revoke = ({ id }: ApprovalRow): Promise<void> =>
  act(async () => {
    await request(`api/approvals/${id}/revoke`, {});
    notice.value = 'Revoked. The next such command asks again.';
  });

export function Approvals(): JSX.Element | null {
  if (approvals.value.length === 0) return null;
  return (
    <section class="group" aria-label="Remembered approvals">
      <h2>
        Remembered approvals <span class="count">{approvals.value.length}</span>
      </h2>
      <ul>
        {approvals.value.map((approval) => (
          <li key={approval.id} class="item approval">
            <div>
              <code class="command">{visible(approval.command)}</code>
              <span class="facts">
                <span>{untilWords(approval)}</span>
                <span class="place">
                  <bdi>{visible(approval.directory)}</bdi>
                </span>
              </span>
            </div>
            {session.value?.isReadOnly !== true && (
              <button type="button" onClick={() => void revoke(approval)}>
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function untilWords(approval: ApprovalRow): string {
  return approval.instance === undefined ? `for ${showSpan(leftOf(approval))} more` : 'for this session';
}
