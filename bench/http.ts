/**
 * `npm run bench http [clients] [seconds]`: how many calls a second many HTTP clients get, each waiting for one answer
 * before it sends the next, and how long the slowest wait. Three calls: the edge alone, a tool that reads, a command.
 */
import { Agent, request as httpRequest } from 'node:http';
import { createPlace } from '../test/e2e/support/product.ts';
import { startProductHttp } from '../test/e2e/support/product-http.ts';
import { openSession } from '../test/e2e/support/raw-http.ts';
import { percentile, say } from './support.ts';

const [clients = 100, seconds = 5] = process.argv.slice(2).map(Number);

interface Kind {
  readonly name: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const call = (name: string, args: object): Kind => ({
  name: `${name} ${JSON.stringify(args)}`,
  method: 'tools/call',
  params: { name, arguments: args },
});

const KINDS: readonly Kind[] = [
  { name: 'ping', method: 'ping', params: {} },
  call('terminal_list', {}),
  call('process_list', { limit: 1 }),
  call('shell_execute', { command: 'true' }),
];

const place = createPlace();
const server = await startProductHttp(place, [], {
  MCP_SHELL_LIMITS_MAX_PROCESSES: '200',
  MCP_SHELL_SECURITY_SANDBOX: process.env['MCP_SHELL_SECURITY_SANDBOX'] ?? 'off',
});
// One each: a shared one hands a connection that is free to whoever asks first, and lets others wait for seconds.
const agents = Array.from({ length: clients }, () => new Agent({ keepAlive: true }));
try {
  const sessions = await Promise.all(
    Array.from({ length: clients }, () => openSession(server.url, server.token)),
  );
  for (const kind of KINDS) {
    const times: number[] = [];
    let failures = 0;
    const end = performance.now() + seconds * 1000;
    const began = performance.now();
    await Promise.all(
      sessions.map(async (headers, client) => {
        for (let id = 1; performance.now() < end; id++) {
          const at = performance.now();
          const message = { jsonrpc: '2.0', id, method: kind.method, params: kind.params };
          if (!(await send(headers, message, agents[client]))) failures += 1;
          times.push(performance.now() - at);
        }
      }),
    );
    const perSecond = (times.length * 1000) / (performance.now() - began);
    say(
      `${clients} clients, ${kind.name}: ${perSecond.toFixed(0)} calls/s, p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms${failures === 0 ? '' : `, ${failures} FAILED`}`,
    );
  }
} finally {
  for (const agent of agents) agent.destroy();
  await server.stop();
  place.remove();
}

/** Whether it was answered with a result that is no error. */
function send(headers: Record<string, string>, message: object, agent: Agent | undefined): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(server.url);
    const request = httpRequest({
      hostname,
      port,
      path: pathname,
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve(response.statusCode === 200 && text.includes('"result"') && !text.includes('"isError"')),
      );
    });
    request.end(JSON.stringify(message));
  });
}
