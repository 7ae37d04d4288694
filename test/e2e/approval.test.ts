/**
 * Commands that a person must agree to, asked for through real clients of both eras and over both transports, and by
 * hand for what no client would send. Nothing here but a ticked box makes a command run.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Asked,
  type AskedQuestion,
  CLIENT_KINDS,
  type ClientKind,
  connectHttp,
  type ElicitReply,
  type TestClient,
} from './support/clients.ts';
import { until } from './support/long-command.ts';
import { type Called, createPlace, type Place, read } from './support/product.ts';
import { connectHere, openRaw, type RawHere } from './support/product-here.ts';
import { openProductHttp, type ServedProduct } from './support/product-http.ts';
import { openSession, type RawAnswer, sendRaw } from './support/raw-http.ts';
import { call, type Message, modern } from './support/raw-streams.ts';

const ASK = { MCP_SHELL_SECURITY_ASK_COMMANDS: 'git push,touch asked' };
const YES: ElicitReply = { action: 'accept', content: {} };
const RULE = 'ask: touch asked';

let place: Place;
let http: ServedProduct;
beforeAll(async () => {
  place = createPlace();
  http = await openProductHttp(place, [], ASK);
});
afterAll(async () => {
  await http.stop();
  place.remove();
});

const clients: TestClient[] = [];
const servers: RawHere[] = [];
afterAll(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(servers.splice(0).map((server) => server.leave()));
});

interface Connected {
  readonly client: TestClient;
  /** What was asked since the answer was set. */
  readonly questions: AskedQuestion[];
  answerWith(answer: Asked): void;
  execute(command: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<Called>;
}

async function connect(
  kind: ClientKind,
  via: 'stdio' | 'http',
  { canAsk = true, env = {} }: { canAsk?: boolean; env?: Readonly<Record<string, string>> } = {},
): Promise<Connected> {
  const questions: AskedQuestion[] = [];
  let answer: Asked = async () => ({ action: 'cancel' });
  const asked: Asked = (question) => {
    questions.push(question);
    return answer(question);
  };
  const person = canAsk ? asked : undefined;
  const client = await (via === 'stdio'
    ? connectHere(kind, place.command([], { ...ASK, ...env }), person)
    : connectHttp(kind, http.url, http.token, person));
  clients.push(client);
  return {
    client,
    questions,
    answerWith(next) {
      questions.length = 0;
      answer = next;
    },
    execute: async (command, args = {}, signal = new AbortController().signal) =>
      read(await client.callTool('shell_execute', { command, ...args }, { signal })),
  };
}

let files = 0;
/** A command that needs agreement, and leaves a line for each time that it ran. */
function askedCommand(): { text: string; runs(): number } {
  const file = `ran-${++files}`;
  const path = join(place.work, file);
  return {
    text: `touch asked; echo ran >> ${file}; echo done`,
    runs: () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0),
  };
}

interface AuditLine {
  readonly event: string;
  readonly requestId: string;
  readonly command?: string;
  readonly [field: string]: unknown;
}

/** What the audit log says of a command, in its order. */
function audited(command: string): AuditLine[] {
  const directory = join(place.stateDir, 'audit');
  return readdirSync(directory)
    .flatMap((file) => readFileSync(join(directory, file), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as AuditLine)
    .filter((line) => line.command === command);
}

const refusal = (approval: string) => ({
  isError: true,
  data: { error: { code: 'SECURITY_003', details: { rule: RULE, part: 'touch asked', approval } } },
});

/** A person who thinks until nobody wants to know any more. */
const thinking: Asked = ({ signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('taken back')));
  });

const ASKING = ['v2 legacy', 'v2 modern', 'sdk 1.32'] as const;
const cases = ASKING.flatMap((kind) => (['stdio', 'http'] as const).map((via) => ({ kind, via })));

