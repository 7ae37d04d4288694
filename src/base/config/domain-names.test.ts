import { describe, expect, test } from 'vitest';
import { checkDomainEntry, parseAuthority } from './domain-names.ts';

test.each([
  '',
  ':443',
  'example.com',
  'example.com:',
  'example.com:0',
  'example.com:0443',
  'example.com:65536',
  'example.com:443:443',
  'example.com:+443',
  'example.com:443 ',
  ' example.com:443',
  'user@example.com:443',
  'user:password@example.com:443',
  'evil.com#@example.com:443',
  'example.com/:443',
  'example.com\\evil.com:443',
  'example.com%00.evil.com:443',
  'ex%61mple.com:443',
  'example.com\0:443',
  'exam\tple.com:443',
  '.example.com:443',
  'example..com:443',
  'example.com..:443',
  '*.example.org:443',
  '127.1:80',
  '0:80',
  '2130706433:80',
  '0x7f000001:80',
  '0x7f.0.0.1:80',
  '0177.0.0.1:80',
  '127.0.0.1.example.0x1:80',
  '１２７.0.0.1:80',
  '::1:80',
  '[127.0.0.1]:80',
  '[::1:80',
  '[::1]80',
  '[fe80::1%25eth0]:80',
  '[example.com]:80',
  '\ufffd.com:443',
  `${'a'.repeat(64)}.com:443`,
  `${'a.'.repeat(127)}com:443`,
])('%j is not a host and a port', (text) => {
  expect(parseAuthority(text)).toBeUndefined();
});

describe('an entry', () => {
  test.each([
    'example.com',
    'EXAMPLE.com.',
    '*.example.com',
    '*.com',
    'localhost',
    'internal',
    'my_host.example.com',
    'example.com:8443',
    '*.example.com:8443',
    'bücher.example',
    '1.2.3.4',
    '1.2.3.4:80',
    '::1',
    '[::1]',
    '[::1]:80',
  ])('%s is fine', (entry) => {
    expect(checkDomainEntry(entry)).toBeUndefined();
  });

  test.each([
    ['*', 'must be domains; an empty list opens all domains'],
    ['https://example.com', 'must be domains; write the host alone, without "https://" and path'],
    ['10.0.0.0/8', 'must be domains; a range is not supported, each address is an entry of its own'],
    ['example.com/path', 'must be domains; a path cannot be distinguished; write only the host'],
    ['a.*.example.com', 'must be domains; a wildcard stands first and alone, as in "*.example.com"'],
    ['*example.com', 'must be domains; a wildcard stands first and alone, as in "*.example.com"'],
    ['*.1.2.3.4', 'must be domains; an address has no subdomains'],
    ['', 'must be domains; write "example.com", "*.example.com", "example.com:8443" or an IP address'],
  ])('%j is explained', (entry, problem) => {
    expect(checkDomainEntry(entry)).toBe(problem);
  });

  test.each([
    '*.',
    '*.*',
    ' a.com',
    'a.com ',
    'a b',
    'a.com:x',
    'a.com:0',
    'a.com:99999',
    '127.1',
    '0x7f',
    'a@b.com',
  ])('%j is none', (entry) => {
    expect(checkDomainEntry(entry)).toMatch(/^must be domains; /);
  });
});
