/**
 * What is answered before the rest of the server is loaded: it comes from data that the build made, and must be what
 * the code would have said.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createCatalogue, defineTools, offerTools, TOOLSETS } from '../../src/all-tools.ts';
import { loadSettings } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { listChildren } from '../../src/executions/processes.ts';
import { ROOT } from '../support/root.ts';
import { createPlace, type Place } from './support/product.ts';
import { type RawProcess, startRaw } from './support/raw-process.ts';
import { call, initialize, type Message, modern, request } from './support/raw-streams.ts';

let place: Place;
beforeAll(() => {
  place = createPlace();
});
afterAll(() => place.remove());

const started: RawProcess[] = [];
afterEach(() => {
  for (const server of started.splice(0)) server.kill();
});
function start(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): RawProcess {
  const server = startRaw(place.command(args, env));
  started.push(server);
  return server;
}

/** As it is on the wire. */
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('the catalogue that was built is the one that the code makes', async () => {
  const built: unknown = JSON.parse(readFileSync(join(ROOT, 'dist/catalogue.json'), 'utf8'));
  expect(built).toEqual(json(await createCatalogue()));
});

describe('the list of tools is what the code makes of the settings', () => {
  const cases: { args: string[]; env?: Record<string, string> }[] = [
    { args: [] },
    ...Object.keys(TOOLSETS).map((name) => ({ args: ['--tools', name] })),
    { args: ['--tools', 'process_list,shell_execute,simple'] },
    { args: [], env: { MCP_SHELL_TOOLS: 'shell', MCP_SHELL_SHELL_TOOL_DEFAULT_TIMEOUT: '60' } },
    { args: ['--tools', 'all'], env: { MCP_SHELL_SHELL_TOOL_MAX_TIMEOUT: '90' } },
  ];
  test.for(cases)('$args $env', async ({ args, env = {} }) => {
    const { settings } = loadSettings({
      flags: args.length === 0 ? {} : { tools: args[1] },
      environment: env,
      cwd: place.work,
      homedir: place.directory,
    });
    const { tools, methods } = offerTools(settings, silentLog);
    const server = start(args, env);
    server.say(initialize, request(1, 'tools/list'), request(2, 'shell/allowed'));
    expect(await server.next()).toMatchObject({ id: 0 });
    expect(await server.next()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { tools: json(await defineTools(tools)) },
    });
    const isOpen = methods.some(({ name }) => name === 'shell/allowed');
    expect(await server.next()).toMatchObject({ id: 2, ...(isOpen ? { result: {} } : { error: {} }) });
  });
});

test('both eras say the same about the server and its tools', async () => {
  const [legacy, discovering] = [start(), start()];
  legacy.say(initialize, request(1, 'tools/list'));
  discovering.say(modern(request(0, 'server/discover')), modern(request(1, 'tools/list')));
  const greeted = (await legacy.next()) as { result: Message };
  const discovered = (await discovering.next()) as { result: Message };
  expect(discovered.result).toMatchObject({
    capabilities: greeted.result['capabilities'],
    instructions: greeted.result['instructions'],
  });
  expect(greeted.result['instructions']).toMatch(/^Runs commands in \/bin\/bash/);
  const listed = (await legacy.next()) as { result: Message };
  expect(await discovering.next()).toMatchObject({ result: { tools: listed.result['tools'] } });
});

test('what is sent at once is answered in its order, calls included', async () => {
  const server = start();
  server.say(
    initialize,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    request(1, 'ping'),
    request(2, 'tools/list'),
    call(3, 'shell_execute', { command: 'echo hi' }),
  );
  expect(await server.next()).toMatchObject({ id: 0 });
  expect(await server.next()).toMatchObject({ id: 1 });
  expect(await server.next()).toMatchObject({ id: 2 });
  expect(await server.next()).toMatchObject({ id: 3, result: { structuredContent: { stdout: 'hi\n' } } });
});

test('a client that only asks leaves no files and no processes', async () => {
  const own = createPlace();
  try {
    const server = startRaw(own.command());
    started.push(server);
    server.say(initialize, { jsonrpc: '2.0', method: 'notifications/initialized' }, request(1, 'tools/list'));
    await server.next();
    await server.next();
    expect(listChildren(server.child.pid ?? 0)).toEqual([]);
    expect(existsSync(own.stateDir)).toBe(false);
    server.end();
    expect(await server.rest()).toMatchObject({ messages: [], code: 0 });
  } finally {
    own.remove();
  }
});

test('rules for commands that cannot be read stop the start before anything is answered', async () => {
  const server = start([], { MCP_SHELL_SECURITY_BLOCKED_COMMANDS: '/(/' });
  server.say(initialize);
  expect(await server.rest()).toMatchObject({ messages: [], code: 1 });
  expect(server.stderr()).toMatch(/blocked_commands/);
});
