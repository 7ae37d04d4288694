/**
 * The calls of an agent that is asked to make the tests pass, made by a real client: it shows each call and the text of
 * each answer, which is what a model reads.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const CALLS = [
  { command: 'npm test 2>&1 | grep -E "^(not ok|# (pass|fail))|expected:|actual:"' },
  { command: 'sed -i s/floor/round/ price.js && npm test 2>&1 | grep "^# [pf]a"' },
  { command: 'cp price.js ~/.bashrc' },
];

const client = new Client({ name: 'agent', version: '1' });
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'dist/cli.js'), '--state-dir', `${process.env.HOME}/.local/state/mcp-shell-server`],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, SHELL: '/bin/bash' },
    stderr: 'ignore',
  }),
);
process.stdout.write('\u001b[1m> Run the tests of this project, and repair what fails.\u001b[0m\n\n');
for (const args of CALLS) {
  process.stdout.write(`\u001b[1;36mshell_execute\u001b[0m ${JSON.stringify(args)}\n`);
  const { content } = await client.callTool({ name: 'shell_execute', arguments: args });
  process.stdout.write(`${content.map(({ text }) => text).join('\n')}\n\n`);
}
await client.close();
