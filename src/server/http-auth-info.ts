import type { IncomingMessage } from 'node:http';
import type { AuthInfo } from '@modelcontextprotocol/server';

/** How the SDK's Node adapters take who is calling, and hand it to the handlers. */
export type AuthenticatedRequest = IncomingMessage & { auth?: AuthInfo };

/** The token itself stays behind: no handler needs it, and what is not there cannot be logged. */
export function withPrincipal(request: IncomingMessage, principal: string): AuthenticatedRequest {
  return Object.assign(request, { auth: { token: '', clientId: principal, scopes: [] } });
}
