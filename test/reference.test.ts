import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { renderReference, renderTools } from '../scripts/reference.ts';
import { defineTool } from '../src/tools/tool.ts';

const root = join(import.meta.dirname, '..');

test('the reference pages say what the code says; npm run docs writes them', async () => {
  const rendered = await renderReference();
  const onDisk = [...rendered.keys()].map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
  expect(new Map(onDisk)).toEqual(rendered);
});

describe('the page of the tools', () => {
  const tool = defineTool({
    name: 'probe',
    title: 'Probe',
    description: 'Looks at a | b.',
    input: () =>
      z.strictObject({
        command: z.string().min(1).max(9).describe('What to\nlook at.'),
        mode: z.enum(['a', 'b']).default('a'),
        size: z.object({ width: z.int().min(1).max(500).default(120) }).optional(),
        names: z.array(z.string()).optional(),
        environment: z.record(z.string(), z.string()).optional(),
      }),
    output: () =>
      z.object({
        count: z.int().optional(),
        items: z.array(z.object({ id: z.string() })).describe('Newest first.'),
        value: z.union([z.string(), z.null()]),
      }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: () => Promise.resolve({ data: { items: [], value: null }, text: '' }),
  });

  test('lists parameters and fields with types, ranges and defaults', () => {
    expect(renderTools([tool]).split('\n').slice(6)).toEqual([
      '## probe',
      '',
      '**Probe.** Looks at a | b.',
      '',
      '*Hints for clients: only reads, may be repeated without further effect.*',
      '',
      '### Parameters',
      '',
      '| Name | Type | Default | Meaning |',
      '| --- | --- | --- | --- |',
      '| `command` | string, 1 to 9 characters | required | What to look at. |',
      '| `mode` | `"a"`, `"b"` | `"a"` |  |',
      '| `size` | object |  |  |',
      '| `size.width` | integer, 1 to 500 | `120` |  |',
      '| `names` | list of string |  |  |',
      '| `environment` | object of string |  |  |',
      '',
      '### Answer',
      '',
      '| Name | Type | Meaning |',
      '| --- | --- | --- |',
      '| `count` | integer |  |',
      '| `items` | list of object | Newest first. |',
      '| `items[].id` | string |  |',
      '| `value` | string or null |  |',
      '',
    ]);
  });
});
