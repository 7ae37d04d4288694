import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createWorld } from '../../test/support/world.ts';
import { createDirectories as createDirectoriesFor } from './directories.ts';
import { buildEnvironment, checkEnvironment, MARKER_NAME } from './environment.ts';
import {
  createMask,
  isMaskedName,
  isSecretName,
  MASK,
  maskBeginning,
  maskEnvironment,
  maskText,
  secretValues,
} from './secrets.ts';
import { chooseShells, shellArgv } from './shells.ts';

/** As a caller of one principal uses it. */
function createDirectories(allowed: readonly string[] | undefined) {
  const directories = createDirectoriesFor(() => allowed);
  return {
    check: (path: string, relativeTo: string) => directories.check(path, relativeTo, { principal: 'local' }),
  };
}

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'security-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('working directories', () => {
  test('outside the allowed ones are refused, whatever way they are written', () => {
    const allowed = join(directory, 'allowed');
    for (const name of ['allowed', 'allowed/sub', 'allowed-not', 'outside']) mkdirSync(join(directory, name));
    symlinkSync(join(directory, 'outside'), join(allowed, 'link'));
    symlinkSync('..', join(allowed, 'up'));
    const { check } = createDirectories([allowed]);
    expect(check('sub', allowed)).toBe(join(allowed, 'sub'));
    expect(check('sub/..', allowed)).toBe(allowed);
    expect(check('.', join(allowed, 'sub'))).toBe(join(allowed, 'sub'));
    for (const path of [
      '..',
      '../outside',
      '../allowed-not',
      'link',
      'up',
      'up/outside',
      'sub/../..',
      '/',
      directory,
    ]) {
      expect(() => check(path, allowed), path).toThrow(expect.objectContaining({ code: 'SECURITY_002' }));
    }
  });

  test('that are links are resolved once and for all', () => {
    mkdirSync(join(directory, 'real'));
    symlinkSync('real', join(directory, 'link'));
    expect(createDirectories(undefined).check('link', directory)).toBe(join(directory, 'real'));
    expect(createDirectories([join(directory, 'link')]).check('real', directory)).toBe(
      join(directory, 'real'),
    );
  });

  test('that are long and not there are refused at once', () => {
    const { check } = createDirectories(undefined);
    const before = process.cpuUsage();
    expect(() => check(`/${'x/'.repeat(2000)}`, directory)).toThrow(
      expect.objectContaining({ code: 'PARAM_002' }),
    );
    expect(() => check('x'.repeat(50_000), directory)).toThrow(/longer than 4096/);
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });

  test('that are not there or no directories are explained', () => {
    writeFileSync(join(directory, 'file'), '');
    const { check } = createDirectories(undefined);
    expect(() => check('a/b/c', directory)).toThrow(
      expect.objectContaining({
        code: 'PARAM_002',
        hint: `The nearest directory that exists is ${directory}.`,
      }),
    );
    expect(() => check('file', directory)).toThrow(/is a file/);
    expect(() => check('file/below', directory)).toThrow(expect.objectContaining({ code: 'PARAM_002' }));
    expect(check('~', directory)).toBe(realpathSync(homedir()));
  });
});

