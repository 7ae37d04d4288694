/** The address at which clients of this machine reach a server that runs with `--http`. */
import { ShellServerError } from '../../base/errors.ts';
import type { Settings } from '../../base/settings.ts';

/** Listening on all addresses is listening on this one too. */
const LOCAL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

export function endpointOf({ host, port, publicUrl, tls }: Settings['http']): string {
  if (publicUrl !== undefined) {
    const url = new URL(publicUrl);
    return url.pathname === '/' ? new URL('/mcp', url).href : url.href;
  }
  if (port === 0)
    throw new ShellServerError('PARAM_002', 'http.port is 0, so that each start has another port.', {
      hint: 'Set a port, such as --http 127.0.0.1:3737.',
    });
  const name = LOCAL[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}/mcp`;
}
