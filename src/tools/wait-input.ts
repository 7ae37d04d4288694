/** Conditions as a caller writes them: objects with one field each. */
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { compilePattern } from '../base/pattern.ts';
import type { Condition, Execution } from '../executions/executions.ts';
import type { Call } from './tool.ts';

/** The same for the tools that wait; `parseCondition` says what is wrong with one. */
export const conditionInput = () =>
  z.strictObject({
    exit: z.boolean().optional(),
    output: z.string().optional().describe('RE2'),
    quiet_seconds: z.number().optional(),
    port: z.number().optional(),
    url: z.string().optional(),
    file: z.string().optional(),
  });

type WireCondition = z.output<ReturnType<typeof conditionInput>>;

const MAX_CONDITIONS = 20;
const MAX_QUIET_SECONDS = 300;
const FORM = 'Write each condition as an object with one field, as in [{"port": 3000}, {"exit": true}].';

type WaitingCall = Pick<Call, 'principal' | 'modules' | 'isReadOnly'>;

/** `directory` is where relative paths of files begin. */
export function parseConditions(given: readonly object[], directory: string, call: WaitingCall): Condition[] {
  if (given.length === 0 || given.length > MAX_CONDITIONS)
    throw invalidWait(`wait_for has ${given.length} conditions; 1 to ${MAX_CONDITIONS} are allowed.`);
  return given.map((each) => {
    const read = conditionInput().safeParse(each);
    const fields = Object.entries(each).filter(([, value]) => value !== undefined);
    if (!read.success || fields.length !== 1)
      throw invalidWait(
        `A condition of wait_for has ${fields.length === 1 ? 'a wrong field or value' : `${fields.length} fields`}: ${JSON.stringify(each).slice(0, 200)}.`,
      );
    return parseCondition(read.data, directory, call);
  });
}

function parseCondition(
  { exit, output, quiet_seconds: quiet, port, url, file }: WireCondition,
  directory: string,
  { principal, modules, isReadOnly }: WaitingCall,
): Condition {
  const { waitRules } = modules.security;
  if ((port !== undefined || url !== undefined) && process.platform !== 'linux')
    throw invalidWait('wait_for knows ports and URLs on Linux only.', 'Wait for output instead.');
  if (output !== undefined) {
    if (output === '') throw invalidWait('The output of wait_for is empty: every line would match.');
    return { kind: 'output', pattern: compilePattern('wait_for', output), source: output };
  }
  if (quiet !== undefined) {
    if (!(quiet >= 0.1 && quiet <= MAX_QUIET_SECONDS))
      throw invalidWait(`quiet_seconds of wait_for must be between 0.1 and ${MAX_QUIET_SECONDS}.`);
    return { kind: 'quiet', ms: quiet * 1000 };
  }
  if (port !== undefined) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw invalidWait('The port of wait_for must be an integer from 1 to 65535.');
    return { kind: 'port', port };
  }
  if (url !== undefined && isReadOnly === true)
    throw new ShellServerError(
      'AUTH_003',
      'The token does not grant waiting for a url: it is for reading alone.',
      {
        hint: 'The server would send requests there. Wait for the port or for output instead.',
        details: { parameter: 'wait_for' },
      },
    );
  if (url !== undefined) return { kind: 'url', target: waitRules.url(url, principal) };
  if (file !== undefined) return { kind: 'file', path: waitRules.file(file, directory, principal) };
  if (exit !== true) throw invalidWait('exit of wait_for can only be true.');
  return { kind: 'exit' };
}

/** A condition that cannot be looked for is an error, and not a wait for nothing. */
export function checkConditions(conditions: readonly Condition[], execution: Execution, call: Call): void {
  for (const condition of conditions) {
    const problem = call.modules.executions.waits.problemOf(condition, execution);
    if (problem === undefined) continue;
    throw invalidWait(
      `${JSON.stringify(toWire(condition))} cannot be waited for in ${execution.record.id}: ${problem}.`,
      'Wait for another condition.',
    );
  }
}

/** As the caller wrote it. */
export function toWire(condition: Condition): Record<string, unknown> {
  switch (condition.kind) {
    case 'exit':
      return { exit: true };
    case 'output':
      return { output: condition.source };
    case 'quiet':
      return { quiet_seconds: condition.ms / 1000 };
    case 'port':
      return { port: condition.port };
    case 'url':
      return { url: condition.target.url.href };
    case 'file':
      return { file: condition.path };
  }
}

export function invalidWait(message: string, hint = FORM): ShellServerError {
  return new ShellServerError('PARAM_002', message, { hint, details: { parameter: 'wait_for' } });
}
