/** The built product on directories of its own, driven by a real client. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../../src/base/files.ts';
import { ROOT } from '../../support/root.ts';
import {
  type ClientKind,
  connectStdio,
  type ServerCommand,
  type TestClient,
  type ToolAnswer,
} from './clients.ts';

export const CLI = join(ROOT, 'dist/cli.js');

export interface Place {
  readonly directory: string;
  readonly work: string;
  readonly stateDir: string;
  /** The command that starts the product here. */
  command(args?: readonly string[], env?: Readonly<Record<string, string>>): ServerCommand;
  remove(): void;
}

export function createPlace(): Place {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'product-'));
  const work = join(directory, 'work');
  const stateDir = join(directory, 'state');
  mkdirSync(work);
  return {
    directory,
    work,
    stateDir,
    command: (args = [], env = {}) => ({
      command: process.execPath,
      args: [CLI, ...args],
      cwd: work,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: directory,
        SHELL: '/bin/bash',
        SHELL_TEST_RUN: process.env['SHELL_TEST_RUN'] ?? '',
        MCP_SHELL_STATE_DIR: stateDir,
        ...env,
      },
    }),
    // Some clients do not wait for the end of a server, which may still be making a directory here.
    remove: () => removeTree(directory),
  };
}

export interface Product extends Place {
  readonly client: TestClient;
  /** Calls a tool; `data` is what clients of structured content see, `text` what the others see. */
  call(name: string, args: Record<string, unknown>): Promise<Called>;
  execute(command: string, args?: Record<string, unknown>): Promise<Called>;
  close(): Promise<void>;
}

export interface Called {
  // Tests read the fields they expect; a wrong guess fails the comparison.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any;
  readonly text: string;
  readonly isError: boolean;
}

export interface ProductOptions {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  kind?: ClientKind;
  place?: Place;
}

/** In a process of its own, as clients start it. What does not depend on that has `openProduct`, which is faster. */
export function startProduct(options: ProductOptions = {}): Promise<Product> {
  return connectProduct(options, connectStdio);
}

export async function connectProduct(
  options: ProductOptions,
  connect: (kind: ClientKind, server: ServerCommand) => Promise<TestClient>,
): Promise<Product> {
  const place = options.place ?? createPlace();
  const client = await connect(options.kind ?? 'v2 auto', place.command(options.args, options.env));
  const call = async (name: string, args: Record<string, unknown>): Promise<Called> =>
    read(await client.callTool(name, args));
  return {
    ...place,
    client,
    call,
    execute: (command, args = {}) => call('shell_execute', { command, ...args }),
    async close() {
      await client.close();
      if (options.place === undefined) place.remove();
    },
  };
}

export function read(answer: ToolAnswer): Called {
  return {
    data: answer.structuredContent,
    text: answer.content.map((part) => part.text ?? '').join('\n'),
    isError: answer.isError === true,
  };
}
