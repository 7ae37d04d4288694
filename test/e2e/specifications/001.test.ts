/**
 * Every example of specification 001 (an allow-list server over JSON-RPC), under its heading. npm and git are fixtures
 * that print what the examples show.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectStdio } from '../support/clients.ts';
import { withPrograms } from '../support/fixture-programs.ts';
import { CLI, createPlace, type Place } from '../support/product.ts';
import { openRaw, type RawHere } from '../support/product-here.ts';

let place: Place;
beforeEach(() => {
  place = createPlace();
});
const started: RawHere[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.leave();
  place.remove();
});

const PROGRAMS = {
  npm: `case "$*" in
install) echo "added 245 packages";;
test) echo "✓ All tests passed";;
"run dev") echo "Server running";;
"run build") echo "built for $NODE_ENV";;
esac`,
  git: 'echo "On branch main"; echo "nothing to commit"',
  yarn: 'echo "yarn $*"',
};

/** 001's own table, where the preset that has it would not show the fixtures. */
const TABLE = `[security.allowed_arguments]
npm = ["install", "test", "run", "build", "start", "dev", "lint"]
node = ["--version"]
git = ["status", "log", "--version"]
ls = ["-la", "-l"]
cat = []
echo = []
`;

/** Lines in, lines out, as a pipe in a shell has them. */
async function pipe(
  line: unknown,
  toml = TABLE,
  { args = [], programs = PROGRAMS }: { args?: readonly string[]; programs?: Record<string, string> } = {},
): Promise<unknown[]> {
  const file = join(place.directory, 'settings.toml');
  writeFileSync(file, toml);
  const server = openRaw(place.command(['--config', file, ...args], withPrograms(place, programs)));
  started.push(server);
  if (line !== undefined) server.write(typeof line === 'string' ? `${line}\n` : `${JSON.stringify(line)}\n`);
  server.end();
  const { messages, code } = await server.rest();
  expect(code).toBe(0);
  return messages;
}

const errorOf = async (command: string, args: string[] = [], toml = TABLE): Promise<unknown> => {
  const [answer] = await pipe(
    { jsonrpc: '2.0', id: 1, method: 'shell/exec', params: { command, args } },
    toml,
  );
  return answer;
};

test('001: Initialization', async () => {
  expect(await pipe(undefined, TABLE, { args: ['--greeting'] })).toEqual([
    {
      jsonrpc: '2.0',
      id: null,
      result: {
        protocolVersion: '2024-11-05',
        capabilities: {
          tools: [
            { name: 'shell_exec', description: 'Execute allowed shell commands' },
            { name: 'shell_allowed', description: 'List allowed commands' },
          ],
        },
      },
    },
  ]);
});

describe('001: Methods', () => {
  test('shell/exec - Execute Command', async () => {
    const params = { command: 'npm', args: ['install'], cwd: place.work };
    const programs = { npm: 'echo "added 245 packages from 789 contributors"' };
    expect(await pipe({ jsonrpc: '2.0', id: 1, method: 'shell/exec', params }, TABLE, { programs })).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          command: 'npm install',
          exitCode: 0,
          stdout: 'added 245 packages from 789 contributors',
          stderr: '',
          success: true,
        },
      },
    ]);
  });

  test('shell/allowed - List Allowed Commands', async () => {
    const answer = {
      jsonrpc: '2.0',
      id: 2,
      result: {
        allowedCommands: {
          npm: ['install', 'test', 'run', 'build', 'start', 'dev', 'lint'],
          node: ['--version'],
          git: ['status', 'log', '--version'],
          ls: ['-la', '-l'],
          cat: [],
          echo: [],
        },
      },
    };
    const asked = { jsonrpc: '2.0', id: 2, method: 'shell/allowed' };
    expect(await pipe(asked, '[security]\npreset = "minimal"\n')).toEqual([answer]);
    expect(await pipe(asked)).toEqual([answer]);
  });
});

describe('001: Error Handling', () => {
  test('Error Response Format', async () => {
    const answer = { jsonrpc: '2.0', id: 1, error: { code: -32000, message: "Command 'rm' not allowed" } };
    expect(await errorOf('rm', ['-rf', 'x'])).toEqual(answer);
    expect(await errorOf('rm', ['x'], '[security]\npreset = "minimal"\n')).toEqual(answer);
  });

  test('Security Errors', async () => {
    expect(await errorOf('git', ['push'])).toMatchObject({
      error: { code: -32000, message: "Command 'git' with argument 'push' not allowed" },
    });
    const slow = 'limits.shell_exec_seconds = 1\n[security.allowed_arguments]\nsleep = []\n';
    expect(await errorOf('sleep', ['60'], slow)).toMatchObject({
      error: { code: -32000, message: 'Command timeout after 1 seconds' },
    });
    expect(await errorOf('missing', [], '[security.allowed_arguments]\nmissing = []\n')).toMatchObject({
      error: { code: -32000, message: expect.stringMatching(/^Command execution failed: /) },
    });
  });

  test('the limit is 30 seconds where nobody says otherwise', () => {
    const { command, args, env, cwd } = place.command(['config', 'show', '--json']);
    const shown = JSON.parse(execFileSync(command, args, { env: { ...env }, cwd, encoding: 'utf8' })) as {
      settings: unknown[];
    };
    expect(shown.settings).toContainEqual({ key: 'limits.shell_exec_seconds', value: 30, source: 'default' });
  });
});

