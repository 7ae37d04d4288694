/**
 * The page and all requests of it, at one place of one server: below `/` of a server of its own, or below `/ui/` of one
 * that serves MCP over HTTP.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import { ticks } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import type { MountedPage } from '../server/http/http.ts';
import { createActions } from './actions.ts';
import { answerError, answerJson, answerRefusal } from './answer.ts';
import { createAuditView } from './audit-view.ts';
import { createFeed } from './feed.ts';
import type { Inspect } from './inspect-routes.ts';
import { type PageFile, readPageFiles } from './page-files.ts';
import { createGuard, keyOf, type PagePlace, refuse, securityHeaders } from './page-guard.ts';
import { createPageQuestions } from './page-questions.ts';
import { createSessions, type Session } from './page-sessions.ts';
import { createRoutes, findRoute, readBody } from './routes.ts';
import { createTerminalSockets } from './terminal-sockets.ts';
import { createTickets } from './tickets.ts';
import { createWatched } from './watched.ts';
import type { LinkAnswer, SessionAnswer } from './wire.ts';

export interface SiteOptions {
  readonly settings: Settings;
  readonly version: string;
  /** Where the built page lies. */
  readonly pageDirectory: string;
  readonly searchWorkerPath: string;
  readonly isReadOnly: boolean;
  /** What rules and settings say; without it, the page has no view of them. */
  readonly inspect?: Inspect;
  readonly log: Log;
}

export function createPageSite(options: SiteOptions, place: PagePlace): MountedPage {
  const site = createSite(options, place);
  const terminals = createTerminalSockets({ ...site, base: place.base });
  return {
    answer(request, response) {
      serve(site, request, response).catch((error: unknown) => answerError(response, error, options.log));
    },
    upgrade: terminals.upgrade,
    createLink: () => linkOf(site, [...place.origins.values()][0] ?? ''),
    close() {
      site.closing.abort();
      terminals.close();
      site.feed.dispose();
    },
    async dispose() {
      site.actions.dispose();
      await Promise.all([site.watched.dispose(), options.inspect?.dispose()]);
    },
  };
}

type Site = ReturnType<typeof createSite>;

function createSite(options: SiteOptions, place: PagePlace) {
  const { settings, log, inspect } = options;
  const sessions = createSessions({ now: ticks });
  const watched = createWatched(settings, options.searchWorkerPath);
  const actions = createActions(settings);
  const questions = createPageQuestions(settings.stateDir, actions);
  const feed = createFeed(watched, questions, (error) =>
    log.warn('the state directory cannot be read', { error: messageOf(error) }),
  );
  const tickets = createTickets(ticks);
  const audit = createAuditView(settings.stateDir);
  return {
    ...options,
    place,
    files: readPageFiles(options.pageDirectory),
    guard: createGuard(place, sessions),
    sessions,
    watched,
    actions,
    questions,
    feed,
    tickets,
    routes: createRoutes({ watched, feed, actions, questions, tickets, audit, inspect }),
    closing: new AbortController(),
  };
}

const linkOf = ({ sessions, place }: Site, origin: string): string =>
  `${origin}${place.base}#${sessions.createCode()}`;

async function serve(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const nonce = randomBytes(16).toString('base64');
  const { base } = site.place;
  const misplaced = site.guard.checkPlace(request);
  const origin = site.guard.originOf(request) ?? '';
  for (const [name, value] of Object.entries(securityHeaders(origin, nonce))) response.setHeader(name, value);
  if (misplaced !== undefined) return answerRefusal(response, misplaced);
  const [asked = '/', search = ''] = (request.url ?? '/').split('?', 2);
  // Paths on the page are relative to it.
  if (`${asked}/` === base)
    return void response.writeHead(308, { location: base, 'content-length': 0 }).end();
  const pathname = asked.startsWith(base) ? asked.slice(base.length - 1) : '';
  const file = site.files.get(pathname);
  if (file !== undefined) return answerFile(request, response, file, nonce);
  if (pathname.startsWith('/download/')) return answerDownload(site, request, response, pathname);
  if (!pathname.startsWith('/api/')) return answerRefusal(response, refuse(404, 'PATH', 'Not found.'));
  if (pathname === '/api/link' && request.method === 'POST') return answerLink(site, request, response);
  const foreign = site.guard.checkOrigin(request, request.method !== 'GET');
  if (foreign !== undefined) return answerRefusal(response, foreign);
  if (pathname === '/api/session' && request.method === 'POST') return openSession(site, request, response);
  const admission = site.guard.admit(request, keyOf(request));
  if (!admission.ok) return answerRefusal(response, admission.refusal);
  const { session } = admission;
  if (pathname === '/api/events' && request.method === 'GET')
    return answerEvents(site, session, request, response);
  if (pathname === '/api/session/renew' && request.method === 'POST')
    return answerSession(site, site.sessions.rotate(session), response);
  await answerRoute(site, { request, response, pathname, search, session });
}

