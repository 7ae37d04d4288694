/** Sandboxes that were built before their command came: they show what one that is built for it would show. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mostInstances } from '../../src/executions/inotify.ts';
import {
  findProcess,
  isAlive,
  listChildren,
  type ProcessEntry,
  type ProcessIdentity,
} from '../../src/executions/process-table.ts';
import { lacks, needs } from '../setup/needs.ts';
import { createDeveloper, type Developer, isRoot, NOBODY } from './support/developer.ts';
import type { Product } from './support/product.ts';
import { type RawProcess, startRaw } from './support/raw-process.ts';

let developer: Developer;
let closing: (() => void)[];
beforeEach(() => {
  closing = [];
  developer = createDeveloper();
});
afterEach(async () => {
  for (const close of closing) close();
  await developer.remove();
});

/** A name that shells keep for themselves: such a command has a sandbox of its own. */
const OWN = { environment_variables: { SECONDS: '1' } };

/** One stands, and perhaps two. */
async function ready(settings = ''): Promise<Product> {
  const product = await developer.open(settings);
  for (let n = 0; n < 2; n++) await product.execute('true');
  return product;
}

describe.skipIf(needs('bwrap'))('what was exchanged meanwhile', () => {
  test('is covered as before: credentials, and files without the secrets in them', async () => {
    developer.put('.git-credentials', 'https://u:first@x\n', 0o600);
    developer.put('.netrc', 'password first\n', 0o600);
    developer.put('.gitconfig', '[http]\n\textraheader = "Authorization: Bearer first-first-first"\n');
    const product = await ready();
    const look = async (): Promise<string> =>
      (await product.execute('cd; cat .git-credentials .netrc .gitconfig 2>&1')).data.stdout;
    expect(await look()).toBe('[http]\n');
    for (const name of ['.git-credentials', '.netrc', '.gitconfig']) {
      const path = join(developer.home, name);
      writeFileSync(
        `${path}.lock`,
        name === '.gitconfig'
          ? '[http]\n\textraheader = "Authorization: Bearer second-second"\n'
          : 'password second\n',
      );
      renameSync(`${path}.lock`, path);
    }
    expect(await look()).toBe('[http]\n');
    expect(await look()).toBe('[http]\n');
  });

  test('is covered from the next command on where it is new', async () => {
    mkdirSync(join(developer.home, '.config'));
    const product = await ready();
    developer.put('.config/gh/hosts.yml', 'oauth_token: secret\n', 0o600);
    developer.put('.netrc', 'password secret\n', 0o600);
    const { data } = await product.execute('cd; cat .netrc .config/gh/hosts.yml 2>&1');
    expect(data.stdout).not.toContain('secret');
  });

  test('is no way out: a socket that was bound again', async () => {
    mkdirSync(join(developer.home, 'd'));
    const path = join(developer.home, 'd/s.sock');
    const listen = (): Promise<Server> =>
      new Promise((resolve) => {
        const server = createServer((socket) => socket.end('DAEMON\n'));
        closing.push(() => server.close());
        server.listen(path, () => resolve(server));
      });
    const first = await listen();
    const product = await ready();
    await new Promise((resolve) => first.close(resolve));
    await listen();
    const connect = `python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("${path}"); print(s.recv(9))'`;
    for (let n = 0; n < 2; n++) {
      const { data } = await product.execute(`${connect} 2>&1`);
      expect(data.stdout).not.toContain('DAEMON');
      expect(data.stdout).toMatch(/Error/);
    }
  });

  test.for<[preset: string, how: string]>([
    ['development', 'moved'],
    ['development', 'removed'],
    ['sandbox', 'moved'],
    ['sandbox', 'removed'],
  ])('is the workspace itself, with %s, %s', async ([preset, how]) => {
    writeFileSync(join(developer.work, 'old'), '');
    const product = await ready(`preset = "${preset}"`);
    if (how === 'moved') renameSync(developer.work, `${developer.work}.gone`);
    else rmSync(developer.work, { recursive: true });
    mkdirSync(developer.work);
    writeFileSync(join(developer.work, 'new'), '');
    const { data } = await product.execute('ls; echo here > written');
    expect(data).toMatchObject({ exit_code: 0, stdout: 'new\n' });
    expect(readdirSync(developer.work).toSorted()).toEqual(['new', 'written']);
  });
});

describe.skipIf(needs('bwrap'))('a command that cannot be told', () => {
  test
    .skipIf(lacks(!isRoot, 'only root can give a directory away'))
    .for([[{}], [{ merge_stderr: true }], [{ capture_stderr: false }]])(
    'since its directory is closed to it is answered like one with a sandbox of its own: %j',
    async ([how]) => {
      const closed = join(developer.work, 'closed');
      mkdirSync(closed);
      chmodSync(closed, 0o700);
      chownSync(closed, NOBODY, NOBODY);
      const product = await ready();
      const warm = await product.execute('echo ran', { working_directory: closed, ...how });
      const own = await product.execute('echo ran', { working_directory: closed, ...how, ...OWN });
      expect(own.text).toContain('Nothing was run');
      expect(warm.text).toContain('Nothing was run');
      expect(warm.data).toMatchObject({ status: own.data.status, exit_code: own.data.exit_code });
    },
  );
});

