/** One command that waits for approval: all that decides what would run, and the answers. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { QuestionRow } from '../wire.ts';
import { request } from './api.ts';
import { showSpan } from './format.ts';
import { go, notice, nowMs, questions, session, skewMs } from './page-state.ts';
import { visible } from './text.ts';

const REMEMBER = [
  ['once', 'Allow once'],
  ['hour', 'Allow for an hour'],
  ['session', 'Allow for this session'],
] as const;

async function answer(path: string, body: object, said: string): Promise<void> {
  try {
    await request(path, body);
    notice.value = said;
    go({ name: 'now' });
  } catch (error) {
    notice.value = error instanceof Error ? error.message : 'The answer could not be given.';
  }
}

export function QuestionView({ id }: { id: string }): JSX.Element {
  const question = questions.value.find((each) => each.id === id);
  return question === undefined ? (
    <section class="detail empty" aria-label="Question">
      <p>This question is closed.</p>
      <p class="quiet">It was answered, or nobody waits for the answer any more.</p>
    </section>
  ) : (
    <section class="detail" aria-label="Question">
      <div class="head">
        <a class="back" href="#/" aria-label="Back to the list">
          ‹
        </a>
        <span class="state asking">asks for approval</span>
        <span class="quiet">closes in {showSpan(leftOf(question))}</span>
      </div>
      <pre class="asked" aria-label="Command">
        {visible(question.command)}
      </pre>
      <Asked question={question} />
    </section>
  );
}

const leftOf = ({ expiresAt }: QuestionRow): number =>
  Math.max(0, Date.parse(expiresAt) - nowMs.value - skewMs.value);

function Asked({ question }: { question: QuestionRow }): JSX.Element {
  const [reason, setReason] = useState('');
  const { id, directory, principal, client, tool, rule, parts, text } = question;
  const facts = [
    ['Directory', directory],
    ['Rule', rule],
    ['Asked by', `${client}, ${tool}`],
    ['Principal', principal],
    ['Commands', parts.join('\n')],
  ] as const;
  const path = `api/questions/${id}`;
  return (
    <div class="question">
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <pre>{visible(value)}</pre>
            </dd>
          </div>
        ))}
      </dl>
      {session.value?.isReadOnly === true ? (
        <p class="quiet">This page only shows: it was started with --read-only.</p>
      ) : (
        <>
          <div class="choices">
            {REMEMBER.map(([remember, title]) => (
              <button
                key={remember}
                type="button"
                class={remember === 'once' ? 'primary' : ''}
                onClick={() => void answer(`${path}/allow`, { remember }, 'Allowed.')}
              >
                {title}
              </button>
            ))}
          </div>
          <div class="choices">
            <input
              aria-label="Reason, which the model reads"
              placeholder="Reason, which the model reads"
              maxLength={500}
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
            <button
              type="button"
              class="danger"
              onClick={() => void answer(`${path}/deny`, reason === '' ? {} : { reason }, 'Denied.')}
            >
              Deny
            </button>
          </div>
        </>
      )}
      <details>
        <summary>The question as a client shows it</summary>
        <pre class="asked">{visible(text)}</pre>
      </details>
    </div>
  );
}
