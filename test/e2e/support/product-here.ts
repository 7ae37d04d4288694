/**
 * The product in this process: everything but `cli.ts`, from the settings to JSON-RPC lines on two streams. For tests of
 * what the tools do; those of start-up, signals, crashes, stdin and stderr start the program (product.ts).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { loadSettings, type SettingFlags } from '../../../src/base/config/config.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { findInstallation } from '../../../src/base/installation.ts';
import { createLog, type Log } from '../../../src/base/log.ts';
import type { Settings } from '../../../src/base/settings.ts';
import { createFront, type Front, hasRules } from '../../../src/front.ts';
import { type Catalogue, toolNamesIn } from '../../../src/server/catalogue.ts';
import { serveStdioConnection } from '../../../src/server/stdio.ts';
import { ROOT } from '../../support/root.ts';
import { type Asked, type ClientKind, connectOver, type ServerCommand, type TestClient } from './clients.ts';
import { CLI, connectProduct, type Product, type ProductOptions } from './product.ts';
import { type RawEnd, type RawServer, speakRaw } from './raw-process.ts';

/** Like startProduct, without a process. */
export function openProduct(options: ProductOptions = {}): Promise<Product> {
  return connectProduct(options, connectHere);
}

/** Like connectStdio, without a process. */
export function connectHere(kind: ClientKind, server: ServerCommand, asked?: Asked): Promise<TestClient> {
  return connectOver(kind, createTransport(server), asked);
}

/** Like startRaw, without a process. */
export interface RawHere extends RawServer {
  /** Cancels what is under way, and waits for the end. */
  leave(): Promise<void>;
}

export function openRaw(server: ServerCommand): RawHere {
  const { ended, leave, ...streams } = serveHere(server);
  return { ...speakRaw(streams, ended), leave };
}

interface StreamTransport {
  onmessage?: (message: unknown) => void;
  onclose?: () => void;
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
}

function createTransport(server: ServerCommand): StreamTransport {
  let served: ServedHere;
  let rest = '';
  const transport: StreamTransport = {
    async start() {
      served = serveHere(server);
      await served.ready;
      served.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) transport.onmessage?.(JSON.parse(line));
      });
      served.stderr.resume();
      // As a client that has started a process finds it gone.
      void served.ended.then(() => transport.onclose?.());
    },
    async send(message) {
      served.stdin.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      served.stdin.end();
      await served.ended;
    },
  };
  return transport;
}

interface ServedHere {
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  /** Rejects where it cannot serve. */
  readonly ready: Promise<unknown>;
  /** When the input has ended and everything is closed. */
  readonly ended: Promise<RawEnd>;
  leave(): Promise<void>;
}

/** What `serve` of cli.ts does, on streams of its own. */
function serveHere(server: ServerCommand): ServedHere {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const left = new AbortController();
  const ready = prepareHere(server, stderr);

  async function serve(): Promise<RawEnd> {
    const { front, settings, log, greets, leave } = await ready;
    try {
      if (hasRules(settings)) await front.app();
      await new Promise<void>((resolve) => {
        const connection = serveStdioConnection({
          input: stdin,
          output: stdout,
          offer: front.offer,
          log,
          greeting: greets ? CATALOGUE.greeting : undefined,
          onClientGone: () => resolve(connection.closed),
        });
        left.signal.addEventListener('abort', () => resolve(connection.close()));
        if (left.signal.aborted) resolve(connection.close());
      });
    } finally {
      await front.dispose();
      leave();
    }
    return { code: 0, signal: null };
  }

  const ended = serve().catch((error: unknown) => {
    stderr.write(messageOf(error));
    return { code: 1, signal: null };
  });
  return {
    stdin,
    stdout,
    stderr,
    ready,
    ended,
    async leave() {
      left.abort();
      await ended;
    },
  };
}

const DIST = join(ROOT, 'dist');
export const CATALOGUE = JSON.parse(readFileSync(join(DIST, 'catalogue.json'), 'utf8')) as Catalogue;

export interface PreparedHere {
  readonly front: Front;
  readonly settings: Settings;
  readonly log: Log;
  readonly greets: boolean;
  /** To be called when the server has ended. */
  leave(): void;
}

/** What `prepare` of cli.ts does, with a log that is written elsewhere. */
export async function prepareHere(server: ServerCommand, stderr: Writable): Promise<PreparedHere> {
  const { command, args, env = {}, cwd = ROOT } = server;
  const [cli, ...words] = args;
  if (command !== process.execPath || cli !== CLI) throw new Error(`${command} needs a process of its own`);
  const { greets, ...flags } = flagsOf(words);
  const { settings } = loadSettings({
    flags,
    environment: env,
    cwd,
    homedir: env['HOME'] ?? '',
    toolsets: toolNamesIn(CATALOGUE),
  });
  const log = createLog({ verbose: settings.verbose, write: (line) => void stderr.write(line) });
  const leave = enterHome(env['HOME'] ?? '');
  const front = await createFront({
    settings,
    catalogue: CATALOGUE,
    version: __VERSION__,
    wrapperPath: join(DIST, 'wrapper.js'),
    hostPath: join(DIST, 'pty-host.js'),
    searchWorkerPath: join(DIST, 'search-worker.js'),
    scripts: join(DIST, 'shell-integration'),
    installation: findInstallation(pathToFileURL(CLI).href, process.execPath),
    log,
    // This process is the test's: to collect all its garbage takes longer than most calls.
    tidy: () => undefined,
  });
  return { front, settings, log, greets, leave };
}

function flagsOf(args: readonly string[]): SettingFlags & { readonly greets: boolean } {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      config: text,
      'state-dir': text,
      tools: text,
      shell: { ...text, short: 's' },
      http: text,
      greeting: { type: 'boolean' },
    },
  });
  const { config, 'state-dir': stateDir, tools, shell, http: httpAddress, greeting: greets = false } = values;
  return { config, stateDir, tools, shell, httpAddress, greets };
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
