/** Commands that wait for approval, and approvals that are remembered. */
import type { JSX } from 'preact';
import type { ApprovalRow } from '../wire.ts';
import { request } from './api.ts';
import { showSpan } from './format.ts';
import { approvals, notice, nowMs, questions, session, skewMs, view } from './page-state.ts';
import { visible } from './text.ts';

export function Questions(): JSX.Element | null {
  if (questions.value.length === 0) return null;
  return (
    <section class="group attention" aria-label="Questions">
      <h2>
        Needs your approval <span class="count">{questions.value.length}</span>
      </h2>
      <ul>
        {questions.value.map(({ id, command, client, principal, directory, askedAt }) => (
          <li
            key={id}
            class={`item ${view.value.name === 'question' && view.value.id === id ? 'chosen open' : ''}`}
          >
            <a href={`#/q/${id}`}>
              <span class="state asking">asks</span>
              <code class="command">{visible(command)}</code>
              <span class="facts">
                <span class="span">{showSpan(nowMs.value + skewMs.value - Date.parse(askedAt))}</span>
                <span>{visible(client)}</span>
                {principal !== 'local' && <span>{visible(principal)}</span>}
                <span class="place">
                  <bdi>{visible(directory)}</bdi>
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function revoke({ id }: ApprovalRow): Promise<void> {
  try {
    await request(`api/approvals/${id}/revoke`, {});
    notice.value = 'Revoked. The next such command asks again.';
  } catch (error) {
    notice.value = error instanceof Error ? error.message : 'It could not be revoked.';
  }
}

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

function untilWords({ instance, expiresAt }: ApprovalRow): string {
  if (instance !== undefined) return 'for this session';
  return `for ${showSpan(Math.max(0, Date.parse(expiresAt) - nowMs.value - skewMs.value))} more`;
}
