/**
 * What is decided about a request to the page's server before anything else, upgrades included: is it meant for us
 * (Host: a name that was rebound to 127.0.0.1 cannot forge it), does our own page send it (Origin, to the port), and
 * does it have both secrets of a session.
 */
import type { IncomingMessage } from 'node:http';
import type { PageContext, PageDenial } from '../server/http/http.ts';
import type { Session, Sessions } from './page-sessions.ts';
import { KEY_PROTOCOL } from './wire.ts';

export interface Refusal extends PageDenial {
  /** A token can be typed on the page. */
  readonly takesToken?: boolean;
}

/** Where the page is served. */
export interface PagePlace extends Omit<PageContext, 'checkOperator'> {
  /** How an operator without a session gets one. */
  readonly signIn: string;
  /** Why the bearer token of this request gets no link; absent where links are printed only. */
  readonly checkOperator?: (request: IncomingMessage) => Refusal | undefined;
}

type Admission =
  | { readonly ok: true; readonly session: Session }
  | { readonly ok: false; readonly refusal: Refusal };

export type Guard = ReturnType<typeof createGuard>;

const KEY_HEADER = 'x-shell-key';

export function createGuard(place: PagePlace, sessions: Sessions) {
  const { origins, base } = place;
  const isSecure = [...origins.values()].every((origin) => origin.startsWith('https:'));
  // Two pages on one machine have a cookie each.
  const cookieName = `mcp_shell_${place.port}`;
  /** Of a page at the Host of this request, if it is ours. */
  const originOf = ({ headersDistinct }: IncomingMessage): string | undefined => {
    const given = headersDistinct['host'] ?? [];
    return given.length === 1 ? origins.get(given[0]?.toLowerCase() ?? '') : undefined;
  };
  const refuseSession = (code: string, message: string): Refusal =>
    refuse(401, code, message, { hint: place.signIn, takesToken: place.checkOperator !== undefined });
  return {
    cookieName,
    cookieRules: `HttpOnly; SameSite=Strict; Path=${base}${isSecure ? '; Secure' : ''}`,
    originOf,
    refuseSession,
    /** For everything, the files of the page too, which are no secret. */
    checkPlace(request: IncomingMessage): Refusal | undefined {
      if (originOf(request) !== undefined) return undefined;
      return refuse(403, 'HOST', `This Host is not allowed. Use one of ${[...origins.keys()].join(', ')}.`);
    },
    /** For a request that changes something, and for upgrades, the Origin must be there. */
    checkOrigin(request: IncomingMessage, isRequired: boolean): Refusal | undefined {
      const { headersDistinct, headers } = request;
      const given = headersDistinct['origin'] ?? [];
      const isOwn = given.length === 1 && given[0] === originOf(request);
      const site = headers['sec-fetch-site'];
      if (given.length > 0 ? !isOwn : isRequired)
        return refuse(403, 'ORIGIN', 'Only the page itself may send this request.');
      // Browsers leave the Origin out of simple requests, and say this instead.
      if (site !== undefined && site !== 'same-origin')
        return refuse(403, 'ORIGIN', 'Another site sent this request.');
      return undefined;
    },
    admit({ headers }: IncomingMessage, key: string | undefined): Admission {
      const session = sessions.find(readCookie(headers.cookie, cookieName), key);
      if (session !== undefined) return { ok: true, session };
      return { ok: false, refusal: refuseSession('SESSION', 'No session, or it has expired.') };
    },
  };
}

export function refuse(
  status: number,
  code: string,
  message: string,
  more: { readonly hint?: string; readonly takesToken?: boolean } = {},
): Refusal {
  return { status, code, message, ...more };
}

export function keyOf({ headersDistinct }: IncomingMessage): string | undefined {
  const given = headersDistinct[KEY_HEADER] ?? [];
  return given.length === 1 ? given[0] : undefined;
}

/** In a list of subprotocols: a page cannot set headers of an upgrade. */
export function keyOfUpgrade({ headers }: IncomingMessage): string | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  return offered.find((each) => each.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
}

/** One of two with the same name would be another server's. */
function readCookie(header: string | undefined, name: string): string | undefined {
  const found = (header ?? '')
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each.startsWith(`${name}=`));
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
}

/** On every answer. Styles need a nonce where a terminal makes its own. */
export function securityHeaders(origin: string, nonce: string): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "font-src 'self'",
      `connect-src 'self' ${origin.replace(/^http/, 'ws')}`.trimEnd(),
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}
