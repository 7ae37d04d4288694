import { describe, expect, test } from 'vitest';
import { parseAuthority } from '../../base/config/domain-names.ts';
import { hostProblem, judgeAddresses, parseDomains } from './domain-rules.ts';

const RULES = parseDomains([
  'example.com',
  '*.Example.org',
  'bücher.example',
  'registry.example.net:8443',
  '*.wild.example.net:9000',
  'dotted.example.',
  '93.184.216.34',
  '10.0.0.5:8443',
  '[2606:4700::1]:8080',
  '2606:4700::2',
  'localhost:3000',
]);

describe('the allow list', () => {
  test.each([
    'example.com:443',
    'example.com:80',
    'EXAMPLE.COM:443',
    'example.com.:443',
    'a.example.org:443',
    'a.b.c.example.org:443',
    'xn--bcher-kva.example:443',
    'BÜCHER.example:443',
    'registry.example.net:8443',
    'a.wild.example.net:9000',
    'dotted.example:443',
    '93.184.216.34:443',
    '10.0.0.5:8443',
    '[2606:4700::1]:8080',
    '[2606:4700:0:0::2]:443',
    'localhost:3000',
  ])('opens %s', (text) => {
    expect(problemOf(text)).toBeUndefined();
  });

  test.each([
    ['evil.com:443', 'evil.com:443 is not in security.allowed_domains.'],
    ['evil-example.com:443', 'evil-example.com:443 is not in security.allowed_domains.'],
    ['evilexample.com:443', 'evilexample.com:443 is not in security.allowed_domains.'],
    ['sub.example.com:443', 'sub.example.com:443 is not in security.allowed_domains.'],
    ['example.com.evil.com:443', 'example.com.evil.com:443 is not in security.allowed_domains.'],
    ['example.org:443', 'example.org:443 is not in security.allowed_domains.'],
    ['notexample.org:443', 'notexample.org:443 is not in security.allowed_domains.'],
    ['com:443', 'com:443 is not in security.allowed_domains.'],
    ['bucher.example:443', 'bucher.example:443 is not in security.allowed_domains.'],
    // A Cyrillic letter that looks Latin.
    ['ex\u0430mple.com:443', 'xn--exmple-4nf.com:443 is not in security.allowed_domains.'],
    ['1.1.1.1:443', '1.1.1.1:443 is not in security.allowed_domains.'],
    ['127.0.0.1:3000', '127.0.0.1:3000 is not in security.allowed_domains.'],
    ['[::1]:3000', '[::1]:3000 is not in security.allowed_domains.'],
    ['[::ffff:10.0.0.5]:8443', '[::ffff:a00:5]:8443 is not in security.allowed_domains.'],
    [
      'example.com:22',
      'The port 22 of example.com is not in security.allowed_domains; an entry without a port opens 80 and 443.',
    ],
    [
      'registry.example.net:443',
      'The port 443 of registry.example.net is not in security.allowed_domains; an entry without a port opens 80 and 443.',
    ],
    [
      '10.0.0.5:443',
      'The port 443 of 10.0.0.5 is not in security.allowed_domains; an entry without a port opens 80 and 443.',
    ],
  ])('refuses %s', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  test('that is empty opens nothing', () => {
    expect(parseDomains([]).allows('example.com', 443)).toBe(false);
  });

  test('has no entry that is not a domain', () => {
    const problem = 'security.allowed_domains: "*.1.2.3.4" is not a domain; an address has no subdomains.';
    expect(() => parseDomains(['example.com', '*.1.2.3.4'])).toThrow(
      expect.objectContaining({ code: 'SYSTEM_003', message: problem }),
    );
  });
});

describe('of resolved addresses', () => {
  const judge = (text: string, resolved: string[], own: string[] = []) => {
    const target = parseAuthority(text);
    if (target === undefined) throw new Error(text);
    return judgeAddresses(RULES, target, resolved, new Set(own));
  };

  test.each([
    ['example.com:443', ['93.184.216.34', '2606:4700::9'], ['93.184.216.34', '2606:4700::9']],
    ['example.com:443', ['127.0.0.1', '1.1.1.1', '1.1.1.1', '10.0.0.1'], ['1.1.1.1']],
    ['example.com:443', ['127.0.0.1'], []],
    ['example.com:443', ['fe80::1%eth0', 'garbage', ''], []],
    ['example.com:443', ['::ffff:1.1.1.1'], []],
    ['example.com:443', ['10.0.0.5'], []],
    ['registry.example.net:8443', ['10.0.0.5', '10.0.0.6'], ['10.0.0.5']],
    ['registry.example.net:8443', ['::ffff:10.0.0.5', '64:ff9b::10.0.0.5'], []],
    ['localhost:3000', ['::1', '127.0.0.1'], ['::1', '127.0.0.1']],
    ['localhost:3000', ['10.0.0.1', '169.254.169.254', '0.0.0.0'], []],
    ['a.example.org:443', ['::1', '127.0.0.1'], []],
    ['10.0.0.5:8443', ['10.0.0.5'], ['10.0.0.5']],
  ])('%s at %j leaves %j', (text, resolved, open) => {
    expect(judge(text, resolved).open).toEqual(open);
  });

  test('one of this machine is closed, unless it is named', () => {
    expect(judge('example.com:443', ['1.1.1.1'], ['1.1.1.1']).open).toEqual([]);
    expect(judge('example.com:443', ['93.184.216.34'], ['93.184.216.34']).open).toEqual(['93.184.216.34']);
  });

  test('a closed one comes with the entry that would open it', () => {
    expect(judge('example.com:443', ['10.0.0.9']).problem).toBe(
      'example.com resolves to 10.0.0.9, which is a private address; the entry "10.0.0.9:443" in security.allowed_domains would open it.',
    );
    expect(judge('example.com:80', ['::1']).problem).toBe(
      'example.com resolves to ::1, which is a loopback address; the entry "[::1]:80" in security.allowed_domains would open it.',
    );
  });
});

function problemOf(text: string): string | undefined {
  const target = parseAuthority(text);
  if (target === undefined) throw new Error(`${text} is not a host and a port`);
  return hostProblem(RULES, target);
}
