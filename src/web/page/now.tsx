/** What needs a person, what runs, and what ended. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Row } from '../wire.ts';
import { showBytes, showSpan, showTime } from './format.ts';
import {
  askToEnd,
  chosenId,
  connection,
  done,
  go,
  listed,
  needsYou,
  older,
  query,
  questions,
  running,
  type StateFilter,
  secrets,
  session,
  spanOf,
  stateFilter,
  view,
} from './page-state.ts';
import { Plot } from './plot.tsx';
import { Approvals, Questions } from './questions-list.tsx';
import { Secrets } from './secret-view.tsx';
import { visible } from './text.ts';

const FILTERS: readonly (readonly [StateFilter, string])[] = [
  ['all', 'All'],
  ['running', 'Running'],
  ['failed', 'Failed'],
  ['terminal', 'Terminals'],
];

export function NowList(): JSX.Element {
  return (
    <section class="list" aria-label="Executions">
      <div class="tools">
        <input
          id="search"
          type="search"
          aria-label="Search executions"
          placeholder="Search ( / )"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
        />
        <div class="filters" role="group" aria-label="Filter">
          {FILTERS.map(([name, title]) => (
            <button
              key={name}
              type="button"
              aria-pressed={stateFilter.value === name}
              onClick={() => {
                stateFilter.value = name;
              }}
            >
              {title}
            </button>
          ))}
        </div>
      </div>
      <div class="rows" id="rows">
        <Questions />
        <Secrets />
        <Group title="Needs you" rows={needsYou.value} tone="attention" />
        <Group title="Running" rows={running.value} />
        <Group title="Done" rows={done.value} />
        {listed.value.length + questions.value.length + secrets.value.length === 0 && <Empty />}
        <Approvals />
        {older.value > 0 && <p class="quiet more">{older.value} older ones are in the audit log.</p>}
      </div>
    </section>
  );
}

function Empty(): JSX.Element {
  if (connection.value === 'connecting') return <p class="quiet more">Loading…</p>;
  const isFiltered = query.value !== '' || stateFilter.value !== 'all';
  return (
    <div class="more">
      <p>{isFiltered ? 'No execution matches.' : 'No command has run yet.'}</p>
      <p class="quiet">
        {isFiltered
          ? 'Change the search or the filter.'
          : `Commands that agents run on ${session.value?.stateDirectory ?? 'this state directory'} appear here.`}
      </p>
    </div>
  );
}

interface GroupProps {
  readonly title: string;
  readonly rows: readonly Row[];
  readonly tone?: string;
}

function Group({ title, rows, tone = '' }: GroupProps): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <section class={`group ${tone}`} aria-label={title}>
      <h2>
        {title} <span class="count">{rows.length}</span>
      </h2>
      <ul>
        {rows.map((row) => (
          <Item key={row.id} row={row} />
        ))}
      </ul>
    </section>
  );
}

function Item({ row }: { row: Row }): JSX.Element {
  const element = useRef<HTMLLIElement>(null);
  const isChosen = chosenId.value === row.id;
  const isOpen = view.value.name === 'execution' && view.value.id === row.id;
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: 'nearest' });
  }, [isChosen]);
  return (
    <li ref={element} class={`item ${isChosen ? 'chosen' : ''} ${isOpen ? 'open' : ''}`}>
      <a
        href={`#/x/${row.id}`}
        aria-current={isOpen ? 'true' : undefined}
        onClick={(event) => {
          event.preventDefault();
          chosenId.value = row.id;
          go({ name: 'execution', id: row.id });
        }}
      >
        <StateMark row={row} />
        <code class="command">{visible(titleOf(row))}</code>
        <span class="facts">
          <span class="span">{showSpan(spanOf(row))}</span>
          {row.canEnd ? (
            <>
              <span class="memory">{showBytes(row.memoryBytes)}</span>
              <Plot id={row.id} />
            </>
          ) : (
            <span class="when">{showTime(row.startedAtMs)}</span>
          )}
          {row.owner !== 'local' && <span class="owner">{visible(row.owner)}</span>}
          <span class="place">
            <bdi>{visible(row.directory)}</bdi>
          </span>
        </span>
      </a>
      {row.canEnd && session.value?.isReadOnly !== true && (
        <button
          type="button"
          class="end"
          aria-label={`End ${visible(titleOf(row)).slice(0, 80)}`}
          title="End it (x)"
          onClick={() => askToEnd(row)}
        >
          ✕
        </button>
      )}
    </li>
  );
}

export function titleOf({ command, terminal }: Row): string {
  return terminal === undefined ? command : `${terminal.sessionName}: ${terminal.foreground || command}`;
}

export function StateMark({ row }: { row: Row }): JSX.Element {
  const word = wordOf(row);
  return <span class={`state ${row.state}`}>{word}</span>;
}

function wordOf({ state, exitCode, signal, terminal }: Row): string {
  if (state === 'running') return terminal?.isIdle === true ? 'idle' : 'running';
  if (state === 'completed') return 'ok';
  if (state === 'timeout') return 'timeout';
  if (state === 'lost' || state === 'closed') return state;
  return signal ?? (exitCode === undefined ? 'failed' : `exit ${exitCode}`);
}
