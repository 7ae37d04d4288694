/**
 * Asks the server of this container whether it takes work. Over stdio there is nothing to ask: its client notices by
 * itself.
 */
import { readFileSync } from 'node:fs';

/** Docker gives up after five seconds. */
const PATIENCE_MS = 4000;

const args = readFileSync('/proc/1/cmdline', 'utf8').split('\0');
if (args.some((arg) => arg === '--http' || arg.startsWith('--http='))) {
  const url = `http://127.0.0.1:${process.env.MCP_SHELL_HTTP_METRICS_PORT}/readyz`;
  const isReady = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
  process.exitCode = isReady ? 0 : 1;
}
