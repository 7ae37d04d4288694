/**
 * Requests to an MCP endpoint as bytes, for what no well-behaved client sends, and event streams read by hand.
 */
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { initialize, modern } from './raw-streams.ts';

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Anything but text or bytes is sent as JSON. */
  readonly body?: unknown;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The body as JSON, or of an event stream the last message. */
  readonly json: Record<string, unknown>;
}

/** What a 2026-07-28 client sends. */
export function modernRequest(message: Record<string, unknown>, token?: string): RawRequest {
  const name = (message['params'] as { name?: unknown } | undefined)?.name;
  return {
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': String(message['method']),
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: modern(message),
  };
}

/** A handshake of the 2025 era; answers with the headers of the session. */
export async function openSession(
  url: string,
  token?: string,
  protocolVersion = '2025-11-25',
): Promise<Record<string, string>> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const params = { ...(initialize['params'] as object), protocolVersion };
  const answer = await sendRaw(url, { headers, body: { ...initialize, params } });
  const id = answer.headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`no session: ${answer.status} ${answer.text}`);
  return { ...headers, 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion };
}

/** Sends and reads to the end. */
export async function sendRaw(url: string, options: RawRequest = {}): Promise<RawAnswer> {
  const stream = await openRaw(url, options);
  await stream.ended;
  const text = stream.text();
  const isStream = stream.headers['content-type']?.startsWith('text/event-stream') === true;
  const json = isStream ? stream.messages().at(-1) : text === '' ? {} : safeParse(text);
  return { status: stream.status, headers: stream.headers, text, json: json ?? {} };
}

export interface RawStream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly ended: Promise<void>;
  text(): string;
  /** The messages of an event stream so far. */
  messages(): Record<string, unknown>[];
  lastEventId(): string | undefined;
  until(found: (text: string) => boolean): Promise<void>;
  /** Breaks the connection off, as a client that dies does. */
  drop(): void;
}

export function openRaw(
  url: string,
  { method = 'POST', path, headers, body }: RawRequest = {},
): Promise<RawStream> {
  return new Promise((resolve, reject) => {
    const target = new URL(url);
    const payload = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    const request = httpRequest({
      host: target.hostname.replace(/^\[|\]$/g, ''),
      port: target.port,
      path: path ?? target.pathname,
      method,
      agent: false,
      headers: {
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        accept: 'application/json, text/event-stream',
        ...Object.fromEntries(Object.entries(headers ?? {}).filter(([, value]) => value !== undefined)),
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', () => undefined);
      const ended = new Promise<void>((done) => response.on('close', () => done()));
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        ended,
        text: () => text,
        messages: () =>
          fieldsOf(text, 'data')
            .filter((data) => data !== '')
            .map(safeParse),
        lastEventId: () => fieldsOf(text, 'id').at(-1),
        async until(found) {
          const deadline = Date.now() + 5000;
          while (!found(text)) {
            if (Date.now() > deadline) throw new Error(`only this came: ${text}`);
            await sleep(5);
          }
        },
        drop: () => request.destroy(),
      });
    });
    request.end(payload);
  });
}

function fieldsOf(text: string, field: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${field}:`))
    .map((line) => line.slice(field.length + 1).trim());
}

function safeParse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
