import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { createToken } from './support/principals.ts';
import { createPlace, type Place, type Product } from './support/product.ts';
import { openProduct as open } from './support/product-here.ts';

let place: Place;
beforeEach(() => {
  place = createPlace();
});
const products: Product[] = [];
afterEach(async () => {
  for (const product of products.splice(0)) await product.close();
  place.remove();
});

async function openProduct(options: Parameters<typeof open>[0]): Promise<Product> {
  const product = await open(options);
  products.push(product);
  return product;
}

const tighten = (product: Product, wish: Record<string, unknown>) =>
  product.call('security_set_restrictions', wish);
const auditText = (): string =>
  readdirSync(join(place.stateDir, 'audit'))
    .map((name) => readFileSync(join(place.stateDir, 'audit', name), 'utf8'))
    .join('');

describe('without any setting', () => {
  let product: Product;
  beforeAll(async () => {
    product = await open();
  });
  afterAll(() => product.close());

  test.for(['rm -rf /', 'sudo rm -rf "$HOME"', ':(){ :|:& };:', 'mkfs.ext4 /dev/sda1', 'echo x > /dev/sda'])(
    'what is recognised as destructive is refused: %s',
    async (command) => {
      const { data } = await product.execute(command);
      expect(data.error).toMatchObject({
        code: 'SECURITY_001',
        details: { rule: expect.stringMatching(/^destructive/) },
      });
    },
  );

  test('what is recognised as destructive is text where it is text', async () => {
    expect((await product.execute('echo "rm -rf /"')).data).toMatchObject({ stdout: 'rm -rf /\n' });
  });

  test.for(['LD_PRELOAD', 'BASH_ENV', 'LD_AUDIT'])(
    '%s from a caller is refused in every mode',
    async (name) => {
      const { data } = await product.execute('true', { environment_variables: { [name]: '/tmp/x' } });
      expect(data.error).toMatchObject({ code: 'SECURITY_003' });
    },
  );
});

describe('an allow-list', () => {
  test('lets nothing else run, whatever it is wrapped in, and says which part met which rule', async () => {
    const product = await openProduct({
      place,
      env: { MCP_SHELL_SECURITY_ALLOWED_COMMANDS: 'ls,git status,echo' },
    });
    expect((await product.execute('echo a && ls')).data.status).toBe('completed');
    for (const command of [
      'touch x',
      'ls; touch x',
      'echo $(touch x)',
      'ls | xargs touch',
      'bash -c "touch x"',
      '$CMD x',
    ]) {
      const { data } = await product.execute(command);
      expect(data.error, command).toMatchObject({
        code: 'SECURITY_003',
        details: { rule: expect.any(String) },
      });
    }
    expect(existsSync(join(place.work, 'x'))).toBe(false);
    expect(auditText()).toContain('"event":"execution_denied"');
  });

  test.skipIf(needs('zsh'))('is judged by the grammar of bash, and that is what runs', async () => {
    const product = await openProduct({
      place,
      args: ['--shell', '/bin/zsh'],
      env: { MCP_SHELL_SECURITY_ALLOWED_COMMANDS: 'echo' },
    });
    expect((await product.execute('echo "$BASH_VERSION"')).data.stdout).toMatch(/^\d/);
  });

  test.skipIf(needs('zsh'))(
    'of blocked commands is judged so as well, and the answer says it once',
    async () => {
      const product = await openProduct({
        place,
        args: ['--shell', '/bin/zsh'],
        env: { MCP_SHELL_SECURITY_BLOCKED_COMMANDS: 'touch' },
      });
      const first = await product.execute('=touch x');
      expect(first.data).toMatchObject({ exit_code: 127, message: expect.stringContaining('/bin/bash') });
      expect((await product.execute('echo "$BASH_VERSION"')).data.message).toBeUndefined();
      expect(existsSync(join(place.work, 'x'))).toBe(false);
      // A terminal for which no shell is named has the same one.
      const { data } = await product.call('terminal_create', {});
      expect(data).toMatchObject({ shell_type: 'bash' });
    },
  );

  test('does not take variables that change what its programs do', async () => {
    const product = await openProduct({ place, env: { MCP_SHELL_SECURITY_ALLOWED_COMMANDS: 'git status' } });
    const { data } = await product.execute('git status', {
      environment_variables: { GIT_SSH_COMMAND: 'touch x' },
    });
    expect(data.error).toMatchObject({ code: 'SECURITY_003' });
    const path = await product.execute('git status', { environment_variables: { PATH: place.work } });
    expect(path.data.error).toMatchObject({ code: 'SECURITY_003' });
  });
});

