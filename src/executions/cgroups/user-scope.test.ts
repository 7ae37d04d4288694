import { chmodSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { describeUnit, isTrustedBus, mayLeave, tightest } from './user-scope.ts';

const SLICE = '/user.slice/user-1000.slice';
const APPS = `${SLICE}/user@1000.service/app.slice`;

describe('a server may leave', () => {
  test.each([
    ['the scope of a desktop program', `${APPS}/app-gnome-code-4711.scope`, false],
    ['the scope of a terminal in one', `${APPS}/app-org.gnome.Terminal.slice/vte-spawn-1.scope`, false],
    ['a login session of a user who lingers', `${SLICE}/session-3.scope`, true],
    ['a desktop session of a user who lingers', `${SLICE}/session-c2.scope`, true],
  ])('%s', (_, path, lingers) => {
    expect(mayLeave(path, 1000, lingers)).toBe(true);
  });
});

describe('a server stays in', () => {
  test.each([
    ['a login session that the scope would not outlive', `${SLICE}/session-3.scope`, false],
    ['a service of the user', `${APPS}/mcp.service`, true],
    ['a service of the system', '/system.slice/mcp.service', true],
    ["another user's scope", '/user.slice/user-1001.slice/user@1001.service/app.slice/a.scope', true],
    ['a user whose number begins the same', '/user.slice/user-10001.slice/session-3.scope', true],
    ['a container', '/', true],
    ['a group of a container in a scope', `${APPS}/podman-1.scope/container`, true],
    ['the group beside its commands', `${APPS}/x.scope/mcp-shell-1-2-server`, true],
    ['a scope that was made for it', `${APPS}/mcp-shell-server-12-345.scope`, true],
    ['a scope that only looks like a session', `${SLICE}/session-3.scope/a.scope`, true],
  ])('%s', (_, path, lingers) => {
    expect(mayLeave(path, 1000, lingers)).toBe(false);
  });
});

describe.skipIf(lacks(process.platform === 'win32', 'users and sockets with a path'))(
  'a bus is trusted',
  () => {
    const uid = process.getuid?.() ?? 0;

    async function createRuntimeDirectory(): Promise<string> {
      const directory = mkdtempSync(join(realpathSync(tmpdir()), 'run-'));
      const server = createServer();
      await new Promise<Server>((resolve) => server.listen(join(directory, 'bus'), () => resolve(server)));
      onTestFinished(async () => {
        await new Promise((resolve) => server.close(resolve));
        rmSync(directory, { recursive: true, force: true });
      });
      return directory;
    }

    test('where directory and socket are ours alone', async () => {
      const directory = await createRuntimeDirectory();
      expect(isTrustedBus(directory, uid)).toBe(true);
      expect(isTrustedBus(directory, uid + 1)).toBe(false);
      expect(isTrustedBus(join(directory, 'none'), uid)).toBe(false);
    });

    test.each([0o777, 0o770, 0o750, 0o701])('not where others may enter: mode %o', async (mode) => {
      const directory = await createRuntimeDirectory();
      chmodSync(directory, mode);
      expect(isTrustedBus(directory, uid)).toBe(false);
    });

    test.each([
      ['a file', (path: string) => writeFileSync(path, '')],
      ['a link', (path: string) => symlinkSync('elsewhere', path)],
    ])('not where it is %s', async (_, make) => {
      const directory = mkdtempSync(join(realpathSync(tmpdir()), 'run-'));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
      make(join(directory, 'bus'));
      expect(isTrustedBus(directory, uid)).toBe(false);
    });
  },
);

describe('limits of the groups that are left', () => {
  const group =
    (files: Readonly<Record<string, string>>) =>
    (file: string): string | undefined =>
      files[file];

  test('go along, the tightest of each', () => {
    const groups = [
      group({ 'memory.max': 'max', 'pids.max': '2947', 'cpu.max': '50000 100000' }),
      group({ 'memory.max': '4294967296', 'pids.max': 'max', 'cpu.max': 'max 100000' }),
      group({
        'memory.max': '8589934592',
        'memory.swap.max': '0',
        'pids.max': '9000',
        'cpu.max': '200000 100000',
      }),
    ];
    expect(tightest(groups)).toEqual([
      ['MemoryMax', 't', 4_294_967_296],
      ['MemorySwapMax', 't', 0],
      ['TasksMax', 't', 2947],
      ['CPUQuotaPerSecUSec', 't', 500_000],
    ]);
  });

  test('are none where there are none', () => {
    expect(tightest([group({ 'memory.max': 'max', 'cpu.max': 'max 100000' }), group({})])).toEqual([]);
  });

  test('are properties of the scope, which is delegated and holds this process', () => {
    expect(describeUnit([['TasksMax', 't', 2947]])).toEqual(
      [
        [5],
        ['Description', 's', 'Commands of mcp-shell-server'],
        ['PIDs', 'au', 1, process.pid],
        ['Delegate', 'b', 'true'],
        ['CollectMode', 's', 'inactive-or-failed'],
        ['TasksMax', 't', 2947],
        [0],
      ].flat(),
    );
  });
});
