import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { defineTool } from '../tools/tool.ts';
import { createInputParser } from './parse-input.ts';

describe('the input of a tool', () => {
  const tool = defineTool({
    name: 'take',
    title: 'Take',
    description: 'Takes many things.',
    input: () =>
      z.object({
        command: z.string().min(1, 'must not be empty').max(20),
        mode: z.enum(['foreground', 'background']).optional(),
        timeout_seconds: z.number().int().min(1).max(3600).default(30),
        flag: z.boolean().optional(),
        environment: z.record(z.string(), z.string()).optional(),
        dimensions: z.strictObject({ width: z.number().int().min(1) }).optional(),
        keys: z.array(z.string()).max(3).optional(),
        either: z.union([z.string(), z.array(z.string().min(2))]).optional(),
        confirm: z.literal(true).optional(),
        at: z.iso.datetime().optional(),
      }),
    output: () => z.object({ given: z.unknown() }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: async (input) => ({ data: { given: input }, text: 'ok' }),
  });

  const parse = createInputParser(tool);

  function errorOf(args: unknown): ShellServerError {
    try {
      parse(args);
    } catch (error) {
      if (error instanceof ShellServerError) return error;
    }
    throw new Error('nothing was refused');
  }

  it('fills defaults in and takes absent arguments for none', () => {
    expect(parse({ command: 'ls' })).toEqual({ command: 'ls', timeout_seconds: 30 });
    expect(errorOf(undefined).code).toBe('PARAM_001');
  });

  it.each<[string, unknown, string, string]>([
    ['missing', {}, 'PARAM_001', 'The parameter "command" is missing.'],
    ['a wrong type', { command: 5 }, 'PARAM_003', 'The parameter "command" must be a string, not 5.'],
    ['null', { command: null }, 'PARAM_003', 'The parameter "command" must be a string, not null.'],
    ['the author’s words', { command: '' }, 'PARAM_002', 'The parameter "command" must not be empty.'],
    [
      'too long',
      { command: 'x'.repeat(21) },
      'PARAM_002',
      'The parameter "command" must have at most 20 characters.',
    ],
    [
      'too small',
      { command: 'a', timeout_seconds: 0 },
      'PARAM_002',
      'The parameter "timeout_seconds" must be at least 1.',
    ],
    [
      'too large',
      { command: 'a', timeout_seconds: 3601 },
      'PARAM_002',
      'The parameter "timeout_seconds" must be at most 3600.',
    ],
    [
      'a fraction',
      { command: 'a', timeout_seconds: 1.5 },
      'PARAM_003',
      'The parameter "timeout_seconds" must be an integer, not 1.5.',
    ],
    [
      'a number in words',
      { command: 'a', timeout_seconds: '30' },
      'PARAM_003',
      'The parameter "timeout_seconds" must be a number, not "30".',
    ],
    [
      'infinity',
      JSON.parse('{"command":"a","timeout_seconds":1e999}'),
      'PARAM_003',
      'The parameter "timeout_seconds" must be a number, not Infinity.',
    ],
    [
      'not in the list',
      { command: 'a', mode: 'backgroud' },
      'PARAM_002',
      'The parameter "mode" must be one of "foreground", "background", not "backgroud"; did you mean "background"?',
    ],
    [
      'not even a string',
      { command: 'a', mode: 1 },
      'PARAM_003',
      'The parameter "mode" must be one of "foreground", "background", not 1.',
    ],
    [
      'a literal',
      { command: 'a', confirm: false },
      'PARAM_002',
      'The parameter "confirm" must be true, not false.',
    ],
    ['a format', { command: 'a', at: 'now' }, 'PARAM_002', 'The parameter "at" is not a valid datetime.'],
    [
      'in a record',
      { command: 'a', environment: { A: 1 } },
      'PARAM_003',
      'The parameter "environment.A" must be a string, not 1.',
    ],
    [
      'in an array',
      { command: 'a', keys: ['b', {}] },
      'PARAM_003',
      'The parameter "keys[1]" must be a string, not an object.',
    ],
    [
      'too many',
      { command: 'a', keys: ['', '', '', ''] },
      'PARAM_002',
      'The parameter "keys" must have at most 3 entries.',
    ],
    [
      'no branch of a union',
      { command: 'a', either: 5 },
      'PARAM_003',
      'The parameter "either" must be a string or an array, not 5.',
    ],
    [
      'one branch of a union',
      { command: 'a', either: ['b'] },
      'PARAM_002',
      'The parameter "either[0]" must have at least 2 characters.',
    ],
    [
      'a slip',
      { command: 'a', timeout_second: 1 },
      'PARAM_002',
      'There is no parameter "timeout_second", did you mean "timeout_seconds"?',
    ],
    [
      'a part',
      { command: 'a', timeout: 1 },
      'PARAM_002',
      'There is no parameter "timeout", did you mean "timeout_seconds"?',
    ],
    ['an unknown one', { command: 'a', zzzzzz: 1 }, 'PARAM_002', 'There is no parameter "zzzzzz".'],
    [
      'an unknown one inside',
      { command: 'a', dimensions: { width: 1, depth: 1 } },
      'PARAM_002',
      'There is no parameter "dimensions.depth".',
    ],
    [
      'a prototype',
      JSON.parse('{"command":"a","__proto__":{"x":1}}'),
      'PARAM_002',
      'There is no parameter "__proto__".',
    ],
    ['NUL', { command: 'a\0b' }, 'PARAM_002', 'The parameter "command" must not contain NUL characters.'],
    [
      'NUL inside',
      { command: 'a', environment: { A: '\0' } },
      'PARAM_002',
      'The parameter "environment.A" must not contain NUL characters.',
    ],
    [
      'NUL in a name',
      { command: 'a', environment: { 'A\0': '' } },
      'PARAM_002',
      'The parameter "environment.A\\u0000" must not contain NUL characters.',
    ],
    ['not an object', [], 'PARAM_003', 'The parameter "arguments" must be an object, not an array.'],
    ['text', 'ls', 'PARAM_003', 'The parameter "arguments" must be an object, not "ls".'],
  ])('refuses %s', (_, args, code, message) => {
    expect(errorOf(args)).toMatchObject({ code, message });
  });

  it('names every problem, and the first decides the code', () => {
    const error = errorOf({ comand: 'ls', timeout_seconds: 0, flag: 'yes' });
    expect(error).toMatchObject({
      code: 'PARAM_001',
      message:
        'The parameter "command" is missing. The parameter "timeout_seconds" must be at least 1. The parameter "flag" must be a boolean, not "yes". There is no parameter "comand", did you mean "command"?',
      details: {
        name: 'InvalidParameters',
        issues: [
          { parameter: 'command', problem: 'is missing' },
          { parameter: 'timeout_seconds', problem: 'must be at least 1' },
          { parameter: 'flag', problem: 'must be a boolean, not "yes"' },
          { parameter: 'comand', problem: 'is not known, did you mean "command"?' },
        ],
      },
      hint: expect.stringMatching(/^The parameters are: command, mode, timeout_seconds/),
    });
  });

  it('stays short whatever is sent', () => {
    const many = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`p${'x'.repeat(500)}${index}`, 1]),
    );
    const error = errorOf({ command: 'a', ...many });
    expect(error.message).toContain('There are 4980 more problems.');
    expect(error.message.length + JSON.stringify(error.details).length).toBeLessThan(20_000);
  });
});
