/** The frame around every view: where one is, whether the page is live, and what is asked. */
import type { JSX } from 'preact';
import { AuditPage } from './audit-page.tsx';
import { Ending, Help, Notice } from './dialogs.tsx';
import { ExecutionView } from './execution-view.tsx';
import { NowList } from './now.tsx';
import { connection, problem, servers, session, view } from './page-state.ts';
import { PolicyPage } from './policy-page.tsx';
import { QuestionView } from './question-view.tsx';
import { SecretView } from './secret-view.tsx';

const VIEWS = [
  ['now', 'Now', '#/'],
  ['audit', 'Audit', '#/audit'],
  ['policy', 'Policy', '#/policy'],
] as const;

const isAt = (name: string): boolean => view.value.name === name || (name === 'now' && 'id' in view.value);

export function App(): JSX.Element {
  const at = view.value;
  return (
    <div class={`frame at-${at.name}`}>
      <header class="bar">
        <a class="brand" href="#/" aria-label="mcp-shell-server: what runs now">
          <span class="mark" aria-hidden="true">
            ❯_
          </span>
          <span class="brand-name">mcp-shell-server</span>
        </a>
        <nav class="views" aria-label="Views">
          {VIEWS.map(([name, title, href]) => (
            <a key={name} href={href} aria-current={isAt(name) ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <span class="bar-fill" />
        {session.value?.isReadOnly === true && <span class="tag">read-only</span>}
        <Live />
      </header>
      <main class={`columns ${at.name === 'audit' || at.name === 'policy' ? 'single' : ''}`}>
        {at.name === 'audit' && <AuditPage />}
        {at.name === 'policy' && <PolicyPage />}
        {at.name !== 'audit' && at.name !== 'policy' && <NowList />}
        {at.name === 'now' && <Nothing />}
        {at.name === 'execution' && <ExecutionView key={at.id} id={at.id} />}
        {at.name === 'question' && <QuestionView key={at.id} id={at.id} />}
        {at.name === 'secret' && <SecretView key={at.id} id={at.id} />}
      </main>
      <Ending />
      <Help />
      <Notice />
    </div>
  );
}

function Live(): JSX.Element {
  const words = {
    connecting: 'Connecting…',
    live: `${servers.value} ${servers.value === 1 ? 'server' : 'servers'}`,
    broken: 'Disconnected, trying again…',
    expired: 'Session expired',
  }[connection.value];
  return (
    <span class={`live ${connection.value}`} role="status" title={problem.value}>
      {words}
    </span>
  );
}

function Nothing(): JSX.Element {
  return (
    <section class="detail empty" aria-label="Execution">
      <p>Choose an execution to see its output.</p>
      <p class="quiet">
        <kbd>j</kbd> <kbd>k</kbd> to move, <kbd>Enter</kbd> to open, <kbd>?</kbd> for all keys
      </p>
    </section>
  );
}
