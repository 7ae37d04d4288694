import { expect, test } from 'vitest';
import { placesAround } from './places-around.ts';

const MANY = Array.from({ length: 50 }, (_, index) => `${index}`);

test.for<[string, readonly string[], readonly string[]]>([
  ['few are as they were', ['/w/a/b', '/w/c'], ['/w/a/b', '/w/c']],
  [
    'of many in one directory the directory',
    ['/w/x', ...MANY.map((name) => `/w/a/b/${name}`)],
    ['/w/a/b', '/w/x'],
  ],
  ['of many directories the one around them', MANY.map((name) => `/w/a/${name}/b`), ['/w/a']],
  [
    'of those that lie deepest first',
    ['/w/x/y', ...MANY.map((name) => `/w/a/b/c/${name}/d`)],
    ['/w/a/b/c', '/w/x/y'],
  ],
  ['no more than all that may be', MANY.map((name) => `/w/${name}/a`), ['/w']],
  ['nothing above that', MANY.map((name) => `/w/${name}`), ['/w']],
])('%s', ([, paths, expected]) => {
  expect(placesAround(paths, 5, ['/w']).toSorted()).toEqual(expected);
});

test('of very many takes a moment', () => {
  const paths = Array.from({ length: 20_000 }, (_, index) => `/w/${index % 100}/${'a/'.repeat(50)}${index}`);
  const startMs = performance.now();
  expect(placesAround(paths, 200)).toHaveLength(100);
  expect(performance.now() - startMs).toBeLessThan(5000);
});
