/**
 * Somebody who develops: a home directory where homes are (not in /tmp, of which every command has its own) with a
 * workspace in it, and a server that knows nothing of the test but its mark.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { removeTree } from '../../../src/base/files.ts';
import { ROOT } from '../../support/root.ts';
import { type Called, CLI, type Place, type Product, startProduct } from './product.ts';
import { openProduct } from './product-here.ts';

/** A user of every Linux, with an entry in /etc/passwd. */
export const NOBODY = 65_534;
export const isRoot = process.getuid?.() === 0;

export interface Developer extends Omit<Place, 'remove'> {
  readonly home: string;
  /** Writes a file below the home directory. */
  put(path: string, text: string, mode?: number): string;
  /** A server in a process of its own, with these lines of [security]; ended with the developer. */
  start(settings?: string, options?: StartOptions): Promise<Product>;
  /** The same in this process, for somebody who is the user that the tests run as. */
  open(settings?: string, options?: Omit<StartOptions, 'rlimits'>): Promise<Product>;
  remove(): Promise<void>;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Limits of the server's own, as prlimit(1) takes them. */
  readonly rlimits?: readonly string[];
}

export function createDeveloper(options: { readonly uid?: number | undefined } = {}): Developer {
  const { uid } = options;
  // The real home directory: the run has set HOME to one of its own.
  const directory = mkdtempSync(join(isRoot ? '/home' : realpathSync(userInfo().homedir), '.mst-'));
  const home = join(directory, 'home');
  const work = join(home, 'work');
  const servers: Product[] = [];
  let configs = 0;
  mkdirSync(work, { recursive: true });
  chmodSync(directory, 0o755);
  const program = uid === undefined ? { node: process.execPath, cli: CLI } : copyProgram(directory);
  const own = (): void => {
    if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${uid}`, home]);
  };
  own();

  function command(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const argv = [program.node, program.cli, ...args];
    const as = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    const [file = '', ...rest] = [...as, ...argv];
    return {
      command: file,
      args: rest,
      cwd: work,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: home,
        SHELL: '/bin/bash',
        SHELL_TEST_RUN: process.env['SHELL_TEST_RUN'] ?? '',
        SHELL_TEST_FILE: process.env['SHELL_TEST_FILE'] ?? '',
        ...env,
      },
    };
  }

  async function serve(
    start: typeof startProduct,
    settings = '',
    { cwd = work, env = {}, rlimits = [] }: StartOptions = {},
  ): Promise<Product> {
    const file = join(directory, `settings-${configs++}.toml`);
    writeFileSync(file, `[security]\n${settings}\n`);
    const place: Place = {
      directory,
      work: cwd,
      stateDir: join(home, '.local/state/mcp-shell-server'),
      command: () => {
        const how = { ...command(['--config', file], env), cwd };
        if (rlimits.length === 0) return how;
        return { ...how, command: 'prlimit', args: [...rlimits, how.command, ...how.args] };
      },
      remove: () => undefined,
    };
    const product = await start({ place });
    servers.push(product);
    return product;
  }

  return {
    directory,
    home,
    work,
    stateDir: join(home, '.local/state/mcp-shell-server'),
    command,
    put(path, text, mode = 0o644) {
      const file = join(home, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      chmodSync(file, mode);
      own();
      return file;
    },
    start: (lines, how) => serve(startProduct, lines, how),
    open: (lines, how) => serve(openProduct, lines, how),
    async remove() {
      await Promise.all(servers.map((server) => server.close()));
      removeTree(directory);
    },
  };
}

/** Where another user can read and run it: the checkout and this Node may lie where only root gets to. */
function copyProgram(directory: string): { node: string; cli: string } {
  const app = join(directory, 'app');
  cpSync(join(ROOT, 'dist'), app, { recursive: true, filter: (path) => !path.endsWith('.map') });
  writeFileSync(join(app, 'package.json'), '{ "type": "module" }\n');
  const node = placeNode(join(directory, 'node'));
  return { node, cli: join(app, 'cli.js') };
}

/** This Node once more: it may lie in a directory that is not there in the sandbox. */
export function placeNode(path: string): string {
  try {
    linkSync(process.execPath, path);
  } catch {
    copyFileSync(process.execPath, path);
    chmodSync(path, 0o755);
  }
  return path;
}

/** Words that only the sandbox's explanations have. */
export const SANDBOX_WORDS = /sandbox|security\.[a-z_]+/i;

/** Runs to its end, successfully, and with nothing to explain. */
export async function works(
  product: Product,
  command: string,
  args: Record<string, unknown> = {},
): Promise<Called['data']> {
  const { data } = await product.execute(command, {
    execution_mode: 'foreground',
    timeout_seconds: 40,
    ...args,
  });
  const about = `${command}\n${data.stdout}\n${data.stderr}\n${data.message}`;
  expect(data, about).toMatchObject({ status: 'completed', exit_code: 0 });
  expect(data.message ?? '', command).not.toMatch(SANDBOX_WORDS);
  expect(data.error_code, command).toBeUndefined();
  return data;
}

export async function untilPrinted(product: Product, output_id: string, text: string): Promise<void> {
  await expect
    .poll(async () => (await product.call('read_execution_output', { output_id })).data.content, {
      timeout: 15_000,
    })
    .toContain(text);
}
