/** Why a command that needs a person's agreement is not run, in words for the model and for the person it works for. */
import { ShellServerError } from '../base/errors.ts';
import { type ApprovalNeeded, escapeText } from '../security/security.ts';

/** Why nobody agreed. */
export type MissingApproval = keyof typeof REFUSALS;

const NOBODY = 'Clients without a user answer this way by themselves.';
const HINT = 'Do without it, or ask the person to run it.';

const REFUSALS = {
  declined: ['the answer was no', `Do without it, or ask the person what they want instead. ${NOBODY}`],
  cancelled: ['the question was closed without an answer', `${HINT} ${NOBODY}`],
  expired: ['the question was not answered in time', `${HINT} Calling again asks again.`],
  unavailable: [
    'this client cannot ask one, and no operator is there',
    'The operator can open the page (`mcp-shell-server web`) or run `mcp-shell-server questions watch`; then call again. Or do without it.',
  ],
  failed: ['this client could not ask one', HINT],
  invalid: [
    'the answer belongs to no question of this server',
    'Call again without requestState to be asked anew.',
  ],
  used: ['the question is no longer open', 'An approval is for one run. Calling again asks again.'],
  changed: ['what was agreed to had changed by then', 'Call again when nothing else works in its session.'],
  withdrawn: ['the call was cancelled', HINT],
  waiting: [
    'the operator has not answered yet',
    'The question stays open. Make the same call again to go on waiting for the answer.',
  ],
} as const satisfies Record<string, readonly [reason: string, hint: string]>;

/** The answer to a call that was not agreed to. */
export function refusal(
  approval: MissingApproval,
  question: { readonly needed?: ApprovalNeeded } | undefined,
  {
    id,
    reason: said,
    cause,
  }: { readonly id?: string; readonly reason?: string | undefined; readonly cause?: unknown },
): ShellServerError {
  const [reason, hint] = REFUSALS[approval];
  const why = said === undefined ? reason : `${reason}: ${JSON.stringify(escapeText(said))}`;
  return new ShellServerError('SECURITY_003', `Not run: the command requires approval, and ${why}.`, {
    hint,
    details: { ...question?.needed?.details, approval, ...(id !== undefined && { question_id: id }) },
    cause,
  });
}
