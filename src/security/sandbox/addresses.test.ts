import { describe, expect, test } from 'vitest';
import { canonicalAddress } from '../../base/config/domain-names.ts';
import { addressProblem, isLoopbackAddress } from './addresses.ts';

const OWN = new Set(['93.184.216.99', '2606:4700::99']);

describe('an address', () => {
  test.each([
    ['0.0.0.0', 'an unspecified address'],
    ['0.1.2.3', 'an unspecified address'],
    ['10.0.0.1', 'a private address'],
    ['10.255.255.255', 'a private address'],
    ['100.64.0.1', 'an address of carrier-grade NAT'],
    ['100.127.255.255', 'an address of carrier-grade NAT'],
    ['100.100.100.200', "a cloud's metadata service"],
    ['127.0.0.1', 'a loopback address'],
    ['127.255.255.254', 'a loopback address'],
    ['168.63.129.16', "a cloud's metadata service"],
    ['169.254.169.254', "a cloud's metadata service"],
    ['169.254.170.2', 'a link-local address'],
    ['172.16.0.1', 'a private address'],
    ['172.31.255.255', 'a private address'],
    ['192.0.0.192', 'a reserved address'],
    ['192.0.2.1', 'a documentation address'],
    ['192.88.99.1', 'a 6to4 relay'],
    ['192.168.1.1', 'a private address'],
    ['198.18.0.1', 'a benchmarking address'],
    ['198.19.255.255', 'a benchmarking address'],
    ['198.51.100.7', 'a documentation address'],
    ['203.0.113.7', 'a documentation address'],
    ['224.0.0.1', 'a multicast address'],
    ['239.255.255.250', 'a multicast address'],
    ['240.0.0.1', 'a reserved address'],
    ['255.255.255.255', 'the broadcast address'],
    ['::', 'an unspecified address'],
    ['::1', 'a loopback address'],
    ['0:0:0:0:0:0:0:1', 'a loopback address'],
    ['::ffff:127.0.0.1', 'an IPv4 address in IPv6 form'],
    ['::ffff:8.8.8.8', 'an IPv4 address in IPv6 form'],
    ['::ffff:7f00:1', 'an IPv4 address in IPv6 form'],
    ['::127.0.0.1', 'an IPv4 address in IPv6 form'],
    ['::ffff:0:127.0.0.1', 'a reserved address'],
    ['64:ff9b::127.0.0.1', 'a loopback address'],
    ['64:ff9b::10.1.2.3', 'a private address'],
    ['64:ff9b::169.254.169.254', "a cloud's metadata service"],
    ['64:ff9b::93.184.216.99', 'an address of this machine'],
    ['64:ff9b:1::8.8.8.8', 'a local NAT64 address'],
    ['64:ff9b:0:0:1::8.8.8.8', 'a reserved address'],
    ['100::1', 'a reserved address'],
    ['2001::7f00:1', 'a Teredo address'],
    ['2001:2::1', 'a benchmarking address'],
    ['2001:20::1', 'a reserved address'],
    ['2001:db8::1', 'a documentation address'],
    ['2002:7f00:1::', 'a 6to4 address'],
    ['2002:0808:0808::1', 'a 6to4 address'],
    ['3fff:1::1', 'a documentation address'],
    ['4000::1', 'a reserved address'],
    ['fc00::1', 'a private address'],
    ['fd12:3456::1', 'a private address'],
    ['fd00:ec2::254', "a cloud's metadata service"],
    ['fe80::1', 'a link-local address'],
    ['febf::1', 'a link-local address'],
    ['fec0::1', 'a site-local address'],
    ['ff02::1', 'a multicast address'],
    ['93.184.216.99', 'an address of this machine'],
    ['2606:4700:0::99', 'an address of this machine'],
  ])('%s is %s', (address, what) => {
    expect(addressProblem(canonicalAddress(address) ?? '', OWN)).toBe(what);
  });

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '93.184.216.34',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700::1111',
    '2001:4860:4860::8888',
    '2001:200::1',
    '2003::1',
    '2a00:1450:4001:80b::200e',
    '64:ff9b::8.8.8.8',
  ])('%s is public', (address) => {
    expect(addressProblem(canonicalAddress(address) ?? '', OWN)).toBeUndefined();
  });

  test.each([
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['::FFFF:1.2.3.4', '::ffff:102:304'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
    ['1.2.3.4', '1.2.3.4'],
    ['1.2.3', undefined],
    ['01.2.3.4', undefined],
    ['0x7f.0.0.1', undefined],
    ['1.2.3.4 ', undefined],
    ['256.1.1.1', undefined],
    ['[::1]', undefined],
    ['fe80::1%eth0', undefined],
    ['example.com', undefined],
    ['', undefined],
  ])('%j is written as %j', (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical);
  });

  test('is loopback in both families only', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1'].every(isLoopbackAddress)).toBe(true);
    expect(['0.0.0.0', '128.0.0.1', '::2', '::', '10.0.0.1'].some(isLoopbackAddress)).toBe(false);
  });
});
