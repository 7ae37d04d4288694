/** The operator's page below `/ui` of a server over HTTP: for the operator's token alone, and only where it is on. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFixtureFactory, createFixtureTools } from '../../test/e2e/support/fixture-tools.ts';
import { modernRequest } from '../../test/e2e/support/raw-http.ts';
import { call } from '../../test/e2e/support/raw-streams.ts';
import { removeTree } from '../base/files.ts';
import { silentLog } from '../base/log.ts';
import { createTokens } from '../server/auth.ts';
import { type DeniedRequest, type HttpListener, serveHttp } from '../server/http/http.ts';
import { createPageSite } from './page-site.ts';
import { type Answer, type Asked, askPort, pageOptions } from './web.fixture.ts';

const OPERATOR = 'the-token-of-the-operator';
const CLIENT = 'the-token-of-some-client';

let directory: string;
let listener: HttpListener;
let denied: DeniedRequest[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'http-page-'));
  denied = [];
});
afterEach(async () => {
  await listener.close();
  removeTree(directory);
});

async function start(hasPage: boolean, publicUrl?: string): Promise<void> {
  const options = pageOptions(directory, '<p>the page');
  const operator = { token: OPERATOR, principal: 'local' };
  listener = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    publicUrl,
    factory: createFixtureFactory(createFixtureTools()),
    // A client of the same principal is not the operator either.
    tokens: createTokens([operator, { token: CLIENT, principal: 'local' }]),
    log: silentLog,
    onDeniedRequest: (entry) => denied.push(entry),
    ...(hasPage && {
      page: {
        operator: createTokens([operator]),
        open: (context) => createPageSite(options, { ...context, signIn: 'Sign in.' }),
      },
    }),
  });
}

const ask = (asked: Asked): Promise<Answer> => askPort(listener.port, asked);
const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });
const askForLink = (headers: Record<string, string>): Promise<Answer> =>
  ask({ method: 'POST', path: '/ui/api/link', body: {}, headers });
const jsonOf = ({ text }: Answer): Record<string, string> => JSON.parse(text) as Record<string, string>;

/** What the page of a session sends with every request. */
async function secrets(): Promise<{ cookie: string; 'x-shell-key': string; origin: string }> {
  const link = new URL(jsonOf(await askForLink(bearer(OPERATOR)))['link'] ?? '');
  const { origin } = link;
  const opened = await ask({
    method: 'POST',
    path: '/ui/api/session',
    body: { code: link.hash.slice(1) },
    headers: { origin },
  });
  const cookie = String(opened.headers['set-cookie']?.[0]);
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/ui\/; Max-Age=86400$/);
  return { cookie: cookie.split(';')[0] ?? '', 'x-shell-key': jsonOf(opened)['key'] ?? '', origin };
}

const upgradeTo = (path: string, headers: Record<string, string>): Promise<Answer> =>
  ask({
    path,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
      ...headers,
    },
  });

const TERMINAL = '/ui/api/terminals/term_22222222222222222222222222';
const ENDING = '/ui/api/executions/exec_22222222222222222222222222/end';

describe('where it is off', () => {
  beforeEach(() => start(false));

  test.each([
    ['GET', '/ui'],
    ['GET', '/ui/'],
    ['GET', '/ui/page.js'],
    ['GET', '/ui/api/events'],
    ['POST', '/ui/api/link'],
    ['POST', '/ui/api/session'],
    ['POST', ENDING],
  ])('%s %s is not found, for the operator either', async (method, path) => {
    const body = method === 'POST' ? {} : undefined;
    expect((await ask({ method, path, body, headers: bearer(OPERATOR) })).status).toBe(404);
    expect((await ask({ method, path, body })).status).toBe(404);
    expect(listener.createPageLink()).toBeUndefined();
  });

  test('no upgrade is answered with one', async () => {
    expect((await upgradeTo(TERMINAL, bearer(OPERATOR))).status).toBe(404);
  });
});

