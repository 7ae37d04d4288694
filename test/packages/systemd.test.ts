/** The unit for systemd: installed with the npm package where systemd runs, and driven over HTTP. */
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connectHttp } from '../e2e/support/clients.ts';
import { isRoot } from '../e2e/support/developer.ts';
import { read } from '../e2e/support/product.ts';
import { lacks, needs } from '../setup/needs.ts';
import { ROOT } from '../support/root.ts';
import { shellBlocks } from './support/documents.ts';
import { createEngine, type Engine, freePort, makeBase, npmSettings } from './support/engine.ts';
import { createCheckout, createRoom, pack, type Room } from './support/npm.ts';

const UNIT = 'mcp-shell-server';
const PATIENCE = { timeout: 120_000, interval: 200 };
/** What systemd calls OK ends at 4.9; without a hardening it says 9.2 of such a service. */
const MAX_EXPOSURE = 3.5;

const ENVIRONMENT = '/etc/mcp-shell-server/environment';

/** What docs/guides/systemd.md has people type. Only the ports are others: the network is the machine's. */
function installation(ports: Readonly<Record<string, number>>): string {
  const [typed = ''] = shellBlocks('docs/guides/systemd.md');
  const settings = Object.entries(ports).map(([name, port]) => `echo ${name}=${port} >> ${ENVIRONMENT}`);
  return [
    'set -e',
    'sudo() { "$@"; }',
    typed.replace(/^(?=sudo systemctl)/m, `${settings.join('\n')}\n`),
  ].join('\n');
}

describe.skipIf(needs('podman', 'runc', 'debootstrap') || lacks(!isRoot, 'only root makes a base image'))(
  'the service',
  () => {
    let room: Room;
    let engine: Engine;
    let port = 0;
    let token = '';
    const inside = (script: string, ...flags: string[]): Promise<string> =>
      engine.podman('exec', ...flags, 'machine', 'sh', '-c', script);

    beforeAll(async () => {
      room = createRoom();
      engine = createEngine(room.directory);
      const clone = join(room.directory, 'clone');
      mkdirSync(clone);
      await pack(createCheckout(room.directory), clone);
      cpSync(join(ROOT, 'packaging'), join(clone, 'packaging'), { recursive: true });
      await makeBase(engine, room.directory, 'localhost/machine', ['systemd', 'bubblewrap', 'git']);
      port = await freePort();
      const npmrc = await npmSettings(room.directory);
      await engine.podman(
        'run',
        '--detach',
        '--name=machine',
        '--systemd=always',
        '--network=host',
        // What systemd needs to build the sandboxes of a service, and bubblewrap those of a command.
        '--cap-add=SYS_ADMIN',
        '--security-opt=seccomp=unconfined',
        '--security-opt=unmask=ALL',
        `--volume=${clone}:/clone:ro`,
        `--volume=${npmrc}:/etc/npm-settings:ro`,
        '--env=NPM_CONFIG_USERCONFIG=/etc/npm-settings',
        'localhost/machine',
        'sh',
        '-c',
        // The kernel is that of the host, and its settings are none of ours.
        'ln -sf /dev/null /etc/systemd/system/systemd-sysctl.service && exec /lib/systemd/systemd',
      );
      await vi.waitFor(() => inside('systemctl is-system-running'), PATIENCE);
      const metrics = await freePort();
      const ports = { MCP_SHELL_HTTP_PORT: port, MCP_SHELL_HTTP_METRICS_PORT: metrics };
      await inside(installation(ports), '--workdir=/clone');
      token = await inside(`sed -n s/^MCP_SHELL_TOKEN=//p ${ENVIRONMENT}`);
      await vi.waitFor(async () => {
        const { ok } = await fetch(`http://127.0.0.1:${metrics}/readyz`);
        if (!ok) throw new Error('The service is not ready.');
      }, PATIENCE);
    });
    afterAll(async () => {
      try {
        await engine?.remove();
      } finally {
        room?.remove();
      }
    });

    test('runs commands in the full sandbox, in its own workspace', async () => {
      const client = await connectHttp('v2 auto', `http://127.0.0.1:${port}/mcp`, token);
      try {
        const command = 'id -un; pwd; test -e /run/.mcp-shell-sandbox && echo sandboxed; echo x > made && ls';
        const { data } = read(await client.callTool('shell_execute', { command }));
        expect(data).toMatchObject({
          status: 'completed',
          stdout: 'mcp-shell\n/var/lib/mcp-shell-server/workspace\nsandboxed\nmade\n',
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
      expect(token).toMatch(/^[0-9a-f]{64}$/);
      expect(log).not.toContain(token);
      expect(await inside(`stat -c %a /var/lib/mcp-shell-server/state ${ENVIRONMENT}`)).toBe('700\n600');
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