describe('the environment', () => {
  const parts = {
    mode: 'inherited' as const,
    allowed: [],
    home: undefined,
    isSandboxed: false,
    hasNetwork: true,
    inherited: {},
    path: '/bin',
    shell: '/bin/bash',
    session: new Map<string, string | undefined>(),
    caller: {},
  };

  test('has nothing of the server’s own, and no marker of another execution', () => {
    const environment = buildEnvironment({
      ...parts,
      mode: 'inherited' as const,
      allowed: [],
      home: undefined,
      isSandboxed: false,
      hasNetwork: true,
      inherited: { MCP_SHELL_TOKEN: 'secret', MCP_SHELL_STATE_DIR: '/x', KEPT: 'yes', PATH: '/old' },
      session: new Map([[MARKER_NAME, 'stolen']]),
      caller: { PAGER: 'less' },
    });
    expect(environment).toMatchObject({ KEPT: 'yes', PATH: '/bin', PAGER: 'less', GIT_TERMINAL_PROMPT: '0' });
    expect(Object.keys(environment).filter((name) => name.startsWith('MCP_SHELL_'))).toEqual([]);
  });

  test('loses what npm set to start the server, and keeps what the user told npm', () => {
    const npm = {
      npm_lifecycle_event: 'start',
      npm_package_name: 'x',
      npm_config_local_prefix: '/x',
      INIT_CWD: '/x',
    };
    const under = buildEnvironment({
      ...parts,
      mode: 'inherited' as const,
      allowed: [],
      home: undefined,
      isSandboxed: false,
      hasNetwork: true,
      inherited: { ...npm, npm_config_registry: 'r' },
    });
    expect(Object.keys(under).filter((name) => /^npm_|INIT_CWD/.test(name))).toEqual(['npm_config_registry']);
    const plain = buildEnvironment({
      ...parts,
      mode: 'inherited' as const,
      allowed: [],
      home: undefined,
      isSandboxed: false,
      hasNetwork: true,
      inherited: { npm_config_cache: '/c' },
    });
    expect(plain['npm_config_cache']).toBe('/c');
  });

  test('of the session goes before the inherited, and the caller’s before both', () => {
    const environment = buildEnvironment({
      ...parts,
      mode: 'inherited' as const,
      allowed: [],
      home: undefined,
      isSandboxed: false,
      hasNetwork: true,
      inherited: { A: '1', B: '1', C: '1' },
      session: new Map([
        ['A', '2'],
        ['B', '2'],
        ['C', undefined],
      ]),
      caller: { A: '3' },
    });
    expect(environment).toMatchObject({ A: '3', B: '2' });
    expect('C' in environment).toBe(false);
  });

  const refused: Record<string, Record<string, string>> = {
    'a name with an equals sign': { 'A=B': 'x' },
    'an empty name': { '': 'x' },
    'a digit first': { '1A': 'x' },
    'the server’s own names': { [MARKER_NAME]: 'x' },
    'a value that no execve takes': { A: 'x'.repeat(130 * 1024) },
    'too many': Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`V${index}`, ''])),
    'too much': Object.fromEntries(
      Array.from({ length: 6 }, (_, index) => [`V${index}`, 'x'.repeat(100 * 1024)]),
    ),
  };
  test.for(Object.keys(refused))('refuses %s', (name) => {
    expect(() => checkEnvironment(refused[name] ?? {})).toThrow(
      expect.objectContaining({ code: 'PARAM_002' }),
    );
  });

  test('has no prototype that a caller could reach', () => {
    const caller = JSON.parse('{"__proto__": "x", "constructor": "y"}') as Record<string, string>;
    expect(() => checkEnvironment(caller)).not.toThrow();
    expect(buildEnvironment({ ...parts, caller })['constructor']).toBe('y');
  });
});

