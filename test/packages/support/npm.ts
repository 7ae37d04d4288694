/** npm as a person has it: with the settings and the cache of their home, since the run has set HOME to one of its own. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../support/root.ts';

const run = promisify(execFile);

/** What npm set for the script that runs these tests is about this repository, and no other. */
const OWN = /^npm_(?:lifecycle|package|command|execpath|node_execpath|config_(?:local_)?prefix)|^INIT_CWD$/i;

export function npmEnvironment(): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !OWN.test(entry[0]),
  );
  const home = userInfo().homedir;
  return {
    ...Object.fromEntries(inherited),
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_cache: join(home, '.npm'),
    npm_config_update_notifier: 'false',
  };
}

export async function npm(cwd: string, ...args: string[]): Promise<string> {
  return runBounded('npm', args, { cwd, env: npmEnvironment() });
}

/** Far longer than any step takes, and shorter than the patience of a whole file: the step that hangs is named. */
const STEP_MS = 400_000;

/** Answers with what the program printed; what it says of a failure is in the error. */
export async function runBounded(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; timeout?: number } = {},
): Promise<string> {
  const bounds = { timeout: STEP_MS, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const;
  try {
    return (await run(program, args, { ...bounds, ...options })).stdout;
  } catch (error) {
    if (error instanceof Error && 'killed' in error && error.killed === true)
      throw new Error(`Not done in time: ${program} ${args.join(' ')}`, { cause: error });
    throw error;
  }
}

export interface Room {
  readonly directory: string;
  remove(): void;
}

/** An empty directory. */
export function createRoom(): Room {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'package-'));
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }) };
}

/** What a checkout has to have for a package to be made of it. */
const SOURCES = ['package.json', 'package-lock.json', '.npmrc', 'LICENSE', 'README.md', 'scripts', 'src'];

/** A checkout of its own: others use this one meanwhile. */
export function createCheckout(directory: string): string {
  const checkout = join(directory, 'checkout');
  mkdirSync(checkout);
  for (const name of [...SOURCES, 'dist'])
    cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  return checkout;
}

export interface Packed {
  readonly tarball: string;
  readonly files: readonly string[];
}

/** `npm pack`, with everything it does by itself. */
export async function pack(checkout: string, destination: string): Promise<Packed> {
  const output = await npm(checkout, 'pack', '--json', '--pack-destination', destination);
  const [packed] = JSON.parse(output.slice(output.indexOf('[\n'))) as {
    filename: string;
    files: { path: string }[];
  }[];
  if (packed === undefined) throw new Error(`npm pack said nothing of use: ${output}`);
  return {
    tarball: join(destination, packed.filename),
    files: packed.files.map(({ path }) => path).sort(),
  };
}

export const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};
