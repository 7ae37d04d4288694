/** What would be decided about a command and why, the settings that hold, and what works on this machine. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ExplainAnswer, FindingRow, SettingRow } from '../wire.ts';
import { Facts } from './asked.tsx';
import { useRequest } from './asking.ts';
import { visible } from './text.ts';

export function PolicyPage(): JSX.Element {
  return (
    <section class="page policy" aria-label="Policy">
      <Explain />
      <Doctor />
      <Settings />
    </section>
  );
}

const TONES = { allow: 'completed', deny: 'failed', ask: 'timeout' } as const;

function Explain(): JSX.Element {
  const [command, setCommand] = useState('');
  const [directory, setDirectory] = useState('');
  const { answer, failure, ask } = useRequest<ExplainAnswer>();
  function explain(event: Event): void {
    event.preventDefault();
    if (command === '') return;
    void ask('api/policy/explain', { command, ...(directory !== '' && { directory }) });
  }
  return (
    <section aria-label="Explain a command">
      <h2>What would be decided</h2>
      <form class="choices" onSubmit={explain}>
        <input
          id="search"
          class="wide"
          aria-label="Command"
          placeholder="A command, which is not run ( / )"
          value={command}
          onInput={(event) => setCommand(event.currentTarget.value)}
        />
        <input
          aria-label="Working directory"
          placeholder="Directory (default)"
          value={directory}
          onInput={(event) => setDirectory(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          Explain
        </button>
      </form>
      {failure !== '' && <p role="status">{visible(failure)}</p>}
      {failure === '' && answer !== undefined && <Explained answer={answer} />}
    </section>
  );
}

function Explained({ answer }: { answer: ExplainAnswer }): JSX.Element {
  const { decision, code = '', rule, reason, part = '', hint = '', commands, unknowns } = answer;
  const found = commands.map(({ text, foundIn }) =>
    foundIn.length === 0 ? text : `${text}   in ${foundIn.join(' > ')}`,
  );
  const facts = [
    ['Rule', rule],
    ['Code', code],
    ['Part', part],
    ['Hint', hint],
    ['Commands', found.join('\n')],
    ['Unknown', unknowns.map((each) => `${each.reason}: ${each.part}`).join('\n')],
  ] as const;
  return (
    <div class="explained" role="status">
      <p>
        <span class={`state ${TONES[decision]}`}>{decision}</span> {visible(reason)}
      </p>
      <dl>
        <Facts facts={facts.filter(([, value]) => value !== '')} />
      </dl>
    </div>
  );
}

const STATES = { good: 'completed', warning: 'timeout', problem: 'failed' } as const;

function Doctor(): JSX.Element {
  const { answer: findings, failure, ask } = useRequest<readonly FindingRow[]>();
  const [isBusy, setBusy] = useState(false);
  async function examine(): Promise<void> {
    setBusy(true);
    await ask('api/doctor');
    setBusy(false);
  }
  return (
    <section aria-label="Doctor">
      <h2>This machine</h2>
      <button type="button" onClick={() => void examine()}>
        Examine
      </button>{' '}
      <span role="status">{isBusy ? 'Examining this machine…' : visible(failure)}</span>
      {findings !== undefined && (
        <table>
          <tbody>
            {findings.map(({ name, state, text, fix }, index) => (
              <tr key={index}>
                <th scope="row">{visible(name)}</th>
                <td>
                  <span class={`state ${STATES[state]}`}>{state}</span>
                </td>
                <td>
                  {visible(text)}
                  {fix !== undefined && <p class="quiet">{visible(fix)}</p>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Settings(): JSX.Element {
  const { answer: settings = [], failure, ask } = useRequest<readonly SettingRow[]>();
  useEffect(() => void ask('api/settings'), []);
  return (
    <section aria-label="Settings">
      <h2>Settings in force</h2>
      {failure !== '' && <p>{visible(failure)}</p>}
      <table>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Value</th>
            <th scope="col">From</th>
          </tr>
        </thead>
        <tbody>
          {settings.map(({ key, value, about, source, where }) => (
            <tr key={key}>
              <th scope="row">
                <code>{key}</code>
              </th>
              <td>
                {value === undefined ? (
                  <span class="quiet">{visible(about ?? 'not set')}</span>
                ) : (
                  <code>{visible(JSON.stringify(value))}</code>
                )}
              </td>
              <td class="quiet">{visible([source, where ?? ''].filter(Boolean).join(' '))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
