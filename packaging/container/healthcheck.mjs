/**
 * Asks the server of this container whether it answers. Over stdio there is nothing to ask: its client notices by itself.
 */
import { readFileSync } from 'node:fs';

const DEFAULT_PORT = '3737';
/** Docker gives up after five seconds. */
const PATIENCE_MS = 4000;

const args = readFileSync('/proc/1/cmdline', 'utf8').split('\0');
const flag = args.findIndex((arg) => arg === '--http' || arg.startsWith('--http='));
if (flag !== -1) {
  const address = args[flag].split('=')[1] ?? args[flag + 1] ?? '';
  const port = /:(\d+)$/.exec(address)?.[1] ?? process.env.MCP_SHELL_HTTP_PORT ?? DEFAULT_PORT;
  const options = { signal: AbortSignal.timeout(PATIENCE_MS) };
  const isHealthy = await fetch(`http://127.0.0.1:${port}/healthz`, options).then(
    ({ ok }) => ok,
    () => false,
  );
  process.exitCode = isHealthy ? 0 : 1;
}