describe('restrictions of a caller', () => {
  test('get tighter, and hold from then on', async () => {
    const product = await openProduct({ place });
    const { data } = await tighten(product, { blocked_commands: ['git push'], max_execution_time: 60 });
    expect(data).toMatchObject({
      active: true,
      restrictions: {
        blocked_commands: ['git push'],
        max_execution_time: 60,
        security_preset: 'development',
      },
      changes: expect.arrayContaining([{ parameter: 'max_execution_time', to: '60' }]),
    });
    expect((await product.execute('git push origin main')).data.error).toMatchObject({
      code: 'SECURITY_003',
    });
    expect((await product.execute('git --version')).data.status).toBe('completed');
    expect(auditText()).toContain('restrictions_tightened');
  });

  test.for<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['the network', { enable_network: false }, { enable_network: true }],
    ['the preset', { security_preset: 'sandbox' }, { security_preset: 'development' }],
    ['a time', { max_execution_time: 10 }, { max_execution_time: 11 }],
    ['memory', { max_memory_mb: 100 }, { max_memory_mb: 101 }],
    ['the list', { allowed_commands: ['ls'] }, { allowed_commands: ['ls', 'cat'] }],
    ['the mode', { security_mode: 'restrictive' }, { security_mode: 'permissive' }],
  ])('are never loosened again: %s', async ([, first, second]) => {
    const product = await openProduct({ place });
    expect((await tighten(product, first)).data.active).toBe(true);
    const before = (await tighten(product, {})).data.restrictions;
    expect((await tighten(product, second)).data.error).toMatchObject({ code: 'AUTH_003' });
    expect((await tighten(product, {})).data.restrictions).toEqual(before);
    expect(auditText()).toContain('restrictions_refused');
  });

  test('reach the sandbox: another preset, no network, fewer directories', async () => {
    mkdirSync(join(place.work, 'inner'));
    const product = await openProduct({ place });
    await tighten(product, { allowed_directories: [join(place.work, 'inner')] });
    expect((await product.execute('pwd')).data.error).toMatchObject({ code: 'SECURITY_002' });
    const inside = { working_directory: join(place.work, 'inner') };
    expect((await product.execute('touch here && ls', inside)).data.stdout).toBe('here\n');
    // What the policy cannot see, the sandbox stops.
    await product.execute('d=$(echo ..); touch "$d"/outside', inside);
    expect(existsSync(join(place.work, 'outside'))).toBe(false);
    await tighten(product, { security_preset: 'sandbox' });
    expect((await product.execute('echo $HOME', inside)).data.stdout).toBe('/tmp\n');
  });

  test('cannot be read where they make no sense', async () => {
    const product = await openProduct({ place });
    expect((await tighten(product, { allowed_commands: ['/(/'] })).data.error).toMatchObject({
      code: 'PARAM_002',
    });
    expect((await tighten(product, { max_memory_mb: 0 })).data.error.code).toMatch(/^PARAM/);
  });
});

describe('settings', () => {
  const examine = (text: string) => {
    const file = join(place.work, '..', 'server.toml');
    writeFileSync(file, text);
    const { command, args, env } = place.command();
    return spawnSync(command, [...args, '--config', file, 'doctor'], {
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    });
  };

  test('whose examples are not met do not start', () => {
    const { status, stderr } = examine(
      '[security]\nblocked_commands = [{ entry = "rm -rf", match = ["ls"] }]\n',
    );
    expect(status).toBe(1);
    expect(stderr).toContain('does not match its example "ls"');
  });

  test('with an interpreter in the allow-list start with a warning', () => {
    const { stdout } = examine('[security]\nallowed_commands = ["python3"]\n');
    expect(stdout).toContain('"python3" can run any code');
  });
});