describe('secrets', () => {
  test.for([
    ['curl -H "Authorization: Bearer abc.def-123456"', 'curl -H "Authorization: Bearer ***"'],
    ['git clone https://me:hunter2@example.org/x.git', 'git clone https://me:***@example.org/x.git'],
    ['mysql --password=hunter2 -u root', 'mysql --password=*** -u root'],
    ['export GITHUB_TOKEN=ghp_0123456789abcdefghij0123', 'export GITHUB_TOKEN=***'],
    ['aws configure set x AKIAIOSFODNN7EXAMPLE', 'aws configure set x ***'],
    [`echo sk-${'a'.repeat(24)}`, 'echo ***'],
    ['login --token "a b c" now', 'login --token *** now'],
    ['curl -u bob:hunter2 http://a/', 'curl -u bob:*** http://a/'],
    ['/usr/bin/curl -sSubob:hunter2 http://a/', '/usr/bin/curl -sSubob:*** http://a/'],
    ['curl --user bob:hunter2 -U me:too http://a/', 'curl --user bob:*** -U me:*** http://a/'],
    ["curl --proxy-user 'bob:hunter 2;&' x; date", "curl --proxy-user 'bob:***' x; date"],
    ['curl -u "bob:hunter 2" x', 'curl -u "bob:***" x'],
    ['curl -u bob:"hunter 2" x', 'curl -u bob:*** x'],
    ['bash -c "curl -u bob:hunter2 x"', 'bash -c "curl -u bob:*** x"'],
    ['sshpass -p hunter2 ssh -p 22 me@a', 'sshpass -p *** ssh -p 22 me@a'],
    ["sshpass -v -P 'pass word' -p'hunter 2' ssh a", "sshpass -v -P 'pass word' -p*** ssh a"],
    ['mysql -u root -phunter2 shop', 'mysql -u root -p*** shop'],
    ['cd x && mysqldump -p"hunter 2;" shop | gzip', 'cd x && mysqldump -p*** shop | gzip'],
    ["docker run -p80:80 db mariadb-dump -p'hunter2' x", 'docker run -p80:80 db mariadb-dump -p*** x'],
    [`curl -d '{"password":"hunter2","a":1}' x`, `curl -d '{"password":***,"a":1}' x`],
    [
      'curl -d "{\\"user\\":\\"bob\\",\\"apiKey\\": \\"hunter2\\"}" x',
      'curl -d "{\\"user\\":\\"bob\\",\\"apiKey\\": ***}" x',
    ],
    [`{"client_secret" : "hun\\"ter2", "b": "c"}`, `{"client_secret" : ***, "b": "c"}`],
    [`{'access_token': 'hunter2'}`, `{'access_token': ***}`],
    [`{"Authorization": "Basic aHVudGVyMg=="}`, `{"Authorization": "Basic ***"}`],
  ])('%s', ([text = '', masked]) => {
    expect(maskText(text)).toBe(masked);
  });

  test('ordinary text stays as it is', () => {
    for (const text of [
      'npm test',
      'echo hello world',
      'git commit -m "pass the salt"',
      'ls -la --sort=size',
      'cat tokens.txt',
      'curl -o a:b --url http://a:80/ -sSfL http://b:80/x --user-agent a:b',
      'rsync -u host:path . && docker run -u 1000:1000 x',
      'curl http://a/ | docker run -u 1000:1000 -p80:80 x',
      'mysql -u root -p shop -P 3306',
      'sshpass -e ssh -p 2222 host',
      'mkdir -pv a; mysql shop',
      '{"max_tokens": 100, "keys": "a"}',
    ]) {
      expect(maskText(text)).toBe(text);
    }
  });

  test('variables are masked by their names', () => {
    for (const name of [
      'API_KEY',
      'DB_PASSWORD',
      'AWS_SECRET_ACCESS_KEY',
      'NPM_TOKEN',
      'token',
      'MY_SECRET',
    ]) {
      expect(isSecretName(name), name).toBe(true);
    }
    for (const name of ['PATH', 'HOME', 'KEYBOARD', 'AUTHOR', 'MONKEY', 'PASSENGER']) {
      expect(isSecretName(name), name).toBe(false);
    }
    expect(maskEnvironment({ API_KEY: 'x', PLAIN: 'y' })).toEqual({ API_KEY: MASK, PLAIN: 'y' });
  });

  test('names that only end as secrets do are masked, and commands keep them', () => {
    for (const name of ['STRIPE_KEY', 'SSH_KEY', 'GH_PAT', 'stripe_key', 'PAT']) {
      expect(isMaskedName(name), name).toBe(true);
      expect(isSecretName(name), name).toBe(false);
    }
    for (const name of ['SSH_PUBLIC_KEY', 'PRIMARY_KEY', 'KEY', 'MONKEY', 'COMPAT', 'PATH', 'KEY_REPEAT']) {
      expect(isMaskedName(name), name).toBe(false);
    }
    expect(isMaskedName('API_KEY')).toBe(true);
    expect(secretValues({ STRIPE_KEY: 'hunter2222', SSH_PUBLIC_KEY: 'hunter3333', GH_PAT: 'short' })).toEqual(
      ['hunter2222'],
    );
    expect(maskEnvironment({ GH_PAT: 'x' })).toEqual({ GH_PAT: MASK });
  });

  test('a secret is masked before its text is cut', () => {
    const text = `${'x'.repeat(90)} ghp_0123456789abcdefghij0123`;
    expect(maskBeginning(text, 100)).toBe(`${'x'.repeat(90)} ***`);
  });

  test.each([
    ['x hunter2222 x hunter2222', 'x *** x ***'],
    ['a value that begins with another: hunter2222-and-more', 'a value that begins with another: ***'],
    ['signs that patterns are made of: a.b*c(d)e', 'signs that patterns are made of: ***'],
    ['not aXb*c(d)e', 'not aXb*c(d)e'],
    ['hunter222', 'hunter222'],
    ['cd /home/user', 'cd /home/user'],
    ['ghp_0123456789abcdefghij0123 hunter2222', '*** ***'],
  ])('values that are known are masked: %s', (text, masked) => {
    const mask = createMask({
      A_TOKEN: 'hunter2222',
      B_TOKEN: 'hunter2222-and-more',
      C_KEY: 'a.b*c(d)e',
      PWD: '/home/user',
      PLAIN: 'not',
    });
    expect(mask(text)).toBe(masked);
    expect(createMask({ PLAIN: 'not a secret' })('not a secret')).toBe('not a secret');
  });

  test('mask_output knows what the session carries', async () => {
    await using world = createWorld({ settings: { security: { masksOutput: true } } });
    const session = { sessionId: 'deploy' };
    await world.run('export DEPLOY_TOKEN=hunter2222', session);
    expect((await world.run('echo "it is $DEPLOY_TOKEN."', session)).stdout).toBe(`it is ${MASK}.\n`);
    // Both that of the session and the one that hides it.
    const environment = { DEPLOY_TOKEN: 'hunter3333' };
    const both = await world.run('echo hunter2222 $DEPLOY_TOKEN', { ...session, environment });
    expect(both.stdout).toBe(`${MASK} ${MASK}\n`);
  });
});

