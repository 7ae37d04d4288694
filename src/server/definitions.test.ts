import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createFixtureTools } from '../../test/e2e/support/fixture-tools.ts';
import { measureDefinitions } from '../../test/support/measure-definitions.ts';
import { defineTool } from '../tools/tool.ts';
import { createDefinitions } from './definitions.ts';

const tool = defineTool({
  name: 'take',
  title: 'Take',
  description: 'Takes many things.',
  input: () =>
    z.object({
      command: z.string().min(1).describe('What to run'),
      mode: z.enum(['a', 'b']).default('a'),
      anything: z.number().int().optional(),
      bounded: z.number().int().min(1).max(9).optional(),
      environment: z.record(z.string(), z.string()).optional(),
      dimensions: z.strictObject({ width: z.number().int().min(1) }).optional(),
      format: z.string().optional(),
      at: z.iso.datetime().optional(),
    }),
  output: () =>
    z.object({
      id: z.string(),
      at: z.iso.datetime(),
      items: z.array(z.object({ name: z.string(), size: z.number().int() })),
      format: z.strictObject({ pattern: z.string() }).optional(),
    }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  run: () => Promise.reject(new Error('never called')),
});

describe('definitions', () => {
  const [definition] = createDefinitions([tool]);

  it('keep of the input schema what a model needs and nothing else', () => {
    expect(definition?.inputSchema).toEqual({
      type: 'object',
      properties: {
        command: { type: 'string', minLength: 1, description: 'What to run' },
        mode: { default: 'a', type: 'string', enum: ['a', 'b'] },
        anything: { type: 'integer' },
        bounded: { type: 'integer', minimum: 1, maximum: 9 },
        environment: { type: 'object', additionalProperties: { type: 'string' } },
        dimensions: {
          type: 'object',
          properties: { width: { type: 'integer', minimum: 1 } },
          required: ['width'],
          additionalProperties: false,
        },
        format: { type: 'string' },
        at: { type: 'string', format: 'date-time' },
      },
      required: ['command'],
      additionalProperties: false,
    });
  });

  it('leave the output schema open, with nothing required and an optional error', () => {
    expect(definition?.outputSchema).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string' },
        at: { type: 'string' },
        items: {
          type: 'array',
          items: {
            type: 'object',
            properties: { name: { type: 'string' }, size: { type: 'integer' } },
            required: ['name', 'size'],
          },
        },
        format: { type: 'object', properties: { pattern: { type: 'string' } }, required: ['pattern'] },
        events: { type: 'array', items: { type: 'object' } },
        more_events: { type: 'number' },
        error: expect.objectContaining({ type: 'object' }),
      },
    });
  });

  it('let both an error and an answer pass the validator of a client', () => {
    const validate = new AjvJsonSchemaValidator().getValidator(definition?.outputSchema ?? {});
    const error = { code: 'SYSTEM_001', message: '', category: 'SYSTEM', details: {} };
    expect(validate({ error })).toMatchObject({ valid: true });
    expect(validate({ id: 'x', at: 'now', items: [], new_field: 1 })).toMatchObject({ valid: true });
    expect(validate({ id: 5 })).toMatchObject({ valid: false });
  });

  it('come in the order of the catalogue, with title, annotations and _meta', () => {
    const { tools } = createFixtureTools();
    const definitions = createDefinitions(tools);
    expect(definitions.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    expect(definitions[0]).toMatchObject({
      title: 'Echo',
      annotations: { readOnlyHint: true },
      _meta: { 'anthropic/alwaysLoad': true },
    });
    expect(JSON.stringify(createDefinitions(tools))).toBe(JSON.stringify(definitions));
  });

  it('are measured by what a model must read', () => {
    const definitions = createDefinitions([tool, ...createFixtureTools().tools]);
    const { averageBytes, totalBytes, bytesByTool } = measureDefinitions(definitions);
    expect(bytesByTool.get('take')).toBe(
      Buffer.byteLength(
        JSON.stringify({
          name: 'take',
          description: 'Takes many things.',
          inputSchema: definition?.inputSchema,
        }),
      ),
    );
    expect(averageBytes).toBe(totalBytes / 5);
    expect(measureDefinitions([]).averageBytes).toBe(0);
  });
});
