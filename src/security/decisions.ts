/** What becomes of a judgement: an error that explains itself, or a question to a person. */
import { hash } from 'node:crypto';
import { ShellServerError } from '../base/errors.ts';
import type { LaunchRequest } from './launch-request.ts';
import type { Judgement, Policy } from './policy/policy-types.ts';
import { questionFor, SHOWN_LENGTH, SHOWN_LINES } from './question.ts';

const SHOWN_COMMANDS = 20;

export function denied(judgement: Judgement): ShellServerError {
  const { code = 'SECURITY_003', reason, hint, rule, part, refused, commands } = judgement;
  return new ShellServerError(code, `Not run: ${reason}`, {
    ...(hint !== undefined && { hint }),
    details: {
      rule,
      ...(part !== undefined && { part }),
      ...(refused !== undefined && { refused }),
      commands: commands.slice(0, SHOWN_COMMANDS).map(({ text, foundIn, unknown }) => ({
        command: text,
        ...(foundIn.length > 0 && { found_in: foundIn.join(' > ') }),
        ...(unknown !== undefined && { unknown }),
      })),
    },
  });
}

/** What is recorded of an error that refuses; undefined where it is a failure and no decision. */
export function refusalOf(error: unknown) {
  if (!(error instanceof ShellServerError) || error.code === 'SYSTEM_002') return undefined;
  const { code, message, details } = error;
  // Not decided yet: whether a person was asked and what they said, the edge records.
  const isOpen = error instanceof ApprovalNeeded;
  const decision = isOpen ? ('ask' as const) : ('deny' as const);
  const why = isOpen ? { reason: APPROVAL_OPEN } : { code, reason: message };
  return { decision, code, recorded: { decision, ...why, rule: details?.['rule'] } };
}

/** Until the question is answered: what the audit log says of it. */
const APPROVAL_OPEN = 'It needs a person’s agreement.';

/**
 * A person must agree first. The edge puts the question before one, and calls again with the binding if they agree;
 * where it cannot ask, this is the refusal.
 */
export class ApprovalNeeded extends ShellServerError {
  readonly question: string;
  /** What the person agrees to: this command, there, with this around it, under these rules, and nothing else. */
  readonly binding: string;
  readonly command: string;
  readonly directory: string;
  readonly rule: string;
  /** The simple commands in it. */
  readonly parts: readonly string[];

  constructor(
    question: string,
    { binding, command, directory }: { binding: string; command: string; directory: string },
    { rule, part, commands }: Judgement,
  ) {
    super('SECURITY_003', 'Not run: the command requires approval, and it was not given.', {
      hint: 'Do without it, or ask the person to run it.',
      details: { rule, ...(part !== undefined && { part }) },
    });
    this.question = question;
    this.binding = binding;
    this.command = command;
    this.directory = directory;
    this.rule = rule;
    this.parts = commands.map(({ text }) => text);
  }
}

/** Throws unless a person has agreed to exactly this. The model cannot answer for the person. */
export function checkApproval(
  request: Pick<
    LaunchRequest,
    'principal' | 'command' | 'argv' | 'inputData' | 'callerEnvironment' | 'sessionEnvironment' | 'approval'
  >,
  judgement: Judgement,
  where: {
    readonly directory: string;
    readonly policy: Policy;
    /** What a command has where neither caller nor session say otherwise. */
    readonly inherited: Readonly<Record<string, string>>;
  },
): void {
  const { principal, command, argv, inputData, approval } = request;
  const variables = sorted(Object.entries(request.callerEnvironment));
  const bound = [
    principal,
    command,
    // Where the words of the text end is not for the text to say.
    argv ?? null,
    inputData ?? null,
    where.directory,
    variables,
    sorted([...request.sessionEnvironment]).map(([name, value]) => [name, value ?? null]),
    where.policy.identity,
  ];
  const binding = hash('sha256', JSON.stringify(bound));
  if (approval === binding) return;
  const asked = questionFor({ ...request, inputData, ...where }, judgement);
  if ('tooLong' in asked) throw tooLong(asked.tooLong, judgement);
  throw new ApprovalNeeded(asked.question, { binding, command, directory: where.directory }, judgement);
}

/** Nobody can agree to what they do not see, and what is cut off might be the worst of it. */
function tooLong(what: string, { rule, part }: Judgement): ShellServerError {
  return new ShellServerError(
    'SECURITY_003',
    `Not run: the command requires approval, and ${what} is too long to be shown.`,
    {
      hint: `Run "${part ?? ''}" in a call of its own, with at most ${SHOWN_LENGTH} characters in ${SHOWN_LINES} lines (its input too), and few and short variables.`,
      details: { rule, ...(part !== undefined && { part }), approval: 'too_long' },
    },
  );
}

function sorted<Value>(entries: readonly (readonly [string, Value])[]): (readonly [string, Value])[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
}
