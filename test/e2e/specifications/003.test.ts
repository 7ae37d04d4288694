/** Every example of specification 003 (`shell_exec` on any shell), under its heading. gh is a fixture. */
import { spawnSync } from 'node:child_process';
import { hostname, userInfo } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withPrograms } from '../support/fixture-programs.ts';
import { createPlace, type Place, type Product } from '../support/product.ts';
import { openProduct } from '../support/product-here.ts';
import { startRaw } from '../support/raw-process.ts';

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

async function start(args: readonly string[] = [], programs: Record<string, string> = {}): Promise<Product> {
  product = await openProduct({
    place,
    args: ['--tools', 'simple', ...args],
    env: withPrograms(place, programs),
  });
  return product;
}

/** As the examples write a call. */
const use = ({ call }: Product, example: { name: string; parameters: Record<string, unknown> }) =>
  call(example.name, example.parameters);

describe('003: Usage Examples', () => {
  test('Basic Command Execution', async () => {
    const answer = await use(await start(), {
      name: 'shell_exec',
      parameters: { command: 'echo Hello, World!' },
    });
    expect(answer).toMatchObject({ text: 'Hello, World!', isError: false });
  });

  test('Multi-line Command (Heredoc) Execution', async () => {
    const answer = await use(await start(), {
      name: 'shell_exec',
      parameters: {
        command:
          "cat << EOF | grep 'example'\nThis is an example text.\nAnother line without the keyword.\nEOF",
      },
    });
    expect(answer).toMatchObject({ text: 'This is an example text.', isError: false });
  });

  test('GitHub Pull Request Creation (Complex Example)', async () => {
    const gh = 'printf "%s|" "$@"; echo; cat';
    const body =
      '## Summary\nThis is a PR for a new feature.\n\n## Changes\n- Feature A: Add login functionality\n- Feature B: Profile editing functionality\n\n## Tested Items\n- [x] Unit tests\n- [x] Integration tests';
    const answer = await use(await start([], { gh }), {
      name: 'shell_exec',
      parameters: {
        command: `cat << EOF | gh pr create --title "New Feature" --body-file -\n${body}\nEOF`,
      },
    });
    expect(answer.text).toBe(`pr|create|--title|New Feature|--body-file|-|\n${body}`);
  });
});

describe('003: Error Handling', () => {
  test('Command execution failure: error message and details', async () => {
    const { call } = await start();
    expect(await call('shell_exec', { command: 'echo why >&2; exit 3' })).toMatchObject({
      isError: true,
      text: 'Command failed with exit code 3\n[stderr]\nwhy',
      data: { exitCode: 3, stderr: 'why', success: false },
    });
  });

  test('Invalid parameters: InvalidParameters', async () => {
    const { call } = await start();
    expect((await call('shell_exec', { comand: 'ls' })).data.error).toMatchObject({
      details: { name: 'InvalidParameters' },
    });
  });

  test('Non-existent tool invocation: ToolNotFound', async () => {
    const { client } = await start();
    await expect(client.callTool('shell_run', { command: 'ls' })).rejects.toMatchObject({
      code: -32602,
      data: { name: 'ToolNotFound' },
    });
  });
});

describe('003: Shell Configuration and Server Information', () => {
  test('-s, --shell', async () => {
    for (const flag of ['-s', '--shell']) {
      const { call, close } = await start([flag, '/bin/sh']);
      expect((await call('shell_exec', { command: 'echo $0' })).text).toBe('/bin/sh');
      await close();
    }
    product = undefined;
  });

  test('-h, --help and -V, --version', () => {
    for (const [flag, says] of [
      ['-h', /Usage/],
      ['--help', /Usage/],
      ['-V', /^\d+\.\d+\.\d+\n$/],
      ['--version', /^\d+\.\d+\.\d+\n$/],
    ] as const) {
      const { command, args, env } = place.command([flag]);
      const { status, stdout } = spawnSync(command, args, { env: { ...env }, encoding: 'utf8' });
      expect({ status, isSaid: says.test(stdout) }, flag).toEqual({ status: 0, isSaid: true });
    }
  });

  test('shell, platform, hostname and username are shown at startup', async () => {
    const server = startRaw(place.command(['--tools', 'simple']));
    server.end();
    await server.rest();
    expect(JSON.parse(server.stderr().split('\n')[0] ?? '')).toMatchObject({
      shell: '/bin/bash',
      platform: expect.stringContaining(process.platform),
      host: hostname(),
      user: userInfo().username,
    });
  });
});
