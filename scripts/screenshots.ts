/**
 * Pictures of the operator's page, from a real run: a server with commands and a terminal, the page, and Chromium.
 * `npm run docs -- --page` takes them anew.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { chromium, type Page } from 'playwright-core';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cli = join(root, 'dist/cli.js');
const pictures = join(root, 'docs/pictures');

const home = mkdtempSync(join(tmpdir(), 'page-'));
const project = join(home, 'shop');
mkdirSync(project);
writeFileSync(join(home, '.bashrc'), "PS1='\\[\\e[32m\\]shop\\[\\e[0m\\]$ '\n");
const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  SHELL: '/bin/bash',
  MCP_SHELL_STATE_DIR: join(home, 'state'),
  MCP_SHELL_SECURITY_SANDBOX: 'off',
  MCP_SHELL_SECURITY_ASK_COMMANDS: 'git push',
};

const client = new Client({ name: 'agent', version: '1' });
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [cli], env, cwd: project, stderr: 'ignore' }),
);
const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
const execute = (command: string, execution_mode = 'foreground') =>
  call('shell_execute', { command, execution_mode });

const TESTS = [
  'for n in $(seq 1 400); do',
  String.raw`printf '\e[32m✓\e[0m checkout.test.ts > order %d is paid \e[2m%d ms\e[0m\n' $n $((n % 17 + 1));`,
  'sleep 0.05; done',
].join(' ');

async function prepare(): Promise<void> {
  await execute('git init -q . && git status --short');
  await execute('npm run lint -- --quiet; exit 1');
  await execute('grep -rn TODO src | head');
  await execute(TESTS, 'background');
  await execute('while :; do sleep 1; done # npm run dev', 'background');
  const { structuredContent } = await call('terminal_create', { session_name: 'database' });
  const { terminal_id: id } = structuredContent as { terminal_id: string };
  const type = (input: string) =>
    call('terminal_send_input', { terminal_id: id, input, execute: true, timeout_seconds: 5 });
  await type('ls --color=always -la');
  await type('read -s -p "Password for shop: " password');
}

async function openPage(served: ChildProcess): Promise<string> {
  let text = '';
  served.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  for (;;) {
    const link = /http:\S+#\S+(?=\n)/.exec(text)?.[0];
    if (link !== undefined) return link;
    await sleep(50);
  }
}

async function picture(page: Page, name: string, scheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  // For the plots to have something to show.
  await sleep(1500);
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

const served = spawn(process.execPath, [cli, 'web'], {
  env,
  cwd: project,
  stdio: ['pipe', 'pipe', 'inherit'],
});
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  await prepare();
  const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
  await page.goto(await openPage(served));
  await sleep(3000);
  const asked = execute('git push origin main').catch(() => undefined);
  await page.getByRole('region', { name: 'Questions' }).waitFor();
  await page.getByText('for n in $(seq').first().click();
  await picture(page, 'page-light', 'light');
  await page.getByText('database').first().click();
  await page.getByText('Password for shop:', { exact: true }).waitFor();
  await picture(page, 'page-dark', 'dark');
  await page.setViewportSize({ width: 360, height: 700 });
  await page.getByRole('link', { name: 'Back to the list' }).click();
  await page.getByRole('region', { name: 'Questions' }).getByRole('link').click();
  await picture(page, 'page-phone', 'light');
  await page.getByRole('button', { name: 'Deny' }).click();
  await asked;
} finally {
  await browser.close();
  served.kill();
  await client.close();
  rmSync(home, { recursive: true, force: true });
}
