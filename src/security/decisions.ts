/** What becomes of a judgement: an error that explains itself, or a question to a person. */
import { ShellServerError } from '../base/errors.ts';
import type { Judgement, Policy } from './policy/types.ts';

/** True where a person agreed to it; false where it was declined, cancelled or not answered. */
export type AskPerson = (question: { readonly text: string }) => Promise<boolean>;

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

/** Nobody there means no; and the model cannot answer for the person. */
export async function approve(
  request: { readonly command: string; readonly ask?: AskPerson | undefined },
  judgement: Judgement,
  where: { readonly directory: string; readonly policy: Policy },
): Promise<void> {
  if (request.ask === undefined)
    throw refused(judgement, 'nobody could be asked: this client shows no questions');
  const shown = judgement.part ?? judgement.commands[0]?.text ?? '';
  const text = `An agent wants to run this in ${where.directory}:\n\n${showCommand(request.command)}\n\n"${shown}" needs your agreement (${judgement.rule}).`;
  if (!(await request.ask({ text }))) throw refused(judgement, 'the person did not agree');
}

function refused({ rule, part }: Judgement, why: string): ShellServerError {
  return new ShellServerError('SECURITY_003', `Not run: it needs a person's agreement, and ${why}.`, {
    hint: 'Do without it, or ask the person to run it.',
    details: { rule, ...(part !== undefined && { part }) },
  });
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
