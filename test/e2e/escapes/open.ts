/** A house of a test's own with a server in it, both gone when the test has finished. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { randomText } from '../../../src/base/ids.ts';
import type { Called } from '../support/product.ts';
import type { User } from './attempt.ts';
import { createHouse, type House, type Server, type StartOptions, startIn } from './stage.ts';

export interface Opened {
  readonly house: House;
  readonly server: Server;
  /** Another server in the same house. */
  start(options?: StartOptions): Promise<Server>;
}

export async function open(
  user: User,
  prepare: (house: House) => void = () => undefined,
  options: (house: House) => StartOptions = () => ({}),
): Promise<Opened> {
  const house = createHouse(user);
  onTestFinished(house.remove);
  prepare(house);
  house.handOver();
  const start = async (more: StartOptions = {}): Promise<Server> => {
    const server = await startIn(house, { ...options(house), ...more });
    onTestFinished(server.close);
    return server;
  };
  return { house, server: await start(), start };
}

/** Runs bash from a file, which the policy does not look into: the sandbox has to hold by itself. */
export function run(
  { house, server }: Pick<Opened, 'house' | 'server'>,
  script: string,
  args: Record<string, unknown> = {},
): Promise<Called> {
  const name = `.script-${randomText()}.sh`;
  writeFileSync(join(house.work, name), script);
  return server.execute(`bash ${join(house.work, name)}`, {
    execution_mode: 'foreground',
    timeout_seconds: 30,
    merge_stderr: true,
    ...args,
  });
}

export function makeRepository(directory: string): void {
  mkdirSync(directory, { recursive: true });
  execFileSync('git', ['init', '-q', directory], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], HOME: directory, GIT_CONFIG_NOSYSTEM: '1' },
  });
}

export const holds = (path: string, text = 'EVIL'): boolean =>
  existsSync(path) && readFileSync(path, 'utf8').includes(text);
