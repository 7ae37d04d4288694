/** The page's server as anything but the page meets it: other sites, other ports, rebound names, forged requests. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditLines } from '../../test/support/stored.ts';
import { removeTree } from '../base/files.ts';
import { createRoutes, type RouteNeeds } from './routes.ts';
import { type Answer, type Asked, askPort, pageOptions } from './web.fixture.ts';
import { serveWeb, type Web } from './web.ts';

let directory: string;
let web: Web;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'web-'));
  web = await start(false);
});
afterEach(async () => {
  await web.close();
  removeTree(directory);
});

function start(isReadOnly: boolean): Promise<Web> {
  const options = pageOptions(directory, '<meta name="style-nonce" content="%NONCE%">');
  writeFileSync(join(options.pageDirectory, 'secret.key'), 'not a file of the page');
  return serveWeb({ ...options, port: 0, isReadOnly });
}

const ask = (asked: Asked): Promise<Answer> => askPort(web.port, asked);

const originOf = (): string => `http://127.0.0.1:${web.port}`;
const codeOf = (link: string): string => new URL(link).hash.slice(1);
const open = (more: Asked = {}): Promise<Answer> =>
  ask({
    method: 'POST',
    path: '/api/session',
    body: { code: codeOf(web.createLink()) },
    ...more,
    headers: { origin: originOf(), ...more.headers },
  });

/** What the page of a session sends with every request. */
async function secrets(): Promise<{ cookie: string; 'x-shell-key': string; origin: string }> {
  const { headers, text } = await open();
  const cookie = String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
  return { cookie, 'x-shell-key': (JSON.parse(text) as { key: string }).key, origin: originOf() };
}

const ENDING = '/api/executions/exec_22222222222222222222222222/end';

describe('a link', () => {
  test('opens one session, which is in the audit log, and nothing after that', async () => {
    const code = codeOf(web.createLink());
    const first = await open({ body: { code } });
    expect(first.status).toBe(200);
    expect(first.headers['set-cookie']).toEqual([
      expect.stringMatching(
        new RegExp(`^mcp_shell_${web.port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=86400$`),
      ),
    ]);
    expect((await open({ body: { code } })).status).toBe(401);
    const lines = auditLines(join(directory, 'state'));
    expect(lines.filter(({ event }) => event === 'page_action')).toMatchObject([
      { action: 'open', principal: 'operator', session: 'page 1' },
    ]);
    expect(JSON.stringify(lines)).not.toContain(code);
  });

  test.each([
    ['made up', { code: 'x'.repeat(43) }, 401],
    ['empty', { code: '' }, 401],
    ['no text', { code: 1 }, 400],
    ['missing', {}, 400],
    ['too long', { code: 'x'.repeat(100_000) }, 400],
  ])('with a code that is %s opens none', async (_, body, status) => {
    const answer = await open({ body });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([status, undefined]);
  });
});