describe.skipIf(needs('bwrap'))('a server that is killed while a sandbox is being built', () => {
  test('leaves nothing that the next one does not end', async () => {
    const left: ProcessIdentity[] = [];
    for (let seen = 0; seen < 5; ) {
      const server = startRaw(developer.command());
      closing.push(server.kill);
      await connect(server);
      const building = await untilBuilding(server);
      server.kill();
      left.push(...building);
      if (building.length > 0) seen++;
    }
    // Nearly all of it ends by itself; bwrap leaves a process where it is killed right after it has made it.
    const next = await developer.open();
    await next.execute('true');
    await expect.poll(() => left.filter(isAlive), { interval: 20 }).toEqual([]);
  });

  async function connect(server: RawProcess): Promise<void> {
    const clientInfo = { name: 'killer', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    server.say({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    await server.next();
  }

  /** bwrap, and what it has made by then; nothing where nobody looked while it did, which takes a moment. */
  async function untilBuilding(server: RawProcess): Promise<ProcessIdentity[]> {
    const params = { name: 'shell_execute', arguments: { command: 'sleep 1' } };
    server.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    for (const deadlineMs = Date.now() + 60_000; Date.now() < deadlineMs; await sleep(1)) {
      const specs = childrenOf(server.child.pid)
        .flatMap((reaper) => childrenOf(reaper.pid))
        .flatMap((forker) => childrenOf(forker.pid))
        .filter(({ name }) => name === 'bwrap');
      const inner = specs.flatMap(({ pid }) => childrenOf(pid));
      if (inner.length > 0) return [...specs, ...inner];
      if (server.stdout().includes('"id":1,')) return [];
    }
    throw new Error(`No sandbox was built; stdout: ${server.stdout()}; stderr: ${server.stderr()}`);
  }

  const childrenOf = (pid = 0): ProcessEntry[] =>
    (listChildren(pid) ?? []).flatMap((child) => findProcess(child) ?? []);
});

describe.skipIf(needs('bwrap') || lacks(!isRoot, 'only root can become somebody else'))(
  'an ordinary user',
  () => {
    test('has as many processes as the settings say, whatever else of theirs runs', async () => {
      const user = createDeveloper({ uid: NOBODY });
      try {
        const product = await user.start('max_pids = 20');
        // bash would try again for half a minute.
        const fork = [
          'import os, time',
          'n = 0',
          'try:',
          '  for _ in range(60):',
          '    if os.fork() == 0: time.sleep(30); os._exit(0)',
          '    n += 1',
          'except OSError: pass',
          'print(n)',
        ].join('\n');
        for (let round = 0; round < 3; round++) {
          // Each has its own, also while others run and wait. Two are the first of its namespace and the program.
          const forks = [1, 2, 3].map(() => product.execute(`python3 -c '${fork}'`));
          for (const { data } of await Promise.all(forks)) expect(data.stdout).toBe('18\n');
          // And enough to work with.
          expect((await product.execute('echo "$(echo "$(echo deep)")" | cat | cat')).data.stdout).toBe(
            'deep\n',
          );
        }
        expect(existsSync(user.stateDir)).toBe(true);
      } finally {
        await user.remove();
      }
    });

    test('has a share of inotify instances for each command, whatever others take', async () => {
      const user = createDeveloper({ uid: NOBODY });
      try {
        const product = await user.start();
        const call = process.arch === 'arm64' ? 26 : 294;
        const take = `perl -e '$| = 1; my $n = 0; $n++ while $n < 5000 && syscall(${call}, 0) >= 0; print "$n\\n"; sleep $ARGV[0]' --`;
        await product.execute('true');
        const greedy = product.execute(`${take} 30 > taken`, { execution_mode: 'background' });
        const taken = (): Promise<string> =>
          product.execute('cat taken').then(({ data }) => data.stdout as string);
        await expect.poll(taken, { timeout: 30_000 }).toBe(`${mostInstances()}\n`);
        expect((await product.execute(`${take} 0`)).data.stdout).toBe(`${mostInstances()}\n`);
        const { data } = await greedy;
        await product.call('process_terminate', { execution_id: data.execution_id, force: true });
      } finally {
        await user.remove();
      }
    });

    test('has no more than they have themselves, and goes on with that', async () => {
      const user = createDeveloper({ uid: NOBODY });
      try {
        const rlimits = ['--nproc=900', `--fsize=${2 ** 20}`];
        const product = await user.start('max_pids = 1000\nmax_file_mb = 100', { rlimits });
        expect((await product.execute('ulimit -u; head -c 3M /dev/zero > x; ls -s x')).data.stdout).toMatch(
          /^900\n1024 x\n$/,
        );
      } finally {
        await user.remove();
      }
    });
  },
);
