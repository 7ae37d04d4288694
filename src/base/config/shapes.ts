/**
 * What a value in a settings file must look like: a check that names every problem, and the same as JSON Schema. By
 * hand and without a schema library, because settings are read at every start, before anything can be answered.
 */
import { isObject } from '../objects.ts';

export type JsonSchema = { readonly [keyword: string]: unknown };

export interface Problem {
  /** Where it is, within the value that was checked. */
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** The part that is wrong. */
  readonly input: unknown;
}

export interface Shape<Value> {
  readonly json: JsonSchema;
  /** At most one problem for each place; none where the value is a `Value`. */
  check(value: unknown): readonly Problem[];
  /** Carries the type; there is no such field. */
  readonly of?: Value;
}

/** One sentence about a value of the wrong kind, or nothing. */
type Check = (value: unknown) => string | undefined;

export function leaf<Value>(json: JsonSchema, check: Check): Shape<Value> {
  return {
    json,
    check(value) {
      const message = check(value);
      return message === undefined ? [] : [{ path: [], message, input: value }];
    },
  };
}

export function wholeNumber({ min, max }: { readonly min: number; readonly max: number }): Shape<number> {
  return leaf({ type: 'integer', minimum: min, maximum: max }, (value) => {
    if (!Number.isSafeInteger(value)) return 'must be a whole number';
    return Number(value) < min || Number(value) > max ? `must be between ${min} and ${max}` : undefined;
  });
}

export const truth: Shape<boolean> = leaf({ type: 'boolean' }, (value) =>
  typeof value === 'boolean' ? undefined : 'must be true or false',
);

export function oneOf<const Name extends string>(names: readonly Name[]): Shape<Name> {
  const known: readonly unknown[] = names;
  return leaf({ type: 'string', enum: names }, (value) =>
    known.includes(value) ? undefined : `must be one of ${names.join(', ')}`,
  );
}

/** A text that is not empty; further checks come after that. */
export function text(json: JsonSchema = {}, check: (value: string) => string | undefined = () => undefined) {
  return leaf<string>({ type: 'string', minLength: 1, ...json }, (value) => {
    if (typeof value !== 'string') return 'must be a string';
    return value === '' ? 'must not be empty' : check(value);
  });
}

export function listOf<Value>(
  item: Shape<Value>,
  message: string,
  whenEmpty?: string,
): Shape<readonly Value[]> {
  return {
    json: { ...(whenEmpty !== undefined && { minItems: 1 }), type: 'array', items: item.json },
    check(value) {
      if (!Array.isArray(value)) return [{ path: [], message, input: value }];
      if (value.length === 0 && whenEmpty !== undefined)
        return [{ path: [], message: whenEmpty, input: value }];
      return value.flatMap((each: unknown, index) => below(index, item.check(each)));
    },
  };
}

/** Any names, each with a value of the same shape. */
export function tableOf<Value>(item: Shape<Value>, message: string): Shape<Readonly<Record<string, Value>>> {
  return {
    json: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: item.json },
    check(value) {
      if (!isTable(value)) return [{ path: [], message, input: value }];
      return Object.entries(value).flatMap(([name, each]) => below(name, item.check(each)));
    },
  };
}

export function below(name: string | number, problems: readonly Problem[]): Problem[] {
  return problems.map((problem) => ({ ...problem, path: [name, ...problem.path] }));
}

export function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !(value instanceof Date);
}
