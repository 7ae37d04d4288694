/** The audit log: what happened, by filter, over time, and whether the log is what was written. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditAnswer, AuditFilter, AuditRow, VerifyAnswer } from '../wire.ts';
import { request } from './api.ts';
import { useRequest, wordsOf } from './asking.ts';
import { Charts } from './charts.tsx';
import { grouped, showTime } from './format.ts';
import { textOf, visible } from './text.ts';

type Options = readonly (readonly [value: string, title: string])[];

const SINCE: Options = [
  ['1h', 'Last hour'],
  ['24h', 'Last day'],
  ['7d', 'Last week'],
  ['30d', 'Last 30 days'],
];
const anyOf = (title: string, ...names: string[]): Options => [
  ['', title],
  ...names.map((name) => [name, name] as const),
];
const CHOICES = [
  ['since', 'Since', SINCE],
  ['decision', 'Decision', anyOf('Any decision', 'allow', 'deny', 'ask')],
  ['status', 'Outcome', anyOf('Any outcome', 'completed', 'failed', 'timeout')],
] as const;

/** Typing goes on. */
const DELAY_MS = 250;

export function AuditPage(): JSX.Element {
  const [filter, setFilter] = useState<AuditFilter>({ since: '24h' });
  const { answer, failure, ask } = useRequest<AuditAnswer>();
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const query = new URLSearchParams(Object.entries(filter) as [string, string][]);
      void ask(`api/audit?${query}`, undefined, leaving.signal);
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [filter]);
  const change = (part: AuditFilter): void => setFilter({ ...filter, ...part });
  return (
    <section class="page" aria-label="Audit log">
      <div class="tools">
        <input
          id="search"
          type="search"
          aria-label="Search the audit log"
          placeholder="Search ( / )"
          value={filter.text ?? ''}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
        {CHOICES.map(([name, label, options]) => (
          <select
            key={name}
            aria-label={label}
            value={filter[name] ?? ''}
            onChange={(event) => change({ [name]: event.currentTarget.value })}
          >
            {options.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        ))}
        <Verify />
      </div>
      {answer !== undefined && <Charts series={answer.series} />}
      {failure !== '' && <p class="more">{visible(failure)}</p>}
      {answer !== undefined && <Lines answer={answer} />}
    </section>
  );
}

function Lines({ answer: { lines, left } }: { answer: AuditAnswer }): JSX.Element {
  if (lines.length === 0)
    return <p class="quiet more">No line matches. Change the filter, or look further back.</p>;
  return (
    <div class="rows">
      <ol class="audit-table">
        {lines.map((line) => (
          <Line key={`${line.instance}${line.seq}`} line={line} />
        ))}
      </ol>
      {left > 0 && (
        <p class="quiet more">{grouped(left)} older lines match. Narrow the search to see them.</p>
      )}
    </div>
  );
}

const TONES: Readonly<Record<string, string>> = {
  allow: 'completed',
  deny: 'failed',
  ask: 'timeout',
  completed: 'completed',
  failed: 'failed',
  timeout: 'timeout',
};

function Line({ line: { time, instance, seq, fields } }: { line: AuditRow }): JSX.Element {
  const { event, decision, status, principal, command, tool, reason, action } = fields;
  const word = textOf(decision ?? status ?? action);
  const text = [command ?? tool, decision === 'allow' ? '' : reason].map(textOf).filter(Boolean).join('  ');
  return (
    <li>
      <details>
        <summary>
          <time>{showTime(Date.parse(time))}</time>
          <span class={`state ${TONES[word] ?? ''}`}>{visible(word) || '–'}</span>
          <span class="quiet event">{visible(textOf(event).replaceAll('_', ' '))}</span>
          <span class="quiet who">{visible(textOf(principal))}</span>
          <code class="command">{visible(text)}</code>
        </summary>
        <p class="quiet">
          Line {seq} of the log {instance}
        </p>
        <pre>{visible(JSON.stringify(fields, undefined, 2))}</pre>
      </details>
    </li>
  );
}

function Verify(): JSX.Element {
  const [words, setWords] = useState('');
  async function verify(): Promise<void> {
    setWords('Verifying…');
    try {
      setWords(describe(await request<VerifyAnswer>('api/audit/verify')));
    } catch (error) {
      setWords(wordsOf(error));
    }
  }
  return (
    <>
      <button type="button" onClick={() => void verify()}>
        Verify
      </button>
      <span role="status">{visible(words)}</span>
    </>
  );
}

function describe({ lines, files, lost, problems }: VerifyAnswer): string {
  const counted = `${grouped(lines)} lines in ${grouped(files)} files`;
  const missing = lost === 0 ? '' : `; ${grouped(lost)} entries could not be written`;
  if (problems.length === 0) return `Whole: ${counted}${missing}`;
  return `Not what was written: ${problems.map(({ text }) => text).join(' ')}`;
}
