/**
 * The product in this process: everything but `cli.ts`, from the settings to JSON-RPC lines on two streams. For tests of
 * what the tools do; those of start-up, signals, crashes, stdin and stderr start the program (product.ts).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { loadSettings } from '../../../src/base/config/config.ts';
import { findInstallation } from '../../../src/base/installation.ts';
import { silentLog } from '../../../src/base/log.ts';
import { createFront, type Front, hasRules } from '../../../src/front.ts';
import { type Catalogue, toolNamesIn } from '../../../src/server/catalogue.ts';
import { serveStdioConnection } from '../../../src/server/stdio.ts';
import { ROOT } from '../../support/root.ts';
import { type Asked, type ClientKind, connectOver, type ServerCommand, type TestClient } from './clients.ts';
import { CLI, connectProduct, type Product, type ProductOptions } from './product.ts';

/** Like startProduct, without a process. */
export function openProduct(options: ProductOptions = {}): Promise<Product> {
  return connectProduct(options, connectHere);
}

/** Like connectStdio, without a process. */
export function connectHere(kind: ClientKind, server: ServerCommand, asked?: Asked): Promise<TestClient> {
  return connectOver(kind, createTransport(server), asked);
}

interface StreamTransport {
  onmessage?: (message: unknown) => void;
  onclose?: () => void;
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
}

function createTransport(server: ServerCommand): StreamTransport {
  const input = new PassThrough();
  const output = new PassThrough();
  let ended: Promise<void> | undefined;
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) transport.onmessage?.(JSON.parse(line));
  });
  const transport: StreamTransport = {
    async start() {
      ended = (await serveHere(server, input, output)).ended;
    },
    async send(message) {
      input.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      input.end();
      await ended;
      transport.onclose?.();
    },
  };
  return transport;
}

/** Resolves when it serves; `ended` when the input has ended and everything is closed. */
async function serveHere(
  server: ServerCommand,
  input: PassThrough,
  output: PassThrough,
): Promise<{ readonly ended: Promise<void> }> {
  const leaveHome = enterHome(server.env?.['HOME'] ?? '');
  try {
    const front = await prepare(server);
    const gone = new Promise<void>((resolve) => {
      const connection = serveStdioConnection({
        input,
        output,
        offer: front.offer,
        log: silentLog,
        onClientGone: () => resolve(connection.closed),
      });
    });
    return { ended: gone.then(front.dispose).finally(leaveHome) };
  } catch (error) {
    leaveHome();
    throw error;
  }
}

const DIST = join(ROOT, 'dist');

async function prepare({ command, args, env = {}, cwd = ROOT }: ServerCommand): Promise<Front> {
  const [cli, ...flags] = args;
  if (command !== process.execPath || cli !== CLI) throw new Error(`${command} needs a process of its own`);
  const catalogue = JSON.parse(readFileSync(join(DIST, 'catalogue.json'), 'utf8')) as Catalogue;
  const { settings } = loadSettings({
    flags: flagsOf(flags),
    environment: env,
    cwd,
    homedir: env['HOME'] ?? '',
    toolsets: toolNamesIn(catalogue),
  });
  const front = await createFront({
    settings,
    catalogue,
    version: __VERSION__,
    wrapperPath: join(DIST, 'wrapper.js'),
    hostPath: join(DIST, 'pty-host.js'),
    searchWorkerPath: join(DIST, 'search-worker.js'),
    scripts: join(DIST, 'shell-integration'),
    installation: findInstallation(pathToFileURL(CLI).href, process.execPath),
    log: silentLog,
    // This process is the test's: to collect all its garbage takes longer than most calls.
    tidy: () => undefined,
  });
  if (hasRules(settings)) await front.app();
  return front;
}

function flagsOf(args: readonly string[]): Record<string, string | undefined> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { config: text, 'state-dir': text, tools: text, shell: { ...text, short: 's' } },
  });
  return { config: values.config, stateDir: values['state-dir'], tools: values.tools, shell: values.shell };
}

const home = { real: process.env['HOME'], now: '', users: 0 };

/** Node asks the environment where home is, and there is one environment: servers at the same time share their home. */
function enterHome(path: string): () => void {
  if (home.users > 0 && home.now !== path)
    throw new Error(`another server runs here, with ${home.now} as its home; close it first`);
  if (home.users === 0) home.real = process.env['HOME'];
  home.users++;
  home.now = path;
  process.env['HOME'] = path;
  return () => {
    if (--home.users === 0) process.env['HOME'] = home.real;
  };
}