describe.each(cases)('$kind over $via', ({ kind, via }) => {
  const isModern = kind === 'v2 modern';
  let connected: Connected;
  beforeAll(async () => {
    connected = await connect(kind, via);
  });

  it('runs what a person agreed to, once for each time that they were asked', async () => {
    const { execute, questions, answerWith } = connected;
    answerWith(async () => YES);
    const command = askedCommand();
    expect(await execute(command.text)).toMatchObject({
      isError: false,
      data: { status: 'completed', exit_code: 0, stdout: 'done\n' },
    });
    expect(questions).toHaveLength(1);
    expect(questions[0]).toMatchObject({
      message: `"touch asked" needs your agreement (${RULE}).\n\nAn agent wants to run this in ${place.work}:\n\n    ${command.text}`,
      requestedSchema: { type: 'object', properties: {} },
    });
    await execute(command.text);
    expect({ runs: command.runs(), questions: questions.length }).toEqual({ runs: 2, questions: 2 });

    const lines = audited(command.text).slice(0, 4);
    const principal = lines[0]?.['principal'];
    expect(lines).toMatchObject([
      { event: 'approval_needed', decision: 'ask', rule: RULE, directory: place.work },
      { event: 'approval_asked', decision: 'ask', rule: RULE, principal, client: 'test-client' },
      { event: 'approval_given', decision: 'allow', rule: RULE, principal, client: 'test-client' },
      { event: 'execution_allowed', decision: 'allow', rule: RULE, principal },
    ]);
    // Nothing says "not run" of a command that runs.
    expect(lines[0]).toMatchObject({ reason: 'It needs a person’s agreement.' });
    expect(lines[0]).not.toHaveProperty('code');
    const [needed, asked, given, allowed] = lines;
    expect([asked?.requestId, allowed?.requestId]).toEqual([needed?.requestId, given?.requestId]);
    expect(given?.['askedIn'] ?? given?.requestId).toBe(asked?.requestId);
    expect(given?.requestId === asked?.requestId).toBe(!isModern);
  });

  it.each([
    ['declines', { action: 'decline' }, 'declined', 'the answer was no'],
    ['closes the question', { action: 'cancel' }, 'cancelled', 'closed without an answer'],
    [
      'sends something else off',
      { action: 'accept', content: { approve: false } },
      'declined',
      'the answer was no',
    ],
  ] as const)('runs nothing for a person who %s', async (_, reply, approval, words) => {
    const { execute, questions, answerWith } = connected;
    answerWith(async () => reply);
    const command = askedCommand();
    const answer = await execute(command.text);
    expect(answer).toMatchObject(refusal(approval));
    expect(answer.text).toContain(words);
    expect({ runs: command.runs(), questions: questions.length }).toEqual({ runs: 0, questions: 1 });
    expect(audited(command.text)).toMatchObject([
      { event: 'approval_needed' },
      { event: 'approval_asked' },
      { event: 'approval_refused', decision: 'deny', rule: RULE, approval },
    ]);
  });

  it('asks nothing about other commands', async () => {
    const { execute, questions, answerWith } = connected;
    answerWith(async () => YES);
    expect(await execute('echo "touch asked"')).toMatchObject({ data: { stdout: 'touch asked\n' } });
    expect(questions).toEqual([]);
  });

  it('asks two things at once, and gives each its own answer', async () => {
    const [first, second] = [askedCommand(), askedCommand()];
    const held = withResolvers();
    const { execute, questions, answerWith } = connected;
    answerWith(async ({ message }) => {
      // Answered in the other order, when both are open.
      if (message.includes(first.text)) await held.promise;
      return message.includes(first.text) ? YES : { action: 'decline' };
    });
    const calls = Promise.all([execute(first.text), execute(second.text)]);
    await until('both questions', () => questions.length === 2);
    held.resolve();
    expect(await calls).toMatchObject([{ data: { stdout: 'done\n' } }, refusal('declined')]);
    expect([first.runs(), second.runs()]).toEqual([1, 0]);
  });

  it('stops waiting when the call is cancelled', async () => {
    const { execute, questions, answerWith } = connected;
    answerWith(thinking);
    const command = askedCommand();
    const controller = new AbortController();
    const pending = execute(command.text, {}, controller.signal);
    pending.catch(() => undefined);
    await until('the question', () => questions.length === 1);
    controller.abort('enough');
    await expect(pending).rejects.toThrow(/enough|abort|taken back/i);
    await until('the question was taken back', () => questions[0]?.signal.aborted === true);
    // A 2026-07-28 call was answered with the question, so that there is nothing to call off.
    const last = isModern
      ? { event: 'approval_asked' }
      : { event: 'approval_refused', approval: 'withdrawn', decision: 'deny' };
    await until('the record', () => audited(command.text).at(-1)?.event === last.event);
    expect(audited(command.text).at(-1)).toMatchObject(last);
    expect(await execute('echo goes on')).toMatchObject({ data: { stdout: 'goes on\n' } });
    expect(command.runs()).toBe(0);
  });
});

