/** What would be decided about a command and why, the settings that hold, and what works on this machine. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ExplainAnswer, FindingRow, SettingRow } from '../wire.ts';
import { request } from './api.ts';
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

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : 'It cannot be shown.');
const TONES = { allow: 'completed', deny: 'failed', ask: 'timeout' } as const;

function Explain(): JSX.Element {
  const [command, setCommand] = useState('');
  const [directory, setDirectory] = useState('');
  const [answer, setAnswer] = useState<ExplainAnswer | undefined>(undefined);
  const [failure, setFailure] = useState('');
  async function ask(event: Event): Promise<void> {
    event.preventDefault();
    if (command === '') return;
    try {
      const body = { command, ...(directory !== '' && { directory }) };
      setAnswer(await request<ExplainAnswer>('api/policy/explain', body));
      setFailure('');
    } catch (error) {
      setAnswer(undefined);
      setFailure(wordsOf(error));
    }
  }
  return (
    <section aria-label="Explain a command">
      <h2>What would be decided</h2>
      <form class="choices" onSubmit={(event) => void ask(event)}>
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
      {answer !== undefined && <Explained answer={answer} />}
    </section>
  );
}

function Explained({ answer }: { answer: ExplainAnswer }): JSX.Element {
  const { decision, code, rule, reason, part, hint, commands, unknowns } = answer;
  return (
    <div class="explained" role="status">
      <p>
        <span class={`state ${TONES[decision]}`}>{decision}</span> {visible(reason)}
      </p>
      <dl>
        <Fact name="Rule" value={rule} />
        <Fact name="Code" value={code} />
        <Fact name="Part" value={part} />
        <Fact name="Hint" value={hint} />
        <Fact
          name="Commands"
          value={commands
            .map(({ text, foundIn }) => (foundIn.length === 0 ? text : `${text}   in ${foundIn.join(' > ')}`))
            .join('\n')}
        />
        <Fact name="Unknown" value={unknowns.map((each) => `${each.reason}: ${each.part}`).join('\n')} />
      </dl>
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string | undefined }): JSX.Element | null {
  if (value === undefined || value === '') return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <pre>{visible(value)}</pre>
      </dd>
    </div>
  );
}

const STATES = { good: 'completed', warning: 'timeout', problem: 'failed' } as const;

function Doctor(): JSX.Element {
  const [findings, setFindings] = useState<readonly FindingRow[] | undefined>(undefined);
  const [words, setWords] = useState('');
  async function examine(): Promise<void> {
    setWords('Examining this machine…');
    try {
      setFindings(await request<readonly FindingRow[]>('api/doctor'));
      setWords('');
    } catch (error) {
      setWords(wordsOf(error));
    }
  }
  return (
    <section aria-label="Doctor">
      <h2>This machine</h2>
      <button type="button" onClick={() => void examine()}>
        Examine
      </button>{' '}
      <span role="status">{visible(words)}</span>
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
  const [settings, setSettings] = useState<readonly SettingRow[]>([]);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    request<readonly SettingRow[]>('api/settings').then(setSettings, (error: unknown) =>
      setFailure(wordsOf(error)),
    );
  }, []);
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
