/**
 * Clients that can lead a person to an address (elicitation in mode "url"): where the operator's page is served, they are
 * asked to open it where a person is needed. The link is no answer, and where no page is served nothing changes.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  announcePage,
  answerQuestion,
  answerSecret,
  attendQuestions,
  listQuestions,
  listSecretQuestions,
} from '../../src/security/questions/questions.ts';
import { lacks } from '../setup/needs.ts';
import { createPlace, type Place } from './support/product.ts';
import { openRaw, type RawHere } from './support/product-here.ts';
import { call, type Message, request } from './support/raw-streams.ts';

const ENV = {
  MCP_SHELL_SECURITY_ASK_COMMANDS: 'touch asked',
  MCP_SHELL_SECURITY_ASKPASS: 'true',
  MCP_SHELL_SECURITY_SANDBOX: 'off',
  SHELL: '/bin/sh',
};
const PAGE = 'http://127.0.0.1:4711/';

let place: Place;
let server: RawHere;
let opened: { close(): void }[] = [];

beforeEach(() => {
  place = createPlace();
});
afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  await server.leave();
  place.remove();
});

async function connect(elicitation: object, env: Readonly<Record<string, string>> = {}): Promise<void> {
  server = openRaw(place.command([], { ...ENV, ...env }));
  server.say(
    request(0, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation },
      clientInfo: { name: 'raw', version: '9' },
    }),
  );
  await next();
}

const next = async (): Promise<Message> => (await server.next(30_000)) as Message;
const reply = (message: Message, action: string): void =>
  server.say({ jsonrpc: '2.0', id: message['id'], result: { action } });
const execute = (command: string): void =>
  server.say(call(1, 'shell_execute', { command, execution_mode: 'foreground', timeout_seconds: 60 }));
const servePage = (): void => void opened.push(announcePage(place.stateDir, PAGE));

const linkTo = (path: string) => ({
  method: 'elicitation/create',
  params: {
    mode: 'url',
    url: `${PAGE}#/${path}`,
    elicitationId: expect.stringMatching(/^\w{20,}$/),
    message: expect.stringContaining("the operator's page"),
  },
});
const completed = (asked: Message) => ({
  method: 'notifications/elicitation/complete',
  params: { elicitationId: (asked['params'] as Message)['elicitationId'] },
});

describe('a command that needs approval', () => {
  it('leads the person to its question, whose answer on the page counts', async () => {
    await connect({ url: {} });
    servePage();
    execute('touch asked; echo done');
    const asked = await next();
    const [question] = listQuestions(place.stateDir);
    expect(asked).toMatchObject(linkTo(`q/${question?.id}`));
    reply(asked, 'accept');
    // To open the page approves nothing.
    await sleep(500);
    expect(listQuestions(place.stateDir)).toHaveLength(1);
    expect(existsSync(`${place.work}/asked`)).toBe(false);
    answerQuestion(place.stateDir, question?.id ?? '', { decision: 'allow', remember: 'once', by: 'olga' });
    expect(await next()).toMatchObject(completed(asked));
    expect(await next()).toMatchObject({ id: 1, result: { structuredContent: { stdout: 'done\n' } } });
  });

  it.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
  ])('does not run where the person answers %s', async (action, approval) => {
    await connect({ url: {} });
    servePage();
    execute('touch asked');
    const asked = await next();
    reply(asked, action);
    expect(await next()).toMatchObject(completed(asked));
    expect(await next()).toMatchObject({
      id: 1,
      result: { isError: true, structuredContent: { error: { details: { approval } } } },
    });
    expect(listQuestions(place.stateDir)).toEqual([]);
  });

  it('waits on, without another link, where the same call is made again', async () => {
    await connect({ url: {} }, { MCP_SHELL_LIMITS_MAX_WAIT_SECONDS: '1' });
    servePage();
    execute('touch asked; echo done');
    const asked = await next();
    reply(asked, 'accept');
    expect(await next()).toMatchObject(completed(asked));
    const [question] = listQuestions(place.stateDir);
    expect(await next()).toMatchObject({
      result: {
        structuredContent: { error: { details: { approval: 'waiting', question_id: question?.id } } },
      },
    });
    answerQuestion(place.stateDir, question?.id ?? '', { decision: 'allow', remember: 'once', by: 'olga' });
    execute('touch asked; echo done');
    expect(await next()).toMatchObject({ result: { structuredContent: { stdout: 'done\n' } } });
  });

  it('is asked for in a form where the client has forms', async () => {
    await connect({ form: {}, url: {} });
    servePage();
    execute('touch asked; echo done');
    const asked = await next();
    expect(asked).toMatchObject({ params: { requestedSchema: { type: 'object' } } });
    expect(asked['params']).not.toHaveProperty('url');
    reply(asked, 'accept');
    expect(await next()).toMatchObject({ result: { structuredContent: { stdout: 'done\n' } } });
  });

  it.each([
    ['no page is served', () => undefined],
    ['the page is gone', () => announcePage(place.stateDir, PAGE).close()],
    [
      'the address is no page of this machine',
      () => void opened.push(announcePage(place.stateDir, 'http://example.com/')),
    ],
  ])('leads nobody anywhere where %s', async (_, before) => {
    await connect({ url: {} });
    before();
    execute('touch asked');
    expect(await next()).toMatchObject({
      result: { structuredContent: { error: { details: { approval: 'unavailable' } } } },
    });
  });
});

describe.skipIf(lacks(!existsSync('/usr/bin/perl'), 'perl is not installed'))('a password', () => {
  const ASK = '"$GIT_ASKPASS" "Password:" >/dev/null; echo $?';

  it('leads the person to the question of a program, with forms too', async () => {
    await connect({ form: {}, url: {} });
    servePage();
    execute(ASK);
    const asked = await next();
    const [question] = listSecretQuestions(place.stateDir);
    expect(asked).toMatchObject(linkTo(`s/${question?.id}`));
    reply(asked, 'accept');
    await answerSecret(place.stateDir, question?.id ?? '', {
      decision: 'given',
      by: 'olga',
      secret: 'battery',
    });
    expect(await next()).toMatchObject(completed(asked));
    expect(await next()).toMatchObject({ result: { structuredContent: { stdout: '0\n' } } });
  });

  it('is not given where the person will not open the page', async () => {
    await connect({ url: {} });
    servePage();
    execute(ASK);
    const asked = await next();
    reply(asked, 'decline');
    expect(await next()).toMatchObject(completed(asked));
    expect(await next()).toMatchObject({ result: { structuredContent: { stdout: '1\n' } } });
  });

  it('is asked for on an open page alone where the client has only forms', async () => {
    await connect({ form: {} });
    servePage();
    opened.push(attendQuestions(place.stateDir));
    execute(ASK);
    await expect.poll(() => listSecretQuestions(place.stateDir), { timeout: 20_000 }).toHaveLength(1);
    const [question] = listSecretQuestions(place.stateDir);
    await answerSecret(place.stateDir, question?.id ?? '', { decision: 'deny', by: 'olga' });
    expect(await next()).toMatchObject({ id: 1, result: { structuredContent: { stdout: '1\n' } } });
  });

  it('leads the person to a terminal that asks for one, once', async () => {
    await connect({ form: {}, url: {} });
    servePage();
    server.say(call(1, 'terminal_create', { shell_type: 'bash' }));
    const created = await next();
    const { terminal_id: id } = (created['result'] as { structuredContent: { terminal_id: string } })
      .structuredContent;
    const input = 'read -s -p "Pass""word: " secret; echo "got ${#secret}"';
    server.say(
      call(2, 'terminal_send_input', { terminal_id: id, input, execute: true, timeout_seconds: 30 }),
    );
    const asked = await next();
    expect(asked).toMatchObject(linkTo(`x/${id.replace('term_', 'exec_')}`));
    expect(await next()).toMatchObject({ id: 2, result: { structuredContent: { secret_prompt: true } } });
    reply(asked, 'accept');
    server.say(call(3, 'terminal_get_output', { terminal_id: id }));
    expect(await next()).toMatchObject({ id: 3 });
    server.say(call(4, 'terminal_close', { terminal_id: id }));
    expect(await next()).toMatchObject(completed(asked));
    expect(await next()).toMatchObject({ id: 4 });
  });
});