describe('the audit log', () => {
  test('that is in the way of a file stops what would not be recorded', async () => {
    await using world = createWorld({ directory });
    mkdirSync(world.settings.stateDir, { recursive: true });
    writeFileSync(join(world.settings.stateDir, 'audit'), 'in the way');
    await expect(world.start('touch ran')).rejects.toMatchObject({ code: 'SYSTEM_002' });
    expect(readdirSync(world.settings.defaultWorkdir)).toEqual([]);
  });

  test('reports what ran, how it ended, and what was denied', async () => {
    await using world = createWorld({ directory });
    await world.run('exit 3');
    await expect(world.start('true', { workingDirectory: '/no/such' })).rejects.toThrow(/does not exist/);
    const lines = readdirSync(join(world.settings.stateDir, 'audit')).flatMap((name) =>
      readFileSync(join(world.settings.stateDir, 'audit', name), 'utf8')
        .trimEnd()
        .split('\n'),
    );
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: 'log_opened' },
      {
        event: 'execution_allowed',
        decision: 'allow',
        command: 'exit 3',
        principal: 'local',
        client: 'test',
      },
      {
        event: 'execution_ended',
        command: 'exit 3',
        client: 'test',
        status: 'failed',
        exitCode: 3,
        outputs: [expect.any(String), expect.any(String)],
      },
      { event: 'execution_denied', decision: 'deny', code: 'PARAM_002' },
    ]);
  });
});

describe('shells', () => {
  test('a POSIX $SHELL runs commands, another gives them to bash, and a named one is taken at its word', () => {
    expect(chooseShells(undefined, '/bin/sh')).toEqual({ configured: '/bin/sh', forCommands: '/bin/sh' });
    expect(chooseShells(undefined, undefined)).toEqual({ configured: '/bin/bash', forCommands: '/bin/bash' });
    expect(chooseShells(undefined, '/no/such/shell').forCommands).toBe('/bin/bash');
    expect(chooseShells('/usr/bin/fish', '/bin/sh')).toEqual({
      configured: '/usr/bin/fish',
      forCommands: '/usr/bin/fish',
    });
  });

  test('get the command as one argument that is not quoted again', () => {
    const command = `echo "it's"; echo $(x)`;
    expect(shellArgv('/bin/bash', command)).toEqual([
      '/bin/bash',
      '--norc',
      '--noprofile',
      '-c',
      '--',
      command,
    ]);
    expect(shellArgv('/bin/sh', command)).toEqual(['/bin/sh', '-c', '--', command]);
    expect(shellArgv('C:\\Windows\\System32\\cmd.exe', command).at(-1)).toBe(command);
  });
});
