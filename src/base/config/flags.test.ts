import { describe, expect, it } from 'vitest';
import { parseHttpAddress } from './flags.ts';

describe('parseHttpAddress', () => {
  it.each([
    ['localhost:8080', { host: 'localhost', port: '8080' }],
    [':8080', { host: undefined, port: '8080' }],
    ['8080', { port: '8080' }],
    ['0', { port: '0' }],
    ['127.0.0.1', { host: '127.0.0.1', port: undefined }],
    ['[::1]:8080', { host: '::1', port: '8080' }],
    ['[::1]', { host: '::1', port: undefined }],
  ])('reads %j', (text, expected) => {
    expect(parseHttpAddress(text)).toEqual(expected);
  });

  it.each([
    [''],
    [':'],
    ['localhost:'],
    ['localhost:http'],
    ['http://localhost:80'],
    ['localhost/mcp'],
    ['a b:80'],
    ['a:80:90'],
    ['[]:80'],
    ['[localhost]:80'],
    ['[::1]80'],
    ['[::1'],
    ['localhost:-1'],
  ])('refuses %j', (text) => {
    expect(parseHttpAddress(text)).toBe(
      `must be host:port, :port, port or host, with IPv6 in brackets, got ${JSON.stringify(text)}`,
    );
  });

  it('says how an IPv6 address is written', () => {
    expect(parseHttpAddress('::1')).toBe('must have an IPv6 address in brackets: [::1]');
  });
});
