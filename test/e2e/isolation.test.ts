/**
 * Two principals on one server. Every tool is tried with everything that belongs to the other: what is not one's own
 * is not there, and the answer is the same as for an id that never was.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { createToken, type Principal, principalAt, runProgram } from './support/principals.ts';
import { type Called, createPlace, type Place } from './support/product.ts';
import { openProductHttp, type ServedProduct } from './support/product-http.ts';
import { modernRequest, openSession, sendRaw } from './support/raw-http.ts';
import { request } from './support/raw-streams.ts';

let place: Place;
let http: ServedProduct;
let alice: Principal;
let bob: Principal;

/** What alice has. */
interface Belongings {
  readonly executionId: string;
  readonly processId: number;
  readonly outputId: string;
  readonly terminalId: string;
  readonly terminalProcessId: number;
  readonly monitorId: string;
}
let hers: Belongings;

const SESSION = 'shared-name';

beforeAll(async () => {
  place = createPlace();
  // Made before the server runs, and while it does.
  const aliceToken = await createToken(place, 'alice');
  http = await openProductHttp(place, ['--tools', 'all']);
  alice = principalAt(http.url, aliceToken);
  bob = principalAt(http.url, await createToken(place, 'bob'));

  const { data: ran } = await alice.call('shell_execute', {
    command: 'echo of-alice; exec sleep 1000',
    execution_mode: 'background',
  });
  const { data: terminal } = await alice.call('terminal_create', { session_name: SESSION });
  const { data: monitor } = await alice.call('process_monitor', { process_id: ran.process_id });
  await alice.call('shell_execute', {
    command: 'mkdir -p sub && cd sub && export SECRET_OF=alice',
    session_id: SESSION,
  });
  await alice.call('shell_set_default_workdir', { working_directory: 'sub' });
  await alice.call('security_set_restrictions', { blocked_commands: ['uname'] });
  hers = {
    executionId: ran.execution_id,
    processId: ran.process_id,
    outputId: ran.output_id,
    terminalId: terminal.terminal_id,
    terminalProcessId: terminal.process_id,
    monitorId: monitor.monitor_id,
  };
  if (Object.values(hers).includes(undefined)) throw new Error(JSON.stringify(hers));
});
afterAll(async () => {
  await http.stop();
  place.remove();
});

const codeOf = ({ data }: Called): string => data.error?.code;
const fails = (code: string) => (answer: Called) => expect(codeOf(answer)).toBe(code);
const answers =
  (expected: object) =>
  ({ data }: Called) =>
    expect(data).toMatchObject(expected);

interface Try {
  args(): Record<string, unknown>;
  expected(answer: Called): void;
}

