/**
 * Only some domains: no network but a proxy of ours behind a socket, and inside a relay from a port to that socket,
 * since programs know proxies by address and port.
 */
import { existsSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { parseDomain } from '../../base/config/domain-names.ts';
import { once } from '../../base/once.ts';
import { PROXY_SOCKET } from './build-profile.ts';
import type { SandboxOptions } from './sandbox-options.ts';

export type Domains = NonNullable<ReturnType<typeof createDomains>>;

const SOCAT = ['/usr/bin/socat', '/usr/local/bin/socat', '/bin/socat'];
const PORT = 3128;
const PORT_IN_PROC = `0100007F:${PORT.toString(16).toUpperCase().padStart(4, '0')} 0A`;
const ADDRESS = `http://127.0.0.1:${PORT}`;
const DIRECT = 'localhost,127.0.0.1,::1';
const KEPT_REFUSALS = 100;

export function createDomains({ settings, runDirectory, log }: SandboxOptions) {
  const { network, allowedDomains } = settings.security;
  if (!network || allowedDomains.length === 0) return undefined;
  const socat = SOCAT.find((path) => existsSync(path));
  const refusals: { readonly atMs: number; readonly what: string }[] = [];
  let isOpened = false;
  // With Node's HTTP server, which few need.
  const proxy = once(async () => {
    isOpened = true;
    const { createDomainProxy } = await import('./domain-proxy.ts');
    return createDomainProxy({
      directory: socketDirectory(runDirectory, settings.environment['XDG_RUNTIME_DIR']),
      domains: allowedDomains,
      log,
      onRefused({ host, port }) {
        refusals.push({ atMs: Date.now(), what: `${host}:${port}` });
        if (refusals.length > KEPT_REFUSALS) refusals.shift();
      },
    });
  });
  return {
    /** Why it cannot be had. */
    problem: socat === undefined ? 'security.allowed_domains needs socat, which is not installed' : undefined,
    variables: proxyVariables(allowedDomains),
    /** The path of the proxy's socket. */
    open: async (): Promise<string> => (await proxy()).open(),
    relayed: (argv: readonly string[]): readonly string[] =>
      socat === undefined ? argv : ['/bin/sh', '-c', relayScript(socat), 'sh', ...argv],
    /** Hosts and ports that were refused since then, to any command. */
    refusedSince: (sinceMs: number): string[] => [
      ...new Set(refusals.filter(({ atMs }) => atMs >= sinceMs).map(({ what }) => what)),
    ],
    async dispose(): Promise<void> {
      if (isOpened) await (await proxy()).dispose();
    },
  };
}

/** A socket's path may have about a hundred bytes. */
function socketDirectory(wanted: string, runtime: string | undefined): string {
  if (Buffer.byteLength(wanted) <= 90) return wanted;
  return runtime !== undefined && runtime.length <= 90 ? runtime : '/tmp';
}

function isLoopback(entry: ReturnType<typeof parseDomain>): boolean {
  const host = 'host' in entry ? entry.host : '';
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** Both spellings: programs do not agree on one. */
function proxyVariables(domains: readonly string[]): Record<string, string> {
  // The sandbox's own loopback is reached directly, unless the host's was asked for.
  const wantsHost = domains.some((entry) => isLoopback(parseDomain(entry)));
  const variables: Record<string, string> = wantsHost ? {} : { no_proxy: DIRECT, NO_PROXY: DIRECT };
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) {
    variables[name] = ADDRESS;
    variables[name.toUpperCase()] = ADDRESS;
  }
  return { ...variables, npm_config_proxy: ADDRESS, npm_config_https_proxy: ADDRESS };
}

/** Builtins but for the relay itself. The command does not begin before the port is there. */
function relayScript(socat: string): string {
  return [
    `${socat} -t 600 TCP-LISTEN:${PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${PROXY_SOCKET} </dev/null >/dev/null 2>&1 3>&- &`,
    'tries=0',
    'while [ $tries -lt 20000 ]; do',
    `  while read -r _ at _ state _; do [ "$at $state" = "${PORT_IN_PROC}" ] && break 2; done < /proc/net/tcp`,
    '  tries=$((tries + 1))',
    'done',
    'unset tries at state _',
    'exec "$@"',
  ].join('\n');
}