describe('001: Usage Examples', () => {
  const EXAMPLES: [heading: string, request: string, response: string][] = [
    [
      'Installing Dependencies',
      '{"jsonrpc":"2.0","id":1,"method":"shell/exec","params":{"command":"npm","args":["install"]}}',
      '{"jsonrpc":"2.0","id":1,"result":{"command":"npm install","exitCode":0,"stdout":"added 245 packages","stderr":"","success":true}}',
    ],
    [
      'Running Tests',
      '{"jsonrpc":"2.0","id":2,"method":"shell/exec","params":{"command":"npm","args":["test"]}}',
      '{"jsonrpc":"2.0","id":2,"result":{"command":"npm test","exitCode":0,"stdout":"✓ All tests passed","stderr":"","success":true}}',
    ],
    [
      'Starting a Development Script',
      '{"jsonrpc":"2.0","id":3,"method":"shell/exec","params":{"command":"npm","args":["run","dev"]}}',
      '{"jsonrpc":"2.0","id":3,"result":{"command":"npm run dev","exitCode":0,"stdout":"Server running","stderr":"","success":true}}',
    ],
    [
      'Checking Project Status',
      '{"jsonrpc":"2.0","id":4,"method":"shell/exec","params":{"command":"git","args":["status"]}}',
      '{"jsonrpc":"2.0","id":4,"result":{"command":"git status","exitCode":0,"stdout":"On branch main\\nnothing to commit","stderr":"","success":true}}',
    ],
  ];
  test.for(EXAMPLES)('%s', async ([, request, response]) => {
    expect(await pipe(request)).toEqual([JSON.parse(response)]);
  });
});

test('001: Security Features, Command Validation', async () => {
  expect(await errorOf('NPM', ['Install'])).toMatchObject({
    error: { message: "Command 'npm' with argument 'Install' not allowed" },
  });
  expect(await errorOf('NPM', ['install'])).toMatchObject({ result: { stdout: 'added 245 packages' } });
  expect(await errorOf('npm')).toMatchObject({ result: { command: 'npm', success: true } });
  expect(await errorOf('echo', ['any', '-thing'])).toMatchObject({ result: { stdout: 'any -thing' } });
});

test('001: Integration with Claude Desktop, Configuration Example', async () => {
  // What the container does, a fixture does: it starts the server on the directory that -v names.
  const env = withPrograms(place, {
    docker: `for word; do case "$word" in *:/workspace) cd "\${word%:/workspace}";; esac; done
exec ${process.execPath} ${CLI} --tools simple`,
  });
  const workspace = join(place.work, 'workspace');
  mkdirSync(workspace);
  const config = {
    mcpServers: {
      shell: {
        command: 'docker',
        args: ['run', '--rm', '-i', '-v', `${workspace}:/workspace`, 'mcp-shell-server'],
      },
    },
  };
  const { args } = config.mcpServers.shell;
  const server = { ...place.command([], env), command: join(place.work, '.bin/docker'), args };
  const client = await connectStdio('sdk 1.32', server);
  const answer = await client.callTool('shell_exec', { command: 'pwd', args: [] });
  expect(answer.structuredContent).toMatchObject({ stdout: workspace, success: true });
  await client.close();
});

describe('001: Common Workflows, Project Workflow', () => {
  const STEPS: [name: string, args: string[], stdout: string][] = [
    ['Install dependencies', ['install'], 'added 245 packages'],
    ['Run development script', ['run', 'dev'], 'Server running'],
    ['Run tests', ['test'], '✓ All tests passed'],
    ['Build for production', ['run', 'build'], 'built for '],
  ];
  test.for(STEPS)('%s', async ([, args, stdout]) => {
    const [answer] = await pipe({
      jsonrpc: '2.0',
      id: 1,
      method: 'shell/exec',
      params: { command: 'npm', args },
    });
    expect((answer as { result: { stdout: string } }).result.stdout.trimEnd()).toBe(stdout.trimEnd());
  });
});

describe('001: Development Notes', () => {
  test('Adding New Commands', async () => {
    const toml = `${TABLE}yarn = ["install", "test", "build"]\ndocker = ["--version"]\nkubectl = ["get", "describe"]\n`;
    expect(await errorOf('yarn', ['install'], toml)).toMatchObject({ result: { stdout: 'yarn install' } });
    expect(await errorOf('kubectl', ['delete'], toml)).toMatchObject({
      error: { message: "Command 'kubectl' with argument 'delete' not allowed" },
    });
  });

  test('Environment Variables', async () => {
    const params = { command: 'npm', args: ['run', 'build'], env: { NODE_ENV: 'production' } };
    expect(await pipe({ jsonrpc: '2.0', id: 1, method: 'shell/exec', params })).toMatchObject([
      { result: { stdout: 'built for production' } },
    ]);
  });
});

test('001: Troubleshooting, Debugging', async () => {
  const server = openRaw(place.command([], { DEBUG: 'mcp-shell' }));
  started.push(server);
  server.say({ jsonrpc: '2.0', id: 1, method: 'shell/exec', params: { command: 'no-such' } });
  server.end();
  await server.rest();
  expect(server.stderr()).toContain('"level":"debug"');
});
