/** This repository's own .mcp.json: a client that opens a clone has the server, and needs nothing before it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectStdio } from '../e2e/support/clients.ts';
import { ROOT } from '../support/root.ts';
import { createCheckout, createRoom, npmEnvironment, type Room } from './support/npm.ts';

let room: Room;
beforeAll(() => {
  room = createRoom();
});
afterAll(() => room.remove());

test('.mcp.json starts the server of the clone', async () => {
  const checkout = createCheckout(room.directory);
  const { mcpServers } = JSON.parse(readFileSync(join(ROOT, '.mcp.json'), 'utf8')) as {
    mcpServers: { shell: { command: string; args: string[] } };
  };
  const client = await connectStdio('v2 auto', {
    ...mcpServers.shell,
    cwd: checkout,
    env: { ...npmEnvironment(), SHELL: '/bin/bash', MCP_SHELL_STATE_DIR: join(room.directory, 'state') },
  });
  try {
    const { structuredContent } = await client.callTool('shell_execute', { command: 'ls package.json' });
    expect(structuredContent).toMatchObject({ status: 'completed', stdout: 'package.json\n' });
  } finally {
    await client.close();
  }
});
