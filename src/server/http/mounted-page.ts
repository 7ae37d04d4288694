/**
 * The operator's page beside the endpoint, below `/ui`. It checks its own requests; only the operator's token is checked
 * here, since this server knows the tokens.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { succeeds } from '../../base/attempt.ts';
import { ShellServerError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import type { Tokens } from '../auth.ts';
import type { PagePlace } from '../page-links.ts';
import type { DenialLog } from './denial-log.ts';
import { INSUFFICIENT_SCOPE, Rejection, serverRejection } from './rejection.ts';
import { type Address, authenticate, inUrl, isLoopback, LOOPBACK_NAMES } from './request-guard.ts';

/** With a slash at its end. */
export const PAGE_BASE = '/ui/';

export interface MountedPage {
  answer(request: IncomingMessage, response: ServerResponse): void;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** A link that opens it once, within ten minutes. */
  createLink(): string;
  /** Ends what the page has open; the connections are the server's. */
  close(): void;
  /** When they are gone. */
  dispose(): Promise<void>;
}

export interface PageContext {
  /** The path of the page, with a slash at its end. */
  readonly base: string;
  readonly port: number;
  /** Host headers, each with the Origin that a page there has; the first is for links. */
  readonly origins: ReadonlyMap<string, string>;
  /** Why the bearer token of this request is not the operator's. */
  checkOperator(request: IncomingMessage): PageDenial | undefined;
}

export interface PageDenial {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

export interface PageOptions {
  /** The operator's own token, without those of clients. */
  readonly operator: Tokens;
  open(context: PageContext): MountedPage;
}

export const isPagePath = (url = ''): boolean => /^\/ui(?:[/?]|$)/.test(url);

/** Exact names, unlike those of the endpoint: a browser adds the cookie to whatever leads here. */
export function originsOf({ host, port, publicUrl }: Address, isTls: boolean): ReadonlyMap<string, string> {
  const names = isLoopback(host) ? [inUrl(host), ...LOOPBACK_NAMES] : [...LOOPBACK_NAMES, inUrl(host)];
  const own = names
    .filter((name) => name !== '0.0.0.0' && name !== '[::]')
    .map((name) => new URL(`${isTls ? 'https' : 'http'}://${name}:${port}`));
  return new Map(
    [...(publicUrl === undefined ? [] : [publicUrl]), ...own].map((url) => [url.host, url.origin]),
  );
}

/**
 * Where the person at a client finds the page: below the public URL, or below the address that the client used, if the page
 * answers there. Without a page here, one may be served beside this server, which only clients of this machine can reach.
 */
export function createPagePlaces({
  host,
  publicUrl,
  origins,
}: Pick<Address, 'host' | 'publicUrl'> & {
  /** Absent: no page is served here. */
  readonly origins: PageContext['origins'] | undefined;
}): (request: IncomingMessage) => PagePlace | undefined {
  const isLocal = publicUrl === undefined && isLoopback(host);
  return ({ headers }) => {
    if (origins === undefined) return isLocal ? 'local' : undefined;
    const origin = publicUrl?.origin ?? origins.get(headers.host?.toLowerCase() ?? '');
    return origin === undefined ? undefined : new URL(PAGE_BASE, origin);
  };
}

/** Refuses what is not the operator's token, and records the attempt. */
export function createOperatorCheck(
  tokens: Tokens | undefined,
  operator: Tokens,
  denialLog: DenialLog,
): PageContext['checkOperator'] {
  return (request) => {
    const requestId = createId('req');
    try {
      authenticate(request, tokens, requestId);
      checkOwner(request, operator, requestId);
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof Rejection)) throw thrown;
      denialLog.add(request, thrown, requestId);
      const { code, message, hint } = thrown.body.error as Omit<PageDenial, 'status'>;
      return { status: thrown.status, code, message, ...(hint !== undefined && { hint }) };
    }
  };
}

function checkOwner(request: IncomingMessage, operator: Tokens, requestId: string): void {
  if (succeeds(() => authenticate(request, operator, requestId))) return;
  const error = new ShellServerError('AUTH_003', 'This token does not grant access to the operator’s page.', {
    hint: 'Use MCP_SHELL_TOKEN, or the token that the server printed when it started.',
  });
  throw serverRejection(403, error, requestId, INSUFFICIENT_SCOPE);
}

/**
 * With a listener for upgrades, Node hands over every request that offers one: a client that would also speak HTTP/2
 * (Java's does) has meant an ordinary request. It is put back without the offer.
 */
export function takeUpgrades(server: Server, page: MountedPage, isTls: boolean): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isPagePath(request.url)) return page.upgrade(request, socket, head);
    const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      const [name = '', value = ''] = request.rawHeaders.slice(at, at + 2);
      if (!/^(?:upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
    }
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
    server.emit(isTls ? 'secureConnection' : 'connection', socket);
  });
}
