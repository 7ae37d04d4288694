/**
 * Approvals by the operator: a client that cannot ask anybody, or one that can, and answers through the state directory
 * as the page and `mcp-shell-server questions` give them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  answerQuestion,
  attendQuestions,
  listQuestions,
  listStandingApprovals,
  type OperatorAnswer,
  type Question,
  revokeApproval,
} from '../../src/security/questions/questions.ts';
import type { Asked, ElicitReply, TestClient } from './support/clients.ts';
import { type Called, createPlace, type Place, read } from './support/product.ts';
import { connectHere } from './support/product-here.ts';

const ASK = { MCP_SHELL_SECURITY_ASK_COMMANDS: 'touch asked', MCP_SHELL_LIMITS_MAX_WAIT_SECONDS: '1' };
const RULE = 'ask: touch asked';
const ONCE: OperatorAnswer = { decision: 'allow', remember: 'once', by: 'olga' };
const ENDED = { data: { status: 'completed', stdout: 'done\n' } };

let place: Place;
let silent: TestClient;
let attended: { close(): void } | undefined;

beforeAll(async () => {
  place = createPlace();
  silent = await connectHere('v2 legacy', place.command([], ASK));
});
beforeEach(() => {
  attended?.close();
  attended = attendQuestions(place.stateDir);
});
afterAll(async () => {
  attended?.close();
  await silent.close();
  place.remove();
});

let count = 0;
const nextCommand = (): string => `touch asked; : ${++count}; echo done`;

const execute = async (
  command: string,
  client = silent,
  signal = new AbortController().signal,
): Promise<Called> => read(await client.callTool('shell_execute', { command }, { signal }));

const open = (): Question[] => listQuestions(place.stateDir);
const standing = () => listStandingApprovals(place.stateDir, Date.now());

async function questionAbout(command: string): Promise<Question> {
  let found: Question | undefined;
  await expect.poll(() => (found = open().find((question) => question.command === command))).toBeDefined();
  return found as Question;
}

const give = (question: Question, answer: OperatorAnswer): Question =>
  answerQuestion(place.stateDir, question.id, answer);

/** Calls until the answer is no longer that it waits, as a model would. */
async function executeUntilAnswered(command: string): Promise<Called> {
  for (;;) {
    const answer = await execute(command);
    if (!answer.text.includes('has not answered yet')) return answer;
  }
}

function audited(command: string): Record<string, unknown>[] {
  const directory = join(place.stateDir, 'audit');
  return readdirSync(directory)
    .flatMap((file) => readFileSync(join(directory, file), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['command'] === command);
}

it('shows the operator what would run, and runs what was allowed, once', async () => {
  const command = nextCommand();
  const answer = executeUntilAnswered(command);
  const question = await questionAbout(command);
  expect(question).toMatchObject({
    principal: 'local',
    client: 'test-client',
    tool: 'shell_execute',
    command,
    parts: expect.arrayContaining(['touch asked', 'echo done']),
    directory: place.work,
    rule: RULE,
    text: expect.stringContaining(`    ${command}`),
  });
  give(question, ONCE);
  expect(await answer).toMatchObject(ENDED);
  expect(open()).toEqual([]);
  expect(standing()).toEqual([]);
  expect(audited(command)).toContainEqual(
    expect.objectContaining({ event: 'approval_given', decision: 'allow', rule: RULE, by: 'operator olga' }),
  );
  expect((await execute(command)).data).toMatchObject({ error: { details: { approval: 'waiting' } } });
});

it('answers before the client gives up, keeps the question open, and takes an answer that came meanwhile', async () => {
  const command = nextCommand();
  const first = await execute(command);
  const question = await questionAbout(command);
  expect(first).toMatchObject({
    isError: true,
    data: {
      error: {
        code: 'SECURITY_003',
        details: { rule: RULE, approval: 'waiting', question_id: question.id },
      },
    },
  });
  expect(first.text).toContain('Make the same call again');
  give(question, ONCE);
  expect(await execute(command)).toMatchObject(ENDED);
});

it('hands the reason of a denial to the model', async () => {
  const command = nextCommand();
  const answer = executeUntilAnswered(command);
  give(await questionAbout(command), { decision: 'deny', by: 'olga', reason: 'use \u001b[31mstaging' });
  const { isError, text, data } = await answer;
  expect({ isError, data }).toMatchObject({
    isError: true,
    data: { error: { details: { approval: 'declined' } } },
  });
  expect(text).toContain('the answer was no');
  expect(text).toContain('[31mstaging');
  expect(text).not.toContain('\u001b');
});

it.each(['hour', 'session'] as const)(
  'remembers an approval for a %s, for the same command there',
  async (remember) => {
    const command = nextCommand();
    const answer = executeUntilAnswered(command);
    give(await questionAbout(command), { ...ONCE, remember });
    expect(await answer).toMatchObject(ENDED);
    expect(await execute(command)).toMatchObject(ENDED);
    const approval = standing().find((each) => each.command === command);
    expect(approval).toMatchObject({ command, directory: place.work, principal: 'local', by: 'olga' });
    expect(audited(command)).toContainEqual(
      expect.objectContaining({ event: 'approval_given', remembered: approval?.id }),
    );
    // Other words, another directory, another environment: another question.
    for (const args of [
      { command: `${command} ` },
      { command, working_directory: '/' },
      { command, environment_variables: { X: '1' } },
    ]) {
      const other = read(
        await silent.callTool('shell_execute', args, { signal: new AbortController().signal }),
      );
      expect(other.data).toMatchObject({ error: { details: { approval: 'waiting' } } });
    }
    // The session's approval is not another server's.
    const second = await connectHere('v2 legacy', place.command([], ASK));
    expect((await execute(command, second)).data).toMatchObject(
      remember === 'hour' ? ENDED.data : { error: { details: { approval: 'waiting' } } },
    );
    await second.close();

    revokeApproval(place.stateDir, approval?.id ?? '', Date.now());
    expect((await execute(command)).data).toMatchObject({ error: { details: { approval: 'waiting' } } });
  },
);

it('denies at once where nobody is there', async () => {
  attended?.close();
  expect((await execute(nextCommand())).data).toMatchObject({
    error: { details: { approval: 'unavailable' } },
  });
});

it('withdraws the question of a call that is cancelled', async () => {
  const command = nextCommand();
  const cancelled = new AbortController();
  const call = execute(command, silent, cancelled.signal);
  await questionAbout(command);
  cancelled.abort();
  await expect(call).rejects.toBeInstanceOf(Error);
  await expect.poll(() => open().filter((question) => question.command === command)).toEqual([]);
});

it('takes the first of two answers', async () => {
  const command = nextCommand();
  const answer = executeUntilAnswered(command);
  const question = await questionAbout(command);
  give(question, { decision: 'deny', by: 'one' });
  expect(() => give(question, ONCE)).toThrow('is not open');
  expect(await answer).toMatchObject({ isError: true });
});

it('asks the person at the client as well, and withdraws that question when the operator answers', async () => {
  const withdrawn: unknown[] = [];
  const thinking: Asked = ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        withdrawn.push(signal.reason);
        reject(new Error('withdrawn'));
      });
    });
  const client = await connectHere('v2 legacy', place.command([], ASK), thinking);
  const command = nextCommand();
  const answer = execute(command, client);
  give(await questionAbout(command), ONCE);
  expect(await answer).toMatchObject(ENDED);
  await expect.poll(() => withdrawn).toHaveLength(1);

  const agreeing = await connectHere('v2 legacy', place.command([], ASK), async () => ({
    action: 'accept',
    content: {},
  }));
  expect(await execute(nextCommand(), agreeing)).toMatchObject(ENDED);
  expect(open().filter(({ command: asked }) => asked.endsWith(`${count}; echo done`))).toEqual([]);
  await Promise.all([client.close(), agreeing.close()]);
});

