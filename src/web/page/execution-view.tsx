/** One execution: what was asked, what was decided, how it went, and its output. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditRow, ExecutionDetails, Row } from '../wire.ts';
import { useRequest } from './asking.ts';
import { grouped, showBytes, showSpan, showTime } from './format.ts';
import { StateMark } from './now.tsx';
import { Output } from './output-view.tsx';
import { askToEnd, rows, session, spanOf } from './page-state.ts';
import { RECORDING, RecordingView } from './recording-view.tsx';
import { TerminalView } from './terminal-view.tsx';
import { textOf, visible } from './text.ts';

/** Derived while it runs, a combined output of this size is put together anew for every look. */
const LARGE_BYTES = 8 * 1024 * 1024;

export function ExecutionView({ id }: { id: string }): JSX.Element {
  const { answer: details, failure, ask } = useRequest<ExecutionDetails>();
  const row = rows.value.get(id) ?? details?.row;
  const state = row?.state;
  useEffect(() => {
    const leaving = new AbortController();
    void ask(`api/executions/${id}`, undefined, leaving.signal);
    return () => leaving.abort();
  }, [id, state]);
  if (details === undefined || row === undefined) {
    return (
      <section class="detail empty" aria-label="Execution">
        <p>{failure === '' ? 'Loading…' : failure}</p>
      </section>
    );
  }
  return (
    <section class="detail" aria-label="Execution">
      <div class="head">
        <a class="back" href="#/" aria-label="Back to the list">
          ‹
        </a>
        <StateMark row={row} />
        <span class="span">{showSpan(spanOf(row))}</span>
        <span class="quiet">{showTime(row.startedAtMs)}</span>
        <span class="bar-fill" />
        {row.canEnd && session.value?.isReadOnly !== true && (
          <button type="button" class="danger" onClick={() => askToEnd(row)}>
            End
          </button>
        )}
      </div>
      <pre class="asked" aria-label="Command">
        {visible(details.command)}
      </pre>
      <Facts details={{ ...details, row }} />
      {row.terminal === undefined ? (
        <Streams details={details} isRunning={row.state === 'running'} />
      ) : (
        <TerminalView terminal={row.terminal} />
      )}
    </section>
  );
}

function Facts({ details }: { details: ExecutionDetails }): JSX.Element {
  const { row, outcome, environment, audit } = details;
  const decided = audit.find(({ fields }) => fields['decision'] !== undefined);
  const facts: (readonly [string, string])[] = [
    ['Directory', row.directory],
    ['Principal', row.owner],
    ['Client', textOf(audit.find(({ fields }) => fields['client'] !== undefined)?.fields['client'])],
    ['Mode', row.mode],
    ['Decision', decided === undefined ? '' : describeDecision(decided)],
    ['Outcome', outcome === undefined ? '' : describeOutcome(outcome, row)],
    ['Peak memory', showBytes(outcome?.['peakMemoryBytes'] as number | undefined)],
    ['Memory', row.canEnd ? showBytes(row.memoryBytes) : ''],
    ['CPU', row.canEnd && row.cpuPercent !== undefined ? `${row.cpuPercent.toFixed(1)} %` : ''],
    ['Processes', row.canEnd && row.processes !== undefined ? grouped(row.processes) : ''],
    ['Time limit', details.timeoutMs === undefined ? '' : showSpan(details.timeoutMs)],
    ['Session', details.sessionId ?? ''],
    ['Id', row.id],
  ];
  const variables = Object.entries(environment);
  return (
    <div class="facts-of">
      <dl>
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <bdi>{visible(value)}</bdi>
              </dd>
            </div>
          ))}
      </dl>
      {variables.length > 0 && (
        <details>
          <summary>Environment ({variables.length})</summary>
          <pre>{visible(variables.map(([name, value]) => `${name}=${value}`).join('\n'))}</pre>
        </details>
      )}
      {audit.length > 0 && (
        <details>
          <summary>Audit log ({audit.length})</summary>
          <ol class="audit-lines">
            {audit.map((line) => (
              <AuditLine key={`${line.instance}${line.seq}`} line={line} />
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

function AuditLine({ line }: { line: AuditRow }): JSX.Element {
  const { event, decision, status, reason } = line.fields;
  const about = [decision, status, reason].map(textOf).filter(Boolean).join(', ');
  return (
    <li>
      <details>
        <summary>
          <time>{showTime(Date.parse(line.time))}</time> {visible(textOf(event).replaceAll('_', ' '))}
          {about !== '' && <span class="quiet"> {visible(about)}</span>}
        </summary>
        <pre>{visible(JSON.stringify(line.fields, undefined, 2))}</pre>
      </details>
    </li>
  );
}

function describeDecision({ fields }: AuditRow): string {
  const rule = textOf(fields['rule']);
  return [textOf(fields['decision']), rule === '' ? '' : `by ${rule}`, textOf(fields['reason'])]
    .filter(Boolean)
    .join(' ');
}

function describeOutcome(outcome: Readonly<Record<string, unknown>>, { state }: Row): string {
  if (state === 'closed') return 'closed';
  const { status, reason, exitCode, signal, explanation } = outcome;
  const how =
    signal === undefined ? (exitCode === undefined ? '' : `exit code ${textOf(exitCode)}`) : textOf(signal);
  const why = reason === 'exit' || reason === 'signal' ? '' : textOf(reason).replaceAll('_', ' ');
  return [textOf(status), how, why, textOf(explanation)].filter(Boolean).join(', ');
}

function Streams({ details, isRunning }: { details: ExecutionDetails; isRunning: boolean }): JSX.Element {
  const { streams, row } = details;
  const names = streams.map(({ name }) => name);
  const bytes = streams.reduce((sum, { sizeBytes }) => Math.max(sum, sizeBytes), 0);
  const first = isRunning && bytes > LARGE_BYTES && names.includes('stdout') ? 'stdout' : names[0];
  const [wanted, setWanted] = useState<string | undefined>(undefined);
  const stream = wanted ?? first ?? (isRunning ? 'combined' : undefined);
  if (stream === undefined) return <p class="quiet no-output">No output was kept.</p>;
  if (stream === RECORDING) return <RecordingView id={row.id} streams={names} onStream={setWanted} />;
  return (
    <Output
      key={`${row.id} ${stream}`}
      id={row.id}
      stream={stream}
      streams={names.length > 0 ? names : ['combined', 'stdout', 'stderr']}
      isRunning={isRunning}
      onStream={setWanted}
    />
  );
}
