/** What questions for an approval and for a password have in common: their list, their frame and how they are answered. */
import type { ComponentChildren, JSX } from 'preact';
import type { AskedRow } from '../wire.ts';
import { request } from './api.ts';
import { act } from './asking.ts';
import { showSpan } from './format.ts';
import { go, notice, nowMs, session, skewMs, view } from './page-state.ts';
import { visible } from './text.ts';

export function AskedList(list: {
  readonly label: string;
  readonly title: string;
  readonly state: string;
  readonly shownAs: 'question' | 'secret';
  readonly rows: readonly AskedRow[];
}): JSX.Element | null {
  const { label, title, state, shownAs, rows } = list;
  if (rows.length === 0) return null;
  return (
    <section class="group attention" aria-label={label}>
      <h2>
        {title} <span class="count">{rows.length}</span>
      </h2>
      <ul>
        {rows.map(({ id, command, client, principal, directory, askedAt }) => (
          <li
            key={id}
            class={`item ${view.value.name === shownAs && view.value.id === id ? 'chosen open' : ''}`}
          >
            <a href={`#/${shownAs === 'question' ? 'q' : 's'}/${id}`}>
              <span class="state asking">{state}</span>
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

export function AskedView(frame: {
  readonly label: string;
  readonly state: string;
  readonly asked: AskedRow;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { label, state, asked, children } = frame;
  return (
    <section class="detail" aria-label={label}>
      <div class="head">
        <a class="back" href="#/" aria-label="Back to the list">
          ‹
        </a>
        <span class="state asking">{state}</span>
        <span class="quiet">closes in {showSpan(leftOf(asked))}</span>
      </div>
      <pre class="asked" aria-label="Command">
        {visible(asked.command)}
      </pre>
      <div class="question">{children}</div>
    </section>
  );
}

export function ClosedView({ label, why }: { label: string; why: string }): JSX.Element {
  return (
    <section class="detail empty" aria-label={label}>
      <p>This question is closed.</p>
      <p class="quiet">{why}</p>
    </section>
  );
}

/** How long it stays open. */
export const leftOf = ({ expiresAt }: Pick<AskedRow, 'expiresAt'>): number =>
  Math.max(0, Date.parse(expiresAt) - nowMs.value - skewMs.value);

export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) =>
  facts.map(([name, value]) => (
    <div key={name}>
      <dt>{name}</dt>
      <dd>
        <pre>{visible(value)}</pre>
      </dd>
    </div>
  ));

/** The answers, for those who may give one. */
export const Answers = ({ children }: { children: ComponentChildren }) =>
  session.value?.isReadOnly === true ? (
    <p class="quiet">This page only shows: it was started with --read-only.</p>
  ) : (
    children
  );

export const sendAnswer = (path: string, body: object, said: string): Promise<void> =>
  act(async () => {
    await request(path, body);
    notice.value = said;
    go({ name: 'now' });
  });
