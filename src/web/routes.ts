/** What the page may ask for, as one table: method, path, whether it changes something, and what is done. */
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { REMEMBER } from '../security/questions/questions.ts';
import type { Actions } from './actions.ts';
import type { AuditView } from './audit-view.ts';
import type { Feed } from './feed.ts';
import type { Inspect } from './inspect-routes.ts';
import type { PageQuestions } from './page-questions.ts';
import type { Session } from './page-sessions.ts';
import type { Tickets } from './tickets.ts';
import type { Watched } from './watched.ts';
import type { AuditFilter } from './wire.ts';

export interface RouteCall {
  readonly session: Session;
  /** What stands for the stars of the path. */
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  /** A star is one segment. */
  readonly path: string;
  /** Refused in read-only mode. */
  readonly isChange: boolean;
  run(call: RouteCall): Promise<unknown>;
}

export interface RouteNeeds {
  readonly watched: Watched;
  readonly feed: Feed;
  readonly actions: Actions;
  readonly questions: PageQuestions;
  readonly tickets: Tickets;
  readonly audit: AuditView;
  readonly inspect: Inspect | undefined;
}

export function createRoutes(needs: RouteNeeds): readonly Route[] {
  const { watched, feed, actions, tickets } = needs;
  return [
    ...questionRoutes(needs),
    ...auditRoutes(needs),
    ...inspectRoutes(needs),
    read('/api/executions/*', ({ parts: [id = ''] }) => watched.details(id)),
    read('/api/executions/*/output', ({ parts: [id = ''], query }) =>
      watched.read(id, linesWanted.parse(query)),
    ),
    read('/api/executions/*/recording', ({ parts: [id = ''], query }) =>
      watched.recording(id, recordingWanted.parse(query).offset),
    ),
    read('/api/executions/*/search', ({ parts: [id = ''], query, signal }) =>
      watched.search(id, { ...searchWanted.parse(query), signal }),
    ),
    post('/api/executions/*/download', async ({ session, parts: [id = ''], body }) => {
      const { stream } = z.object({ stream: z.string() }).parse(body);
      await watched.details(id);
      return { url: `download/${tickets.create(session, { id, stream })}` };
    }),
    change('/api/executions/*/end', async ({ session, parts: [id = ''] }) => {
      await watched.details(id);
      actions.record(session, { action: 'end', executionId: id });
      const result = await watched.end(id);
      feed.refresh();
      return { result };
    }),
  ];
}

function questionRoutes({ questions, feed }: RouteNeeds): readonly Route[] {
  const answer = (path: string, run: (call: RouteCall, id: string) => void | Promise<void>): Route =>
    change(path, async (call) => {
      await run(call, call.parts[0] ?? '');
      feed.refresh();
      return {};
    });
  return [
    answer('/api/questions/*/allow', ({ session, body }, id) =>
      questions.allow(session, id, z.object({ remember: z.enum(REMEMBER) }).parse(body).remember),
    ),
    answer('/api/questions/*/deny', ({ session, body }, id) =>
      questions.deny(session, id, z.object({ reason: z.string().max(500).optional() }).parse(body).reason),
    ),
    answer('/api/approvals/*/revoke', ({ session }, id) => questions.revoke(session, id)),
    answer('/api/secrets/*/give', ({ session, body }, id) =>
      questions.giveSecret(session, id, z.object({ secret: z.string() }).parse(body).secret),
    ),
    answer('/api/secrets/*/deny', ({ session }, id) => questions.giveSecret(session, id, undefined)),
  ];
}

function auditRoutes({ audit, watched }: RouteNeeds): readonly Route[] {
  return [
    read('/api/audit', async ({ query }) => audit.search(dropEmpty(auditFilter.parse(query)))),
    // A record is written after its line, so that they are listed first.
    read('/api/audit/verify', async () => audit.verify(await watched.ids())),
  ];
}

function inspectRoutes({ inspect }: RouteNeeds): readonly Route[] {
  if (inspect === undefined) return [];
  return [
    post('/api/policy/explain', ({ body }) => {
      const { command, ...options } = explainWanted.parse(body);
      return inspect.explain(command, options);
    }),
    read('/api/settings', async () => inspect.settings()),
    read('/api/doctor', () => inspect.doctor()),
  ];
}

const auditFilter = z.object({
  text: z.string().max(1000).optional(),
  since: z.string().max(40).optional(),
  decision: z.string().max(20).optional(),
  status: z.string().max(20).optional(),
  event: z.string().max(60).optional(),
  principal: z.string().max(200).optional(),
});

const explainWanted = z.object({
  command: z.string().min(1).max(32_768),
  directory: z.string().min(1).optional(),
  principal: z.string().min(1).optional(),
});

/** A field of a form that nobody filled in. */
function dropEmpty(filter: z.infer<typeof auditFilter>): AuditFilter {
  return Object.fromEntries(
    Object.entries(filter).filter(([, value]) => value !== '' && value !== undefined),
  );
}

const read = (path: string, run: Route['run']): Route => ({ method: 'GET', path, isChange: false, run });
const post = (path: string, run: Route['run']): Route => ({ method: 'POST', path, isChange: false, run });
const change = (path: string, run: Route['run']): Route => ({ method: 'POST', path, isChange: true, run });

const linesWanted = z.object({
  stream: z.string(),
  line: z.coerce.number().int(),
  count: z.coerce.number().int().min(1).max(2000),
});

const recordingWanted = z.object({ offset: z.coerce.number().int().min(0).default(0) });

const searchWanted = z.object({
  stream: z.string(),
  pattern: z.string().min(1).max(1000),
  fromOffset: z.coerce.number().int().min(0).default(0),
});

export function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): { readonly route: Route; readonly parts: readonly string[] } | 'method' | undefined {
  const segments = path.split('/');
  const matching = routes.flatMap((route) => {
    const wanted = route.path.split('/');
    const fits =
      wanted.length === segments.length &&
      wanted.every((part, index) => part === '*' || part === segments[index]);
    return fits ? [{ route, parts: segments.filter((_, index) => wanted[index] === '*') }] : [];
  });
  return (
    matching.find(({ route }) => route.method === method) ?? (matching.length > 0 ? 'method' : undefined)
  );
}

/** Of a change; nothing on the page sends more. */
const MAX_BODY_BYTES = 64 * 1024;

export async function readBody(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST') return undefined;
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new ShellServerError('PARAM_002', 'The Content-Type must be application/json.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new ShellServerError('PARAM_002', 'The body is too large.');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    throw new ShellServerError('PARAM_002', 'The body must be JSON.');
  }
}
