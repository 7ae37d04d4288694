/** Runs a table of attempts through a server, many in one execution, and finds out which got through. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PresetName } from '../../../src/base/config/presets.ts';
import { randomText } from '../../../src/base/ids.ts';
import { type Attempt, quoted, type Target, type User } from './attempt.ts';
import type { Neighbours } from './neighbours.ts';
import type { House, Server } from './stage.ts';

export interface Findings {
  /** By the name of the attempt: what it achieved. */
  readonly of: ReadonlyMap<string, readonly string[]>;
  /** What changed or was reached, by whomever. */
  readonly outside: readonly string[];
}

export function chosen(attempts: readonly Attempt[], preset: PresetName, user: User): Attempt[] {
  return attempts.filter(
    ({ presets = ['development', 'sandbox'], users = ['root', 'ordinary user'] }) =>
      presets.includes(preset) && users.includes(user),
  );
}

/** So many share an execution, and so many executions run at once. */
const BATCH = 24;
const AT_ONCE = 2;

export async function runAttempts(
  attempts: readonly Attempt[],
  stage: {
    readonly house: House;
    readonly server: Server;
    readonly neighbours: Neighbours;
    readonly preset: PresetName;
    readonly canaries: ReadonlyMap<string, string>;
  },
): Promise<Findings> {
  const { house, server, neighbours, canaries } = stage;
  const targetOf = (attempt: Attempt): Target => ({
    ...neighbours.about,
    base: house.base,
    home: house.home,
    work: house.work,
    bob: house.bob,
    stateDir: house.stateDir,
    settingsFile: house.settingsFile,
    installation: house.installation,
    serverPid: server.pid(),
    canary: canaries.get(attempt.name) ?? '',
  });
  const before = snapshot(house);
  const texts = new Map<string, Printed>();
  // An answer names only so many.
  const alone = attempts.filter(({ namedPath }) => namedPath !== undefined);
  const together = attempts.filter(({ namedPath }) => namedPath === undefined);
  const batches = [
    ...Array.from({ length: Math.ceil(together.length / BATCH) }, (_, index) =>
      together.slice(index * BATCH, (index + 1) * BATCH),
    ),
    ...alone.map((attempt) => [attempt]),
  ];
  const runAll = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      for (const [name, printed] of await runBatch(batch, targetOf, stage)) texts.set(name, printed);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runAll));
  const after = snapshot(house);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  const of = new Map(
    attempts.map((attempt): [string, string[]] => {
      const { text, answer = '' } = texts.get(attempt.name) ?? {};
      const target = targetOf(attempt);
      const { canary } = target;
      return [
        attempt.name,
        [
          ...(text === undefined ? ['it did not come to its end'] : []),
          ...(
            text?.split('\n').filter((line) => line.startsWith('ESCAPED') || line.includes(house.secret)) ??
            []
          ).slice(0, 5),
          ...changed
            .filter((path) => path === canary || path.startsWith(`${canary}.`))
            .map((path) => `${path} changed`),
          ...(attempt.isSeen?.(target) === true && !isNamed(attempt.namedPath?.(target), answer)
            ? ['it is seen from outside']
            : []),
        ],
      ];
    }),
  );
  return { of, outside: [...changed.map((path) => `${path} changed`), ...neighbours.disturbed()] };
}

async function runBatch(
  batch: readonly Attempt[],
  targetOf: (attempt: Attempt) => Target,
  { house, server, preset }: { readonly house: House; readonly server: Server; readonly preset: PresetName },
): Promise<Map<string, Printed>> {
  const mark = `@@${randomText()}`;
  const hasTimeout = preset === 'development' || preset === 'sandbox';
  const script = [
    // One of them signals everything it can.
    "trap '' USR2",
    ...batch.flatMap((attempt, index) => [
      `echo; echo ${mark} ${index}`,
      `${hasTimeout ? 'timeout -k 1 10 ' : ''}bash -c ${quoted(attempt.script(targetOf(attempt)))} < /dev/null`,
      `echo; echo ${mark} end`,
    ]),
    'true',
  ].join('\n');
  // In a file, since the policy would deny many of them, and these are about the sandbox.
  const name = `.attempts-${randomText()}.sh`;
  writeFileSync(join(house.work, name), script);
  const { data, text } = await server.execute(`bash ./${name}`, {
    execution_mode: 'foreground',
    timeout_seconds: 30,
    max_output_size: 1_048_576,
    merge_stderr: true,
  });
  const output = String(data?.stdout ?? '');
  if (data?.success !== true && !output.includes(mark))
    throw new Error(`The attempts were not run: ${text.slice(0, 2000)}`);
  const texts = new Map<string, Printed>();
  for (const [index, attempt] of batch.entries()) {
    const [, rest] = output.split(`${mark} ${index}\n`);
    const [printed, end] = rest?.split(`${mark} end`) ?? [];
    if (printed !== undefined && end !== undefined) texts.set(attempt.name, { text: printed, answer: text });
  }
  return texts;
}

interface Printed {
  readonly text: string;
  /** The whole answer. */
  readonly answer: string;
}

/** The answer names the path, or a directory on the way to it. */
function isNamed(path: string | undefined, answer: string): boolean {
  if (path === undefined) return false;
  const named = /^New since it began[^:]*: (.*?)\. The person/m.exec(answer)?.[1]?.split(', ') ?? [];
  return named.some((other) => path === other || path.startsWith(`${other}/`));
}

/** A file for each attempt that changes where it succeeds. */
export function plantCanaries(house: House, attempts: readonly Attempt[]): Map<string, string> {
  return new Map(
    attempts.map(({ name }, index) => {
      const path = join(house.home, 'outside', `canary-${index}`);
      writeFileSync(path, 'untouched\n');
      return [name, path];
    }),
  );
}

/** Everything but what may change: the workspace, caches and the server's state. */
function snapshot(house: House): Map<string, string> {
  const free = [
    house.work,
    house.stateDir,
    join(house.home, '.cache'),
    join(house.home, '.npm'),
    join(house.base, 'server/node'),
  ];
  const found = new Map<string, string>();
  const walk = (directory: string): void => {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      if (free.includes(path)) continue;
      const about = lstatSync(path);
      const content = about.isFile()
        ? createHash('sha256').update(readFileSync(path)).digest('hex')
        : about.isSymbolicLink()
          ? readlinkSync(path)
          : '';
      found.set(path, `${about.mode.toString(8)} ${about.uid} ${content}`);
      if (about.isDirectory()) walk(path);
    }
  };
  walk(house.base);
  return found;
}
