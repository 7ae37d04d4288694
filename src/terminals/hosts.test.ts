import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ROOT } from '../../test/support/root.ts';
import { findProcess, isAlive, startOwnProgram } from '../executions/processes.ts';
import { bootHost } from './boot-host.ts';
import { connectHost, findSockets, startHost, takeOverHosts } from './hosts.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(realpathSync(tmpdir()), 'hosts-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const program = join(ROOT, 'dist/pty-host.js');
const onKilled = (): void => undefined;

function makeDirectory(name: string): string {
  const directory = join(state, 'run', name);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}

test.for([
  ['short', 'inst_a'],
  ['longer than the address of a socket may be', `${'long/'.repeat(40)}inst_a`],
] as const)('a host is reached where its path is %s, by its owner alone', async ([, name]) => {
  const directory = makeDirectory(name);
  const host = await startHost({ program, directory, graceMs: 1000, onKilled });
  expect(statSync(join(directory, 'terminals.sock')).mode & 0o777).toBe(0o600);
  const other = await connectHost(join(directory, 'terminals.sock'));
  expect(await other.ask('list', {})).toEqual([]);
  await expect(other.ask('state', { id: 'term_x' })).rejects.toMatchObject({ code: 'RESOURCE_002' });
  await expect(other.ask('toString' as 'list', {})).rejects.toMatchObject({
    code: 'SYSTEM_001',
  });
  await other.end();
  const gone = new Promise<void>((resolve) => host.onClose(resolve));
  await host.ask('shutdown', {});
  await gone;
});

test('a host waits for a server that is slow to connect', async () => {
  const directory = makeDirectory('inst_a');
  const spec = { socket: 'terminals.sock', directory, graceMs: 1000 };
  await startOwnProgram({ path: program, spec, cwd: directory, searchPath: '/bin', what: 'It' }).reply;
  await sleep(2000);
  const host = await connectHost(join(directory, 'terminals.sock'), { identity: undefined, onKilled });
  expect(await host.ask('list', {})).toEqual([]);
  const gone = new Promise<void>((resolve) => host.onClose(resolve));
  await host.ask('shutdown', {});
  await gone;
});

describe('one that is started in advance', () => {
  test('becomes the host of the first terminal', async () => {
    const directory = makeDirectory('inst_a');
    const booted = bootHost(program);
    const host = await startHost({
      program: join(state, 'not-there.js'),
      directory,
      graceMs: 1000,
      onKilled,
      takeBooted: () => booted,
    });
    expect(host.identity).toEqual(booted.identity);
    expect(await host.ask('list', {})).toEqual([]);
    const gone = new Promise<void>((resolve) => host.onClose(resolve));
    await host.ask('shutdown', {});
    await gone;
  });

  test('ends where it has nothing to do', async () => {
    const booted = bootHost(program);
    expect(isAlive(booted.identity)).toBe(true);
    booted.dismiss();
    await expect.poll(booted.isThere, { timeout: 30_000 }).toBe(false);
    expect(isAlive(booted.identity)).toBe(false);
  });

  test('is not there where it could not be started', async () => {
    const booted = bootHost(join(state, 'not-there.js'));
    await expect.poll(booted.isThere, { timeout: 30_000 }).toBe(false);
  });
});

test('the program of a host is small: a caller waits while it starts', () => {
  // With the schemas of the server it is three times as large.
  expect(statSync(program).size).toBeLessThan(200_000);
});

