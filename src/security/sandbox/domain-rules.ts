/**
 * What `security.allowed_domains` opens, as pure decisions: is this host and port on the list, and may a connection
 * go to the address that the host resolved to.
 */
import {
  canonicalAddress,
  type DomainRule,
  parseDomain,
  type Target,
} from '../../base/config/domain-names.ts';
import { ShellServerError } from '../../base/errors.ts';
import { addressProblem, isLoopbackAddress } from './addresses.ts';

export const SETTING = 'security.allowed_domains';

export type DomainRules = ReturnType<typeof parseDomains>;

/** Throws SYSTEM_003 where an entry is not a domain. */
export function parseDomains(entries: readonly string[]) {
  const rules = entries.map(ruleOf);
  return {
    allows: (host: string, port: number): boolean =>
      rules.some((rule) => isNamedBy(rule, host) && rule.ports.includes(port)),
    /** At some port. */
    knows: (host: string): boolean => rules.some((rule) => isNamedBy(rule, host)),
  };
}

/** The entry that would open this place, which is also how messages name it. */
export function formatTarget({ host, port }: Pick<Target, 'host' | 'port'>): string {
  return `${formatHost(host)}:${port}`;
}

export const formatHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Why the host is refused before anybody asks DNS about it: the lookup itself would leak the name. */
export function hostProblem(rules: DomainRules, target: Target): string | undefined {
  const { host, port } = target;
  if (rules.allows(host, port)) return undefined;
  const known = `The port ${port} of ${host} is not in ${SETTING}; an entry without a port opens 80 and 443.`;
  return rules.knows(host) ? known : `${formatTarget(target)} is not in ${SETTING}.`;
}

/**
 * Of what a host resolved to, where a connection may go, and why not elsewhere. An address that the operator named
 * is open for every allowed name too: a company's own host may well be on a private address.
 */
export function judgeAddresses(
  rules: DomainRules,
  target: Target,
  resolved: readonly string[],
  own: ReadonlySet<string>,
): { readonly open: readonly string[]; readonly problem: string } {
  const open: string[] = [];
  let problem = `${target.host} has no address.`;
  for (const text of new Set(resolved)) {
    const address = canonicalAddress(text);
    if (address === undefined) continue;
    const what = isOpened(rules, target, address) ? undefined : addressProblem(address, own);
    if (what === undefined) open.push(address);
    else problem = closedAddress(target, address, what);
  }
  return { open, problem };
}

function isOpened(rules: DomainRules, { host, port }: Target, address: string): boolean {
  return rules.allows(address, port) || (host === 'localhost' && isLoopbackAddress(address));
}

function closedAddress({ host, port }: Target, address: string, what: string): string {
  const entry = formatTarget({ host: address, port });
  return `${host} resolves to ${address}, which is ${what}; the entry "${entry}" in ${SETTING} would open it.`;
}

function isNamedBy(rule: DomainRule, host: string): boolean {
  return rule.isWildcard ? host.endsWith(`.${rule.host}`) : host === rule.host;
}

function ruleOf(entry: string): DomainRule {
  const rule = parseDomain(entry);
  if ('advice' in rule)
    throw new ShellServerError(
      'SYSTEM_003',
      `${SETTING}: ${JSON.stringify(entry)} is not a domain; ${rule.advice}.`,
    );
  return rule;
}