describe('policy explain', () => {
  const explain = (args: string[], input?: string) => {
    const { command, args: before, cwd, env } = place.command();
    return spawnSync(command, [...before, 'policy', 'explain', ...args], {
      cwd,
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
      ...(input !== undefined && { input }),
    });
  };

  test('names every command, the rule and the reason, and runs nothing', () => {
    const { status, stdout } = explain(['cat x | xargs rm -rf /; touch made']);
    expect(status).toBe(1);
    expect(stdout).toContain('DENY (SECURITY_001)');
    expect(stdout).toContain('touch made');
    expect(existsSync(join(place.work, 'made'))).toBe(false);
  });

  test('answers lines of JSON with lines of JSON', () => {
    const lines = ['{"command":"ls"}', 'no json', '{"command":"rm -rf /"}'].join('\n');
    const answers = explain(['-'], lines)
      .stdout.trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { command: 'ls', decision: 'allow', commands: [{ argv: ['ls'] }] },
      { error: expect.any(String) },
      { decision: 'deny', code: 'SECURITY_001' },
    ]);
  });

  test('decides by what the tokens of a principal open', async () => {
    await createToken(place, 'reader', ['--read-only']);
    await createToken(place, 'lister', ['--tools', 'process_list']);
    await createToken(place, 'runner', ['--tools', 'shell_execute']);
    await createToken(place, 'worker');
    // With several it calls by the one that opens most.
    await createToken(place, 'viewer', ['--principal', 'worker', '--read-only']);
    const asked = [
      ['reader', undefined, 'deny AUTH_003'],
      ['lister', undefined, 'deny AUTH_003'],
      ['lister', 'shell_execute', 'deny AUTH_003'],
      ['lister', 'process_list', 'allow undefined'],
      ['runner', undefined, 'allow undefined'],
      ['worker', 'shell_execute', 'allow undefined'],
      ['nobody', undefined, 'allow undefined'],
    ] as const;
    const lines = asked.map(([principal, tool]) => JSON.stringify({ command: 'ls', principal, tool }));
    const answers = explain(['-'], lines.join('\n')).stdout.trim().split('\n');
    const decided = answers
      .map((line) => JSON.parse(line))
      .map(({ decision, code }) => `${decision} ${code}`);
    expect(decided).toEqual(asked.map(([, , expected]) => expected));
  });

  test('decides in the default directory that a principal has set in a server that runs', async () => {
    mkdirSync(join(place.work, 'inner', 'most'), { recursive: true });
    const product = await openProduct({ place });
    // Of the home directory, unless it is further in.
    const removal = 'rm -rf ..';
    const explained = (...args: string[]) => explain([...args, removal]).stdout.split(' ')[0];
    expect([(await product.execute(removal)).data.error?.code, explained('--principal', 'local')]).toEqual([
      'SECURITY_001',
      'DENY',
    ]);
    for (const directory of ['inner', 'most'])
      await product.call('shell_set_default_workdir', { working_directory: directory });
    expect([explained('--principal', 'local'), explained('--principal', 'other'), explained()]).toEqual([
      'ALLOW:',
      'DENY',
      'DENY',
    ]);
    expect((await product.execute(removal)).data.error).toBeUndefined();
    await product.close();
    expect(explained('--principal', 'local')).toBe('DENY');
  });

  test('shows no control characters', () => {
    const { stdout } = explain([`echo $'\u001b[31m'; ls \u001b[2J`]);
    expect(stdout).not.toContain('\u001b');
  });

  test.each(['$t M', 'eval "$x"', 'trap "" INT', 'echo $((x))'])(
    'says what is typed of a line whose variables came with others: %s',
    (line) => {
      writeFileSync(join(place.directory, 'config.toml'), '[security]\nblocked_commands = ["touch"]\n');
      const options = ['--config', join(place.directory, 'config.toml'), line];
      expect(explain(options).stdout).toMatch(/^ALLOW/);
      expect(explain(['--tool', 'terminal_send_input', ...options]).stdout).toMatch(/^DENY/);
    },
  );

  test('ends with 0 where it would run', () => {
    expect(explain(['--json', 'git status']).status).toBe(0);
    const { command, args } = place.command();
    expect(execFileSync(command, [...args, '--help'], { encoding: 'utf8' })).toContain('policy');
  });
});