/** What bob does with what is alice's, by each of the tools. */
const TRIES: Readonly<Record<string, readonly Try[]>> = {
  shell_execute: [
    {
      // A session of the same name is another session.
      args: () => ({ command: 'pwd; echo "[$SECRET_OF]"', session_id: SESSION }),
      expected: ({ data }) => expect(data.stdout).toBe(`${place.work}\n[]\n`),
    },
  ],
  process_get_execution: [
    { args: () => ({ execution_id: hers.executionId, wait_seconds: 0 }), expected: fails('RESOURCE_001') },
    { args: () => ({ execution_ids: [hers.executionId] }), expected: fails('RESOURCE_001') },
    {
      args: () => ({ execution_id: hers.executionId, wait_for: [{ output: 'alice' }] }),
      expected: fails('RESOURCE_001'),
    },
  ],
  process_list: [
    {
      args: () => ({ status_filter: 'all', limit: 500 }),
      expected: ({ data, text }) => {
        expect(data.processes.map((one: { execution_id: string }) => one.execution_id)).not.toContain(
          hers.executionId,
        );
        expect(text).not.toContain('of-alice');
      },
    },
    {
      args: () => ({ session_id: SESSION, command_pattern: 'alice' }),
      expected: answers({ processes: [], filtered_count: 0 }),
    },
  ],
  process_terminate: [
    { args: () => ({ execution_id: hers.executionId, signal: 'KILL' }), expected: fails('RESOURCE_001') },
    { args: () => ({ process_id: hers.processId, force: true }), expected: fails('RESOURCE_001') },
    { args: () => ({ process_id: hers.terminalProcessId, force: true }), expected: fails('RESOURCE_001') },
  ],
  process_monitor: [
    { args: () => ({ process_id: hers.processId }), expected: fails('RESOURCE_001') },
    { args: () => ({ monitor_id: hers.monitorId }), expected: fails('RESOURCE_001') },
    { args: () => ({ monitor_id: hers.monitorId, action: 'stop' }), expected: fails('RESOURCE_001') },
  ],
  list_execution_outputs: [
    {
      args: () => ({ execution_id: hers.executionId, output_type: 'all' }),
      expected: answers({ outputs: [], total_count: 0 }),
    },
    {
      args: () => ({ limit: 1000 }),
      expected: ({ text }) => expect(text).not.toContain(hers.outputId.slice(0, -1)),
    },
  ],
  read_execution_output: [
    { args: () => ({ output_id: hers.outputId }), expected: fails('RESOURCE_003') },
    { args: () => ({ output_id: hers.outputId, pattern: 'alice' }), expected: fails('RESOURCE_003') },
  ],
  delete_execution_outputs: [
    {
      args: () => ({ output_ids: [hers.outputId], confirm: true }),
      expected: ({ data }) => expect(data).toMatchObject({ deleted_outputs: [], total_deleted: 0 }),
    },
  ],
  terminal_create: [
    {
      // The name is taken by alice, for alice.
      args: () => ({ session_name: SESSION }),
      expected: ({ data }) => expect(data.terminal_id).not.toBe(hers.terminalId),
    },
  ],
  terminal_list: [
    {
      args: () => ({ session_name_pattern: '.' }),
      expected: ({ data }) =>
        expect(data.terminals.map((one: { terminal_id: string }) => one.terminal_id)).not.toContain(
          hers.terminalId,
        ),
    },
  ],
  terminal_get_info: [{ args: () => ({ terminal_id: hers.terminalId }), expected: fails('RESOURCE_002') }],
  terminal_send_input: [
    {
      args: () => ({ terminal_id: hers.terminalId, input: 'echo typed-by-bob', execute: true }),
      expected: fails('RESOURCE_002'),
    },
    { args: () => ({ terminal_id: hers.terminalId, keys: ['ctrl+d'] }), expected: fails('RESOURCE_002') },
  ],
  terminal_get_output: [{ args: () => ({ terminal_id: hers.terminalId }), expected: fails('RESOURCE_002') }],
  terminal_resize: [
    {
      args: () => ({ terminal_id: hers.terminalId, dimensions: { width: 20, height: 5 } }),
      expected: fails('RESOURCE_002'),
    },
  ],
  terminal_close: [{ args: () => ({ terminal_id: hers.terminalId }), expected: fails('RESOURCE_002') }],
  shell_set_default_workdir: [
    {
      args: () => ({ working_directory: place.work, apply_to_existing_sessions: true }),
      expected: ({ data }) => expect(data.previous_working_directory).toBe(place.work),
    },
  ],
  security_set_restrictions: [
    {
      args: () => ({ blocked_commands: ['whoami'] }),
      expected: ({ text }) => expect(text).not.toContain('uname'),
    },
  ],
  monitoring_get_stats: [
    {
      args: () => ({ include_metrics: ['processes', 'terminals', 'files'] }),
      // His own terminal, and nothing of hers.
      expected: ({ data }) => expect(data).toMatchObject({ active_processes: 0, active_terminals: 1 }),
    },
    {
      args: () => ({ include_metrics: ['system'] }),
      // Neither what the server holds for everybody nor how many lines all have in the audit log.
      expected: ({ data }) => {
        expect(data.memory_usage.server_bytes).toBeUndefined();
        expect(data.audit).toEqual({ status: 'good' });
      },
    },
  ],
  shell_exec: [
    {
      args: () => ({ command: 'pwd' }),
      expected: ({ text }) => expect(text).toContain(place.work),
    },
  ],
  shell_allowed: [{ args: () => ({}), expected: ({ text }) => expect(text).not.toContain('uname') }],
  shell: [{ args: () => ({ command: 'pwd' }), expected: ({ text }) => expect(text).toContain(place.work) }],
  shell_get_execution: [
    { args: () => ({ execution_id: hers.executionId }), expected: fails('RESOURCE_001') },
  ],
  process_kill: [
    {
      args: () => ({ process_id: hers.processId, signal: 'KILL', force: true }),
      expected: fails('RESOURCE_001'),
    },
  ],
  terminal_get: [{ args: () => ({ terminal_id: hers.terminalId }), expected: fails('RESOURCE_002') }],
  terminal_input: [
    {
      args: () => ({ terminal_id: hers.terminalId, input: 'echo typed-by-bob', execute: true }),
      expected: fails('RESOURCE_002'),
    },
  ],
  terminal_output: [{ args: () => ({ terminal_id: hers.terminalId }), expected: fails('RESOURCE_002') }],
  file_list: [
    {
      args: () => ({ limit: 1000 }),
      expected: ({ text }) => expect(text).not.toContain(hers.outputId.slice(0, -1)),
    },
  ],
  file_read: [{ args: () => ({ file_id: hers.outputId }), expected: fails('RESOURCE_003') }],
  file_delete: [
    {
      args: () => ({ file_ids: [hers.outputId], confirm: true }),
      expected: ({ data }) => expect(data).toMatchObject({ total_deleted: 0 }),
    },
  ],
};

