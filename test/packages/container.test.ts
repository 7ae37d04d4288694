/** The container: built by its Dockerfile, run as the first documents' examples and compose.yaml have it, and looked at from inside. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ABSENT, REFUSED } from '../../src/security/sandbox/seccomp-calls.ts';
import { connectHttp, connectStdio, type TestClient } from '../e2e/support/clients.ts';
import { isRoot } from '../e2e/support/developer.ts';
import { type Called, read } from '../e2e/support/product.ts';
import { lacks, needs } from '../setup/needs.ts';
import { ROOT } from '../support/root.ts';
import { composeFlags } from './support/compose.ts';
import { shellBlocks } from './support/documents.ts';
import { buildImage, createEngine, type Engine, freePort, IMAGE, makeBase } from './support/engine.ts';
import { createRoom, type Room, VERSION } from './support/npm.ts';

const PROFILE = join(ROOT, 'packaging/container/seccomp.json');
/** Who works in the container, and so whose the workspace is. */
const USER = 1000;

test('the seccomp profile refuses what the sandbox refuses, but for what builds the sandbox', () => {
  const { defaultAction, syscalls } = JSON.parse(readFileSync(PROFILE, 'utf8')) as {
    defaultAction: string;
    syscalls: { names: string[]; action: string; comment?: string }[];
  };
  const allowed = new Set(
    syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW').flatMap(({ names }) => names),
  );
  expect(defaultAction).toBe('SCMP_ACT_ERRNO');
  expect(
    [...Object.keys(REFUSED), ...Object.keys(ABSENT)].filter((name) => allowed.has(name)).sort(),
  ).toEqual([
    'chroot',
    'fsconfig',
    'fsmount',
    'fsopen',
    'fspick',
    'mount',
    'mount_setattr',
    'move_mount',
    'open_tree',
    'open_tree_attr',
    'openat2',
    'pivot_root',
    'sethostname',
    'setns',
    'umount2',
    'unshare',
  ]);
});

