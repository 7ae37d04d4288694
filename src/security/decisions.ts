/** What becomes of a judgement: an error that explains itself, or a question to a person. */
import { createHash } from 'node:crypto';
import { ShellServerError } from '../base/errors.ts';
import type { Judgement, Policy } from './policy/types.ts';

const SHOWN_COMMANDS = 20;

export function denied(judgement: Judgement): ShellServerError {
  const { code = 'SECURITY_003', reason, hint, rule, part, commands } = judgement;
  return new ShellServerError(code, `Not run: ${reason}`, {
    ...(hint !== undefined && { hint }),
    details: {
      rule,
      ...(part !== undefined && { part }),
      commands: commands.slice(0, SHOWN_COMMANDS).map(({ text, foundIn, unknown }) => ({
        command: text,
        ...(foundIn.length > 0 && { found_in: foundIn.join(' > ') }),
        ...(unknown !== undefined && { unknown }),
      })),
    },
  });
}

/**
 * A person must agree first. The edge puts the question before one, and calls again with the binding if they agree;
 * where it cannot ask, this is the refusal.
 */
export class ApprovalNeeded extends ShellServerError {
  readonly question: string;
  /** What the person agrees to: this command, there, with these variables, under these rules, and nothing else. */
  readonly binding: string;

  constructor(question: string, binding: string, { rule, part }: Judgement) {
    super('SECURITY_003', 'Not run: it needs a person’s agreement, and nobody agreed.', {
      hint: 'Do without it, or ask the person to run it.',
      details: { rule, ...(part !== undefined && { part }) },
    });
    this.question = question;
    this.binding = binding;
  }
}

/** Throws unless a person has agreed to exactly this. The model cannot answer for the person. */
export function checkApproval(
  request: {
    readonly principal: string;
    readonly command: string;
    readonly callerEnvironment: Readonly<Record<string, string>>;
    readonly approval?: string | undefined;
  },
  judgement: Judgement,
  where: { readonly directory: string; readonly policy: Policy },
): void {
  const { principal, command, callerEnvironment, approval } = request;
  const variables = Object.entries(callerEnvironment).sort(([a], [b]) => (a < b ? -1 : 1));
  const bound = [principal, command, where.directory, variables, where.policy.identity];
  const binding = createHash('sha256').update(JSON.stringify(bound)).digest('hex');
  if (approval === binding) return;
  const shown = judgement.part ?? judgement.commands[0]?.text ?? '';
  const names = variables.map(([name]) => name);
  const question = [
    `An agent wants to run this in ${where.directory}:`,
    showCommand(command),
    ...(names.length === 0 ? [] : [`With the variables ${names.join(', ')}.`]),
    `"${shown}" needs your agreement (${judgement.rule}).`,
  ].join('\n\n');
  throw new ApprovalNeeded(question, binding, judgement);
}

/** Whole where it can be read, and never with characters that a terminal would obey. */
function showCommand(command: string): string {
  const shown = command.length > 2000 ? `${command.slice(0, 2000)}… (${command.length} characters)` : command;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is shown.
  return shown.replaceAll(
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.charCodeAt(0).toString(16)}}`,
  );
}
