import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { minimalRoot, programRoot } from './minimal-root.ts';
import { createRoots } from './roots.ts';
import { createHost } from './sandbox.fixture.ts';

test('are what is found on this machine, and nothing where the host’s own is shown', () => {
  const roots = createRoots();
  expect(roots.of('minimal', [])).toEqual(minimalRoot());
  expect(roots.of('programs', ['ls', 'sh'])).toEqual(programRoot(['ls', 'sh']));
  expect(roots.of('programs', ['ls'])).toEqual(programRoot(['ls']));
  expect(roots.of('host', ['ls'])).toEqual([]);
});

test('are looked for again when something came or went where they lie, or was wrong with them', () => {
  const host = createHost();
  const programs = host.makeDirectory('bin');
  const roots = createRoots([programs]);
  const first = roots.of('programs', ['sh']);
  expect(roots.of('programs', ['sh'])).toBe(first);
  writeFileSync(join(programs, 'new'), '');
  const second = roots.of('programs', ['sh']);
  expect(second).not.toBe(first);
  expect(roots.of('programs', ['sh'])).toBe(second);
  roots.forget();
  expect(roots.of('programs', ['sh'])).not.toBe(second);
});

test('are kept for a few callers at a time', () => {
  const roots = createRoots();
  const first = roots.of('programs', ['sh', '0']);
  for (let n = 1; n <= 20; n++) roots.of('programs', ['sh', String(n)]);
  expect(roots.of('programs', ['sh', '20'])).toBe(roots.of('programs', ['sh', '20']));
  expect(roots.of('programs', ['sh', '0'])).not.toBe(first);
});
