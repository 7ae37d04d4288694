/** `mcp-shell-server questions`: the operator answers what agents may only do with approval, from the command line. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { isId } from '../base/ids.ts';
import { checkStateDirectory } from '../base/state-directory.ts';
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
import { showJson } from './json.ts';
import { createPaint } from './paint.ts';
import { recordAsOperator } from './read-record.ts';
import { readSecret } from './read-secret.ts';
import { showTime } from './when.ts';

const POLL_MS = 500;

export function listQuestionsCommand(context: CommandContext, options: { readonly json?: boolean }): void {
  const { stateDir } = context.settings();
  const nowMs = systemClock.now();
  const questions = listQuestions(stateDir, nowMs);
  const approvals = listStandingApprovals(stateDir, nowMs);
  const secrets = listSecretQuestions(stateDir, nowMs);
  if (options.json === true) {
    context.output.write(showJson({ questions, secrets, approvals }));
    return;
  }
  if (questions.length + secrets.length + approvals.length === 0) {
    context.output.write('No open questions, no remembered approvals.\n');
    return;
  }
  for (const question of questions) context.output.write(`${describe(context, question)}\n`);
  for (const secret of secrets) context.output.write(`${describeSecret(context, secret)}\n`);
  for (const approval of approvals) context.output.write(`${describeStanding(context, approval)}\n`);
}

export function allowCommand(
  context: CommandContext,
  id: string,
  options: { readonly for?: Remember },
): void {
  const { stateDir } = context.settings();
  const remember = options.for ?? 'once';
  answerQuestion(stateDir, id, { decision: 'allow', remember, by: operatorName() }, systemClock.now());
  context.output.write(`Allowed${HOW_LONG[remember]}.\n`);
}

export async function denyCommand(
  context: CommandContext,
  id: string,
  options: { readonly reason?: string },
): Promise<void> {
  const { reason } = options;
  if (isId('secret', id)) {
    await giveSecret(context, id, { decision: 'deny', by: operatorName() });
    context.output.write('Denied.\n');
    return;
  }
  const answer = {
    decision: 'deny',
    by: operatorName(),
    ...(reason !== undefined && { reason }),
  } as const;
  answerQuestion(context.settings().stateDir, id, answer, systemClock.now());
  context.output.write('Denied.\n');
}

/** From the terminal without an echo, or from a pipe; never from an argument, which other users could see. */
export async function answerCommand(context: CommandContext, id: string): Promise<void> {
  const secret = await readSecret(context, 'Password for this command: ');
  await giveSecret(context, id, { decision: 'given', by: operatorName(), secret });
  context.output.write('The program has it.\n');
}

const giveSecret = (context: CommandContext, id: string, answer: SecretAnswer): Promise<SecretQuestion> =>
  answerSecret(context.settings().stateDir, id, answer, systemClock.now());

export function revokeCommand(context: CommandContext, id: string): void {
  const settings = context.settings();
  checkStateDirectory(settings.stateDir);
  const { command, principal } = revokeApproval(settings.stateDir, id, systemClock.now());
  const { syncs } = settings.audit;
  recordAsOperator(
    settings.stateDir,
    { event: 'approval_revoked', remembered: id, command, of: principal },
    { syncs },
  );
  context.output.write('Revoked. The next such command asks again.\n');
}

/** Shows questions as they come, so that servers know that an operator can answer. */
export async function watchQuestionsCommand(context: CommandContext): Promise<void> {
  const { stateDir } = context.settings();
  const { interrupted, output } = context;
  checkStateDirectory(stateDir);
  const attended = attendQuestions(stateDir);
  const shown = new Set<string>();
  output.write('Waiting for questions. Ctrl-C ends this; unanswered commands then do not run.\n');
  try {
    while (!interrupted.aborted) {
      for (const question of listQuestions(stateDir, systemClock.now())) {
        if (shown.has(question.id)) continue;
        shown.add(question.id);
        output.write(`\n${describe(context, question)}\n`);
      }
      for (const secret of listSecretQuestions(stateDir, systemClock.now())) {
        if (shown.has(secret.id)) continue;
        shown.add(secret.id);
        output.write(`\n${describeSecret(context, secret)}\n`);
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
