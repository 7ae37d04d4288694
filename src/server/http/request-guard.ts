/**
 * What is decided about a request before a byte of its body is read, in this order: is it meant for us (Host: a page
 * that rebinds its DNS name to 127.0.0.1 cannot forge it), does a foreign web page send it (Origin), is there
 * anything at this path, who sends it, and could the body be a message at all.
 */
import type { IncomingMessage } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import { ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Caller, Tokens } from '../auth.ts';
import { EVERYTHING } from '../grants.ts';
import { LOCAL_PRINCIPAL } from '../offer.ts';
import { quote } from '../quote.ts';
import { INVALID_TOKEN, NO_TOKEN, protocolRejection, type Rejection, serverRejection } from './rejection.ts';

export const MCP_PATH = '/mcp';

export type Verdict =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly rejection: Rejection };

export interface GuardOptions {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: URL | undefined;
  readonly tokens: Tokens | undefined;
}

export function createGuard(options: GuardOptions): (request: IncomingMessage, requestId: string) => Verdict {
  const checkHost = createHostCheck(options);
  return (request, requestId) => {
    const rejection = checkHost(request) ?? checkOrigin(request, options.publicUrl) ?? checkPath(request);
    if (rejection !== undefined) return { ok: false, rejection };
    const caller = authenticate(request, options.tokens, requestId);
    if (!caller.ok) return caller;
    const unreadable = checkMethod(request) ?? checkBodyHeaders(request);
    return unreadable === undefined ? caller : { ok: false, rejection: unreadable };
  };
}

export const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** By its text alone: a name that happens to resolve to 127.0.0.1 may resolve to something else tomorrow. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAMES.includes(inUrl(host)) || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** An IPv6 address has brackets in a URL. */
export function inUrl(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host.toLowerCase();
}

/** Undefined: any. On a public address without a known name every client has a token, which no web page can add. */
function allowedHosts({
  host,
  port,
  publicUrl,
}: Pick<GuardOptions, 'host' | 'port' | 'publicUrl'>): ReadonlySet<string> | undefined {
  if (!isLoopback(host) && publicUrl === undefined) return undefined;
  const names = new Set([...LOOPBACK_NAMES, inUrl(host)].map((name) => `${name}:${port}`));
  if (publicUrl !== undefined) names.add(`${publicUrl.hostname}:${publicUrl.port || defaultPort(publicUrl)}`);
  return names;
}

/** For every listener, with or without tokens. */
export function createHostCheck(
  options: Pick<GuardOptions, 'host' | 'port' | 'publicUrl'>,
): (request: IncomingMessage) => Rejection | undefined {
  const hosts = allowedHosts(options);
  return ({ headersDistinct }) => {
    const given = headersDistinct['host'] ?? [];
    // Node takes the first of two and a proxy may take the last.
    if (given.length > 1) return protocolRejection(400, -32_600, 'The request has more than one Host header');
    return checkName(given[0]?.toLowerCase() ?? '', hosts);
  };
}

function checkName(given: string, hosts: ReadonlySet<string> | undefined): Rejection | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/.exec(given);
  // Without a port it is the scheme's; behind a proxy that ends TLS that is 443.
  const ports = match?.[2] === undefined ? ['80', '443'] : [match[2]];
  if (hosts === undefined) {
    return match !== null && URL.canParse(`http://${given}`)
      ? undefined
      : protocolRejection(400, -32_600, `The Host ${quote(given)} is not a valid name or address`);
  }
  if (ports.some((port) => hosts.has(`${match?.[1]}:${port}`))) return undefined;
  return protocolRejection(
    403,
    -32_000,
    `The Host ${quote(given)} is not allowed; use one of ${[...hosts].join(', ')}`,
  );
}

function checkOrigin({ headers }: IncomingMessage, publicUrl: URL | undefined): Rejection | undefined {
  const given = headers.origin;
  if (given === undefined) return undefined;
  const origin = URL.canParse(given) ? new URL(given) : undefined;
  const isHttp = origin?.protocol === 'http:' || origin?.protocol === 'https:';
  if (origin !== undefined && isHttp && LOOPBACK_NAMES.includes(origin.hostname)) return undefined;
  if (origin !== undefined && isHttp && origin.origin === publicUrl?.origin) return undefined;
  return protocolRejection(403, -32_000, `The Origin ${quote(given)} is not allowed`);
}

function checkPath({ url = '' }: IncomingMessage): Rejection | undefined {
  const path = url.split('?', 1)[0];
  return path === MCP_PATH
    ? undefined
    : protocolRejection(404, -32_000, `Not found; the endpoint is ${MCP_PATH}`);
}

export function authenticate(
  { headers }: IncomingMessage,
  tokens: Tokens | undefined,
  requestId: string,
): Verdict {
  if (tokens === undefined) return { ok: true, caller: { principal: LOCAL_PRINCIPAL, grant: EVERYTHING } };
  const token = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) {
    const error = new ShellServerError('AUTH_001', 'Bearer token required.');
    return { ok: false, rejection: serverRejection(401, error, requestId, NO_TOKEN) };
  }
  const found = tokens.verify(token);
  if (typeof found !== 'string') return { ok: true, caller: found };
  const why = found === 'expired' ? 'The bearer token has expired.' : 'The bearer token is not valid.';
  return {
    ok: false,
    rejection: serverRejection(401, new ShellServerError('AUTH_002', why), requestId, INVALID_TOKEN),
  };
}

function checkMethod({ method = '' }: IncomingMessage): Rejection | undefined {
  if (method === 'POST' || method === 'GET' || method === 'DELETE') return undefined;
  const rejection = protocolRejection(405, -32_000, `The method ${quote(method)} is not allowed`);
  return { ...rejection, headers: { allow: 'GET, POST, DELETE' } };
}

function checkBodyHeaders({ method, headers }: IncomingMessage): Rejection | undefined {
  if (method !== 'POST') return undefined;
  if (!isJsonContentType(headers['content-type'])) {
    return protocolRejection(415, -32_000, 'The Content-Type must be application/json');
  }
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    return protocolRejection(415, -32_000, `The Content-Encoding ${quote(encoding)} is not known`);
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return protocolRejection(417, -32_000, `The expectation ${quote(headers.expect)} cannot be met`);
  if (Number(headers['content-length']) > LIMITS.httpBodyBytes) return tooLarge();
  return undefined;
}

export function tooLarge(): Rejection {
  return protocolRejection(413, -32_600, `The body is too large; it may have ${LIMITS.httpBodyBytes} bytes`);
}

function defaultPort(url: URL): string {
  return url.protocol === 'https:' ? '443' : '80';
}
