/** The audit log: what happened, by filter, over time, and whether the log is what was written. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditAnswer, AuditFilter, AuditRow, VerifyAnswer } from '../wire.ts';
import { request } from './api.ts';
import { Charts } from './charts.tsx';
import { grouped, showTime } from './format.ts';
import { visible } from './text.ts';

const SINCE = [
  ['1h', 'Last hour'],
  ['24h', 'Last day'],
  ['7d', 'Last week'],
  ['30d', 'Last 30 days'],
] as const;
const DECISIONS = [
  ['', 'Any decision'],
  ['allow', 'allow'],
  ['deny', 'deny'],
  ['ask', 'ask'],
] as const;
const STATUSES = [
  ['', 'Any outcome'],
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['timeout', 'timeout'],
] as const;

/** Typing goes on. */
const DELAY_MS = 250;

export function AuditPage(): JSX.Element {
  const [filter, setFilter] = useState<AuditFilter>({ since: '24h' });
  const [answer, setAnswer] = useState<AuditAnswer | undefined>(undefined);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const query = new URLSearchParams(Object.entries(filter) as [string, string][]);
      request<AuditAnswer>(`api/audit?${query}`, undefined, leaving.signal).then(
        (found) => {
          setAnswer(found);
          setFailure('');
        },
        (error: unknown) => {
          if (!leaving.signal.aborted)
            setFailure(error instanceof Error ? error.message : 'It cannot be read.');
        },
      );
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
        <Choice
          label="Since"
          options={SINCE}
          value={filter.since ?? ''}
          onChange={(since) => change({ since })}
        />
        <Choice
          label="Decision"
          options={DECISIONS}
          value={filter.decision ?? ''}
          onChange={(decision) => change({ decision })}
        />
        <Choice
          label="Outcome"
          options={STATUSES}
          value={filter.status ?? ''}
          onChange={(status) => change({ status })}
        />
        <Verify />
      </div>
      {answer !== undefined && <Charts series={answer.series} />}
      {failure !== '' && <p class="more">{visible(failure)}</p>}
      {answer !== undefined && <Lines answer={answer} />}
    </section>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly options: readonly (readonly [string, string])[];
  readonly value: string;
  onChange(value: string): void;
}

function Choice({ label, options, value, onChange }: ChoiceProps): JSX.Element {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map(([name, title]) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </select>
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

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
}

function Verify(): JSX.Element {
  const [words, setWords] = useState('');
  async function verify(): Promise<void> {
    setWords('Verifying…');
    try {
      setWords(describe(await request<VerifyAnswer>('api/audit/verify')));
    } catch (error) {
      setWords(error instanceof Error ? error.message : 'It could not be verified.');
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