describe('who asks', () => {
  /** [name, headers in place of the page's, status of a read, status of a change] */
  const cases: [string, (port: number) => Record<string, string | string[]>, number, number][] = [
    ['the page', () => ({}), 404, 404],
    ['the page under localhost', (port) => at(`localhost:${port}`), 404, 404],
    ['the page under [::1]', (port) => at(`[::1]:${port}`), 404, 404],
    ['a name that was rebound', (port) => at(`evil.example:${port}`), 403, 403],
    ['a name that was rebound, with our Origin', (port) => ({ host: `evil.example:${port}` }), 403, 403],
    ['another port', (port) => ({ origin: `http://127.0.0.1:${port + 1}` }), 403, 403],
    ['localhost as Origin of 127.0.0.1', (port) => ({ origin: `http://localhost:${port}` }), 403, 403],
    ['https as Origin', (port) => ({ origin: `https://127.0.0.1:${port}` }), 403, 403],
    ['a file', () => ({ origin: 'null' }), 403, 403],
    [
      'an Origin that begins like ours',
      (port) => ({ origin: `http://127.0.0.1:${port}.evil.example` }),
      403,
      403,
    ],
    ['a Host without a name', (port) => ({ host: `:${port}` }), 403, 403],
    ['a Host without a port', () => ({ host: '127.0.0.1' }), 403, 403],
    ['a Host with another port', (port) => ({ host: `127.0.0.1:${port + 1}` }), 403, 403],
    ['a Host with a name before it', (port) => ({ host: `a@127.0.0.1:${port}` }), 403, 403],
    ['0.0.0.0', (port) => at(`0.0.0.0:${port}`), 403, 403],
    ['another site, says the browser', () => ({ 'sec-fetch-site': 'cross-site' }), 403, 403],
    ['another port, says the browser', () => ({ 'sec-fetch-site': 'same-site' }), 403, 403],
    ['a cookie alone', () => ({ 'x-shell-key': '' }), 401, 401],
    ['a key alone', () => ({ cookie: '' }), 401, 401],
    ['a wrong key', () => ({ 'x-shell-key': 'x'.repeat(43) }), 401, 401],
    ['two cookies', () => ({ cookie: 'twice' }), 401, 401],
    ['the cookie of another port', () => ({ cookie: 'renamed' }), 401, 401],
  ];
  const at = (host: string): Record<string, string> => ({ host, origin: `http://${host}` });

  test.each(cases)('%s', async (_, change, reads, changes) => {
    const own = await secrets();
    const changed = { ...own, ...change(web.port) };
    if (changed.cookie === 'twice') changed.cookie = `${own.cookie}; ${own.cookie}`;
    if (changed.cookie === 'renamed') changed.cookie = own.cookie.replace('mcp_shell_', 'mcp_shell_1');
    const read = await ask({ path: '/api/executions/none', headers: changed });
    const done = await ask({ method: 'POST', path: ENDING, body: {}, headers: changed });
    expect([read.status, done.status]).toEqual([reads, changes]);
    expect(read.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('a change needs an Origin, a read does not', async () => {
    const { origin: _, ...own } = await secrets();
    expect((await ask({ path: '/api/executions/none', headers: own })).status).toBe(404);
    expect((await ask({ method: 'POST', path: ENDING, body: {}, headers: own })).status).toBe(403);
    expect((await ask({ method: 'POST', path: '/api/session', body: {} })).status).toBe(403);
  });

  test.each([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['plain text', { 'content-type': 'text/plain' }],
  ])('%s changes nothing', async (_, headers) => {
    const own = await secrets();
    const answer = await ask({ method: 'POST', path: ENDING, body: {}, headers: { ...own, ...headers } });
    expect(answer.status).toBe(400);
  });

  test('nobody is asked what other sites may do', async () => {
    const answer = await ask({
      method: 'OPTIONS',
      path: ENDING,
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([403, undefined]);
  });

  const TERMINAL = '/api/terminals/term_22222222222222222222222222';
  /** [name, path, headers in place of the page's, status] */
  const upgrades: [string, string, (port: number) => Record<string, string>, number][] = [
    ['the page', TERMINAL, () => ({}), 101],
    ['the page, of something else', '/api/events', () => ({}), 404],
    ['the page, of no id', '/api/terminals/..', () => ({}), 404],
    ['the page, of an execution', '/api/terminals/exec_22222222222222222222222222', () => ({}), 404],
    ['a name that was rebound', TERMINAL, (port) => at(`evil.example:${port}`), 403],
    ['another port', TERMINAL, (port) => ({ origin: `http://127.0.0.1:${port + 1}` }), 403],
    ['another site', TERMINAL, () => ({ origin: 'https://evil.example' }), 403],
    ['a program without an Origin', TERMINAL, () => ({ origin: '' }), 403],
    ['another site, says the browser', TERMINAL, () => ({ 'sec-fetch-site': 'cross-site' }), 403],
    ['a cookie alone', TERMINAL, () => ({ 'sec-websocket-protocol': 'shell' }), 401],
    ['a wrong key', TERMINAL, () => ({ 'sec-websocket-protocol': 'shell, key.x' }), 401],
    [
      'a key in another header',
      TERMINAL,
      () => ({ 'sec-websocket-protocol': 'shell', 'x-shell-key': 'own' }),
      401,
    ],
    ['a key alone', TERMINAL, () => ({ cookie: '' }), 401],
  ];

  test.each(upgrades)('an upgrade by %s', async (_, path, change, status) => {
    const { 'x-shell-key': key, ...own } = await secrets();
    const headers = {
      ...own,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
      'sec-websocket-protocol': `shell, key.${key}`,
      ...change(web.port),
    };
    if ('x-shell-key' in headers) headers['x-shell-key'] = key;
    expect((await ask({ path, headers })).status).toBe(status);
  });
});

describe('what is answered', () => {
  test('the page has no scripts or styles but its own, and is in no frame', async () => {
    const { headers, text, status } = await ask({});
    const policy = String(headers['content-security-policy']);
    const nonce = /content="([^"]+)"/.exec(text)?.[1] ?? '';
    expect(status).toBe(200);
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect((await ask({})).text).not.toContain(nonce);
  });

  test.each([
    ['/secret.key', 404],
    ['/../state', 404],
    ['/%2e%2e/page/secret.key', 404],
    ['//evil.example/', 404],
    ['/api/none', 401],
    ['/page.js', 200],
    ['/index.html', 404],
    ['/download/none', 404],
  ])('%s: %i', async (path, status) => {
    expect((await ask({ path })).status).toBe(status);
  });

  test('new secrets replace those of a session', async () => {
    const own = await secrets();
    const renewed = await ask({ method: 'POST', path: '/api/session/renew', body: {}, headers: own });
    expect(renewed.status).toBe(200);
    expect((JSON.parse(renewed.text) as { key: string }).key).not.toBe(own['x-shell-key']);
    expect(String(renewed.headers['set-cookie'])).not.toContain(own.cookie);
  });

  describe('on a page that only shows', () => {
    /** All that the page can ask for; none of them is called here. */
    const routes = createRoutes({ inspect: {} } as unknown as RouteNeeds);
    /** These need a body and change nothing. */
    const reads = ['/api/executions/*/download', '/api/policy/explain'];
    beforeEach(async () => {
      await web.close();
      web = await start(true);
    });

    test.each(
      routes
        .filter(({ method, path }) => method !== 'GET' && !reads.includes(path))
        .map(
          ({ method, path }) => [method, path.replaceAll('*', 'exec_22222222222222222222222222')] as const,
        ),
    )('%s %s is refused', async (method, path) => {
      const { status, text } = await ask({ method, path, body: {}, headers: await secrets() });
      expect([status, JSON.parse(text)]).toMatchObject([403, { code: 'READ_ONLY' }]);
    });

    test('every request that reads is a GET, or listed here', async () => {
      expect(
        routes.filter(({ isChange, method }) => isChange !== (method === 'POST')).map(({ path }) => path),
      ).toEqual(expect.arrayContaining(reads));
      expect((await ask({ path: '/api/executions/none', headers: await secrets() })).status).toBe(404);
    });
  });
});
