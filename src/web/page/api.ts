/** Requests to the page's server, with the key of the session; the cookie goes along by itself. */
import type { ErrorAnswer, LinkAnswer, ListEvent, SessionAnswer } from '../wire.ts';

export class RequestError extends Error {
  readonly status: number;
  readonly answer: ErrorAnswer;
  constructor(status: number, answer: ErrorAnswer) {
    super(answer.message);
    this.status = status;
    this.answer = answer;
  }
}

/** Of this origin alone, its port included, and shared by its tabs: one that renews it renews it for all. */
const STORED = 'shell-key';
const RENEW_MS = 15 * 60_000;

export const storedKey = (): string => localStorage.getItem(STORED) ?? '';

export async function request<Answer>(path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await send(path, body, signal);
  return (await response.json()) as Answer;
}

async function send(
  path: string,
  body: unknown,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = { 'x-shell-key': storedKey() },
): Promise<Response> {
  const response = await fetch(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  if (response.ok) return response;
  throw new RequestError(response.status, await readError(response));
}

const readError = (response: Response): Promise<ErrorAnswer> =>
  response.json().catch(() => ({ code: 'SYSTEM_001', message: `The server answered ${response.status}.` }));

/** The code of a link that the operator's token gets; the token itself is stored nowhere. */
export async function exchangeToken(token: string): Promise<string> {
  const response = await send('api/link', {}, undefined, { authorization: `Bearer ${token}` });
  return new URL(((await response.json()) as LinkAnswer).link).hash;
}

/** With the code of the link, if there is one; else with what an earlier tab has left. */
export async function openSession(hash = location.hash): Promise<SessionAnswer> {
  const code = /^#([\w-]{20,})$/.exec(hash)?.[1];
  // The code is worthless from here on, and need not stay in the history. A link to a view stays.
  if (code !== undefined && hash === location.hash) history.replaceState(undefined, '', location.pathname);
  const answer = await (code === undefined ? renew() : openWith('api/session', { code }));
  // The list says when the session is gone.
  setInterval(() => void renew().catch(() => undefined), RENEW_MS);
  return answer;
}

async function openWith(path: string, body: object): Promise<SessionAnswer> {
  const answer = await request<SessionAnswer>(path, body);
  localStorage.setItem(STORED, answer.key);
  return answer;
}

const renew = (): Promise<SessionAnswer> => openWith('api/session/renew', {});

/** The list and its changes until the signal; throws when the connection breaks. */
export async function followList(onEvent: (event: ListEvent) => void, signal: AbortSignal): Promise<void> {
  const response = await send('api/events', undefined, signal);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) throw new Error('The connection was closed.');
    const parts = `${rest}${value ?? ''}`.split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) onEvent(JSON.parse(part.replace(/^data: /, '')) as ListEvent);
  }
}