describe.each(['v2 legacy', 'sdk 1.32'] as const)('%s, whose calls wait', (kind) => {
  let connected: Connected;
  beforeAll(async () => {
    connected = await connect(kind, 'stdio', { env: { MCP_SHELL_LIMITS_MAX_PROCESSES: '1' } });
  });

  it('holds neither the slot nor the session of the command while a person thinks', async () => {
    const { execute, questions, answerWith } = connected;
    const held = withResolvers();
    answerWith(() => held.promise.then(() => YES));
    const command = askedCommand();
    const pending = execute(command.text, { session_id: 'held' });
    await until('the question', () => questions.length === 1);
    expect(await execute('echo free', { session_id: 'held' })).toMatchObject({ data: { stdout: 'free\n' } });
    held.resolve();
    expect(await pending).toMatchObject({ data: { stdout: 'done\n' } });
  });

  it('asks again where the session has changed by the time of the answer', async () => {
    const { execute, questions, answerWith } = connected;
    const held = withResolvers();
    answerWith(() => held.promise.then(() => YES));
    const pending = execute('touch asked; echo "$GREETING"', { session_id: 'changed' });
    await until('the question', () => questions.length === 1);
    await execute('export GREETING=changed', { session_id: 'changed' });
    held.resolve();
    expect(await pending).toMatchObject({ data: { stdout: 'changed\n' } });
    expect(questions).toHaveLength(2);
  });

  it('is not asked for ever where it changes each time', async () => {
    const { execute, questions, answerWith } = connected;
    const command = askedCommand();
    answerWith(async () => {
      await execute(`export COUNT=${questions.length}`, { session_id: 'restless' });
      return YES;
    });
    expect(await execute(command.text, { session_id: 'restless' })).toMatchObject(refusal('changed'));
    expect({ runs: command.runs(), questions: questions.length }).toEqual({ runs: 0, questions: 3 });
  });

  it('says so where it fails to ask', async () => {
    const { execute, answerWith } = connected;
    answerWith(() => Promise.reject(new Error('no window')));
    const command = askedCommand();
    expect(await execute(command.text)).toMatchObject(refusal('failed'));
    expect(command.runs()).toBe(0);
  });

  it('can be closed while a question is open', async () => {
    const { client, execute, questions, answerWith } = connected;
    answerWith(thinking);
    const command = askedCommand();
    execute(command.text).catch(() => undefined);
    await until('the question', () => questions.length === 1);
    await client.close();
    await until('the record', () => audited(command.text).length === 3);
    expect(audited(command.text).at(-1)).toMatchObject({ event: 'approval_refused', approval: 'withdrawn' });
    expect(command.runs()).toBe(0);
  });
});

describe.each(CLIENT_KINDS)('%s without elicitation', (kind) => {
  it.each(['stdio', 'http'] as const)('is told over %s that it cannot ask', async (via) => {
    const { execute } = await connect(kind, via, { canAsk: false });
    const command = askedCommand();
    const answer = await execute(command.text);
    expect(answer).toMatchObject(refusal('unavailable'));
    expect(answer.text).toContain('this client cannot ask one');
    expect(answer.text).toContain('The operator can open the page (`mcp-shell-server web`)');
    expect(command.runs()).toBe(0);
    expect(audited(command.text)).toMatchObject([
      { event: 'approval_needed' },
      { event: 'approval_refused', approval: 'unavailable' },
    ]);
  });
});

/** A call of the 2026-07-28 revision by hand, from a client that can ask. */
function asking(
  args: Record<string, unknown>,
  retry: Message = {},
  elicitation: unknown = { form: {} },
): Message {
  const message = modern(call(1, 'shell_execute', args));
  const params = message['params'] as Message;
  const meta = params['_meta'] as Message;
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { elicitation } };
  return { ...message, params: { ...params, ...retry, _meta: { ...meta, ...capabilities } } };
}

interface Answered {
  readonly resultType: string;
  readonly requestState: string;
  readonly inputRequests: { readonly approval: { readonly params: { readonly message: string } } };
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: boolean;
}

