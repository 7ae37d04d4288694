/**
 * Hosts and ports as `security.allowed_domains` and requests write them. A host is compared by whole labels, in lower
 * case and in its ASCII form. Nothing here guesses: a host that two programs could read in two ways (`0x7f.1`, `a%2eb`,
 * `allowed.com@evil.com`) is none.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

export interface Target {
  /** Normalised: an ASCII name, or a canonical address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

/** `host` or `host:port` as it stands in a request; undefined where it is not plainly that. */
export function parseAuthority(text: string, defaultPort?: number): Target | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::([1-9]\d{0,4}))?$/.exec(text);
  const host = match?.[1] === undefined ? undefined : parseHost(match[1]);
  const port = match?.[2] === undefined ? defaultPort : Number(match[2]);
  if (host === undefined || port === undefined || port > 65_535) return undefined;
  return { ...host, port };
}

/** The one spelling of an address that comparisons use; undefined where the text is none. No brackets, no zone. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  // A zone (`fe80::1%eth0`) names an interface of ours, and nothing on an allow list means one.
  if (!isIPv6(text) || text.includes('%')) return undefined;
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

/** What an entry opens. */
export interface DomainRule {
  readonly host: string;
  /** Everything below the host, and not the host itself. */
  readonly isWildcard: boolean;
  readonly ports: readonly number[];
}

const DEFAULT_PORTS = [80, 443];

/** Where the entry is none, what to write instead. */
export function parseDomain(entry: string): DomainRule | { readonly advice: string } {
  const address = canonicalAddress(entry);
  if (address !== undefined) return { host: address, isWildcard: false, ports: DEFAULT_PORTS };
  const isWildcard = entry.startsWith('*.');
  // No port that is written is 0, so that a missing one can be told.
  const target = parseAuthority(entry.slice(isWildcard ? 2 : 0), 0);
  if (target === undefined) return { advice: adviceFor(entry) };
  const { host, port, isAddress } = target;
  if (isWildcard && isAddress) return { advice: 'an address has no subdomains' };
  return { host, isWildcard, ports: port === 0 ? DEFAULT_PORTS : [port] };
}

/** The sentence that says what is wrong with an entry of the setting. */
export function checkDomainEntry(entry: string): string | undefined {
  const parsed = parseDomain(entry);
  return 'advice' in parsed ? `must be domains; ${parsed.advice}` : undefined;
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
