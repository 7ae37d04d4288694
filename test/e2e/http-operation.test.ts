/** The server as an operator runs it: behind TLS, watched by probes and a scraper, and told to leave. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { until } from './support/long-command.ts';
import { createToken, principalAt } from './support/principals.ts';
import { createPlace, type Place } from './support/product.ts';
import { type RunningProduct, startProductHttp } from './support/product-http.ts';
import { modernRequest, openSession, sendRaw } from './support/raw-http.ts';
import { startRaw } from './support/raw-process.ts';
import { call, request } from './support/raw-streams.ts';

let place: Place;
let http: RunningProduct | undefined;
beforeEach(() => {
  place = createPlace();
});
afterEach(async () => {
  await http?.stop();
  http = undefined;
  place.remove();
});

const operationUrl = (): string => /Health and metrics: (\S+)/.exec(http?.process.stdout() ?? '')?.[1] ?? '';

async function ask(path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${operationUrl()}${path}`);
  return { status: answer.status, text: await answer.text() };
}

describe('health and metrics', () => {
  test('are told on a port of their own, without a name of anybody', async () => {
    http = await startProductHttp(place, [], { MCP_SHELL_HTTP_METRICS_PORT: '0' });
    const alice = principalAt(http.url, await createToken(place, 'alice'));
    await alice.call('shell_execute', { command: 'echo a-secret-word' });
    await alice.call('shell_execute', { command: 'rm -rf /' });
    await alice.call('shell_execute', { command: 'sleep 1000', execution_mode: 'background' });
    await sendRaw(http.url, modernRequest(request(1, 'tools/list'), 'wrong-token'));
    await openSession(http.url, alice.token);
    expect(await ask('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await ask('/readyz')).toEqual({ status: 200, text: 'ready\n' });
    const { text } = await ask('/metrics');
    const lines = text.split('\n');
    expect(lines).toContain('mcp_shell_calls_total{tool="shell_execute",outcome="answered",code=""} 2');
    expect(lines).toContain(
      'mcp_shell_calls_total{tool="shell_execute",outcome="failed",code="SECURITY_001"} 1',
    );
    expect(lines).toContain('mcp_shell_call_duration_seconds_count{tool="shell_execute"} 3');
    expect(lines).toContain('mcp_shell_http_requests_total{status="401"} 1');
    expect(lines).toContain('mcp_shell_executions_running 1');
    expect(lines).toContain('mcp_shell_http_sessions 1');
    expect(lines).toContain('mcp_shell_audit_failing 0');
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    for (const secret of ['alice', 'a-secret-word', alice.token, place.work])
      expect(text).not.toContain(secret);
  });

  test('know nothing else, and are not on the port of the callers', async () => {
    http = await startProductHttp(place, [], { MCP_SHELL_HTTP_METRICS_PORT: '0' });
    expect((await ask('/')).status).toBe(404);
    expect((await ask('/mcp')).status).toBe(404);
    expect((await fetch(`${operationUrl()}/metrics`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${operationUrl()}/healthz`, { method: 'HEAD' })).status).toBe(200);
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await sendRaw(http.url, { method: 'GET', path })).status).toBe(404);
    }
  });

  test('are told beside a server on stdio too, and a second one there goes on without them', async () => {
    const first = startRaw(place.command([], { MCP_SHELL_HTTP_METRICS_PORT: '0' }));
    await until('the listener', () => first.stderr().includes('health and metrics'));
    const url = /"url":"([^"]+)"/.exec(first.stderr())?.[1] ?? '';
    first.say(call(1, 'shell_execute', { command: 'echo hi' }));
    expect(await first.next()).toMatchObject({ result: { structuredContent: { stdout: 'hi\n' } } });
    expect(await (await fetch(`${url}/readyz`)).text()).toBe('ready\n');
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(
      'mcp_shell_calls_total{tool="shell_execute",outcome="answered",code=""} 1\n',
    );
    const second = startRaw(place.command([], { MCP_SHELL_HTTP_METRICS_PORT: new URL(url).port }));
    await until('the warning', () => second.stderr().includes('health and metrics are not served'));
    second.say(call(1, 'shell_execute', { command: 'echo too' }));
    expect(await second.next()).toMatchObject({ result: { structuredContent: { stdout: 'too\n' } } });
    for (const server of [first, second]) {
      server.end();
      expect(await server.rest()).toMatchObject({ code: 0 });
    }
  });

  test('are not told unless the operator says where', async () => {
    http = await startProductHttp(place);
    expect(http.process.stdout()).not.toContain('Health');
  });
});

describe('SIGTERM', () => {
  test('lets answers out, refuses new work and ends what runs', async () => {
    http = await startProductHttp(place, [], { MCP_SHELL_HTTP_METRICS_PORT: '0' });
    const { url, token, process: server } = http;
    const bob = principalAt(url, token);
    const started = (name: string): Promise<void> => until(name, () => existsSync(join(place.work, name)));
    const short = bob.call('shell_execute', {
      command: 'touch short; until [ -e go ]; do sleep 0.05; done; echo finished',
      execution_mode: 'foreground',
    });
    const headers = await openSession(url, token);
    const long = sendRaw(url, {
      headers,
      body: call(1, 'shell_execute', {
        command: 'touch long; exec sleep 1000',
        execution_mode: 'foreground',
      }),
    });
    await Promise.all([started('short'), started('long')]);
    server.child.kill('SIGTERM');
    await expect.poll(async () => (await ask('/readyz').catch(() => ({ status: 503 }))).status).toBe(503);
    const refused = await bob.send('shell_execute', { command: 'touch no' }).catch(() => undefined);
    // Under load the server may be gone by now.
    expect([503, undefined]).toContain(refused?.status);
    execFileSync('touch', [join(place.work, 'go')]);
    const { data } = await short;
    const { json } = await long;
    expect(['exit', 'server_shutdown']).toContain(data.termination_reason ?? 'exit');
    expect(json).toMatchObject({ result: { structuredContent: { termination_reason: 'server_shutdown' } } });
    await expect.poll(() => server.child.exitCode).toBe(0);
    expect(existsSync(join(place.work, 'no'))).toBe(false);
  });
});

describe.skipIf(needs('openssl'))('TLS', () => {
  const files = (): { cert: string; key: string } => {
    const [cert, key] = [join(place.directory, 'cert.pem'), join(place.directory, 'key.pem')];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
        '-addext',
        'subjectAltName=IP:127.0.0.1',
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    );
    return { cert, key };
  };

  test('is spoken with a certificate from files', async () => {
    const { cert, key } = files();
    const raw = startRaw(
      place.command(['--http', '127.0.0.1:0'], {
        MCP_SHELL_HTTP_TLS_CERT: cert,
        MCP_SHELL_HTTP_TLS_KEY: key,
        MCP_SHELL_TOKEN: 'the-token-of-this-test',
      }),
    );
    await expect.poll(() => raw.stdout(), { timeout: 30_000 }).toContain('Listening on https://');
    const port = Number(/https:\/\/127\.0\.0\.1:(\d+)\/mcp/.exec(raw.stdout())?.[1]);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path: '/mcp', ca: readFileSync(cert), agent: false };
      get(options, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).on('error', reject);
    });
    expect(status).toBe(401);
    // A plain client, and one that never finishes its handshake, keep nobody from leaving.
    await expect(sendRaw(`http://127.0.0.1:${port}/mcp`)).rejects.toThrow(/socket|ECONN/);
    const { connect } = await import('node:net');
    const silent = connect(port, '127.0.0.1').on('error', () => undefined);
    raw.child.kill('SIGTERM');
    await expect.poll(() => raw.child.exitCode).toBe(0);
    silent.destroy();
  });

  test('is refused with files that do not belong together', async () => {
    const { cert } = files();
    const raw = startRaw(
      place.command(['--http', '127.0.0.1:0'], {
        MCP_SHELL_HTTP_TLS_CERT: cert,
        MCP_SHELL_HTTP_TLS_KEY: cert,
      }),
    );
    expect((await raw.rest()).code).toBe(1);
    expect(raw.stderr()).toContain('TLS cannot be used');
  });
});
