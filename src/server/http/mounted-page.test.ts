import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { createPagePlaces, originsOf } from './mounted-page.ts';

const placeOf = (at: { host: string; publicUrl?: string; hasPage: boolean; used: string }): string => {
  const { host, hasPage, used } = at;
  const publicUrl = at.publicUrl === undefined ? undefined : new URL(at.publicUrl);
  const origins = hasPage ? originsOf({ host, port: 7411, publicUrl }, false) : undefined;
  const place = createPagePlaces({ host, publicUrl, origins })({
    headers: { host: used },
  } as IncomingMessage);
  return String(place);
};

test.each([
  ['the address that the client used', '127.0.0.1', 'localhost:7411', 'http://localhost:7411/ui/'],
  ['its own address', '127.0.0.1', '127.0.0.1:7411', 'http://127.0.0.1:7411/ui/'],
  ['its own address among others', '10.1.2.3', '10.1.2.3:7411', 'http://10.1.2.3:7411/ui/'],
  // The page does not answer there.
  ['no other name', '0.0.0.0', 'elsewhere.example:7411', 'undefined'],
])('a page that is served here is found at %s', (_, host, used, place) => {
  expect(placeOf({ host, used, hasPage: true })).toBe(place);
});

test('a page that is served here is found below the public URL, whatever a proxy says', () => {
  const publicUrl = 'https://shell.example/mcp';
  expect(placeOf({ host: '127.0.0.1', publicUrl, used: '127.0.0.1:7411', hasPage: true })).toBe(
    'https://shell.example/ui/',
  );
});

test.each([
  ['a client of this machine', { host: '127.0.0.1' }, 'local'],
  ['a client of another machine', { host: '0.0.0.0' }, 'undefined'],
  ['a client behind a proxy', { host: '127.0.0.1', publicUrl: 'https://shell.example' }, 'undefined'],
])('a page that is served beside it is for %s: %s', (_, at, place) => {
  expect(placeOf({ ...at, used: '127.0.0.1:7411', hasPage: false })).toBe(place);
});
