import { expect, test } from 'vitest';
import { TOOLS } from '../tools/tools.ts';
import { createDefinitions } from './definitions.ts';
import { listFor } from './offer.ts';

const definitions = createDefinitions(TOOLS);
const claude = { name: 'claude-code', version: '2' };

test('a client that is answered with text alone is promised no structured content', () => {
  const listed = listFor(claude, { definitions, answers: 'auto' });
  expect(listed).toEqual(
    definitions.map((definition) => {
      const { outputSchema: _, ...rest } = definition;
      return rest;
    }),
  );
  expect(listed.some((tool) => 'outputSchema' in tool)).toBe(false);
});

test('a tool whose answers another interface defines keeps its output schema', () => {
  const [first, second] = definitions;
  const listed = listFor(claude, { definitions, answers: 'auto', exact: [first?.name ?? ''] });
  expect(listed[0]).toEqual(first);
  expect(listed[1]).not.toEqual(second);
});

test.each([
  ['another client', { name: 'other', version: '1' }, 'auto'],
  ['an operator who wants both', claude, 'both'],
  ['a server without the setting', claude, undefined],
] as const)('%s sees the output schemas', (_, client, answers) => {
  expect(listFor(client, { definitions, ...(answers !== undefined && { answers }) })).toEqual(definitions);
});
