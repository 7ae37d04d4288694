/**
 * Every example of specification 000 (the one tool `shell`), under its heading. Paths of the examples are those of the
 * test, programs that a machine may not have are fixtures, and where an example waits for minutes it waits seconds.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withPrograms } from '../support/fixture-programs.ts';
import { createPlace, type Place, type Product } from '../support/product.ts';
import { openProduct } from '../support/product-here.ts';

let place: Place;
let product: Product | undefined;
beforeEach(() => {
  place = createPlace();
});
afterEach(async () => {
  await product?.close();
  product = undefined;
  place.remove();
});

async function start(programs: Record<string, string> = {}, toml = ''): Promise<Product> {
  const file = join(place.directory, 'settings.toml');
  writeFileSync(file, toml);
  const env = withPrograms(place, programs);
  product = await openProduct({ place, env, args: ['--tools', 'shell', '--config', file] });
  return product;
}

test('000: Tool Definition, Parameters', async () => {
  const { client } = await start();
  const [tool] = await client.listTools();
  expect(tool?.name).toBe('shell');
  expect(tool?.inputSchema).toMatchObject({
    type: 'object',
    properties: {
      command: { type: 'string', description: 'The shell command to execute', minLength: 1 },
      working_directory: {
        type: 'string',
        description: 'Working directory for command execution (optional, defaults to current directory)',
      },
      timeout: {
        type: 'integer',
        description: 'Command timeout in seconds (optional, defaults to 300 seconds / 5 minutes)',
        minimum: 1,
        maximum: 1800,
        default: 300,
      },
      environment: {
        type: 'object',
        description: 'Additional environment variables to set (optional)',
        additionalProperties: { type: 'string' },
      },
    },
    required: ['command'],
  });
});

describe('000: Response Format', () => {
  test('Successful Execution', async () => {
    const { client } = await start({
      ls: 'echo "total 8"; echo "drwxr-xr-x  3 user  staff   96 Jan 15 10:30 ."',
    });
    const metadata = {
      command: 'ls -la',
      exit_code: 0,
      stdout: 'total 8\ndrwxr-xr-x  3 user  staff   96 Jan 15 10:30 .\n',
      stderr: '',
      execution_time_ms: expect.any(Number),
      working_directory: place.work,
    };
    const answer = await client.callTool('shell', { command: 'ls -la' });
    expect(answer.content[0]).toEqual({ type: 'text', text: 'Command executed successfully' });
    expect(answer.isError ?? false).toBe(false);
    expect(answer).toMatchObject({ structuredContent: metadata, _meta: metadata });
  });

  test('Command Failure', async () => {
    const { client } = await start({ ls: 'echo "ls: $1: No such file or directory" >&2; exit 1' });
    const metadata = {
      command: 'ls /nonexistent',
      exit_code: 1,
      stdout: '',
      stderr: 'ls: /nonexistent: No such file or directory\n',
      execution_time_ms: expect.any(Number),
      working_directory: place.work,
    };
    const answer = await client.callTool('shell', { command: 'ls /nonexistent' });
    expect(answer.content[0]).toEqual({ type: 'text', text: 'Command failed with exit code 1' });
    expect(answer).toMatchObject({ isError: true, structuredContent: metadata, _meta: metadata });
  });

  test('Timeout Error', async () => {
    const { client } = await start({ long_running_command: 'echo working; echo slowly >&2; sleep 600' });
    const metadata = {
      command: 'long_running_command',
      timeout_seconds: 3,
      partial_stdout: 'working\n',
      partial_stderr: 'slowly\n',
      working_directory: place.work,
    };
    const answer = await client.callTool('shell', { command: 'long_running_command', timeout: 3 });
    expect(answer.content[0]).toEqual({ type: 'text', text: 'Command timed out after 3 seconds' });
    expect(answer.structuredContent).toEqual(metadata);
    expect(answer).toMatchObject({ isError: true, _meta: metadata });
  });
});

describe('000: Use Cases', () => {
  test('Development Workflow', async () => {
    const { call } = await start({ cargo: 'echo "$1 in $PWD"' });
    const path = join(place.work, 'project');
    mkdirSync(path);
    const { data } = await call('shell', { command: 'cargo test', working_directory: path, timeout: 600 });
    expect(data).toMatchObject({ exit_code: 0, stdout: `test in ${path}\n`, working_directory: path });
  });

  test('System Information', async () => {
    const { call } = await start();
    const { data } = await call('shell', { command: 'uname -a && df -h', timeout: 30 });
    expect(data).toMatchObject({ stdout: expect.stringMatching(/^\w+ [^]*\nFilesystem /) });
  });

  test('Build Automation', async () => {
    const { call } = await start();
    writeFileSync(join(place.work, 'build.sh'), '#!/bin/sh\necho "$1 $RUST_LOG $BUILD_ENV"\n', {
      mode: 0o755,
    });
    const { data } = await call('shell', {
      command: './build.sh --release',
      environment: { RUST_LOG: 'debug', BUILD_ENV: 'production' },
      timeout: 900,
    });
    expect(data).toMatchObject({ exit_code: 0, stdout: '--release debug production\n' });
  });

  test('File Operations', async () => {
    const { call } = await start();
    const source = join(place.work, 'src');
    mkdirSync(join(source, 'inner'), { recursive: true });
    for (const name of ['a.rs', 'inner/b.rs', 'c.txt']) writeFileSync(join(source, name), '');
    const { data } = await call('shell', {
      command: "find . -name '*.rs' -type f | wc -l",
      working_directory: source,
    });
    expect(String(data.stdout).trim()).toBe('2');
  });
});

test('000: Configuration Options, Global Settings', async () => {
  const project = join(place.work, 'project');
  mkdirSync(project);
  const { call } = await start(
    {},
    `[shell_tool]
default_timeout = 300  # seconds
max_timeout = 1800     # seconds
max_output_size = "10MB"
allowed_directories = [${JSON.stringify(project)}, "/tmp"]
blocked_commands = ["rm -rf", "format", "dd"]
log_commands = true
`,
  );
  for (const command of ['rm -rf x', 'rm -r -f x', 'format c:', 'dd if=/dev/zero of=x', 'echo a && dd of=b'])
    expect((await call('shell', { command })).data.error.code, command).toBe('SECURITY_003');
  expect((await call('shell', { command: 'pwd', working_directory: '/usr' })).data.error.code).toBe(
    'SECURITY_002',
  );
  expect((await call('shell', { command: 'echo "rm -rf"', working_directory: project })).data.stdout).toBe(
    'rm -rf\n',
  );
});

describe('000: Error Handling', () => {
  test('Command Not Found', async () => {
    const { call } = await start({ cargo: 'true' });
    const { data } = await call('shell', { command: 'crago test' });
    expect(data).toMatchObject({ exit_code: 127, suggestion: expect.stringContaining('cargo') });
  });

  test('Permission Denied', async () => {
    const { call } = await start();
    writeFileSync(join(place.work, 'tool'), '#!/bin/sh\n', { mode: 0o644 });
    const { data } = await call('shell', { command: './tool' });
    expect(data).toMatchObject({ exit_code: 126, suggestion: expect.stringContaining('chmod +x') });
  });
});
