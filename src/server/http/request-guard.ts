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

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: URL | undefined;
}

type GuardOptions = Address & { readonly tokens: Tokens | undefined };

/** Each check throws a Rejection. */
export function createGuard(options: GuardOptions): (request: IncomingMessage, requestId: string) => Caller {
  const checkHost = createHostCheck(options);
  return (request, requestId) => {
    checkHost(request);
    checkOrigin(request, options.publicUrl);
    checkPath(request);
    const caller = authenticate(request, options.tokens, requestId);
    checkMethod(request);
    checkBodyHeaders(request);
    return caller;
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
function allowedHosts({ host, port, publicUrl }: Address): ReadonlySet<string> | undefined {
  if (!isLoopback(host) && publicUrl === undefined) return undefined;
  const names = new Set([...LOOPBACK_NAMES, inUrl(host)].map((name) => `${name}:${port}`));
  if (publicUrl !== undefined) names.add(`${publicUrl.hostname}:${publicUrl.port || defaultPort(publicUrl)}`);
  return names;
}

/** For every listener, with or without tokens. */
export function createHostCheck(address: Address): (request: IncomingMessage) => void {
  const hosts = allowedHosts(address);
  return ({ headersDistinct }) => {
    const given = headersDistinct['host'] ?? [];
    // Node takes the first of two and a proxy may take the last.
    if (given.length > 1) throw protocolRejection(400, -32_600, 'The request has more than one Host header');
    checkName(given[0]?.toLowerCase() ?? '', hosts);
  };
}

function checkName(given: string, hosts: ReadonlySet<string> | undefined): void {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/.exec(given);
  // Without a port it is the scheme's; behind a proxy that ends TLS that is 443.
  const ports = match?.[2] === undefined ? ['80', '443'] : [match[2]];
  if (hosts === undefined) {
    if (match !== null && URL.canParse(`http://${given}`)) return;
    throw protocolRejection(400, -32_600, `The Host ${quote(given)} is not a valid name or address`);
  }
  if (ports.some((port) => hosts.has(`${match?.[1]}:${port}`))) return;
  const allowed = [...hosts].join(', ');
  throw protocolRejection(403, -32_000, `The Host ${quote(given)} is not allowed; use one of ${allowed}`);
}

function checkOrigin({ headers }: IncomingMessage, publicUrl: URL | undefined): void {
  const given = headers.origin;
  if (given === undefined) return;
  const origin = URL.canParse(given) ? new URL(given) : undefined;
  const isHttp = origin?.protocol === 'http:' || origin?.protocol === 'https:';
  if (origin !== undefined && isHttp && LOOPBACK_NAMES.includes(origin.hostname)) return;
  if (origin !== undefined && isHttp && origin.origin === publicUrl?.origin) return;
  throw protocolRejection(403, -32_000, `The Origin ${quote(given)} is not allowed`);
}

function checkPath({ url = '' }: IncomingMessage): void {
  if (url.split('?', 1)[0] !== MCP_PATH)
    throw protocolRejection(404, -32_000, `Not found; the endpoint is ${MCP_PATH}`);
}

export function authenticate(
  { headers }: IncomingMessage,
  tokens: Tokens | undefined,
  requestId: string,
): Caller {
  if (tokens === undefined) return { principal: LOCAL_PRINCIPAL, grant: EVERYTHING };
  const token = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) {
    const error = new ShellServerError('AUTH_001', 'Bearer token required.');
    throw serverRejection(401, error, requestId, NO_TOKEN);
  }
  const found = tokens.verify(token);
  if (typeof found !== 'string') return found;
  const why = found === 'expired' ? 'The bearer token has expired.' : 'The bearer token is not valid.';
  throw serverRejection(401, new ShellServerError('AUTH_002', why), requestId, INVALID_TOKEN);
}

const METHODS = ['GET', 'POST', 'DELETE'];

function checkMethod({ method = '' }: IncomingMessage): void {
  if (METHODS.includes(method)) return;
  const allow = METHODS.join(', ');
  throw protocolRejection(405, -32_000, `The method ${quote(method)} is not allowed`, { allow });
}

function checkBodyHeaders({ method, headers }: IncomingMessage): void {
  if (method !== 'POST') return;
  if (!isJsonContentType(headers['content-type']))
    throw protocolRejection(415, -32_000, 'The Content-Type must be application/json');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw protocolRejection(415, -32_000, `The Content-Encoding ${quote(encoding)} is not known`);
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    throw protocolRejection(417, -32_000, `The expectation ${quote(headers.expect)} cannot be met`);
  if (Number(headers['content-length']) > LIMITS.httpBodyBytes) throw tooLarge();
}

export function tooLarge(): Rejection {
  return protocolRejection(413, -32_600, `The body is too large; it may have ${LIMITS.httpBodyBytes} bytes`);
}

function defaultPort(url: URL): string {
  return url.protocol === 'https:' ? '443' : '80';
}
