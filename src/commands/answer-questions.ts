/** `mcp-shell-server questions`: the operator answers what agents may only do with approval, from the command line. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { isId } from '../base/ids.ts';
import { currentUser } from '../base/user.ts';
import {
  answerQuestion,
  answerSecret,
  attendQuestions,
  listQuestions,
  listSecretQuestions,
  listStandingApprovals,
  type Question,
  type Remember,
  revokeApproval,
  type SecretAnswer,
  type SecretQuestion,
  type StandingApproval,
} from '../security/questions/questions.ts';
import { escapeText } from '../security/security.ts';
import type { CommandContext } from './context.ts';
import { print } from './json.ts';
import { createPaint } from './paint.ts';
import { recordAsOperator } from './read-record.ts';
import { readSecret } from './read-secret.ts';
import { showTime } from './when.ts';

const POLL_MS = 500;

export function listQuestionsCommand(context: CommandContext, options: { readonly json?: boolean }): void {
  const { stateDir } = context.settings();
  const questions = listQuestions(stateDir);
  const secrets = listSecretQuestions(stateDir);
  const approvals = listStandingApprovals(stateDir, systemClock.now());
  print(context, options, { questions, secrets, approvals }, () => {
    const described = [
      ...questions.map((question) => describe(context, question)),
      ...secrets.map((secret) => describeSecret(context, secret)),
      ...approvals.map((approval) => describeStanding(context, approval)),
    ];
    return `${described.join('\n') || 'No open questions, no remembered approvals.'}\n`;
  });
}

export function allowCommand(
  context: CommandContext,
  id: string,
  options: { readonly for?: Remember },
): void {
  const { stateDir } = context.settings();
  const remember = options.for ?? 'once';
  answerQuestion(stateDir, id, { decision: 'allow', remember, by: operatorName() });
  context.output.write(`Allowed${HOW_LONG[remember]}.\n`);
}

export async function denyCommand(
  context: CommandContext,
  id: string,
  options: { readonly reason?: string },
): Promise<void> {
  const { reason } = options;
  const denial = { decision: 'deny', by: operatorName() } as const;
  if (isId('secret', id)) await giveSecret(context, id, denial);
  else {
    const answer = { ...denial, ...(reason !== undefined && { reason }) };
    answerQuestion(context.settings().stateDir, id, answer);
  }
  context.output.write('Denied.\n');
}

/** From the terminal without an echo, or from a pipe; never from an argument, which other users could see. */
export async function answerCommand(context: CommandContext, id: string): Promise<void> {
  const secret = await readSecret(context, 'Password for this command: ');
  await giveSecret(context, id, { decision: 'given', by: operatorName(), secret });
  context.output.write('The program has it.\n');
}

const giveSecret = (context: CommandContext, id: string, answer: SecretAnswer): Promise<SecretQuestion> =>
  answerSecret(context.settings().stateDir, id, answer);

export function revokeCommand(context: CommandContext, id: string): void {
  const settings = context.settings();
  const { command, principal } = revokeApproval(settings.stateDir, id, systemClock.now());
  recordAsOperator(settings, { event: 'approval_revoked', remembered: id, command, of: principal });
  context.output.write('Revoked. The next such command asks again.\n');
}

/** Shows questions as they come, so that servers know that an operator can answer. */
export async function watchQuestionsCommand(context: CommandContext): Promise<void> {
  const { stateDir } = context.settings();
  const { interrupted, output } = context;
  const attended = attendQuestions(stateDir);
  const shown = new Set<string>();
  output.write('Waiting for questions. Ctrl-C ends this; unanswered commands then do not run.\n');
  try {
    while (!interrupted.aborted) {
      for (const asked of [...listQuestions(stateDir), ...listSecretQuestions(stateDir)]) {
        if (shown.has(asked.id)) continue;
        shown.add(asked.id);
        output.write(`\n${'prompt' in asked ? describeSecret(context, asked) : describe(context, asked)}\n`);
      }
      await sleep(POLL_MS, undefined, { signal: interrupted }).catch(() => undefined);
    }
  } finally {
    attended.close();
  }
}

const HOW_LONG: Readonly<Record<Remember, string>> = {
  once: ' for one run',
  hour: ' for an hour',
  session: ' until the server that asked ends',
};

const operatorName = (): string => currentUser().username;

/** The text is the one that a client would show: escaped, and with all that decides what would run. */
function describe(context: CommandContext, { id, principal, client, askedAt, text }: Question): string {
  const paint = createPaint(context);
  return [
    paint('strong', id),
    `asked ${showTime(askedAt)} by ${escapeText(client)} for ${escapeText(principal)}`,
    text,
    `mcp-shell-server questions allow ${id} [--for hour|session]`,
    `mcp-shell-server questions deny ${id} [--reason <text>]`,
  ].join('\n');
}

/** The words are the command's own, and can be false. */
function describeSecret(context: CommandContext, secret: SecretQuestion): string {
  const { id, principal, client, askedAt, command, directory, prompt, executionId } = secret;
  return [
    createPaint(context)('strong', id),
    `a program asks for a password, ${showTime(askedAt)}, by ${escapeText(client)} for ${escapeText(principal)}`,
    `  command:   ${escapeText(command)}`,
    `  directory: ${escapeText(directory)}`,
    `  execution: ${executionId}`,
    `  its words, which can be false: ${escapeText(prompt)}`,
    `mcp-shell-server questions answer ${id}`,
    `mcp-shell-server questions deny ${id}`,
  ].join('\n');
}

function describeStanding(context: CommandContext, approval: StandingApproval): string {
  const { id, command, directory, principal, expiresAt, instance } = approval;
  const until = instance === undefined ? `until ${showTime(expiresAt)}` : 'until its server ends';
  const where = `in ${directory}, for ${principal}, ${until}`;
  return `${createPaint(context)('quiet', id)}  allowed: ${escapeText(command)}\n    ${escapeText(where)}`;
}
