/** What the page knows: one signal each, and what changes them. */
import { computed, signal } from '@preact/signals';
import type { ApprovalRow, ListEvent, QuestionRow, Row, SecretRow, SessionAnswer } from '../wire.ts';
import { followList, RequestError } from './api.ts';

export type Connection = 'connecting' | 'live' | 'broken' | 'expired';
export type View =
  | { readonly name: 'now' | 'audit' | 'policy' }
  | { readonly name: 'execution'; readonly id: string }
  | { readonly name: 'question' | 'secret'; readonly id: string };
export type StateFilter = 'all' | 'running' | 'failed' | 'terminal';

export const session = signal<SessionAnswer | undefined>(undefined);
export const connection = signal<Connection>('connecting');
export const problem = signal<string>('');
export const rows = signal<ReadonlyMap<string, Row>>(new Map());
export const questions = signal<readonly QuestionRow[]>([]);
export const secrets = signal<readonly SecretRow[]>([]);
export const approvals = signal<readonly ApprovalRow[]>([]);
export const servers = signal(0);
export const older = signal(0);
/** How far the server's clock is ahead of ours, for how long something has run. */
export const skewMs = signal(0);
export const nowMs = signal(Date.now());
export const query = signal('');
export const stateFilter = signal<StateFilter>('all');
export const chosenId = signal<string | undefined>(undefined);
export const view = signal<View>(readView());
/** Asked whether to end it. */
export const ending = signal<Row | undefined>(undefined);
export const askToEnd = (row: Row): void => {
  ending.value = row;
};
export const isHelpShown = signal(false);
export const notice = signal('');
/** Percent of a processor, the last so many seconds, by id. */
export const loads = new Map<string, number[]>();

const LOADS = 60;

export const needsYou = computed(() => shown().filter(({ terminal }) => terminal?.asksSecret === true));
export const running = computed(() =>
  shown().filter(({ canEnd, terminal }) => canEnd && terminal?.asksSecret !== true),
);
export const done = computed(() => shown().filter(({ canEnd }) => !canEnd));
export const listed = computed(() => [...needsYou.value, ...running.value, ...done.value]);

function shown(): Row[] {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  return [...rows.value.values()]
    .filter((row) => isOfState(row) && words.every((word) => textOf(row).includes(word)))
    .sort((a, b) => orderOf(b) - orderOf(a));
}

const orderOf = (row: Row): number => row.endedAtMs ?? row.startedAtMs;

const textOf = ({ id, command, owner, directory, state, terminal }: Row): string =>
  [id, command, owner, directory, state, terminal?.sessionName ?? '', terminal?.foreground ?? '']
    .join('\n')
    .toLowerCase();

function isOfState({ state, canEnd, terminal, mode }: Row): boolean {
  switch (stateFilter.value) {
    case 'all':
      return true;
    case 'running':
      return canEnd;
    case 'failed':
      return state === 'failed' || state === 'timeout' || state === 'lost';
    case 'terminal':
      return terminal !== undefined || mode === 'terminal';
  }
}

const PATHS = { now: '/', audit: '/audit', policy: '/policy' } as const;

const LETTERS = { execution: 'x', question: 'q', secret: 's' } as const;
const NAMES: Readonly<Record<string, keyof typeof LETTERS>> = { x: 'execution', q: 'question', s: 'secret' };

export function go(next: View): void {
  location.hash = 'id' in next ? `/${LETTERS[next.name]}/${next.id}` : PATHS[next.name];
}

function readView(): View {
  const [, kind = '', id] = /^#\/([xqs])\/(\w+)$/.exec(location.hash) ?? [];
  if (id === undefined)
    return { name: location.hash === '#/audit' ? 'audit' : location.hash === '#/policy' ? 'policy' : 'now' };
  return { name: NAMES[kind] ?? 'execution', id };
}

export function followLocation(): void {
  addEventListener('hashchange', () => {
    view.value = readView();
    if (view.value.name === 'execution') chosenId.value = view.value.id;
  });
  setInterval(() => {
    nowMs.value = Date.now();
  }, 1000);
}

function take(event: ListEvent): void {
  const next = new Map(event.isWhole ? [] : rows.value);
  for (const id of event.gone) next.delete(id);
  for (const row of event.rows) next.set(row.id, row);
  for (const { id, canEnd, cpuPercent } of next.values()) {
    if (!canEnd) loads.delete(id);
    else loads.set(id, [...(loads.get(id) ?? []), cpuPercent ?? 0].slice(-LOADS));
  }
  servers.value = event.servers;
  questions.value = event.questions;
  approvals.value = event.approvals;
  secrets.value = event.secrets;
  older.value = event.older;
  skewMs.value = event.nowMs - Date.now();
  rows.value = next;
  const waiting = event.questions.length + event.secrets.length + needsYou.value.length;
  document.title = waiting === 0 ? 'mcp-shell-server' : `(${waiting}) mcp-shell-server`;
  nowMs.value = Date.now();
}

const RETRY_MS = [250, 1000, 2000, 5000];

/** For as long as the page is open: a connection that breaks is made anew. */
export async function stayConnected(): Promise<never> {
  for (let attempt = 0; ; attempt++) {
    try {
      await followList((event) => {
        take(event);
        attempt = 0;
        connection.value = 'live';
      }, new AbortController().signal);
    } catch (error) {
      const isExpired = error instanceof RequestError && error.status === 401;
      connection.value = isExpired ? 'expired' : 'broken';
      problem.value = error instanceof RequestError ? (error.answer.hint ?? error.message) : '';
    }
    await new Promise((resolve) => {
      setTimeout(resolve, RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)]);
    });
  }
}

/** How long it ran, or has run so far. */
export const spanOf = (row: Row): number =>
  row.durationMs ?? Math.max(0, nowMs.value + skewMs.value - row.startedAtMs);