const answerOf = (message: unknown): Answered => (message as { result: Answered }).result;
const inputResponses = { approval: YES };

type Send = (args: Record<string, unknown>, retry?: Message) => Promise<Answered>;

const sendHttp: Send = async (args, retry) => {
  const headers = {
    authorization: `Bearer ${http.token}`,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'shell_execute',
  };
  const answer: RawAnswer = await sendRaw(http.url, { headers, body: asking(args, retry) });
  return answerOf(answer.json);
};

function startAsking(): Send {
  const server = openRaw(place.command([], ASK));
  servers.push(server);
  return async (args, retry) => {
    server.say(asking(args, retry));
    return answerOf(await server.next(30_000));
  };
}

describe.each([
  ['stdio', startAsking],
  ['http', () => sendHttp],
])('a 2026-07-28 client by hand, over %s', (_, start) => {
  let send: Send;
  beforeAll(() => {
    send = start();
  });

  it('replays its answer in vain: one agreement is one run', async () => {
    const command = askedCommand();
    const args = { command: command.text };
    const { resultType, requestState } = await send(args);
    expect(resultType).toBe('input_required');
    expect(await send(args, { requestState, inputResponses })).toMatchObject({
      structuredContent: { stdout: 'done\n' },
    });
    for (const again of [args, { ...args, timeout_seconds: 5 }]) {
      expect(await send(again, { requestState, inputResponses })).toMatchObject({
        isError: true,
        structuredContent: { error: { code: 'SECURITY_003', details: { approval: 'used' } } },
      });
    }
    expect(command.runs()).toBe(1);
  });

  it('cannot change its mind', async () => {
    const command = askedCommand();
    const args = { command: command.text };
    const { requestState } = await send(args);
    const declined = { requestState, inputResponses: { approval: { action: 'decline' } } };
    expect(await send(args, declined)).toMatchObject({
      structuredContent: { error: { details: { approval: 'declined' } } },
    });
    expect(await send(args, { requestState, inputResponses })).toMatchObject({
      structuredContent: { error: { details: { approval: 'used' } } },
    });
    expect(command.runs()).toBe(0);
  });

  it.each<[string, (args: { command: string }, other: string) => Record<string, unknown>]>([
    ['command', (args, other) => ({ ...args, command: other })],
    ['input', (args) => ({ ...args, input_data: 'DROP TABLE' })],
    ['environment', (args) => ({ ...args, environment_variables: { GIT_DIR: '/elsewhere' } })],
    ['directory', (args) => ({ ...args, working_directory: '..' })],
    ['time limit', (args) => ({ ...args, timeout_seconds: 3600 })],
  ])('is asked anew when the %s is another than the one agreed to', async (_what, change) => {
    const [command, other] = [askedCommand(), askedCommand()];
    const { requestState } = await send({ command: command.text });
    const changed = await send(change({ command: command.text }, other.text), {
      requestState,
      inputResponses,
    });
    expect(changed.resultType).toBe('input_required');
    expect(changed.requestState).not.toBe(requestState);
    expect([command.runs(), other.runs()]).toEqual([0, 0]);
  });

  it('is asked where it brings half an answer', async () => {
    const command = askedCommand();
    const args = { command: command.text };
    const { requestState } = await send(args);
    const halves: Message[] = [
      { inputResponses },
      { requestState },
      { requestState, inputResponses: {} },
      { requestState, inputResponses: { other: YES } },
      { requestState, inputResponses: { approval: { method: 'elicitation/create', result: YES } } },
    ];
    for (const half of halves) expect((await send(args, half)).resultType).toBe('input_required');
    expect(command.runs()).toBe(0);
    expect(await send(args, { requestState, inputResponses })).toMatchObject({
      structuredContent: { stdout: 'done\n' },
    });
  });

  it.each<[string, unknown]>([
    ['text', { action: 'accept', content: 'yes' }],
    ['nothing', { action: 'accept', content: null }],
    ['a form that was not asked for', { action: 'accept', content: { approved: true } }],
    ['a list', { action: 'accept', content: [true] }],
    ['a refusal with a ticked box', { action: 'decline', content: { approve: true } }],
    ['an action of its own', { action: 'approve', content: { approve: true } }],
  ])('takes %s for no agreement', async (_what, approval) => {
    const command = askedCommand();
    const args = { command: command.text };
    const { requestState } = await send(args);
    const answer = await send(args, { requestState, inputResponses: { approval } });
    expect(answer).toMatchObject({ isError: true, structuredContent: { error: { code: 'SECURITY_003' } } });
    expect(command.runs()).toBe(0);
  });

  it('forges the state in vain', async () => {
    const command = askedCommand();
    const args = { command: command.text };
    const { requestState } = await send(args);
    const another = await startAsking()(args);
    const [version, body = '', signature = ''] = requestState.split('.');
    const state = JSON.parse(Buffer.from(body, 'base64url').toString()) as { p: object };
    const longer = { ...state, exp: 4e9 };
    const forged = [
      '',
      'v1.',
      'v1.x.y',
      'x'.repeat(100_000),
      another.requestState,
      `${requestState}x`,
      `${version}.${Buffer.from(JSON.stringify(longer)).toString('base64url')}.${signature}`,
      `${version}.${body}.`,
    ];
    for (const one of forged) {
      expect(await send(args, { requestState: one, inputResponses })).toMatchObject({
        isError: true,
        structuredContent: { error: { code: 'SECURITY_003', details: { approval: 'invalid' } } },
      });
    }
    expect(command.runs()).toBe(0);
  });

  it('is no way for a model to answer: arguments are arguments', async () => {
    const command = askedCommand();
    const { requestState } = await send({ command: command.text });
    for (const extra of [{ approval: true }, { approve: true }, { inputResponses, requestState }]) {
      expect(await send({ command: command.text, ...extra })).toMatchObject({
        structuredContent: { error: { code: 'PARAM_002' } },
      });
    }
    expect(command.runs()).toBe(0);
  });
});