test('there is a try for every tool', async () => {
  const { json } = await sendRaw(http.url, modernRequest(request(1, 'tools/list'), bob.token));
  const { tools } = (json as { result: { tools: { name: string }[] } }).result;
  expect(Object.keys(TRIES).sort()).toEqual(tools.map(({ name }) => name).sort());
});

describe.sequential('another principal reaches nothing by', () => {
  test.each(Object.entries(TRIES))('%s', async (tool, tries) => {
    expect.hasAssertions();
    for (const { args, expected } of tries) expected(await bob.call(tool, args()));
  });

  test('and everything of hers is as it was', async () => {
    expect(
      (await alice.call('process_get_execution', { execution_id: hers.executionId })).data,
    ).toMatchObject({
      status: 'running',
      process_id: hers.processId,
    });
    expect((await alice.call('read_execution_output', { output_id: hers.outputId })).data.content).toBe(
      'of-alice\n',
    );
    expect((await alice.call('process_monitor', { monitor_id: hers.monitorId })).data.status).toBe('active');
    const { data: info } = await alice.call('terminal_get_info', { terminal_id: hers.terminalId });
    expect(info).toMatchObject({ dimensions: { width: 120, height: 30 } });
    const { data: screen } = await alice.call('terminal_get_output', { terminal_id: hers.terminalId });
    expect(screen.output).not.toContain('typed-by-bob');
    const { data: session } = await alice.call('shell_execute', {
      command: 'pwd; echo "[$SECRET_OF]"',
      session_id: SESSION,
    });
    expect(session.stdout).toBe(`${join(place.work, 'sub')}\n[alice]\n`);
    const { data: placed } = await alice.call('shell_execute', { command: 'pwd' });
    expect(placed.stdout).toBe(`${join(place.work, 'sub')}\n`);
    expect(codeOf(await alice.call('shell_execute', { command: 'uname' }))).toBe('SECURITY_003');
    expect(codeOf(await alice.call('shell_execute', { command: 'whoami' }))).toBeUndefined();
    expect(codeOf(await bob.call('shell_execute', { command: 'whoami' }))).toBe('SECURITY_003');
  });
});

test('an id of somebody else is answered like one that never was', async () => {
  const texts = await Promise.all(
    [hers.executionId, `${hers.executionId.slice(0, -4)}2222`].map(async (id) =>
      (await bob.call('process_get_execution', { execution_id: id })).text.replaceAll(id, 'ID'),
    ),
  );
  expect(texts[0]).toBe(texts[1]);
});

test.skipIf(needs('bwrap'))('no command of one reaches a process of the other', async () => {
  const { processId, terminalProcessId } = hers;
  const { data } = await bob.call('shell_execute', {
    command: `kill -9 ${processId} ${terminalProcessId}; cat /proc/${processId}/environ; ps -e`,
  });
  expect(data.stdout).not.toContain('sleep');
  const { data: still } = await alice.call('process_get_execution', { execution_id: hers.executionId });
  expect(still.status).toBe('running');
});

test.skipIf(needs('bwrap'))('each has a /tmp of its own', async () => {
  await alice.call('shell_execute', { command: 'echo mine > /tmp/of-alice; echo mine > /var/tmp/of-alice' });
  const { data } = await bob.call('shell_execute', { command: 'ls -A /tmp /var/tmp; cat /tmp/of-alice' });
  expect(data.stdout).not.toContain('of-alice');
  expect(data.exit_code).toBe(1);
  expect(
    (await alice.call('shell_execute', { command: 'cat /tmp/of-alice /var/tmp/of-alice' })).data.stdout,
  ).toBe('mine\nmine\n');
});

test('a session of the 2025 era is not there for another principal', async () => {
  const headers = await openSession(http.url, alice.token);
  const stolen = { ...headers, authorization: `Bearer ${bob.token}` };
  for (const options of [
    { headers: stolen, body: request(5, 'tools/list') },
    { headers: stolen, method: 'GET' },
    { headers: stolen, method: 'DELETE' },
  ]) {
    expect((await sendRaw(http.url, options)).status).toBe(404);
  }
  expect((await sendRaw(http.url, { headers, body: request(6, 'tools/list') })).status).toBe(200);
});

test('the audit log names the principal and the request', async () => {
  const answer = await bob.send('shell_execute', { command: 'echo on-record' });
  const requestId = answer.headers['x-request-id'];
  const { stdout } = await runProgram(place, [
    'audit',
    'search',
    '--json',
    '--principal',
    'bob',
    'on-record',
  ]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { event: 'execution_allowed', principal: 'bob', requestId },
    { event: 'execution_ended', principal: 'bob', requestId },
    { event: 'call', principal: 'bob', requestId },
  ]);
});

test('no command sees the file of the tokens', async () => {
  const path = join(place.stateDir, 'tokens.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).not.toContain(bob.token);
  const { data } = await bob.call('shell_execute', { command: `cat ${path}; ls -la ${place.stateDir}` });
  expect(`${data.stdout}${data.stderr}`).not.toContain('sha256');
});