test('what is no host is said so', async () => {
  const directory = makeDirectory('inst_a');
  const broken = join(state, 'broken.mjs');
  writeFileSync(broken, 'process.exit(3);');
  await expect(startHost({ program: broken, directory, graceMs: 1000, onKilled })).rejects.toMatchObject({
    code: 'EXECUTION_001',
  });
  await expect(connectHost(join(directory, 'terminals.sock'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('hosts go from one server to the next; sockets without anybody are removed', async () => {
  const first = makeDirectory('inst_a');
  const host = await startHost({ program, directory: first, graceMs: 60_000, onKilled });
  const second = makeDirectory('inst_b');
  // As a server does it that takes over another: one directory moves into the other.
  renameSync(first, join(second, 'inst_a'));
  const [taken, ...others] = await takeOverHosts(second, 'inst_a', { onKilled });
  expect(others).toEqual([]);
  expect(await taken?.ask('list', {})).toEqual([]);
  rmSync(join(second, 'inst_a'), { recursive: true });
  expect(findSockets(state)).toHaveLength(1);
  // And once more.
  const third = makeDirectory('inst_c');
  renameSync(second, join(third, 'inst_b'));
  const [again] = await takeOverHosts(third, 'inst_b', { onKilled });
  expect(readdirSync(third).filter((name) => name.startsWith('inst_') && name.endsWith('.sock'))).toEqual([]);
  const gone = new Promise<void>((resolve) => host.onClose(resolve));
  await again?.ask('shutdown', {});
  await gone;
  const fourth = makeDirectory('inst_d');
  renameSync(third, join(fourth, 'inst_c'));
  expect(await takeOverHosts(fourth, 'inst_c', { onKilled })).toEqual([]);
  expect(existsSync(join(fourth, 'terminals-inst_a.sock'))).toBe(false);
});

test('a host without terminals waits for the next one of the server that started it, and for nobody else', async () => {
  const first = makeDirectory('inst_a');
  const host = await startHost({ program, directory: first, graceMs: 60_000, onKilled });
  await sleep(2500);
  expect(isAlive(host.identity)).toBe(true);
  const second = makeDirectory('inst_b');
  renameSync(first, join(second, 'inst_a'));
  await host.end();
  const [taken] = await takeOverHosts(second, 'inst_a', { onKilled });
  expect(await taken?.ask('list', {})).toEqual([]);
  await expect.poll(() => isAlive(host.identity), { timeout: 10_000 }).toBe(false);
  await expect.poll(() => findSockets(state)).toEqual([]);
});

describe('a host that does not answer', () => {
  const isGone = (pid: number): boolean => findProcess(pid)?.isZombie ?? true;

  test('is killed and said so, and nothing of it stays', async () => {
    const directory = makeDirectory('inst_a');
    const killed = vi.fn<() => void>();
    const watch = { quietMs: 100, answerMs: 500, onKilled: killed };
    const host = await startHost({ program, directory, graceMs: 60_000, ...watch });
    const { pid } = host.identity;
    process.kill(pid, 'SIGSTOP');
    const asked = host.ask('list', {});
    await expect(asked).rejects.toMatchObject({
      message: expect.stringMatching(/did not respond and was killed/),
    });
    expect(killed).toHaveBeenCalledTimes(1);
    await expect.poll(() => isGone(pid)).toBe(true);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('is not killed while it answers, however long a call waits', async () => {
    const directory = makeDirectory('inst_a');
    const killed = vi.fn<() => void>();
    const watch = { quietMs: 50, answerMs: 20_000, onKilled: killed };
    const host = await startHost({ program, directory, graceMs: 60_000, ...watch });
    // It takes a second to leave, once it was stopped for half of one.
    process.kill(host.identity.pid, 'SIGSTOP');
    const asked = host.ask('list', {});
    await sleep(500);
    process.kill(host.identity.pid, 'SIGCONT');
    expect(await asked).toEqual([]);
    const gone = new Promise<void>((resolve) => host.onClose(resolve));
    await host.ask('shutdown', {});
    await gone;
    expect(killed).not.toHaveBeenCalled();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('is not killed where this process was stopped while it answered', async () => {
    const directory = makeDirectory('inst_a');
    const host = await startHost({ program, directory, graceMs: 60_000, onKilled });
    const killed = vi.fn<() => void>();
    const { identity } = host;
    const socket = join(directory, 'terminals.sock');
    const connecting = connectHost(socket, { identity, answerMs: 100, onKilled: killed });
    // It is asked in one of these turns, and timers come after each.
    for (let turns = 0; turns < 5; turns++) {
      await nextTurn();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    }
    await expect(connecting).resolves.toBeDefined();
    expect(killed).not.toHaveBeenCalled();
    await host.ask('shutdown', {});
  });

  test('is killed by the server that takes it over', async () => {
    const first = makeDirectory('inst_a');
    const host = await startHost({ program, directory: first, graceMs: 60_000, onKilled });
    process.kill(host.identity.pid, 'SIGSTOP');
    const second = makeDirectory('inst_b');
    renameSync(first, join(second, 'inst_a'));
    const killed = vi.fn<() => void>();
    expect(await takeOverHosts(second, 'inst_a', { answerMs: 500, onKilled: killed })).toEqual([]);
    expect(killed).toHaveBeenCalledTimes(1);
    await expect.poll(() => isGone(host.identity.pid)).toBe(true);
    expect(readdirSync(second)).toEqual(['inst_a']);
  });

  test('is left to the server where an observer only looks', async () => {
    const directory = makeDirectory('inst_a');
    const host = await startHost({ program, directory, graceMs: 60_000, onKilled });
    await expect(connectHost(join(directory, 'terminals.sock'))).resolves.toBeDefined();
    const gone = new Promise<void>((resolve) => host.onClose(resolve));
    await host.ask('shutdown', {});
    await gone;
  });
});
