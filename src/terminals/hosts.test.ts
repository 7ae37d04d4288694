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
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ROOT } from '../../test/support/root.ts';
import { startOwnProgram } from '../executions/processes.ts';
import { connectHost, findSockets, startHost, takeOverHosts } from './hosts.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(realpathSync(tmpdir()), 'hosts-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const program = join(ROOT, 'dist/pty-host.js');

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
  const host = await startHost({ program, directory, graceMs: 1000 });
  expect(statSync(join(directory, 'terminals.sock')).mode & 0o777).toBe(0o600);
  const other = await connectHost(join(directory, 'terminals.sock'), false);
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
  const host = await connectHost(join(directory, 'terminals.sock'));
  expect(await host.ask('list', {})).toEqual([]);
  const gone = new Promise<void>((resolve) => host.onClose(resolve));
  await host.ask('shutdown', {});
  await gone;
});

test('the program of a host is small: somebody waits while it starts', () => {
  // With the schemas of the server it is three times as large.
  expect(statSync(program).size).toBeLessThan(200_000);
});

test('what is no host is said so', async () => {
  const directory = makeDirectory('inst_a');
  const broken = join(state, 'broken.mjs');
  writeFileSync(broken, 'process.exit(3);');
  await expect(startHost({ program: broken, directory, graceMs: 1000 })).rejects.toMatchObject({
    code: 'EXECUTION_001',
  });
  await expect(connectHost(join(directory, 'terminals.sock'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('hosts go from one server to the next; sockets without anybody are removed', async () => {
  const first = makeDirectory('inst_a');
  const host = await startHost({ program, directory: first, graceMs: 60_000 });
  const second = makeDirectory('inst_b');
  // As a server does it that takes over another: one directory moves into the other.
  renameSync(first, join(second, 'inst_a'));
  const [taken, ...others] = await takeOverHosts(second, 'inst_a');
  expect(others).toEqual([]);
  expect(await taken?.ask('list', {})).toEqual([]);
  rmSync(join(second, 'inst_a'), { recursive: true });
  expect(findSockets(state)).toHaveLength(1);
  // And once more.
  const third = makeDirectory('inst_c');
  renameSync(second, join(third, 'inst_b'));
  const [again] = await takeOverHosts(third, 'inst_b');
  expect(readdirSync(third).filter((name) => name.startsWith('inst_') && name.endsWith('.sock'))).toEqual([]);
  const gone = new Promise<void>((resolve) => host.onClose(resolve));
  await again?.ask('shutdown', {});
  await gone;
  const fourth = makeDirectory('inst_d');
  renameSync(third, join(fourth, 'inst_c'));
  expect(await takeOverHosts(fourth, 'inst_c')).toEqual([]);
  expect(existsSync(join(fourth, 'terminals-inst_a.sock'))).toBe(false);
});
