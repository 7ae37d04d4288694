/**
 * What an agreement is bound to beside its command: its time, its principal, its record. The edge and the shell in
 * this process, so that a question can expire in a second and the audit log can refuse.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pickTools } from '../../src/all-tools.ts';
import { systemClock } from '../../src/base/clock.ts';
import { ShellServerError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import { createSearchThread } from '../../src/outputs/views.ts';
import { createTokens } from '../../src/server/auth.ts';
import { createDefinitions } from '../../src/server/definitions.ts';
import { type ApprovalEntry, createDispatch } from '../../src/server/dispatch.ts';
import { type HttpListener, serveHttp } from '../../src/server/http/http.ts';
import { createServerFactory } from '../../src/server/server.ts';
import { createLastLooks } from '../../src/tools/last-looks.ts';
import { createWorld, type World } from '../support/world.ts';
import { connectHttp } from './support/clients.ts';
import { until } from './support/long-command.ts';
import { read } from './support/product.ts';
import { modernRequest, sendRaw } from './support/raw-http.ts';
import { call, type Message } from './support/raw-streams.ts';

const YES = { action: 'accept', content: {} } as const;
const inputResponses = { approval: YES };

let world: World;
let listener: HttpListener;
const entries: ApprovalEntry[] = [];
let isLogFull = false;

beforeAll(async () => {
  world = createWorld({ settings: { security: { askCommands: ['touch'] } } });
  const tools = pickTools(['shell_execute']);
  const dispatch = createDispatch({
    tools,
    modules: {
      ...world,
      clock: systemClock,
      searchThread: createSearchThread('unused'),
      lastLooks: createLastLooks(),
    },
    log: silentLog,
    clock: systemClock,
    approvals: { seconds: 1 },
    onApproval(entry) {
      if (isLogFull && entry.event === 'approval_given')
        throw new ShellServerError('SYSTEM_002', 'The audit log cannot be written.');
      entries.push(entry);
    },
  });
  listener = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    factory: createServerFactory({
      onCaller: () => undefined,
      dispatch,
      definitions: createDefinitions(tools),
      info: { version: '0.0.0-test' },
      instructions: () => '',
    }),
    tokens: createTokens([
      { token: 'of-alice', principal: 'alice' },
      { token: 'of-bob', principal: 'bob' },
    ]),
    log: silentLog,
  });
});
afterAll(async () => {
  await listener.close();
  await world[Symbol.asyncDispose]();
});

interface Answered {
  readonly resultType: string;
  readonly requestState: string;
  readonly structuredContent: Record<string, unknown>;
}

async function send(file: string, retry: Message = {}, token = 'of-alice'): Promise<Answered> {
  const message = call(1, 'shell_execute', { command: `touch ${file}` });
  const { headers, body } = modernRequest(message, token);
  const { params } = body as { params: Message };
  const meta = {
    ...(params['_meta'] as Message),
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  const answer = await sendRaw(listener.url, {
    ...(headers !== undefined && { headers }),
    body: { ...(body as Message), params: { ...params, ...retry, _meta: meta } },
  });
  return answer.json['result'] as Answered;
}

const wasMade = (file: string): boolean => existsSync(join(world.settings.defaultWorkdir, file));
const refused = (approval: string) => ({
  isError: true,
  structuredContent: { error: { code: 'SECURITY_003', details: { approval } } },
});

it('an agreement that comes too late is none', async () => {
  const { requestState } = await send('late');
  await sleep(2100);
  expect(await send('late', { requestState, inputResponses })).toMatchObject(refused('expired'));
  expect(wasMade('late')).toBe(false);
  expect(entries.at(-1)).toMatchObject({
    event: 'approval_refused',
    principal: 'alice',
    approval: 'expired',
  });
});

it.each(['v2 legacy', 'sdk 1.32'] as const)(
  'a person before %s who does not answer has not agreed',
  async (kind) => {
    let isWithdrawn = false;
    const client = await connectHttp(kind, listener.url, 'of-alice', ({ signal }) => {
      signal.addEventListener('abort', () => {
        isWithdrawn = true;
      });
      return new Promise<never>(() => undefined);
    });
    const answer = read(await client.callTool('shell_execute', { command: 'touch silent' }));
    expect(answer).toMatchObject({
      isError: true,
      data: { error: { code: 'SECURITY_003', details: { rule: 'ask: touch', approval: 'expired' } } },
    });
    expect(answer.text).toContain('the question was not answered in time');
    // Clients of the 1.x line overhear that the request with id 0 is cancelled, which is the first of a session.
    await until('the question was taken back', () => isWithdrawn || kind === 'sdk 1.32');
    expect(wasMade('silent')).toBe(false);
    await client.close();
  },
);

it('an agreement is its principal’s, and another cannot use it up', async () => {
  const { requestState } = await send('hers');
  expect(await send('hers', { requestState, inputResponses }, 'of-bob')).toMatchObject(refused('invalid'));
  expect(wasMade('hers')).toBe(false);
  expect(await send('hers', { requestState, inputResponses })).toMatchObject({
    structuredContent: { exit_code: 0 },
  });
  expect(wasMade('hers')).toBe(true);
});

it('what cannot be recorded is not run, whoever agreed', async () => {
  const { requestState } = await send('unrecorded');
  isLogFull = true;
  const answer = await send('unrecorded', { requestState, inputResponses });
  isLogFull = false;
  expect(answer).toMatchObject({ isError: true, structuredContent: { error: { code: 'SYSTEM_002' } } });
  expect(await send('unrecorded', { requestState, inputResponses })).toMatchObject(refused('used'));
  expect(wasMade('unrecorded')).toBe(false);
});
