/**
 * Which IP addresses lie outside of the public internet. A name on the allow list says nothing about where it points:
 * its owner may point it at this machine, at the network around it, or at the cloud's metadata service.
 */
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { canonicalAddress } from '../../base/config/domain-names.ts';
import { once } from '../../base/once.ts';

/** What keeps a canonical address from being a place on the internet ("a private address"); undefined: nothing. */
export function addressProblem(address: string, own: ReadonlySet<string>): string | undefined {
  const bits = toBits(address);
  const special = networks().find((candidate) => contains(candidate, bits));
  if (special !== undefined) return special.what;
  if (own.has(address)) return 'an address of this machine';
  if (bits.length === IPV4_BITS || contains(globalUnicast(), bits)) return undefined;
  // Where a network has IPv6 only, its DNS gives every IPv4 host in this form: it is as public as what it carries.
  if (contains(nat64(), bits)) return addressProblem(toIPv4(bits.slice(-IPV4_BITS)), own);
  return 'a reserved address';
}

export function isLoopbackAddress(address: string): boolean {
  const bits = toBits(address);
  return networks().some((candidate) => candidate.what === LOOPBACK && contains(candidate, bits));
}

export async function resolveHost(host: string): Promise<readonly string[]> {
  const { lookup } = await import('node:dns/promises');
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Of this machine, read each time: interfaces come and go with cables, containers and VPNs. */
export function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flat();
  return new Set(all.flatMap((info) => canonicalAddress(info?.address ?? '') ?? []));
}

interface Network {
  /** The leading bits that all its addresses share. */
  readonly prefix: string;
  /** Of a whole address: 32 or 128. */
  readonly length: number;
  readonly what: string;
}

const IPV4_BITS = 32;
const LOOPBACK = 'a loopback address';
const METADATA = "a cloud's metadata service";
const PRIVATE = 'a private address';

/** From the IANA registries of special-purpose addresses. The first that matches gives the words. Made when it is asked for. */
const networks = once((): readonly Network[] => [
  network('0.0.0.0/8', 'an unspecified address'),
  network('10.0.0.0/8', PRIVATE),
  // One provider's metadata service.
  network('100.100.100.200/32', METADATA),
  network('100.64.0.0/10', 'an address of carrier-grade NAT'),
  network('127.0.0.0/8', LOOPBACK),
  // In public address space, and yet answered by the hypervisor of one provider.
  network('168.63.129.16/32', METADATA),
  network('169.254.169.254/32', METADATA),
  network('169.254.0.0/16', 'a link-local address'),
  network('172.16.0.0/12', PRIVATE),
  network('192.0.0.0/24', 'a reserved address'),
  network('192.0.2.0/24', 'a documentation address'),
  network('192.88.99.0/24', 'a 6to4 relay'),
  network('192.168.0.0/16', PRIVATE),
  network('198.18.0.0/15', 'a benchmarking address'),
  network('198.51.100.0/24', 'a documentation address'),
  network('203.0.113.0/24', 'a documentation address'),
  network('224.0.0.0/4', 'a multicast address'),
  network('255.255.255.255/32', 'the broadcast address'),
  network('240.0.0.0/4', 'a reserved address'),
  network('::/128', 'an unspecified address'),
  network('::1/128', LOOPBACK),
  // The kernel connects to the IPv4 address inside; no name has a reason to resolve to one of these.
  network('::ffff:0:0/96', 'an IPv4 address in IPv6 form'),
  network('::/96', 'an IPv4 address in IPv6 form'),
  network('64:ff9b:1::/48', 'a local NAT64 address'),
  network('2001::/32', 'a Teredo address'),
  network('2001:2::/48', 'a benchmarking address'),
  network('2001::/23', 'a reserved address'),
  network('2001:db8::/32', 'a documentation address'),
  network('2002::/16', 'a 6to4 address'),
  network('3fff::/20', 'a documentation address'),
  network('fd00:ec2::254/128', METADATA),
  network('fc00::/7', PRIVATE),
  network('fe80::/10', 'a link-local address'),
  network('fec0::/10', 'a site-local address'),
  network('ff00::/8', 'a multicast address'),
]);

/** Everything else in IPv6 is not assigned to anybody. */
const globalUnicast = once(() => network('2000::/3', ''));
const nat64 = once(() => network('64:ff9b::/96', ''));

function network(cidr: string, what: string): Network {
  const [address = '', size] = cidr.split('/');
  const bits = toBits(canonicalAddress(address) ?? '');
  return { prefix: bits.slice(0, Number(size)), length: bits.length, what };
}

function contains({ prefix, length }: Network, bits: string): boolean {
  return bits.length === length && bits.startsWith(prefix);
}

/** As a text of zeros and ones, 32 or 128 of them: slow, and obviously right. */
function toBits(address: string): string {
  if (isIPv4(address)) return address.split('.').map(Number).map(binary(8)).join('');
  const [left = '', right] = address.split('::');
  const head = groupsOf(left);
  const tail = groupsOf(right ?? '');
  const gap = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  return [...head, ...gap, ...tail].map(binary(16)).join('');
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function binary(width: number): (value: number) => string {
  return (value) => value.toString(2).padStart(width, '0');
}

function toIPv4(bits: string): string {
  return [0, 8, 16, 24].map((at) => Number.parseInt(bits.slice(at, at + 8), 2)).join('.');
}
