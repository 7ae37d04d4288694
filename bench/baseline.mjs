/** The smallest server that the official SDK makes: one tool, which runs `bash -c`. What `npm run bench compare` compares with. */
import { spawn } from 'node:child_process';
import pty from '@lydell/node-pty';
import { McpServer } from 'sdk-1-newest/server/mcp.js';
import { StdioServerTransport } from 'sdk-1-newest/server/stdio.js';
import * as z from 'zod';

const say = (text) => ({ content: [{ type: 'text', text }] });
const server = new McpServer({ name: 'baseline', version: '1.0.0' });

server.registerTool('run', { inputSchema: { command: z.string() } }, async ({ command }) => {
  const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => printed.push(chunk));
  await new Promise((resolve) => child.once('close', resolve));
  return say(Buffer.concat(printed).toString());
});

server.registerTool('start', { inputSchema: { command: z.string() } }, ({ command }) =>
  say(String(spawn('bash', ['-c', command], { stdio: 'ignore', detached: true }).pid)),
);

server.registerTool('kill', { inputSchema: { pid: z.number() } }, ({ pid }) => {
  process.kill(-pid, 'SIGKILL');
  return say('killed');
});

let terminal;
let screen = '';
server.registerTool('open', {}, () => {
  terminal = pty.spawn('bash', ['--norc'], { cols: 80, rows: 24 });
  terminal.onData((text) => {
    screen = `${screen}${text}`.slice(-65_536);
  });
  return say('open');
});
server.registerTool('type', { inputSchema: { line: z.string() } }, ({ line }) => {
  terminal.write(`${line}\n`);
  return say('typed');
});
server.registerTool('read', {}, () => say(screen.slice(-4096)));

await server.connect(new StdioServerTransport());
// An open terminal would keep it alive.
process.stdin.once('end', () => process.exit());