describe('a client that is answered with the question and calls again', () => {
  /** Calls, lets the operator answer while the client asks, and lets the client answer then. */
  async function executeMeanwhile(answer: OperatorAnswer | undefined, action: ElicitReply['action']) {
    const command = nextCommand();
    const asking = await connectHere('v2 modern', place.command([], ASK), async () => {
      const question = await questionAbout(command);
      if (answer !== undefined) give(question, answer);
      return { action, ...(action === 'accept' && { content: {} }) };
    });
    const called = await execute(command, asking);
    expect(open().filter((question) => question.command === command)).toEqual([]);
    return { asking, command, called };
  }

  it.each([
    [ONCE, 'cancel'],
    [ONCE, 'accept'],
    [undefined, 'accept'],
  ] as const)('runs the command: operator %j, client %s', async (answer, action) => {
    const { asking, command, called } = await executeMeanwhile(answer, action);
    expect(called).toMatchObject(ENDED);
    expect(audited(command)).toContainEqual(
      expect.objectContaining({
        event: 'approval_given',
        ...(answer !== undefined && { by: 'operator olga' }),
      }),
    );
    await asking.close();
  });

  it.each([
    [{ decision: 'deny', by: 'olga', reason: 'not on Fridays' }, 'accept', 'not on Fridays'],
    [ONCE, 'decline', 'the answer was no'],
    [undefined, 'decline', 'the answer was no'],
  ] as const)('does not run it: operator %j, client %s', async (answer, action, said) => {
    const { asking, called } = await executeMeanwhile(answer, action);
    expect(called).toMatchObject({ isError: true, data: { error: { details: { approval: 'declined' } } } });
    expect(called.text).toContain(said);
    await asking.close();
  });

  it('is not asked again while an approval is remembered', async () => {
    const { asking, command, called } = await executeMeanwhile({ ...ONCE, remember: 'hour' }, 'cancel');
    expect(called).toMatchObject(ENDED);
    expect(await execute(command, asking)).toMatchObject(ENDED);
    await asking.close();
  });
});

it('leaves no question behind when the server ends', async () => {
  const client = await connectHere('v2 legacy', place.command([], ASK));
  const command = nextCommand();
  await execute(command, client);
  expect(open().some((question) => question.command === command)).toBe(true);
  await client.close();
  await expect.poll(() => open().some((question) => question.command === command)).toBe(false);
});