function answerFile(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  file: PageFile,
  nonce: string,
): void {
  if (method !== 'GET' && method !== 'HEAD')
    return answerRefusal(response, refuse(405, 'METHOD', 'Only GET is allowed here.'));
  const isPage = file.type.startsWith('text/html');
  const isZipped = !isPage && /\bgzip\b/.test(headers['accept-encoding'] ?? '');
  const bytes = isZipped ? file.zipped : file.bytes;
  response.writeHead(200, {
    'content-type': file.type,
    'cache-control': 'no-cache',
    ...(isZipped && { 'content-encoding': 'gzip' }),
  });
  response.end(isPage ? file.bytes.toString('utf8').replaceAll('%NONCE%', nonce) : bytes);
}

/** For a program with the operator's token, and for the page on which the operator types it. */
function answerLink(site: Site, request: IncomingMessage, response: ServerResponse): void {
  const { checkOperator } = site.place;
  // A page of another site cannot send the header of a token without being asked first.
  const refusal =
    checkOperator === undefined
      ? refuse(404, 'PATH', 'Not found.')
      : (site.guard.checkOrigin(request, false) ?? checkOperator(request));
  if (refusal !== undefined) return answerRefusal(response, refusal);
  answerJson(response, 200, { link: linkOf(site, site.guard.originOf(request) ?? '') } satisfies LinkAnswer);
}

const codeBody = z.object({ code: z.string().max(200) });

async function openSession(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { code } = codeBody.parse(await readBody(request));
  const session = site.sessions.redeem(code);
  if (session === undefined) {
    const refusal = site.guard.refuseSession('CODE', 'This link was used already, or is too old.');
    return answerRefusal(response, refusal);
  }
  site.actions.record(session, { action: 'open' });
  answerSession(site, session, response);
}

function answerSession(site: Site, { cookie, key }: Session, response: ServerResponse): void {
  const { guard, isReadOnly, version, settings } = site;
  response.setHeader('set-cookie', `${guard.cookieName}=${cookie}; ${guard.cookieRules}; Max-Age=86400`);
  const answer: SessionAnswer = { key, isReadOnly, version, stateDirectory: settings.stateDir };
  answerJson(response, 200, answer);
}

/** What waits for a page that does not read; it gets the whole list when it reads again. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

function answerEvents(
  { feed, sessions, closing, isReadOnly, questions }: Site,
  session: Session,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.flushHeaders();
  // An operator can answer questions until it ends.
  const leave = isReadOnly ? undefined : questions.attend();
  const unsubscribe = feed.subscribe((event) => {
    if (!sessions.isAlive(session) || response.writableLength > MAX_WAITING_BYTES) response.destroy();
    else response.write(`data: ${JSON.stringify(event)}\n\n`);
  });
  const stop = (): void => {
    unsubscribe();
    leave?.();
  };
  request.once('close', stop);
  response.once('close', stop);
  closing.signal.addEventListener('abort', () => response.end(), { once: true });
}

interface RouteRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly pathname: string;
  readonly search: string;
  readonly session: Session;
}

async function answerRoute(site: Site, asked: RouteRequest): Promise<void> {
  const { request, response, pathname, search, session } = asked;
  const found = findRoute(site.routes, request.method ?? '', pathname);
  if (found === undefined) return answerRefusal(response, refuse(404, 'PATH', 'Not found.'));
  if (found === 'method')
    return answerRefusal(response, refuse(405, 'METHOD', 'This method is not allowed here.'));
  if (found.route.isChange && site.isReadOnly) {
    const refusal = refuse(403, 'READ_ONLY', 'This page only shows: it was started with --read-only.');
    return answerRefusal(response, refusal);
  }
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const data = await found.route.run({
    session,
    parts: found.parts,
    query: Object.fromEntries(new URLSearchParams(search)),
    body: await readBody(request),
    signal: leaving.signal,
  });
  answerJson(response, 200, data);
}

/** A link of the page itself, which it has just asked for. */
async function answerDownload(
  site: Site,
  request: IncomingMessage,
  response: ServerResponse,
  pathname: string,
): Promise<void> {
  const found =
    request.method === 'GET' ? site.tickets.redeem(pathname.slice('/download/'.length)) : undefined;
  const isOwn = found !== undefined && site.guard.admit(request, found.session.key).ok;
  if (found === undefined || !isOwn || site.guard.checkOrigin(request, false) !== undefined)
    return answerRefusal(response, refuse(404, 'TICKET', 'This download link was used already.'));
  const { id, stream } = found.wanted;
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${id}.${stream === 'cast' ? 'cast' : `${stream}.txt`}"`,
    'cache-control': 'no-store',
  });
  await pipeline(Readable.from(site.watched.download(id, stream)), response).catch(() => response.destroy());
}
