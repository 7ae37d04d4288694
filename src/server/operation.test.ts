/** Who may read the numbers: clients that reach the listener by its own name. */
import { connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { Observation } from './operation.ts';
import { serveOperation } from './operation.ts';

let observation: Observation | undefined;
afterEach(async () => {
  await observation?.close();
  observation = undefined;
});

async function start(host: string): Promise<number> {
  observation = await serveOperation({
    host,
    port: 0,
    app: {
      onCallEnded: () => undefined,
      health: () => ({ executions: 0, terminals: 0, audit: { lines: 0, lost: 0, problem: undefined } }),
    },
  });
  return Number(new URL(observation.url).port);
}

/** The status and the body of a request with exactly these header lines. */
function ask(port: number, path: string, headers: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      heard += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(heard.replace(/^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n/, '$1 ')));
    socket.write([`GET ${path} HTTP/1.0`, ...headers, 'Connection: close', '', ''].join('\r\n'));
  });
}

it.each<[string, (port: number) => string[], number]>([
  ['its address', (port) => [`Host: 127.0.0.1:${port}`], 200],
  ['localhost', (port) => [`Host: LocalHost:${port}`], 200],
  ['the other loopback address', (port) => [`Host: [::1]:${port}`], 200],
  ['a name that was rebound to it', (port) => [`Host: evil.example:${port}`], 403],
  ['a name that begins like its own', (port) => [`Host: localhost.evil.example:${port}`], 403],
  ['another port', (port) => [`Host: 127.0.0.1:${port + 1}`], 403],
  ['no port', () => ['Host: 127.0.0.1'], 403],
  ['an empty host', () => ['Host:'], 403],
  ['no host', () => [], 403],
  ['two hosts', (port) => [`Host: 127.0.0.1:${port}`, 'Host: evil.example'], 400],
  ['the same host twice', (port) => [`Host: 127.0.0.1:${port}`, `Host: 127.0.0.1:${port}`], 400],
])('on loopback a request for %s is answered with the right status', async (_, headers, status) => {
  const port = await start('127.0.0.1');
  for (const path of ['/metrics', '/healthz', '/readyz', '/'])
    expect((await ask(port, path, headers(port))).slice(0, 4)).toBe(
      `${status === 200 ? ({ '/readyz': 503, '/': 404 }[path] ?? 200) : status} `,
    );
});

it('refuses with a reason and tells nothing else', async () => {
  const port = await start('127.0.0.1');
  expect(await ask(port, '/metrics', ['Host: evil.example'])).toBe(
    `403 The Host "evil.example" is not allowed; use one of localhost:${port}, 127.0.0.1:${port}, [::1]:${port}\n`,
  );
});

it('takes any name on an address that others reach, but only one', async () => {
  const port = await start('0.0.0.0');
  expect(await ask(port, '/healthz', ['Host: prometheus.example'])).toBe('200 ok\n');
  expect((await ask(port, '/healthz', ['Host: a', 'Host: b'])).slice(0, 3)).toBe('400');
});
