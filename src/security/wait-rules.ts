/**
 * What a caller may wait for: files that its commands can see, and URLs that they could ask for. A wait is no way around
 * the policy: it finds out nothing that a command of the same caller could not.
 */
import { homedir } from 'node:os';
import { parseAuthority, type Target } from '../base/config/domain-names.ts';
import { isInside, locatePath, realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Effective } from './restrictions.ts';
import { isLoopbackAddress, ownAddresses, resolveHost } from './sandbox/addresses.ts';
import { type DomainRules, hostProblem, judgeAddresses, parseDomains } from './sandbox/domain-rules.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

export interface UrlTarget {
  readonly url: URL;
  readonly port: number;
  /** Of this machine: only a port of the execution itself is asked. */
  readonly isLoopback: boolean;
  /** Addresses that may be connected to, found anew each time; none where there is none. */
  resolve(): Promise<readonly string[]>;
}

export type WaitRules = ReturnType<typeof createWaitRules>;

export function createWaitRules(options: {
  readonly of: (principal: string) => Effective;
  readonly sandbox: Pick<Sandbox, 'state' | 'hostPathOf'>;
}) {
  const { of, sandbox } = options;
  /** Whether a path, with its links followed, is one that the principal may know of. */
  const isAllowed = (path: string, principal: string): boolean => {
    const allowed = of(principal).security.allowedDirectories;
    return allowed === undefined || allowed.some((directory) => isInside(path, realPathOf(directory)));
  };

  return {
    hostPathOf: sandbox.hostPathOf,
    mayRead: isAllowed,
    /** Whether commands have a network of their own, in which the server can reach nothing. */
    async hasOwnNetwork(principal: string): Promise<boolean> {
      const { network, allowedDomains } = of(principal).security;
      return (!network || allowedDomains.length > 0) && (await sandbox.state()).kind === 'bubblewrap';
    },
    /** The absolute path of a file; throws PARAM_002 or SECURITY_002. */
    file(typed: string, relativeTo: string, principal: string): string {
      if (typed === '' || typed.includes('\0') || Buffer.byteLength(typed) > 4096)
        throw refused('PARAM_002', 'The file of wait_for is not a path.', { parameter: 'wait_for' });
      const path = locatePath(typed, { directory: relativeTo, homedir: homedir() });
      // A directory that only the principal's commands see has no links of ours.
      const isPrivate = sandbox.hostPathOf(path, principal) !== path;
      if (isAllowed(isPrivate ? path : realPathOf(path), principal)) return path;
      const allowed = of(principal).security.allowedDirectories ?? [];
      throw refused('SECURITY_002', 'The file of wait_for is outside the allowed directories.', {
        hint: `Allowed: ${allowed.join(', ')}.`,
      });
    },
    /** Throws PARAM_002 or SECURITY_003. */
    url(text: string, principal: string): UrlTarget {
      const url = parseUrl(text);
      const target = parseAuthority(url.host, url.protocol === 'https:' ? 443 : 80);
      if (target === undefined)
        throw refused('PARAM_002', 'The host of the url of wait_for is not a plain name or address.');
      const { host, port } = target;
      if (host === 'localhost' || (target.isAddress && isLoopbackAddress(host))) {
        const addresses = target.isAddress ? [host] : ['127.0.0.1', '::1'];
        return { url, port, isLoopback: true, resolve: async () => addresses };
      }
      const rules = checkHost(target, of(principal));
      if (target.isAddress) checkAddress(rules, target);
      return { url, port, isLoopback: false, resolve: () => resolveOpen(rules, target) };
    },
  };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || text.length > 2000)
    throw refused('PARAM_002', 'The url of wait_for is not an http or https URL.', {
      hint: 'Write it as in "http://127.0.0.1:3000/health".',
    });
  if (url.username !== '' || url.password !== '')
    throw refused('PARAM_002', 'The url of wait_for has a user name or password in it.');
  return url;
}

/** The rules by which the addresses of the host are judged. */
function checkHost(target: Target, { security, policy }: Effective): DomainRules {
  const rules = parseDomains(security.allowedDomains);
  const hint = 'Only URLs of this machine can be waited for here, such as "http://127.0.0.1:3000/".';
  if (!security.network) throw refused('SECURITY_003', 'The policy allows commands no network.', { hint });
  if (security.allowedDomains.length > 0) {
    const problem = hostProblem(rules, target);
    if (problem !== undefined) throw refused('SECURITY_003', problem, { hint });
  } else if (policy.hasAllowList) {
    throw refused('SECURITY_003', `The policy names the commands that may run, and no domains.`, { hint });
  }
  return rules;
}

function checkAddress(rules: DomainRules, target: Target): void {
  const { open, problem } = judgeAddresses(rules, target, [target.host], ownAddresses());
  if (open.length === 0) throw refused('SECURITY_003', problem, {});
}

async function resolveOpen(rules: DomainRules, target: Target): Promise<readonly string[]> {
  const resolved = target.isAddress ? [target.host] : await resolveHost(target.host);
  return judgeAddresses(rules, target, resolved, ownAddresses()).open;
}

function refused(
  code: 'PARAM_002' | 'SECURITY_002' | 'SECURITY_003',
  message: string,
  { hint, ...details }: { readonly hint?: string; readonly parameter?: string } = {},
): ShellServerError {
  return new ShellServerError(code, message, {
    ...(hint !== undefined && { hint }),
    details: { parameter: 'wait_for', ...details },
  });
}
