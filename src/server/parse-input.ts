/**
 * A tool's input, parsed once and for all tools in the same way: a strict zod object, no NUL characters, and one
 * PARAM_ error that names every problem and carries the code of the first.
 */
import type * as z from 'zod';
import { type ErrorCode, ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { once } from '../base/once.ts';
import type { Tool } from '../tools/tool.ts';
import { type InputProblem, problemsOf, wordIssue } from './input-problems.ts';
import { clip, closed, quote } from './quote.ts';

export type InputParser = (args: unknown) => Record<string, unknown>;

export function createInputParser(tool: Tool): InputParser {
  const strict = once(() => strictInput(tool));
  return (args) => {
    const schema = strict();
    const given = args ?? {};
    const parsed = schema.safeParse(given, { reportInput: true, error: wordIssue });
    const problems = parsed.success ? [] : problemsOf(parsed.error.issues, schema);
    for (const path of nulPaths(given)) {
      problems.push({ kind: 'value', path, problem: 'must not contain NUL characters' });
    }
    if (parsed.success && problems.length === 0) return parsed.data;
    throw toError(problems, Object.keys(schema.shape));
  };
}

/** Whatever the tool's author wrote: a parameter that nobody reads is a mistake the caller should hear of. */
export function strictInput(tool: Tool): z.ZodObject {
  return tool.input().strict();
}

const CODES: Record<InputProblem['kind'], ErrorCode> = {
  missing: 'PARAM_001',
  unknown: 'PARAM_002',
  value: 'PARAM_002',
  type: 'PARAM_003',
};

function toError(problems: readonly InputProblem[], parameters: readonly string[]): ShellServerError {
  const named = problems.slice(0, LIMITS.parameterIssues);
  const left = problems.length - named.length;
  const sentences = named.map(toSentence);
  if (left > 0) sentences.push(`There are ${left} more problems.`);
  const code = CODES[problems[0]?.kind ?? 'value'];
  const unknown = problems.some((problem) => problem.kind === 'unknown');
  return new ShellServerError(code, sentences.join(' '), {
    ...(unknown && { hint: parameterList(parameters) }),
    details: {
      name: 'InvalidParameters',
      issues: named.map(({ path, problem }) => ({ parameter: nameOf(path), problem })),
    },
  });
}

function toSentence({ kind, path, problem }: InputProblem): string {
  const name = quote(nameOf(path));
  if (kind === 'missing') return `The parameter ${name} is missing.`;
  if (kind === 'unknown')
    return closed(`There is no parameter ${name}${problem.replace('is not known', '')}`);
  return closed(`The parameter ${name} ${problem}`);
}

function parameterList(parameters: readonly string[]): string {
  if (parameters.length === 0) return 'This tool takes no parameters.';
  return `The parameters are: ${parameters.join(', ')}.`;
}

/** `dimensions.width`, `keys[2]`; what is wrong as a whole is called `arguments`. */
function nameOf(path: readonly PropertyKey[]): string {
  let name = '';
  for (const part of path) {
    if (typeof part === 'number') name += `[${part}]`;
    else name += name === '' ? String(part) : `.${String(part)}`;
  }
  return name === '' ? 'arguments' : clip(name);
}

/**
 * No argument of execve, path or environment entry can hold a NUL, and each would fail in its own way. An explicit
 * stack, since nothing here knows how deep the value is.
 */
function nulPaths(value: unknown): PropertyKey[][] {
  const found: PropertyKey[][] = [];
  const pending: { value: unknown; path: PropertyKey[] }[] = [{ value, path: [] }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value: current, path } = next;
    if (typeof current === 'string' && current.includes('\0')) found.push(path);
    if (current === null || typeof current !== 'object') continue;
    const isList = Array.isArray(current);
    for (const [key, item] of Object.entries(current)) {
      const itemPath = [...path, isList ? Number(key) : key];
      if (key.includes('\0')) found.push(itemPath);
      else if (typeof item === 'string' || typeof item === 'object')
        pending.push({ value: item, path: itemPath });
    }
  }
  return found.reverse();
}