describe('where it is on', () => {
  beforeEach(() => start(true));

  test('the page is served with its content policy, and the endpoint as before', async () => {
    expect(await ask({ path: '/ui' })).toMatchObject({ status: 308, headers: { location: '/ui/' } });
    const page = await ask({ path: '/ui/' });
    expect([page.status, page.text]).toEqual([200, '<p>the page']);
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain(`connect-src 'self' ws://127.0.0.1:${listener.port};`);
    const { headers, body } = modernRequest(call(1, 'echo', { text: 'hi' }), CLIENT);
    const answer = await ask({
      method: 'POST',
      path: '/mcp',
      headers: headers as Record<string, string>,
      body,
    });
    expect(answer.status).toBe(200);
    expect((await ask({ path: '/uix' })).status).toBe(404);
    expect((await ask({ path: '/' })).status).toBe(404);
  });

  test.each<[string, Record<string, string>, number, string]>([
    ['no token', {}, 401, 'AUTH_001'],
    ['a wrong token', bearer('nope'), 401, 'AUTH_002'],
    ['the token of a client', bearer(CLIENT), 403, 'AUTH_003'],
    [
      'the token of the operator, from another site',
      { ...bearer(OPERATOR), origin: 'https://evil.example' },
      403,
      'ORIGIN',
    ],
    [
      'the token of the operator, from another port',
      { ...bearer(OPERATOR), origin: 'http://127.0.0.1:1' },
      403,
      'ORIGIN',
    ],
    [
      'the token of the operator, at another name',
      { ...bearer(OPERATOR), host: 'evil.example' },
      403,
      'HOST',
    ],
  ])('%s gets no link', async (_, headers, status, code) => {
    const answer = await askForLink(headers);
    expect([answer.status, jsonOf(answer)['code']]).toEqual([status, code]);
    expect(denied).toMatchObject(code.startsWith('AUTH') ? [{ status, code }] : []);
  });

  test('the token of the operator gets a link, which opens one session', async () => {
    const own = await secrets();
    expect((await ask({ path: '/ui/api/executions/none', headers: own })).status).toBe(404);
    expect((await ask({ method: 'POST', path: ENDING, body: {}, headers: own })).status).toBe(404);
    expect((await upgradeTo(TERMINAL, await protocolsOf(own))).status).toBe(101);
    expect(listener.createPageLink()).toMatch(
      new RegExp(`^http://127\\.0\\.0\\.1:${listener.port}/ui/#[\\w-]{43}$`),
    );
  });

  const protocolsOf = async ({ 'x-shell-key': key, ...own }: Awaited<ReturnType<typeof secrets>>) => ({
    ...own,
    'sec-websocket-protocol': `shell, key.${key}`,
  });

  /** [name, headers in place of the page's, status of a read, of a change, of an upgrade] */
  test.each<[string, Record<string, string>, number, number, number]>([
    ['the token of the operator instead of a session', { ...bearer(OPERATOR), cookie: '' }, 401, 401, 401],
    ['a page on another port', { origin: 'http://127.0.0.1:1' }, 403, 403, 403],
    ['a page that the endpoint accepts', { origin: 'http://localhost:5173' }, 403, 403, 403],
    ['a rebound name', { host: 'evil.example', origin: 'http://evil.example' }, 403, 403, 403],
    ['another site, says the browser', { 'sec-fetch-site': 'cross-site' }, 403, 403, 403],
    ['no Origin', { origin: '' }, 403, 403, 403],
  ])('%s is refused', async (_, change, read, done, upgraded) => {
    const own = await secrets();
    const headers = { ...own, ...change };
    const statuses = [
      (await ask({ path: '/ui/api/executions/none', headers })).status,
      (await ask({ method: 'POST', path: ENDING, body: {}, headers })).status,
      (await upgradeTo(TERMINAL, { ...(await protocolsOf(own)), ...change })).status,
    ];
    expect(statuses).toEqual([read, done, upgraded]);
  });

  test.each(['/mcp', '/', '/api/terminals/term_22222222222222222222222222', '/uix/api/terminals/x'])(
    'an upgrade of %s is none',
    async (path) => {
      const own = await protocolsOf(await secrets());
      expect((await upgradeTo(path, own)).status).toBe(path === '/mcp' ? 401 : 404);
    },
  );

  test('a client that offers HTTP/2 is answered as before, its body included', async () => {
    const { headers, body } = modernRequest(call(1, 'echo', { text: 'x'.repeat(200_000) }), CLIENT);
    const offer = {
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQAAP__',
    };
    const all = { ...(headers as Record<string, string>), ...offer };
    const answer = await ask({ method: 'POST', path: '/mcp', headers: all, body });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('x'.repeat(200_000));
  });
});

test('behind a proxy the page is at the public address', async () => {
  await start(true, 'https://shell.example');
  const host = 'shell.example';
  const link = jsonOf(await askForLink({ ...bearer(OPERATOR), host }))['link'] ?? '';
  expect(link).toMatch(/^https:\/\/shell\.example\/ui\/#/);
  const open = (origin: string): Promise<Answer> =>
    ask({
      method: 'POST',
      path: '/ui/api/session',
      body: { code: new URL(link).hash.slice(1) },
      headers: { host, origin },
    });
  expect((await open('http://shell.example')).status).toBe(403);
  expect((await open('https://shell.example')).status).toBe(200);
  const policy = (await ask({ path: '/ui/', headers: { host } })).headers['content-security-policy'];
  expect(policy).toContain("connect-src 'self' wss://shell.example;");
});
