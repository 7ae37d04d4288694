/** Tokens from the command line to the wire: what they open, what they do not, and that they can be taken back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLIENT_KINDS, connectHttp } from './support/clients.ts';
import { createToken, principalAt, runProgram } from './support/principals.ts';
import { createPlace, type Place, read } from './support/product.ts';
import { openProductHttp, type ServedProduct } from './support/product-http.ts';
import { modernRequest, openSession, type RawAnswer, sendRaw } from './support/raw-http.ts';
import { startRaw } from './support/raw-process.ts';
import { call, request } from './support/raw-streams.ts';

let place: Place;
let http: ServedProduct;
beforeAll(async () => {
  place = createPlace();
  http = await openProductHttp(place);
});
afterAll(async () => {
  await http.stop();
  place.remove();
});

const list = async (token: string): Promise<{ names: string[]; answer: RawAnswer }> => {
  const answer = await sendRaw(http.url, modernRequest(request(1, 'tools/list'), token));
  const { result } = answer.json as { result?: { tools: { name: string }[] } };
  return { names: (result?.tools ?? []).map(({ name }) => name), answer };
};

describe('token create, list and revoke', () => {
  test('work on a server that runs', async () => {
    const token = await createToken(place, 'comes-and-goes', ['--expires', '30d']);
    const caller = principalAt(http.url, token);
    expect((await caller.call('shell_execute', { command: 'echo hi' })).data.stdout).toBe('hi\n');
    const { stdout: listed } = await runProgram(place, ['token', 'list']);
    expect(listed).toMatch(/^TOKEN .*PRESET +CREATED +EXPIRES +TOOLS$/m);
    expect(listed).toMatch(/^comes-and-goes .* \d{4}-\d\d-\d\d +\d{4}-\d\d-\d\d +all$/m);
    expect(listed).not.toContain(token);
    expect((await runProgram(place, ['token', 'revoke', 'comes-and-goes'])).stdout).toContain('Revoked');
    const refused = await caller.send('shell_execute', { command: 'echo no' });
    expect(refused).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="mcp-shell-server", error="invalid_token"' },
      json: {
        error: {
          code: 'AUTH_002',
          category: 'AUTH',
          message: 'The bearer token is not valid.',
          request_id: refused.headers['x-request-id'],
        },
      },
    });
  });

  test('are on record', async () => {
    await createToken(place, 'recorded', ['--read-only']);
    await runProgram(place, ['token', 'revoke', 'recorded']);
    const { stdout } = await runProgram(place, ['audit', 'search', '--json', 'recorded']);
    const lines = stdout.split('\n').filter((line) => line !== '');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { event: 'token_created', principal: 'operator', scope: { name: 'recorded', isReadOnly: true } },
      { event: 'token_revoked', principal: 'operator', scope: { name: 'recorded' } },
    ]);
    const verified = await runProgram(place, ['audit', 'verify']);
    expect(verified).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/of \d+ servers? and \d+ commands? of the operator\./),
    });
    expect((await runProgram(place, ['audit', 'search', 'recorded'])).stdout).toContain('token created');
  });

  test.for([
    [['token', 'create', 'a b'], /cannot be used/],
    [['token', 'create', 'local'], /cannot be the name of a principal/],
    [['token', 'create', 'x', '--preset', 'open'], /Allowed choices are development/],
    [['token', 'create', 'x', '--tools', 'standart'], /did you mean standard/],
    [['token', 'create', 'x', '--expires', '2020-01-01'], /in the past/],
    [['token', 'create', 'x', '--expires', 'soon'], /not a valid time/],
    [['token', 'revoke', 'nobody'], /There is no token/],
  ] as const)('refuse %j', async ([args, message]) => {
    const { code, stderr, stdout } = await runProgram(place, args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('refuse a preset that is looser than the operator’s', async () => {
    const strict = createPlace();
    const { env, cwd, command, args } = strict.command(['token', 'create', 'x', '--preset', 'sandbox'], {
      MCP_SHELL_SECURITY_PRESET: 'production',
    });
    const raw = startRaw({ command, args, env: { ...env }, cwd: cwd ?? '' });
    raw.end();
    expect((await raw.rest()).code).toBe(1);
    expect(raw.stderr()).toContain('looser than production');
    strict.remove();
  });
});

describe('a scope', () => {
  test('for reading takes nothing from who works with the same principal', async () => {
    const worker = principalAt(http.url, await createToken(place, 'typist'));
    const viewerToken = await createToken(place, 'watcher', ['--principal', 'typist', '--read-only']);
    const viewer = principalAt(http.url, viewerToken);
    const { data: opened } = await worker.call('terminal_create', {});
    const id = { terminal_id: opened.terminal_id };
    await worker.call('terminal_send_input', {
      ...id,
      input: 'echo fr"es"h',
      execute: true,
      wait_for: '^fresh',
    });
    const sent = { ...id, input: 'sleep 0.3; echo la"te"r', execute: true };
    await worker.call('terminal_send_input', sent);
    const fresh = { ...id, view: 'new' };
    await expect
      .poll(async () => (await viewer.call('terminal_get_output', fresh)).data.output)
      .toMatch(/^later/m);
    expect((await viewer.call('terminal_get_output', fresh)).data.output).not.toMatch(/^later/m);
    expect((await worker.call('terminal_get_output', fresh)).data.output).toMatch(/^later/m);
    await worker.call('terminal_close', id);

    const { data: long } = await worker.call('shell_execute', {
      command: 'sleep 1000',
      execution_mode: 'background',
    });
    const watch = { process_id: long.process_id };
    const { data: monitor } = await worker.call('process_monitor', watch);
    expect(monitor).not.toHaveProperty('unavailable');
    for (let count = 0; count < 20; count++)
      expect((await viewer.call('process_monitor', watch)).isError).toBe(false);
    expect((await viewer.call('process_monitor', watch)).data.error).toMatchObject({ code: 'RESOURCE_005' });
    const stop = { monitor_id: monitor.monitor_id, action: 'stop' };
    expect((await viewer.call('process_monitor', stop)).data.error).toMatchObject({ code: 'RESOURCE_001' });
    expect((await worker.call('process_monitor', watch)).isError).toBe(false);
    expect((await worker.call('process_monitor', stop)).data).toMatchObject({ status: 'stopped' });
    await worker.call('process_terminate', { ...watch, signal: 'KILL' });
  });

  test('of a principal tells nothing of the others', async () => {
    const { data, text } = await principalAt(http.url, await createToken(place, 'guest')).call(
      'monitoring_get_stats',
    );
    expect(data).toMatchObject({ total_files: 0, active_processes: 0, audit: { status: 'good' } });
    expect(data).not.toHaveProperty('state_directory');
    expect(data.audit).toEqual({ status: 'good' });
    expect(text).not.toMatch(/state directory|lines/);
    expect((await principalAt(http.url, http.token).call('monitoring_get_stats')).data).toMatchObject({
      state_directory: { audit_bytes: expect.any(Number) },
      audit: { lines: expect.any(Number) },
    });
  });

  test('for reading leaves what changes nothing, and says so about the rest', async () => {
    const full = principalAt(http.url, await createToken(place, 'worker'));
    const token = await createToken(place, 'viewer', ['--principal', 'worker', '--read-only']);
    const viewer = principalAt(http.url, token);
    const { data } = await full.call('shell_execute', { command: 'echo seen' });
    expect((await viewer.call('read_execution_output', { output_id: data.output_id })).data.content).toBe(
      'seen\n',
    );
    const { names, answer } = await list(token);
    expect(names).toContain('process_list');
    expect(names).not.toContain('shell_execute');
    expect(answer.json).toMatchObject({ result: { cacheScope: 'private' } });
    for (const tool of ['shell_execute', 'terminal_create', 'delete_execution_outputs', 'process_kill']) {
      const refused = await viewer.send(tool, { command: 'echo no' });
      expect(refused).toMatchObject({
        status: 403,
        headers: { 'www-authenticate': 'Bearer realm="mcp-shell-server", error="insufficient_scope"' },
        json: {
          error: {
            code: 'AUTH_003',
            category: 'AUTH',
            message: `The token does not grant access to ${tool}: it is for reading alone.`,
          },
        },
      });
    }
    const { stdout } = await runProgram(place, [
      'audit',
      'search',
      '--json',
      '--principal',
      'worker',
      'AUTH_003',
    ]);
    expect(stdout.split('\n').filter((line) => line !== '')).toHaveLength(4);
  });

  test('of tools leaves these, in every way in', async () => {
    const token = await createToken(place, 'lister', ['--tools', 'process_list,read_execution_output']);
    expect((await list(token)).names).toEqual(['process_list', 'read_execution_output']);
    const lister = principalAt(http.url, token);
    expect((await lister.send('process_list')).status).toBe(200);
    expect((await lister.send('shell_execute', { command: 'echo no' })).status).toBe(403);
    const headers = await openSession(http.url, token, '2025-03-26');
    const bodies = [
      call(1, 'shell_execute', { command: 'echo no' }),
      [call(1, 'process_list', {}), call(2, 'shell_execute', { command: 'echo no' })],
      request(1, 'shell/exec', { command: 'echo', args: ['no'] }),
    ];
    for (const body of bodies) expect((await sendRaw(http.url, { headers, body })).status).toBe(403);
    const { authorization } = headers;
    const beside = {
      headers: { authorization },
      body: request(1, 'shell/exec', { command: 'echo', args: ['no'] }),
    };
    expect((await sendRaw(http.url, beside)).status).toBe(403);
    const { stdout } = await runProgram(place, [
      'audit',
      'search',
      '--json',
      '--principal',
      'lister',
      'execution_',
    ]);
    expect(stdout).toBe('');
  });

  test.each(CLIENT_KINDS)('is what the client "%s" is shown', async (kind) => {
    const token = await createToken(place, `client-${kind.replaceAll(' ', '-')}`, [
      '--tools',
      'shell_execute',
    ]);
    const client = await connectHttp(kind, http.url, token);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['shell_execute']);
    expect(read(await client.callTool('shell_execute', { command: 'echo hi' })).data.stdout).toBe('hi\n');
    await expect(client.callTool('process_list', {})).rejects.toThrow(/AUTH_003|Insufficient scope/);
    await client.close();
  });

  test('of a preset holds for the principal from its first call on, and cannot be lifted', async () => {
    const strict = principalAt(http.url, await createToken(place, 'strict', ['--preset', 'production']));
    const { data: denied } = await strict.call('shell_execute', { command: 'python3 -c 1' });
    expect(denied.error.code).toBe('SECURITY_003');
    const { data: lifted } = await strict.call('security_set_restrictions', {
      security_preset: 'development',
    });
    expect(lifted.error.code).toBe('AUTH_003');
    const { data: more } = await strict.call('security_set_restrictions', { max_execution_time: 3600 });
    expect(more.error.code).toBe('AUTH_003');
    const free = principalAt(http.url, await createToken(place, 'free'));
    expect((await free.call('shell_execute', { command: 'python3 -c 1' })).data.exit_code).toBe(0);
  });

  test('ends at its time', async () => {
    const token = await createToken(place, 'short', ['--expires', '1s']);
    await expect.poll(async () => (await list(token)).answer.status).toBe(401);
    expect((await list(token)).answer.json).toMatchObject({
      error: { code: 'AUTH_002', message: 'The bearer token has expired.' },
    });
  });
});

describe('whoever is not let in', () => {
  const recorded = async (words: readonly string[]): Promise<unknown[]> => {
    const { stdout } = await runProgram(place, ['audit', 'search', '--json', ...words]);
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  };

  test('is on record, with the request, the address and the reason, and without the token', async () => {
    const none = await sendRaw(http.url, modernRequest(request(1, 'tools/list')));
    const wrong = await sendRaw(http.url, modernRequest(request(1, 'tools/list'), 'not-a-token-of-anybody'));
    const foreign = await sendRaw(http.url, { headers: { origin: 'http://evil.example' }, body: {} });
    expect([none, wrong, foreign].map(({ status }) => status)).toEqual([401, 401, 403]);
    const lines = await recorded(['--event', 'request_refused', '--principal', 'nobody']);
    const line = { decision: 'deny', principal: 'nobody', from: '127.0.0.1' };
    for (const [answer, fields] of [
      [none, { code: 'AUTH_001', status: 401 }],
      [wrong, { code: 'AUTH_002', status: 401 }],
      [foreign, { status: 403, origin: 'http://evil.example' }],
    ] as const) {
      const requestId = answer.headers['x-request-id'];
      expect(lines).toContainEqual(expect.objectContaining({ ...line, ...fields, requestId }));
    }
    expect(JSON.stringify(lines)).not.toContain('not-a-token-of-anybody');
    const { stdout } = await runProgram(place, ['audit', 'search', '--event', 'request_refused']);
    expect(stdout).toContain('AUTH_002  The bearer token is not valid.  127.0.0.1');
  });

  test('nor a tool that there is not', async () => {
    const caller = principalAt(http.url, await createToken(place, 'guesser'));
    const { headers } = await caller.send('format_disk', { password: 'hunter2' });
    expect(await recorded(['--principal', 'guesser', 'format_disk'])).toMatchObject([
      {
        event: 'call',
        calledAs: 'format_disk',
        outcome: 'failed',
        input: {},
        requestId: headers['x-request-id'],
      },
    ]);
  });
});

describe('an address that others can reach', () => {
  test('is not listened on while nobody has a token', async () => {
    const empty = createPlace();
    const raw = startRaw(empty.command(['--http', '0.0.0.0:0']));
    expect((await raw.rest()).code).toBe(1);
    expect(raw.stderr()).toContain('no token exists');
    empty.remove();
  });

  test('is with a token on disk, and then none is made up', async () => {
    const open = createPlace();
    const token = await createToken(open, 'somebody');
    const raw = startRaw(open.command(['--http', '0.0.0.0:0']));
    await expect.poll(() => raw.stdout(), { timeout: 30_000 }).toContain('Listening on');
    const port = /0\.0\.0\.0:(\d+)/.exec(raw.stdout())?.[1];
    expect(raw.stdout()).not.toContain('Token:');
    const url = `http://127.0.0.1:${port}/mcp`;
    expect((await sendRaw(url, modernRequest(request(1, 'tools/list'), token))).status).toBe(200);
    expect((await sendRaw(url, modernRequest(request(1, 'tools/list')))).status).toBe(401);
    raw.child.kill('SIGTERM');
    await expect.poll(() => raw.child.exitCode).toBe(0);
    open.remove();
  });
});
