/**
 * Clients over HTTP, and those of the 2026-07-28 revision, that can lead a person to the operator's page: the same rules as
 * over stdio (page-links.test.ts). The page is that of the server itself, or one that is served beside it.
 */
import { existsSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  announcePage,
  answerQuestion,
  answerSecret,
  listQuestions,
  listSecretQuestions,
} from '../../src/security/questions/questions.ts';
import { lacks } from '../setup/needs.ts';
import { createPlace, type Place, read } from './support/product.ts';
import { openRaw } from './support/product-here.ts';
import { openProductHttp, startProductHttp } from './support/product-http.ts';
import { call, type Message, modern } from './support/raw-streams.ts';

const ENV = {
  MCP_SHELL_SECURITY_ASK_COMMANDS: 'touch asked',
  MCP_SHELL_SECURITY_ASKPASS: 'true',
  MCP_SHELL_SECURITY_SANDBOX: 'off',
  SHELL: '/bin/sh',
};
/** Calls are answered before the operator answers. */
const IMPATIENT = { MCP_SHELL_LIMITS_MAX_WAIT_SECONDS: '1' };
const PAGE = 'http://127.0.0.1:4711/';
const COMMAND = 'touch asked; echo done';

let place: Place;
let ends: (() => unknown)[] = [];
beforeEach(() => {
  place = createPlace();
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  place.remove();
});

interface Served {
  readonly url: string;
  readonly token: string;
  /** Where its page is. */
  readonly page: string;
}

/** With a page of its own. */
async function serveWithPage(env = {}): Promise<Served> {
  const server = await startProductHttp(place, [], { ...ENV, ...env, MCP_SHELL_HTTP_UI: 'true' });
  ends.push(server.stop);
  return { ...server, page: new URL('/ui/', server.url).href };
}

/** With a page beside it. */
async function serveBesidePage(env = {}): Promise<Served> {
  const server = await openProductHttp(place, [], { ...ENV, ...env });
  ends.push(server.stop, announcePage(place.stateDir, PAGE).close);
  return { ...server, page: PAGE };
}

const MODES = { '2025-11-25': 'legacy', '2026-07-28': { pin: '2026-07-28' } } as const;

/** An official client whose person answers each link in this way. */
async function connect(
  revision: keyof typeof MODES,
  { url, token }: Served,
  action: 'accept' | 'decline' | 'cancel',
) {
  const links: unknown[] = [];
  const client = new Client(
    { name: 'linked', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: MODES[revision] } },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    links.push(params);
    return { action };
  });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  ends.push(() => client.close());
  const callTool = async (name: string, args: Message) =>
    read((await client.callTool({ name, arguments: args })) as Parameters<typeof read>[0]);
  const execute = (command: string) =>
    callTool('shell_execute', { command, execution_mode: 'foreground', timeout_seconds: 60 });
  return { links, callTool, execute };
}

const open = () => listQuestions(place.stateDir);
const allow = (id = ''): void =>
  void answerQuestion(place.stateDir, id, { decision: 'allow', remember: 'once', by: 'olga' });
const refused = (approval: string) => ({ error: { details: { approval } } });

describe.each([
  ['2025-11-25', 'of the server', serveWithPage],
  ['2025-11-25', 'beside the server', serveBesidePage],
  ['2026-07-28', 'of the server', serveWithPage],
  ['2026-07-28', 'beside the server', serveBesidePage],
] as const)('a client of %s over HTTP, with a page %s', (revision, _, serve) => {
  it('leads the person to the question once, and opening it approves nothing', async () => {
    const served = await serve(IMPATIENT);
    const { links, execute } = await connect(revision, served, 'accept');
    expect((await execute(COMMAND)).data).toMatchObject(refused('waiting'));
    const [question] = open();
    await expect
      .poll(() => links, { timeout: 20_000 })
      .toMatchObject([{ mode: 'url', url: `${served.page}#/q/${question?.id}` }]);
    expect((await execute(COMMAND)).data).toMatchObject(refused('waiting'));
    expect(existsSync(`${place.work}/asked`)).toBe(false);
    allow(question?.id);
    expect((await execute(COMMAND)).data).toMatchObject({ stdout: 'done\n' });
    expect(links).toHaveLength(1);
  });

  it.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
  ] as const)('does not run where the person answers %s', async (action, approval) => {
    const { execute } = await connect(revision, await serve(), action);
    expect((await execute(COMMAND)).data).toMatchObject(refused(approval));
    expect(open()).toEqual([]);
    expect(existsSync(`${place.work}/asked`)).toBe(false);
  });
});

