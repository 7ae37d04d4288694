/** What the build does to object literals that begin with a spread. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { withStableShapes } from '../scripts/stable-shapes.mjs';

test.for([
  ['a literal that begins with a spread and goes on', 'f({ ...a, b: 1 });', 'f({ ..."",...a, b: 1 });'],
  ['two spreads', 'const c = { ...a, ...b };', 'const c = { ..."",...a, ...b };'],
  ['one in another', 'f({ ...a, b: { ...c, d } });', 'f({ ..."",...a, b: { ..."",...c, d } });'],
  ['types, letters beyond ASCII and lines', 'const é: T = {\n  ...(a as T),\n  b,\n};', undefined],
])('%s', ([, text = '', expected]) => {
  const changed = withStableShapes(text, 'a.ts');
  expect(changed).toBe(expected ?? text.replace('...', '..."",...'));
  expect(changed.split('\n')).toHaveLength(text.split('\n').length);
});

test.for([
  ['a copy, which has one class for all', 'f({ ...a });'],
  ['a spread that comes later', 'f({ b: 1, ...a });'],
  ['what is taken apart', 'const { ...rest } = a; const { b, ...others } = rest;'],
  ['lists and arguments', 'f(...a, [...b, 1]);'],
  ['texts and comments', "f('{ ...a, b }', `{ ...c, d }`); // { ...e, f }"],
])('left alone: %s', ([, text = '']) => {
  expect(withStableShapes(text, 'a.ts')).toBe(text);
});

test('objects of one literal have one hidden class, and what is spread is what it was', () => {
  const literal = 'const make = (a) => ({ ...a, b: 2 });';
  const script = `${withStableShapes(literal, 'a.ts')}
    for (let n = 0; n < 1000; n++) make({ a: n });
    const own = JSON.parse('{"__proto__": 1, "a": 1}');
    console.log(%HaveSameMap(make({ a: 1 }), make({ a: 2 })), JSON.stringify(make(own)));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--allow-natives-syntax', '-e', script], {
    encoding: 'utf8',
  });
  expect([stdout, stderr]).toEqual(['true {"__proto__":1,"a":1,"b":2}\n', '']);
});
