/** One command that waits for approval: all that decides what would run, and the answers. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { QuestionRow } from '../wire.ts';
import { Answers, AskedView, ClosedView, Facts, sendAnswer } from './asked.tsx';
import { questions } from './page-state.ts';
import { visible } from './text.ts';

const REMEMBER = [
  ['once', 'Allow once'],
  ['hour', 'Allow for an hour'],
  ['session', 'Allow for this session'],
] as const;

export function QuestionView({ id }: { id: string }): JSX.Element {
  const question = questions.value.find((each) => each.id === id);
  if (question === undefined)
    return <ClosedView label="Question" why="It was answered, or nobody waits for the answer any more." />;
  return (
    <AskedView label="Question" state="asks for approval" asked={question}>
      <Asked question={question} />
    </AskedView>
  );
}

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
    <>
      <dl>
        <Facts facts={facts} />
      </dl>
      <Answers>
        <div class="choices">
          {REMEMBER.map(([remember, title]) => (
            <button
              key={remember}
              type="button"
              class={remember === 'once' ? 'primary' : ''}
              onClick={() => void sendAnswer(`${path}/allow`, { remember }, 'Allowed.')}
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
            onClick={() => void sendAnswer(`${path}/deny`, reason === '' ? {} : { reason }, 'Denied.')}
          >
            Deny
          </button>
        </div>
      </Answers>
      <details>
        <summary>The question as a client shows it</summary>
        <pre class="asked">{visible(text)}</pre>
      </details>
    </>
  );
}