it.each(['2025-11-25', '2026-07-28'] as const)(
  'a client of %s over HTTP leads nobody anywhere where no page is served',
  async (revision) => {
    const server = await openProductHttp(place, [], ENV);
    ends.push(server.stop);
    const { links, execute } = await connect(revision, { ...server, page: '' }, 'accept');
    expect((await execute(COMMAND)).data).toMatchObject(refused('unavailable'));
    expect(links).toEqual([]);
  },
);

describe('a password, over HTTP', () => {
  it.skipIf(lacks(!existsSync('/usr/bin/perl'), 'perl is not installed'))(
    'leads the person to the question of a program',
    async () => {
      const served = await serveBesidePage();
      const { links, execute } = await connect('2025-11-25', served, 'accept');
      const command = '"$GIT_ASKPASS" "Password:" >/dev/null; echo $?';
      const answered = execute(command);
      await expect.poll(() => links, { timeout: 20_000 }).toHaveLength(1);
      const [question] = listSecretQuestions(place.stateDir);
      expect(links).toMatchObject([{ mode: 'url', url: `${PAGE}#/s/${question?.id}` }]);
      await answerSecret(place.stateDir, question?.id ?? '', {
        decision: 'given',
        by: 'olga',
        secret: 'battery',
      });
      expect((await answered).data).toMatchObject({ stdout: '0\n' });
    },
  );

  it('leads the person to a terminal that asks for one, once', async () => {
    const { links, callTool } = await connect('2025-11-25', await serveBesidePage(), 'accept');
    const { data } = await callTool('terminal_create', { shell_type: 'bash' });
    const id = String(data['terminal_id']);
    const input = 'read -s -p "Pass""word: " secret; echo "got ${#secret}"';
    const sent = { terminal_id: id, input, execute: true, timeout_seconds: 1 };
    await callTool('terminal_send_input', sent);
    await expect
      .poll(
        async () => {
          await callTool('terminal_get_output', { terminal_id: id, timeout_seconds: 1 });
          return links;
        },
        { timeout: 20_000 },
      )
      .toMatchObject([{ mode: 'url', url: `${PAGE}#/x/${id.replace('term_', 'exec_')}` }]);
    await callTool('terminal_get_output', { terminal_id: id, timeout_seconds: 1 });
    expect(links).toHaveLength(1);
    await callTool('terminal_close', { terminal_id: id });
  });
});

describe('a client of 2026-07-28 by hand, over stdio', () => {
  const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
  type Answered = { requestState?: string; inputRequests?: unknown; structuredContent?: Message };
  let send: (retry?: Message, elicitation?: Message) => Promise<Answered>;
  beforeEach(() => {
    const server = openRaw(place.command([], { ...ENV, ...IMPATIENT }));
    ends.push(server.leave, announcePage(place.stateDir, PAGE).close);
    send = async (retry = {}, elicitation = { url: {} }) => {
      const message = modern(call(1, 'shell_execute', { command: COMMAND, execution_mode: 'foreground' }));
      const params = message['params'] as Message;
      const meta = { ...(params['_meta'] as Message), [CAPABILITIES]: { elicitation } };
      server.say({ ...message, params: { ...params, ...retry, _meta: meta } });
      return ((await server.next(30_000)) as { result: Answered }).result;
    };
  });
  const inputResponses = { approval: { action: 'accept', content: {} } };

  it('gets the link as an input request, and waits for the answer on the page', async () => {
    const { requestState, inputRequests } = await send();
    const [question] = open();
    expect(inputRequests).toMatchObject({
      approval: { method: 'elicitation/create', params: { mode: 'url', url: `${PAGE}#/q/${question?.id}` } },
    });
    allow(question?.id);
    expect(await send({ requestState, inputResponses })).toMatchObject({
      structuredContent: { stdout: 'done\n' },
    });
  });

  it.each([
    ['a link', { url: {} }],
    // What was asked counts, and no later claim.
    ['a form', { form: {} }],
  ])('approves nothing with the reply to a link, sent as that to %s', async (_, elicitation) => {
    const { requestState } = await send();
    const reply = { requestState, inputResponses };
    const { structuredContent } = await send(reply, elicitation);
    expect(structuredContent?.['stdout']).toBeUndefined();
    expect(await send(reply, elicitation)).toMatchObject({ structuredContent: refused('used') });
    expect(existsSync(`${place.work}/asked`)).toBe(false);
  });

  it('is asked in a form where it has forms', async () => {
    const { inputRequests } = await send({}, { form: {}, url: {} });
    expect(inputRequests).toMatchObject({ approval: { params: { requestedSchema: { type: 'object' } } } });
    expect(inputRequests).not.toMatchObject({ approval: { params: { mode: 'url' } } });
  });
});