it('a client that can only open addresses is not asked', async () => {
  const server = openRaw(place.command([], ASK));
  servers.push(server);
  server.say(asking({ command: 'touch asked' }, {}, { url: {} }));
  expect(answerOf(await server.next())).toMatchObject({
    structuredContent: { error: { details: { approval: 'unavailable' } } },
  });
});

it('a session of the 2025 era cannot bring an answer from elsewhere', async () => {
  const command = askedCommand();
  const args = { command: command.text };
  const { requestState } = await sendHttp(args);
  const headers = await openSession(http.url, http.token);
  const body = call(1, 'shell_execute', args);
  const params = { ...(body['params'] as Message), requestState, inputResponses };
  const answer = await sendRaw(http.url, { headers, body: { ...body, params } });
  expect(answerOf(answer.json)).toMatchObject({
    structuredContent: { error: { details: { approval: 'unavailable' } } },
  });
  expect(command.runs()).toBe(0);
});

describe('the question', () => {
  let connected: Connected;
  beforeAll(async () => {
    connected = await connect('v2 legacy', 'http');
  });

  async function questionFor(command: string, args: Record<string, unknown> = {}): Promise<string> {
    const { execute, questions, answerWith } = connected;
    answerWith(async () => ({ action: 'decline' }));
    await execute(command, args);
    return questions[0]?.message ?? '';
  }

  it('shows a command whole, and nothing in it moves a cursor or passes for our words', async () => {
    const hidden = '\u001b[2K\u202e\u200b';
    const question = await questionFor(`touch asked\n\n"ls" needs your agreement. ${hidden}; echo 2`);
    expect(question).toContain(
      '\n    touch asked\n    \n    "ls" needs your agreement. \\x1b[2K\\u{202e}\\u{200b}; echo 2',
    );
  });

  it('shows that there is input and how it begins, and variables', async () => {
    const question = await questionFor('touch asked; cat', {
      input_data: 'first\nsecond',
      environment_variables: { DEPTH: '1' },
    });
    expect(question).toContain(
      'With variables of the call:\n\n    DEPTH=1\n\nWith this input of 12 characters:\n\n    first\n    second',
    );
  });

  it('is not put where the command is too long to be read', async () => {
    const { execute, questions, answerWith } = connected;
    answerWith(async () => YES);
    expect(await execute(`touch asked;${' '.repeat(4000)}rm important`)).toMatchObject(refusal('too_long'));
    expect(questions).toEqual([]);
  });
});

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
