/**
 * Zod's issues in the words of this server. A message that a schema's author wrote wins over these words (zod asks
 * the error map of the call only where the schema has none).
 */
import type * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { quote } from './quote.ts';
import { suggest } from './suggest.ts';

export interface InputProblem {
  readonly kind: 'missing' | 'type' | 'value' | 'unknown';
  readonly path: readonly PropertyKey[];
  /** Follows the parameter's name: "must be a string, not a number". */
  readonly problem: string;
}

type Issue = z.core.$ZodIssue;

export function problemsOf(issues: readonly Issue[], schema: z.ZodObject): InputProblem[] {
  return issues.flatMap((issue) => problemsOfIssue(issue, Object.keys(schema.shape)));
}

function problemsOfIssue(issue: Issue, parameters: readonly string[]): InputProblem[] {
  const { path, message } = issue;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key, index) => {
        // Only the names of the outermost object are at hand; a slip further in is named without a suggestion.
        // A million keys fit into a message, and those past what is shown are only counted.
        const isShown = path.length === 0 && index < LIMITS.parameterIssues;
        const meant = isShown ? suggest(key, parameters) : undefined;
        const hint = meant === undefined ? '' : `, did you mean "${meant}"?`;
        return { kind: 'unknown', path: [...path, key], problem: `is not known${hint}` };
      });
    case 'invalid_type':
      if (issue.input === undefined) return [missing(path)];
      return [{ kind: 'type', path, problem: message }];
    case 'invalid_value':
      if (issue.input === undefined) return [missing(path)];
      return [{ kind: isOfTypeOf(issue.input, issue.values) ? 'value' : 'type', path, problem: message }];
    case 'invalid_union':
      return problemsOfUnion(issue, parameters);
    default:
      return [{ kind: 'value', path, problem: message }];
  }
}

/** Of a union, the branch whose outer type fits says what is wrong; where none fits, the type is. */
function problemsOfUnion(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  parameters: readonly string[],
): InputProblem[] {
  const { path, message } = issue;
  if (issue.input === undefined) return [missing(path)];
  if (issue.errors.length === 0) return [{ kind: 'value', path, problem: message }];
  const fitting = issue.errors.find((branch) => !branch.some(isOuterTypeIssue));
  if (fitting === undefined) return [{ kind: 'type', path, problem: message }];
  return fitting.flatMap((inner) =>
    problemsOfIssue(inner, parameters).map((problem) => ({ ...problem, path: [...path, ...problem.path] })),
  );
}

function isOuterTypeIssue(issue: Issue): boolean {
  return issue.path.length === 0 && issue.code === 'invalid_type';
}

function missing(path: readonly PropertyKey[]): InputProblem {
  return { kind: 'missing', path, problem: 'is missing' };
}

/** The error map of a call; see zod's `error` parameter. */
export function wordIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeWords(issue.expected)}, not ${valueWords(issue.input)}`;
    case 'invalid_value':
      return wordValues(issue.values, issue.input);
    case 'too_small':
      return wordBound(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin);
    case 'too_big':
      return wordBound(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.format === 'regex' ? 'has the wrong format' : `is not a valid ${issue.format}`;
    case 'invalid_union':
      return wordUnion(issue);
    case 'invalid_key':
      return 'has a key that is not allowed';
    case 'unrecognized_keys':
      return 'has members that are not known';
    default:
      return 'has a value that is not allowed';
  }
}

function wordValues(values: readonly unknown[], input: unknown): string {
  const allowed = values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value)));
  const list = allowed.length === 1 ? String(allowed[0]) : `one of ${allowed.join(', ')}`;
  const meant =
    typeof input === 'string'
      ? suggest(
          input,
          values.filter((value) => typeof value === 'string'),
        )
      : undefined;
  return `must be ${list}, not ${valueWords(input)}${meant === undefined ? '' : `; did you mean "${meant}"?`}`;
}

function wordBound(relation: string, bound: unknown, origin: string): string {
  const number = String(bound);
  if (origin === 'string')
    return `must have ${relation} ${number} ${number === '1' ? 'character' : 'characters'}`;
  if (origin === 'array' || origin === 'set' || origin === 'map' || origin === 'object') {
    return `must have ${relation} ${number} ${number === '1' ? 'entry' : 'entries'}`;
  }
  return `must be ${relation} ${number}`;
}

function wordUnion(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  if (Array.isArray(issue.options)) return `must be one of ${issue.options.map(quote).join(', ')}`;
  const expected = (issue.errors ?? []).flatMap((branch) =>
    branch
      .filter(isOuterTypeIssue)
      .map((inner) => ('expected' in inner ? typeWords(String(inner.expected)) : '')),
  );
  if (expected.length === 0) return 'has a value that is not allowed';
  return `must be ${[...new Set(expected)].join(' or ')}, not ${valueWords(issue.input)}`;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};

function typeWords(expected: string): string {
  return TYPE_WORDS[expected] ?? expected;
}

function valueWords(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return quote(value);
}

function isOfTypeOf(value: unknown, allowed: readonly unknown[]): boolean {
  return allowed.some((one) => typeof one === typeof value);
}
