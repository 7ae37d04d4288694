/** The unit for systemd: installed with the npm package where systemd runs, and driven over HTTP. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connectHttp } from '../e2e/support/clients.ts';
import { isRoot } from '../e2e/support/developer.ts';
import { read } from '../e2e/support/product.ts';
import { lacks, needs } from '../setup/needs.ts';
import { ROOT } from '../support/root.ts';
import { createEngine, type Engine, freePort, makeBase, npmSettings } from './support/engine.ts';
import { createCheckout, createRoom, pack, type Room } from './support/npm.ts';

const TOKEN = 'a-token-of-twenty-characters';
const UNIT = 'mcp-shell-server';
const PATIENCE = { timeout: 120_000, interval: 200 };
/** What systemd calls OK ends at 4.9; without a hardening it says 9.2 of such a service. */
const MAX_EXPOSURE = 3.5;

/** What a person types to install it; docs/systemd.md has the same. */
const INSTALL = `
set -e
npm install --global --ignore-scripts --no-audit --no-fund /packages/*.tgz
cp /packages/mcp-shell-server.service /etc/systemd/system/
cp /packages/mcp-shell-server.sysusers /usr/lib/sysusers.d/mcp-shell-server.conf
systemd-sysusers
install -d -m 700 /etc/mcp-shell-server
printf 'MCP_SHELL_TOKEN=%s\\nMCP_SHELL_HTTP_PORT=%s\\nMCP_SHELL_HTTP_METRICS_PORT=%s\\n' "$TOKEN" "$PORT" "$METRICS" \\
  > /etc/mcp-shell-server/environment
systemctl daemon-reload
systemctl enable --now ${UNIT}
`;

describe.skipIf(needs('podman', 'runc', 'debootstrap') || lacks(!isRoot, 'only root makes a base image'))(
  'the service',
  () => {
    let room: Room;
    let engine: Engine;
    let port = 0;
    const inside = (script: string, ...flags: string[]): Promise<string> =>
      engine.podman('exec', ...flags, 'machine', 'sh', '-c', script);

    beforeAll(async () => {
      room = createRoom();
      engine = createEngine(room.directory);
      const packages = join(room.directory, 'packages');
      mkdirSync(packages);
      await pack(createCheckout(room.directory), packages);
      for (const name of ['service', 'sysusers'])
        copyFileSync(join(ROOT, `packaging/systemd/${UNIT}.${name}`), join(packages, `${UNIT}.${name}`));
      await makeBase(engine, room.directory, 'localhost/machine', ['systemd', 'bubblewrap', 'git']);
      port = await freePort();
      const npmrc = await npmSettings(room.directory);
      await engine.podman(
        'run',
        '--detach',
        '--name=machine',
        '--systemd=always',
        '--network=host',
        // What systemd needs to build the walls of a service, and bubblewrap those of a command.
        '--cap-add=SYS_ADMIN',
        '--security-opt=seccomp=unconfined',
        '--security-opt=unmask=ALL',
        `--volume=${packages}:/packages:ro`,
        `--volume=${npmrc}:/root/.npmrc:ro`,
        'localhost/machine',
        'sh',
        '-c',
        // The kernel is that of the host, and its settings are none of ours.
        'ln -sf /dev/null /etc/systemd/system/systemd-sysctl.service && exec /lib/systemd/systemd',
      );
      await vi.waitFor(() => inside('systemctl is-system-running'), PATIENCE);
      const metrics = await freePort();
      await inside(INSTALL, `--env=TOKEN=${TOKEN}`, `--env=PORT=${port}`, `--env=METRICS=${metrics}`);
      await vi.waitFor(async () => {
        const { ok } = await fetch(`http://127.0.0.1:${metrics}/readyz`);
        if (!ok) throw new Error('The service is not ready.');
      }, PATIENCE);
    });
    afterAll(async () => {
      await engine?.remove();
      room?.remove();
    });

    test('runs commands in the full sandbox, in its own workspace', async () => {
      const client = await connectHttp('v2 auto', `http://127.0.0.1:${port}/mcp`, TOKEN);
      try {
        const command = 'id -un; pwd; test -e /run/.mcp-shell-sandbox && echo walled; echo x > made && ls';
        const { data } = read(await client.callTool('shell_execute', { command }));
        expect(data).toMatchObject({
          status: 'completed',
          stdout: 'mcp-shell\n/var/lib/mcp-shell-server/workspace\nwalled\nmade\n',
        });
        const terminal = read(await client.callTool('terminal_create', { shell_type: 'bash' }));
        expect(terminal.isError, terminal.text).toBe(false);
        await client.callTool('terminal_close', { terminal_id: terminal.data.terminal_id });
      } finally {
        await client.close();
      }
    });

    test('is hardened, and the unit has no mistake', async () => {
      const text = await inside(`systemd-analyze verify /etc/systemd/system/${UNIT}.service 2>&1; true`);
      expect(
        text.split('\n').filter((line) => line !== '' && !line.includes('man mcp-shell-server')),
      ).toEqual([]);
      const security = await inside(`systemd-analyze security --no-pager ${UNIT}`);
      const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(security)?.[1]);
      expect(exposure, security).toBeLessThanOrEqual(MAX_EXPOSURE);
    });

    test('tells its token to nobody, and keeps its log in the journal', async () => {
      const log = await inside(`journalctl --no-pager --unit ${UNIT}`);
      expect(log).toContain('"message":"mcp-shell-server"');
      expect(log).not.toContain(TOKEN);
      expect(await inside('stat -c %a /var/lib/mcp-shell-server/state')).toBe('700');
    });

    test('comes back when it was killed, and ends when it is stopped', async () => {
      const pid = `systemctl show --property=MainPID --value ${UNIT}`;
      const before = await inside(pid);
      await inside(`kill -KILL ${before}`);
      await expect
        .poll(() => inside(`systemctl is-active ${UNIT}`).catch(() => ''), { timeout: 60_000 })
        .toBe('active');
      expect(await inside(pid)).not.toBe(before);
      await inside(`systemctl stop ${UNIT}`);
      expect(await inside(`systemctl show --property=Result --value ${UNIT}`)).toBe('success');
    });
  },
);