describe.skipIf(needs('podman', 'runc', 'debootstrap') || lacks(!isRoot, 'only root makes a base image'))(
  'the container',
  () => {
    let room: Room;
    let engine: Engine;
    let workspace = '';

    beforeAll(async () => {
      room = createRoom();
      engine = createEngine(room.directory);
      workspace = join(room.directory, 'project');
      mkdirSync(workspace);
      await makeBase(engine, room.directory, 'localhost/nodebase');
      await buildImage(engine, room.directory, 'localhost/nodebase');
      const scripts = { test: 'echo All tests passed', dev: 'echo Server running', probe: 'sh ./probe.sh' };
      put('package.json', JSON.stringify({ name: 'project', version: '1.0.0', scripts }));
      execFileSync('git', ['init', '--quiet', workspace]);
      execFileSync('chown', ['-R', `${USER}:${USER}`, workspace]);
    });
    afterAll(async () => {
      try {
        await engine?.remove();
      } finally {
        room?.remove();
      }
    });

    function put(name: string, content: string): void {
      writeFileSync(join(workspace, name), content);
      chownSync(join(workspace, name), USER, USER);
    }

    /** As a person types it; only the health check, for which podman wants systemd, is left out. */
    const runArgs = (...flags: string[]): string[] => ['run', '--rm', '-i', '--no-healthcheck', ...flags];
    const hardened = (): string[] =>
      composeFlags('shell', { MCP_SHELL_WORKSPACE: workspace }).filter((flag) => flag !== '--interactive');

    async function connect(...flags: string[]): Promise<TestClient> {
      return connectStdio('v2 auto', engine.command(...runArgs(...flags, IMAGE)));
    }

    async function execute(client: TestClient, command: string): Promise<Called> {
      return read(await client.callTool('shell_execute', { command, execution_mode: 'foreground' }));
    }

    describe('by the examples of its first documents', () => {
      /** `echo '…' | docker run --rm -i -v "$(pwd):/workspace" mcp-shell-server` */
      async function pipe(request: object): Promise<unknown> {
        const { command, args, env } = engine.command(...runArgs('-v', `${workspace}:/workspace`, IMAGE));
        const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
        child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`);
        const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
        return JSON.parse(output);
      }
      const exec = (id: number, command: string, ...args: string[]): Promise<unknown> =>
        pipe({ id, method: 'shell/exec', params: { command, args } });

      test('npm install', async () => {
        expect(await exec(1, 'npm', 'install')).toMatchObject({
          id: 1,
          result: { command: 'npm install', exitCode: 0, success: true },
        });
      });

      test('npm test', async () => {
        expect(await exec(2, 'npm', 'test')).toMatchObject({
          id: 2,
          result: { exitCode: 0, stdout: expect.stringContaining('All tests passed') },
        });
      });

      test('npm run dev', async () => {
        expect(await exec(3, 'npm', 'run', 'dev')).toMatchObject({
          id: 3,
          result: { exitCode: 0, stdout: expect.stringContaining('Server running') },
        });
      });

      test('git status', async () => {
        expect(await exec(4, 'git', 'status')).toMatchObject({
          id: 4,
          result: { exitCode: 0, stdout: expect.stringContaining('No commits yet') },
        });
      });

      test('what is not allowed', async () => {
        expect(await exec(5, 'rm', '-rf', '/workspace')).toEqual({
          jsonrpc: '2.0',
          id: 5,
          error: { code: -32_000, message: "Command 'rm' not allowed" },
        });
      });
    });

    describe('by the lines of docs/guides/container.md', () => {
      const lines = shellBlocks('docs/guides/container.md').filter(
        (block) => /\bdocker run\b/.test(block) && !block.includes('--http'),
      );
      const isPiped = (block: string): boolean => block.includes('| docker');

      /** podman with Docker's name; the image is built already. */
      function putDocker(): string {
        const bin = join(room.directory, 'bin');
        mkdirSync(bin, { recursive: true });
        const { command, args } = engine.command();
        const script = [
          '#!/bin/sh',
          '[ "$1" = build ] && exit',
          'shift',
          'for word; do',
          '  shift',
          '  [ "$word" = systempaths=unconfined ] && word=unmask=ALL',
          '  set -- "$@" "$word"',
          'done',
          `exec ${command} ${args.join(' ')} run --no-healthcheck "$@"`,
        ];
        writeFileSync(join(bin, 'docker'), script.join('\n'), { mode: 0o755 });
        return bin;
      }

      async function type(block: string): Promise<unknown> {
        const { env } = engine.command();
        const child = spawn('sh', ['-c', block], {
          cwd: workspace,
          env: { ...env, HOME: room.directory, PATH: `${putDocker()}:${env['PATH']}` },
          stdio: ['pipe', 'pipe', 'ignore'],
        });
        const params = { name: 'shell_execute', arguments: { command: 'echo hello' } };
        child.stdin.on('error', () => {});
        child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
        const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
        return JSON.parse(output);
      }

      test('there are three that can be tried', () => {
        expect(lines.map(isPiped)).toEqual([true, false, false]);
      });

      test.each(lines.filter(isPiped))('block %#, with a request of its own', async (block) => {
        expect(await type(block)).toMatchObject({
          result: { exitCode: 0, stdout: expect.stringContaining('All tests passed') },
        });
      });

      test.each(lines.filter((block) => !isPiped(block)))('block %#, by a client', async (block) => {
        // One of them names the profile by its place in a clone.
        cpSync(join(ROOT, 'packaging'), join(workspace, 'packaging'), { recursive: true });
        expect(await type(block)).toMatchObject({
          result: { structuredContent: { status: 'completed', stdout: 'hello\n' } },
        });
      });
    });

    describe('as compose.yaml has it', () => {
      let client: TestClient;
      let probed = '';
      beforeAll(async () => {
        client = await connect(...hardened());
        put(
          'probe.sh',
          [
            'grep -E "^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status',
            'for f in /etc/x /usr/x /app/x /tmp/x "$HOME/x" /workspace/x; do',
            '  (echo > "$f") 2> /dev/null && echo "wrote $f" || echo "kept from $f"',
            'done',
            'echo "interfaces: $(ls /sys/class/net | tr "\\n" " ")"',
            'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2> /dev/null | sed "s/^/memory: /"',
            'cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2> /dev/null | sed "s/^/pids: /"',
            'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2> /dev/null | sed "s/^/cpu: /"',
          ].join('\n'),
        );
        probed = (await execute(client, 'npm run probe')).data.stdout;
      });
      afterAll(() => client?.close());

      test('a command runs in the workspace', async () => {
        expect(client.serverInfo).toMatchObject({ name: 'mcp-shell-server', version: VERSION });
        expect((await execute(client, 'echo "$PWD"')).data).toMatchObject({
          status: 'completed',
          stdout: '/workspace\n',
        });
      });

      test('nobody has privileges, or can get any', () => {
        expect(probed).toMatch(new RegExp(`^Uid:\\s+${USER}\\s+${USER}\\s+${USER}\\s+${USER}$`, 'm'));
        expect(probed).toMatch(/^CapEff:\s+0{16}$/m);
        expect(probed).toMatch(/^CapBnd:\s+0{16}$/m);
        expect(probed).toMatch(/^NoNewPrivs:\s+1$/m);
        expect(probed).toMatch(/^Seccomp:\s+2$/m);
      });

      test('only the workspace and temporary places are writable', () => {
        expect(probed.match(/^(?:wrote|kept from) .*$/gm)).toEqual([
          'kept from /etc/x',
          'kept from /usr/x',
          'kept from /app/x',
          'wrote /tmp/x',
          'wrote /home/node/x',
          'wrote /workspace/x',
        ]);
      });

      test('there is no network', () => {
        expect(probed).toMatch(/^interfaces: lo $/m);
      });

      test('memory, processes and processor time are bounded', () => {
        expect(probed).toMatch(/^memory: 536870912$/m);
        expect(probed).toMatch(/^pids: 256$/m);
        expect(probed).toMatch(/^cpu: 50000(?: 100000)?$/m);
      });

      test('what is not in the allow-list does not run, and there are no terminals', async () => {
        expect((await execute(client, 'curl https://example.com')).text).toContain('SECURITY_003');
        expect(read(await client.callTool('terminal_create', {})).isError).toBe(true);
      });
    });

    test('the full sandbox runs inside, where the container is opened for it', async () => {
      const opened = ['--security-opt', `seccomp=${PROFILE}`, '--security-opt', 'unmask=ALL'];
      const settings = [
        '-e',
        'MCP_SHELL_SECURITY_PRESET=sandbox',
        '-e',
        'MCP_SHELL_SECURITY_SANDBOX=required',
      ];
      const client = await connect(...hardened(), ...opened, ...settings);
      try {
        const { data } = await execute(
          client,
          'test -e /run/.mcp-shell-sandbox && echo sandboxed; cat /proc/self/status | grep CapBnd; ls -d /app /proc/[0-9]*',
        );
        expect(data.stdout).toMatch(/^sandboxed\nCapBnd:\s+0{16}\n/);
        expect(data.stdout).not.toContain('/app');
        expect(read(await client.callTool('monitoring_get_stats', {})).text).toContain('bubblewrap');
      } finally {
        await client.close();
      }
    });

    test('where it is not opened, the full sandbox is missing and nothing runs', async () => {
      const client = await connect(...hardened(), '-e', 'MCP_SHELL_SECURITY_SANDBOX=required');
      try {
        expect((await execute(client, 'echo hello')).text).toContain('SECURITY_003');
      } finally {
        await client.close();
      }
    });

    test('anybody may run it, by number', async () => {
      const client = await connect('--user=4711:4711', '-v', `${workspace}:/workspace`);
      try {
        // git refuses a repository of somebody else, unless it is told that this one is meant.
        expect((await execute(client, 'git status')).data).toMatchObject({ status: 'completed' });
      } finally {
        await client.close();
      }
    });

    test('over HTTP it answers, is healthy, and ends when it is told to', async () => {
      const token = 'a-token-of-twenty-characters';
      const port = await freePort();
      const name = 'over-http';
      await engine.podman(
        'run',
        '--detach',
        `--name=${name}`,
        '--no-healthcheck',
        '--network=host',
        `--env=MCP_SHELL_TOKEN=${token}`,
        `--env=MCP_SHELL_HTTP_METRICS_PORT=${await freePort()}`,
        `--volume=${workspace}:/workspace`,
        IMAGE,
        '--http',
        `127.0.0.1:${port}`,
      );
      const isHealthy = (): Promise<boolean> =>
        engine.podman('exec', name, 'node', '/app/healthcheck.mjs').then(
          () => true,
          () => false,
        );
      await expect.poll(isHealthy, { timeout: 60_000 }).toBe(true);
      const client = await connectHttp('v2 auto', `http://127.0.0.1:${port}/mcp`, token);
      expect((await execute(client, 'echo over HTTP')).data).toMatchObject({ stdout: 'over HTTP\n' });
      await client.close();
      await engine.podman('stop', '--time=60', name);
      // 137 would be KILL, after the minute.
      expect(await engine.podman('inspect', '--format={{.State.ExitCode}}', name)).toBe('0');
    });

    test('one that does not answer is not healthy', async () => {
      const code = 'setTimeout(() => {}, 1e9)';
      await engine.podman(
        'run',
        '--detach',
        '--name=silent',
        '--no-healthcheck',
        '--network=none',
        '--entrypoint=["tini","--","node"]',
        IMAGE,
        '-e',
        code,
        '--',
        '--http',
      );
      await expect(engine.podman('exec', 'silent', 'node', '/app/healthcheck.mjs')).rejects.toThrow(
        'healthcheck.mjs',
      );
    });

    test('the image has what it needs and no tools to build with', async () => {
      const [image] = JSON.parse(await engine.podman('image', 'inspect', IMAGE)) as [
        {
          Config: { User: string; Labels: Record<string, string>; Entrypoint: string[] };
          Healthcheck?: { Test: string[] };
        },
      ];
      expect(image.Config).toMatchObject({
        User: 'node',
        Entrypoint: ['tini', '--', 'mcp-shell-server'],
        Labels: { 'org.opencontainers.image.licenses': 'MIT' },
      });
      expect(image.Healthcheck?.Test).toEqual(['CMD', 'node', '/app/healthcheck.mjs']);
      const found = await engine.podman(
        'run',
        '--rm',
        '--no-healthcheck',
        '--entrypoint=sh',
        IMAGE,
        '-c',
        'for p in gcc cc make python3 tini git bwrap node npm; do command -v $p > /dev/null && echo $p; done; ls -d /src /run/secrets/npmrc /app/node_modules/typescript 2> /dev/null; find / -xdev -name .npmrc -not -path "*/node_modules/*" 2> /dev/null; true',
      );
      expect(found.split('\n')).toEqual(['tini', 'git', 'bwrap', 'node', 'npm']);
    });
  },
);
