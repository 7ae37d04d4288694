/** What the built program loads with its first use: other tests have the sources in their own process. */
import { expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { createPlace, startProduct } from './support/product.ts';

test.skipIf(needs('python3'))('a large output is searched, and a URL is waited for', async () => {
  const place = createPlace();
  const product = await startProduct({ place, env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
  try {
    const { data } = await product.execute('seq 1 3000000', { execution_mode: 'foreground' });
    const found = await product.call('read_execution_output', {
      output_id: data.output_id,
      pattern: '^29{6}$',
    });
    expect(found.data).toMatchObject({ match_count: 1 });
    const served = await product.execute(SERVER, {
      execution_mode: 'background',
      wait_for: [{ output: 'at [0-9]+' }],
    });
    expect(served.data).toMatchObject({ wait: { result: 'met' } });
    const [, port] = /at (\d+)/.exec(String(served.data.stdout)) ?? [];
    const waited = await product.call('process_get_execution', {
      execution_id: served.data.execution_id,
      wait_for: [{ url: `http://localhost:${port}/` }],
      wait_seconds: 30,
    });
    expect(waited.data).toMatchObject({ status: 'running', wait: { result: 'met' } });
  } finally {
    await product.close();
    place.remove();
  }
});

const SERVER = `python3 -c "
import http.server
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
print(f'at {server.server_port}', flush=True)
server.serve_forever()"`;
