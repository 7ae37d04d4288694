/**
 * What `security.allowed_domains` opens, as pure decisions: is this host and port on the list, and may a connection
 * go to the address that the host resolved to.
 *
 * A host is compared by whole labels, in lower case and in its ASCII form. Nothing here guesses: a host that two
 * programs could read in two ways (`0x7f.1`, `a%2eb`, `allowed.com@evil.com`) is none.
 */
import { domainToASCII } from 'node:url';
import { ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { addressProblem, canonicalAddress, isLoopbackAddress } from './addresses.ts';

export const SETTING = 'security.allowed_domains';

export interface Target {
  /** Normalised: an ASCII name, or a canonical address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

export interface DomainRules {
  allows(host: string, port: number): boolean;
  /** At some port. */
  knows(host: string): boolean;
}

/** Judges one entry of the setting; a sentence where it is not a domain. */
export function checkDomain(entry: string): string | undefined {
  const rule = parseEntry(entry);
  return typeof rule === 'string' ? rule : undefined;
}

export function parseDomains(entries: readonly string[]): DomainRules {
  const rules = entries.map((entry) => {
    const rule = parseEntry(entry);
    if (typeof rule === 'string') throw new ShellServerError('SYSTEM_003', `${SETTING}: ${rule}`);
    return rule;
  });
  return {
    allows: (host, port) => rules.some((rule) => isNamedBy(rule, host) && rule.ports.includes(port)),
    knows: (host) => rules.some((rule) => isNamedBy(rule, host)),
  };
}

/** `host` or `host:port` as it stands in a request; undefined where it is not plainly that. */
export function parseAuthority(text: string, defaultPort?: number): Target | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::([1-9]\d{0,4}))?$/.exec(text);
  const host = match?.[1] === undefined ? undefined : parseHost(match[1]);
  const port = match?.[2] === undefined ? defaultPort : Number(match[2]);
  if (host === undefined || port === undefined || port > 65_535) return undefined;
  return { ...host, port };
}

/** The entry that would open this place, which is also how messages name it. */
export function formatTarget({ host, port }: Pick<Target, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

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

interface Rule {
  readonly host: string;
  /** Everything below the host, and not the host itself. */
  readonly isWildcard: boolean;
  readonly ports: readonly number[];
}

const DEFAULT_PORTS = [80, 443];

function isNamedBy(rule: Rule, host: string): boolean {
  return rule.isWildcard ? host.endsWith(`.${rule.host}`) : host === rule.host;
}

/** The rule, or what is wrong with the entry. */
function parseEntry(entry: string): Rule | string {
  const address = canonicalAddress(entry);
  if (address !== undefined) return { host: address, isWildcard: false, ports: DEFAULT_PORTS };
  const isWildcard = entry.startsWith('*.');
  // No port that is written is 0, so that a missing one can be told.
  const target = parseAuthority(entry.slice(isWildcard ? 2 : 0), 0);
  if (target === undefined) return `${quote(entry)} is not a domain; ${adviceFor(entry)}.`;
  const { host, port, isAddress } = target;
  if (isWildcard && isAddress) return `${quote(entry)} is not a domain; an address has no subdomains.`;
  return { host, isWildcard, ports: port === 0 ? DEFAULT_PORTS : [port] };
}

function adviceFor(entry: string): string {
  if (entry === '*') return 'an empty list opens all domains';
  if (entry.includes('://')) return 'write the host alone, without "https://" and path';
  if (/^[\d.:a-f[\]]+\/\d+$/i.test(entry))
    return 'a range is not supported, each address is an entry of its own';
  if (entry.includes('/')) return 'a path cannot be distinguished; write only the host';
  if (entry.includes('*')) return 'a wildcard stands first and alone, as in "*.example.com"';
  return 'write "example.com", "*.example.com", "example.com:8443" or an IP address';
}

function quote(text: string): string {
  return JSON.stringify(
    text.length > LIMITS.quotedCharacters ? `${text.slice(0, LIMITS.quotedCharacters)}…` : text,
  );
}

const HOST_CHARACTERS = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;

function parseHost(text: string): Omit<Target, 'port'> | undefined {
  if (text.startsWith('[')) {
    const address = canonicalAddress(text.slice(1, -1));
    return address?.includes(':') ? { host: address, isAddress: true } : undefined;
  }
  const given = text.endsWith('.') ? text.slice(0, -1) : text;
  if (given.length > HOST_CHARACTERS || !isPlain(given)) return undefined;
  if (canonicalAddress(given) !== undefined) return { host: given, isAddress: true };
  const host = domainToASCII(given);
  const labels = host.split('.');
  if (host.length > HOST_CHARACTERS || !labels.every((label) => LABEL.test(label))) return undefined;
  // `127.1`, `0x7f000001` and full-width digits are addresses to getaddrinfo or to a URL, and names to a list.
  if (/^(?:\d+|0x[\da-f]*)$/.test(labels.at(-1) ?? '')) return undefined;
  return { host, isAddress: false };
}

/** ASCII only in what a name may have, since domainToASCII decodes `%`; beyond ASCII it judges by itself. */
function isPlain(text: string): boolean {
  return /^[\w.\-\u0080-\u{10ffff}]+$/u.test(text);
}
