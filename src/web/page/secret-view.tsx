/** Programs that ask for a password: who asks, and a field whose content goes to the program alone. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { SecretRow } from '../wire.ts';
import { Answers, AskedList, AskedView, ClosedView, Facts, sendAnswer } from './asked.tsx';
import { secrets } from './page-state.ts';
import { visible } from './text.ts';

export const Secrets = (): JSX.Element | null => (
  <AskedList
    label="Password questions"
    title="Asks for a password"
    state="password"
    shownAs="secret"
    rows={secrets.value}
  />
);

export function SecretView({ id }: { id: string }): JSX.Element {
  const secret = secrets.value.find((each) => each.id === id);
  const label = 'Password question';
  if (secret === undefined)
    return <ClosedView label={label} why="It was answered, or the program no longer waits for the answer." />;
  return (
    <AskedView label={label} state="asks for a password" asked={secret}>
      <Asked secret={secret} />
    </AskedView>
  );
}

function Asked({ secret }: { secret: SecretRow }): JSX.Element {
  const facts = [
    ['Directory', secret.directory],
    ['Asked by', secret.client],
    ['Principal', secret.principal],
  ] as const;
  return (
    <>
      <dl>
        <Facts facts={facts} />
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
      <Answers>
        {/* A field of its own for each question: what was typed for another is never in it. */}
        <Answer key={secret.id} id={secret.id} />
      </Answers>
    </>
  );
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
        void sendAnswer(`${path}/give`, { secret }, 'The program has it.');
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
      <button type="button" class="danger" onClick={() => void sendAnswer(`${path}/deny`, {}, 'Denied.')}>
        Deny
      </button>
    </form>
  );
}
