/** The npm package: made by `npm pack`, installed from the tarball where nothing is, and driven by a real client. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectStdio } from '../e2e/support/clients.ts';
import { read } from '../e2e/support/product.ts';
import { needs } from '../setup/needs.ts';
import { shellBlocks } from './support/documents.ts';
import {
  createCheckout,
  createRoom,
  npm,
  npmEnvironment,
  type Packed,
  pack,
  type Room,
  runBounded,
  VERSION,
} from './support/npm.ts';

const MAX_PACKAGES = 40;
const MAX_BYTES = 40 * 1024 * 1024;

let room: Room;
let packed: Packed;
let project = '';

beforeAll(async () => {
  room = createRoom();
  const checkout = createCheckout(room.directory);
  // What a checkout gathers over time.
  for (const name of ['chunks/old-ABCDEFGH.js', 'cli.js.map', '.stamp', 'notes.txt'])
    writeFileSync(join(checkout, 'dist', name), 'left behind');
  packed = await pack(checkout, room.directory);
  project = join(room.directory, 'project');
  mkdirSync(project);
  await npm(project, 'install', '--ignore-scripts', '--no-audit', '--no-fund', packed.tarball);
});
afterAll(() => room?.remove());

describe('the package', () => {
  test('has exactly its files', () => {
    expect(
      packed.files.filter(
        (path) =>
          !/^dist\/(?:chunks\/|code-cache\/|page\/.+-\w{8}\.js$)/.test(path) &&
          path !== `dist/forker-linux-${process.arch === 'x64' ? 'arm64' : 'x64'}`,
      ),
    ).toEqual([
      'LICENSE',
      'README.md',
      'dist/LEGAL.txt',
      'dist/catalogue.json',
      'dist/cli.js',
      // The other processor's is there where its compiler is.
      `dist/forker-linux-${process.arch}`,
      'dist/mcp-shell-server.1',
      'dist/page/index.html',
      'dist/page/page.css',
      'dist/page/page.js',
      'dist/pty-host.js',
      'dist/search-worker.js',
      'dist/shell-integration/bash.sh',
      'dist/shell-integration/fish.fish',
      'dist/shell-integration/sh.sh',
      'dist/shell-integration/zsh/.zshenv',
      'dist/shell-integration/zsh/.zshrc',
      'dist/wrapper.js',
      'package.json',
    ]);
  });

  test('has the chunks that its programs load, and no others', () => {
    const dist = join(project, 'node_modules/mcp-shell-server/dist');
    const chunks = packed.files.filter((path) => path.startsWith('dist/chunks/'));
    const texts = [
      'cli.js',
      'pty-host.js',
      'search-worker.js',
      'wrapper.js',
      ...chunks.map((path) => path.slice('dist/'.length)),
    ].map((path) => readFileSync(join(dist, path), 'utf8'));
    const loaded = new Set(
      texts.flatMap((text) =>
        [...text.matchAll(/["'`]\.\/(?:chunks\/)?([\w-]+-[0-9A-Z]{8}\.js)["'`]/g)].map(([, name]) => name),
      ),
    );
    expect(chunks.map((path) => path.slice('dist/chunks/'.length)).sort()).toEqual(
      [...loaded].sort((a = '', b = '') => (a < b ? -1 : 1)),
    );
  });

  test('names every package that is bundled, with its licence', () => {
    const legal = readFileSync(join(project, 'node_modules/mcp-shell-server/dist/LEGAL.txt'), 'utf8');
    const named = [...legal.matchAll(/^(\S+) \d+\.\d+\.\d+\S* \(([A-Za-z0-9.-]+)\)$/gm)].map(
      ([, name]) => name,
    );
    expect(named).toEqual(
      expect.arrayContaining(['@modelcontextprotocol/server', '@xterm/headless', 'commander', 'hono', 'zod']),
    );
    expect(legal).toContain('Apache License');
    expect(legal).toContain('Permission is hereby granted, free of charge');
  });

  test('runs no script when it is installed, and neither does anything it needs', () => {
    const found = manifests().flatMap(({ name, scripts = {} }) =>
      Object.keys(scripts)
        .filter((script) => ['preinstall', 'install', 'postinstall', 'prepare'].includes(script))
        .map((script) => `${name}: ${script}`),
    );
    expect(found).toEqual([]);
  });

  test(`is at most ${MAX_PACKAGES} packages and ${MAX_BYTES / 1024 / 1024} MB`, () => {
    expect(manifests().map(({ name }) => name)).toContain('mcp-shell-server');
    expect(manifests().length).toBeLessThanOrEqual(MAX_PACKAGES);
    expect(sizeOf(join(project, 'node_modules'))).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('says where it comes from, as registries and provenance want it', () => {
    const own = manifests().find(({ name }) => name === 'mcp-shell-server');
    expect(own).toMatchObject({
      mcpName: 'io.github.mcp-shell-server/mcp-shell-server',
      repository: { type: 'git', url: 'git+https://github.com/mcp-shell-server/mcp-shell-server.git' },
      publishConfig: { access: 'public', provenance: true },
      license: 'MIT',
    });
    expect(own?.private).toBeUndefined();
  });
});

describe('from an empty directory', () => {
  const npx = (args: string[], cwd: string, env: Record<string, string> = {}) =>
    connectStdio('v2 auto', {
      command: 'npx',
      args,
      cwd,
      env: {
        ...npmEnvironment(),
        SHELL: '/bin/bash',
        MCP_SHELL_STATE_DIR: join(room.directory, 'state'),
        ...env,
      },
    });
  const connect = () => npx(['--no-install', 'mcp-shell-server'], project);

  test('npx installs it by itself, and a command runs', async () => {
    const empty = join(room.directory, 'empty');
    mkdirSync(empty);
    // npx keeps what it installs in the cache.
    const cache = { npm_config_cache: join(room.directory, 'cache') };
    const client = await npx(['--yes', `file:${packed.tarball}`], empty, cache);
    try {
      const answer = await client.callTool('shell_execute', { command: 'echo "from $PWD"' });
      expect(answer.structuredContent).toMatchObject({ status: 'completed', stdout: `from ${empty}\n` });
    } finally {
      await client.close();
    }
    expect(readdirSync(empty)).toEqual([]);
  });

  test('npx starts what is installed, and a command runs', async () => {
    const client = await connect();
    try {
      expect(client.serverInfo).toMatchObject({ name: 'mcp-shell-server', version: VERSION });
      const answer = await client.callTool('shell_execute', { command: 'echo "from $PWD"' });
      expect(answer.structuredContent).toMatchObject({ status: 'completed', stdout: `from ${project}\n` });
    } finally {
      await client.close();
    }
  });

  test('a detached command has its wrapper', async () => {
    const client = await connect();
    try {
      const started = read(
        await client.callTool('shell_execute', { command: 'echo kept; exit 3', execution_mode: 'detached' }),
      );
      const { execution_id } = started.data;
      const ended = read(await client.callTool('process_get_execution', { execution_id, wait_seconds: 30 }));
      expect(ended.data).toMatchObject({ status: 'failed', exit_code: 3 });
    } finally {
      await client.close();
    }
  });

  test.skipIf(needs('bash', 'zsh', 'fish'))(
    'terminals work, with what shells tell of themselves',
    async () => {
      const client = await connect();
      try {
        for (const shell_type of ['bash', 'zsh', 'fish', 'sh']) {
          const { data } = read(await client.callTool('terminal_create', { shell_type }));
          const { terminal_id } = data;
          const typed = read(
            await client.callTool('terminal_send_input', {
              terminal_id,
              input: 'echo in a $(echo terminal)'.replace(
                '$(echo terminal)',
                shell_type === 'fish' ? '(echo terminal)' : '$(echo terminal)',
              ),
              execute: true,
              timeout_seconds: 45,
            }),
          );
          expect(typed.text, shell_type).toContain('in a terminal');
          expect(typed.data, shell_type).toMatchObject({ exit_code: 0 });
          await client.callTool('terminal_close', { terminal_id });
        }
      } finally {
        await client.close();
      }
    },
  );

  test.skipIf(needs('bwrap'))(
    'no command changes what the server runs from, though it lies in the workspace',
    async () => {
      const modules = join(project, 'node_modules');
      const native = join(modules, '@lydell/node-pty/index.js');
      const before = readFileSync(native, 'utf8');
      const client = await connect();
      try {
        const nested = 'node_modules/mcp-shell-server/node_modules/@lydell/node-pty';
        for (const command of [
          'echo EVIL >> node_modules/@lydell/node-pty/index.js',
          `mkdir -p ${nested} && echo EVIL > ${nested}/index.js`,
          'mkdir -p node_modules/@lydell/node_modules/@lydell',
          'echo EVIL >> node_modules/mcp-shell-server/dist/pty-host.js',
          'mv node_modules/@lydell node_modules/@old',
          'rm -r node_modules/mcp-shell-server/package.json',
        ]) {
          const { data } = read(await client.callTool('shell_execute', { command }));
          expect(data, command).toMatchObject({ status: 'failed' });
        }
      } finally {
        await client.close();
      }
      expect(readFileSync(native, 'utf8')).toBe(before);
      expect(existsSync(join(modules, 'mcp-shell-server/node_modules'))).toBe(false);
    },
  );

  test('as docs/guides/getting-started.md has it, the program is on PATH, and its manual page is where man looks', async () => {
    const prefix = join(room.directory, 'prefix');
    const installing = shellBlocks('docs/guides/getting-started.md')
      .join('')
      .match(/^npm install --global .*$/m)?.[0];
    // The line before it made the package, in the directory where the clone is.
    await runBounded('sh', ['-c', installing ?? 'exit 1'], {
      cwd: room.directory,
      env: { ...npmEnvironment(), npm_config_prefix: prefix },
    });
    const version = await runBounded(join(prefix, 'bin/mcp-shell-server'), ['--version']);
    expect(version.trim()).toBe(VERSION);
    const page = readFileSync(join(prefix, 'share/man/man1/mcp-shell-server.1'), 'utf8');
    expect(page).toMatch(/^\.TH /m);
  });
});

interface Manifest {
  readonly name: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly private?: boolean;
}

/** Of every package that was installed. */
function manifests(): Manifest[] {
  return packagesBelow(join(project, 'node_modules')).map(
    (directory) => JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest,
  );
}

function packagesBelow(modules: string): string[] {
  if (!existsSync(modules)) return [];
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((part) => join(name, part)) : [name],
    )
    .map((name) => join(modules, name))
    .flatMap((directory) => [directory, ...packagesBelow(join(directory, 'node_modules'))]);
}

function sizeOf(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((total, entry) => total + statSync(join(entry.parentPath, entry.name)).size, 0);
}
