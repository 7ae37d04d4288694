/** Programs that ask for a password: who asks, and a field whose content goes to the program alone. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { SecretRow } from '../wire.ts';
import { request } from './api.ts';
import { showSpan } from './format.ts';
import { go, notice, nowMs, secrets, session, skewMs, view } from './page-state.ts';
import { visible } from './text.ts';

export function Secrets(): JSX.Element | null {
  if (secrets.value.length === 0) return null;
  return (
    <section class="group attention" aria-label="Password questions">
      <h2>
        Asks for a password <span class="count">{secrets.value.length}</span>
      </h2>
      <ul>
        {secrets.value.map(({ id, command, client, principal, directory, askedAt }) => (
          <li
            key={id}
            class={`item ${view.value.name === 'secret' && view.value.id === id ? 'chosen open' : ''}`}
          >
            <a href={`#/s/${id}`}>
              <span class="state asking">password</span>
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

export function SecretView({ id }: { id: string }): JSX.Element {
  const secret = secrets.value.find((each) => each.id === id);
  if (secret === undefined)
    return (
      <section class="detail empty" aria-label="Password question">
        <p>This question is closed.</p>
        <p class="quiet">It was answered, or the program no longer waits for the answer.</p>
      </section>
    );
  const leftMs = Math.max(0, Date.parse(secret.expiresAt) - nowMs.value - skewMs.value);
  return (
    <section class="detail" aria-label="Password question">
      <div class="head">
        <a class="back" href="#/" aria-label="Back to the list">
          ‹
        </a>
        <span class="state asking">asks for a password</span>
        <span class="quiet">closes in {showSpan(leftMs)}</span>
      </div>
      <pre class="asked" aria-label="Command">
        {visible(secret.command)}
      </pre>
      <Facts secret={secret} />
    </section>
  );
}

function Facts({ secret }: { secret: SecretRow }): JSX.Element {
  const facts = [
    ['Directory', secret.directory],
    ['Asked by', secret.client],
    ['Principal', secret.principal],
  ] as const;
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
        <div>
          <dt>Execution</dt>
          <dd>
            <a href={`#/x/${secret.executionId}`}>{secret.executionId}</a>
          </dd>
        </div>
        <div>
          <dt>Its words</dt>
          <dd>
            <pre aria-label="Words of the program">{visible(secret.prompt)}</pre>
          </dd>
        </div>
      </dl>
      <p class="quiet">
        These words come from the command, not from mcp-shell-server, and can be false. Any program of the
        command can ask. It gets what you type and can do anything with it. Outputs show it as ***, unless the
        command changes it.
      </p>
      {session.value?.isReadOnly === true ? (
        <p class="quiet">This page only shows: it was started with --read-only.</p>
      ) : (
        <Answer id={secret.id} />
      )}
    </div>
  );
}

async function send(path: string, body: object, said: string): Promise<void> {
  try {
    await request(path, body);
    notice.value = said;
    go({ name: 'now' });
  } catch (error) {
    notice.value = error instanceof Error ? error.message : 'The answer could not be given.';
  }
}

function Answer({ id }: { id: string }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const path = `api/secrets/${id}`;
  return (
    <form
      class="choices"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        const secret = field.current?.value ?? '';
        if (field.current !== null) field.current.value = '';
        void send(`${path}/give`, { secret }, 'The program has it.');
      }}
    >
      <input
        ref={field}
        type="password"
        aria-label="Password for this command"
        placeholder="Password for this command"
        autocomplete="off"
        required
        maxLength={1000}
      />
      <button type="submit" class="primary">
        Give it to the command
      </button>
      <button type="button" class="danger" onClick={() => void send(`${path}/deny`, {}, 'Denied.')}>
        Deny
      </button>
    </form>
  );
}
