/**
 * What tools/list shows, computed once and in the order of the catalogue. A model reads name, description and input
 * schema of every tool before it has done anything, so each byte of them is paid for in every conversation.
 */
import * as z from 'zod';
import { isObject } from '../base/objects.ts';
import type { Annotations, Tool } from '../tools/tool.ts';
import { NEWS_SCHEMA } from './client-news.ts';
import { strictInput } from './parse-input.ts';

export interface ToolDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
  readonly annotations: Annotations;
  readonly _meta?: Record<string, unknown>;
}

/** A type and not an interface: the SDK's schemas have an index signature. */
export type ObjectSchema = {
  type: 'object';
  properties?: Record<string, JsonSchema>;
  required?: string[];
  [keyword: string]: unknown;
};

type JsonSchema = { [keyword: string]: unknown };

export function createDefinitions(tools: readonly Tool[]): readonly ToolDefinition[] {
  return tools.map((tool) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: inputSchemaOf(tool),
    outputSchema: outputSchemaOf(tool),
    annotations: tool.annotations,
    ...(tool.meta !== undefined && { _meta: { ...tool.meta } }),
  }));
}

function inputSchemaOf(tool: Tool): ObjectSchema {
  return slim(z.toJSONSchema(strictInput(tool), { io: 'input' }), new Set()) as ObjectSchema;
}

/**
 * One object with an optional `error`, nothing required and nothing forbidden: 1.x SDK clients check the structured
 * part of an error result against this schema too, and throw away what does not fit. Formats go because those
 * clients' validator does not know any and refuses to compile a schema that names one.
 */
function outputSchemaOf(tool: Tool): ObjectSchema {
  // "input" is what a tool writes; in the "output" view zod would close every object.
  const schema = slim(
    z.toJSONSchema(tool.output(), { io: 'input' }),
    new Set(['format', 'pattern', 'additionalProperties:false']),
  ) as ObjectSchema;
  const { required: _, ...open } = schema;
  return { ...open, type: 'object', properties: { ...open.properties, ...NEWS_SCHEMA, error: ERROR_SCHEMA } };
}

const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'Only where the call failed',
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    category: { type: 'string' },
    details: { type: 'object' },
    timestamp: { type: 'string' },
    request_id: { type: 'string' },
  },
};

/** A bound that no sensible call comes near. */
const WIDE = 1_000_000;

/** Without what says nothing: the dialect, bounds that are out of reach, key types that JSON has anyway. */
function slim(schema: JsonSchema, unwanted: ReadonlySet<string>): JsonSchema {
  const kept: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (unwanted.has(keyword) || unwanted.has(`${keyword}:${String(value)}`)) continue;
    if (isNoise(keyword, value, schema)) continue;
    kept[keyword] = slimValue(keyword, value, unwanted);
  }
  return kept;
}

function isNoise(keyword: string, value: unknown, schema: JsonSchema): boolean {
  switch (keyword) {
    case '$schema':
    case '~standard':
      return true;
    case 'minimum':
    case 'maximum':
      return Math.abs(Number(value)) >= WIDE;
    case 'propertyNames':
      return isObject(value) && Object.keys(value).length === 1 && value['type'] === 'string';
    case 'additionalProperties':
      return isObject(value) && Object.keys(value).length === 0;
    case 'pattern':
      // Zod writes the whole expression of a format (for a date 300 bytes) beside its name.
      return schema['format'] !== undefined;
    default:
      return false;
  }
}

/** Keywords whose members are schemas by name: a property may be called "format". */
const SCHEMA_MAPS = new Set(['properties', '$defs', 'patternProperties']);
/** Keywords whose value is data and no schema. */
const DATA = new Set(['default', 'enum', 'const', 'required', 'examples']);

function slimValue(keyword: string, value: unknown, unwanted: ReadonlySet<string>): unknown {
  if (DATA.has(keyword)) return value;
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? slim(item, unwanted) : item));
  if (!isObject(value)) return value;
  if (!SCHEMA_MAPS.has(keyword)) return slim(value, unwanted);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, isObject(item) ? slim(item, unwanted) : item]),
  );
}
