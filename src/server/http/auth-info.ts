import type { IncomingMessage } from 'node:http';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Caller } from '../auth.ts';
import type { PagePlace } from '../page-links.ts';
import type { Outbox } from './outbox.ts';

/** How the SDK's Node adapters take who is calling, and hand it to the handlers. */
export type AuthenticatedRequest = IncomingMessage & { auth?: AuthInfo };

/** A caller over HTTP, in one request. */
export interface HttpCaller extends Caller {
  /** Made where the request came in, and on every line about it from there to the audit log. */
  readonly requestId: string;
  readonly outbox: Outbox;
  /** Where the person at the client finds the operator's page, if anywhere. */
  readonly page: PagePlace | undefined;
}

/** The token itself stays behind: no handler needs it, and what is not there cannot be logged. */
export function withCaller(request: IncomingMessage, caller: HttpCaller): AuthenticatedRequest {
  return Object.assign(request, { auth: authInfoOf(caller) });
}

export function authInfoOf(caller: HttpCaller): AuthInfo {
  return { token: '', clientId: caller.principal, scopes: [], extra: { caller } };
}

/** Undefined where the edge has not seen the request. */
export function callerIn(auth: AuthInfo | undefined): HttpCaller | undefined {
  return auth?.extra?.['caller'] as HttpCaller | undefined;
}
