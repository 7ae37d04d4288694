import { describe, expect, test } from 'vitest';
import { ENVIRONMENT_MODES } from '../base/config/presets.ts';
import { currentUser } from '../base/user.ts';
import {
  buildEnvironment,
  checkDangerous,
  createEnvironments,
  type Environment,
  type EnvironmentParts,
  inheritedValue,
  MARKER_NAME,
  withoutOwn,
} from './environment.ts';

const HOST = {
  PATH: '/host/bin',
  HOME: '/home/me',
  USER: 'me',
  LOGNAME: 'me',
  LANG: 'de_DE.UTF-8',
  LC_TIME: 'C',
  TZ: 'Europe/Vienna',
  TMPDIR: '/host/tmp',
  TMP: '/host/tmp',
  XDG_RUNTIME_DIR: '/run/user/1000',
  EDITOR_THEME: 'dark',
  GITHUB_TOKEN: 'secret-token',
  DB_PASSWORD: 'secret-password',
  AWS_SECRET_ACCESS_KEY: 'secret-key',
  MCP_SHELL_TOKEN: 'own',
};

const NONE: readonly string[] = [];

const build = (changes: Partial<EnvironmentParts> = {}): Environment => buildEnvironment(partsOf(changes));

function partsOf(changes: Partial<EnvironmentParts>): EnvironmentParts {
  return {
    inherited: HOST,
    mode: 'inherited',
    allowed: NONE,
    home: undefined,
    isSandboxed: false,
    hasNetwork: true,
    path: '/bin',
    shell: '/bin/bash',
    session: new Map(),
    caller: {},
    ...changes,
  };
}

/** Of the host's variables, those that a command gets as they are. */
const passedOn = (changes: Partial<EnvironmentParts>): string[] => {
  const environment = build(changes);
  return Object.entries(HOST).flatMap(([name, value]) => (environment[name] === value ? [name] : []));
};

describe('of the server’s own environment a command gets', () => {
  test('all but what is the server’s business, where it is inherited', () => {
    expect(passedOn({ mode: 'inherited' })).toEqual(
      Object.keys(HOST).filter((name) => name !== 'PATH' && name !== 'MCP_SHELL_TOKEN'),
    );
  });

  test('what does not look like a secret, where it is filtered', () => {
    expect(passedOn({ mode: 'filtered' })).toEqual([
      'HOME',
      'USER',
      'LOGNAME',
      'LANG',
      'LC_TIME',
      'TZ',
      'TMPDIR',
      'TMP',
      'XDG_RUNTIME_DIR',
      'EDITOR_THEME',
    ]);
  });

  test('what is common or named, where only allowed variables are', () => {
    expect(passedOn({ mode: 'allowed' })).toEqual(['HOME', 'USER', 'LOGNAME', 'LANG', 'LC_TIME', 'TZ']);
    expect(passedOn({ mode: 'allowed', allowed: ['GITHUB_TOKEN', 'GONE', 'MCP_SHELL_TOKEN'] })).toEqual([
      'HOME',
      'USER',
      'LOGNAME',
      'LANG',
      'LC_TIME',
      'TZ',
      'GITHUB_TOKEN',
    ]);
  });

  test.for(ENVIRONMENT_MODES)('nothing that begins with MCP_SHELL_, %s or not', (mode) => {
    const environment = build({ mode, allowed: ['MCP_SHELL_TOKEN'] });
    expect(Object.keys(environment).filter((name) => name.startsWith('MCP_SHELL_'))).toEqual([]);
  });
});

describe('in every mode', () => {
  test.for(ENVIRONMENT_MODES)('%s: what the caller and the session say holds', (mode) => {
    const environment = build({
      mode,
      session: new Map([
        ['API_TOKEN', 'of the session'],
        ['LANG', undefined],
      ]),
      caller: { DB_PASSWORD: 'of the caller', PATH: '/own' },
    });
    expect(environment).toMatchObject({
      API_TOKEN: 'of the session',
      DB_PASSWORD: 'of the caller',
      PATH: '/own',
    });
    expect(environment).not.toHaveProperty('LANG');
  });

  test.for(ENVIRONMENT_MODES)('%s: there are a home, a user and a language', (mode) => {
    const { username, homedir } = currentUser();
    expect(build({ mode, inherited: {} })).toMatchObject({
      HOME: homedir,
      USER: username,
      LOGNAME: username,
      LANG: 'C.UTF-8',
      PATH: '/bin',
      SHELL: '/bin/bash',
    });
    expect(build({ mode, inherited: { LC_ALL: 'C' } })).not.toHaveProperty('LANG');
  });

  test.for(ENVIRONMENT_MODES)('%s: nothing waits for a person', (mode) => {
    const inherited = { PAGER: 'less', EDITOR: 'vim', GIT_TERMINAL_PROMPT: '1', TERM: 'xterm' };
    expect(build({ mode, inherited })).toMatchObject({
      PAGER: 'cat',
      EDITOR: 'true',
      GIT_TERMINAL_PROMPT: '0',
      TERM: 'dumb',
    });
  });
});

describe('in a sandbox', () => {
  test('the host’s temporary directories are not named: /tmp is another one there', () => {
    const names = ['TMPDIR', 'TMP', 'TEMP', 'TEMPDIR', 'XDG_RUNTIME_DIR'];
    const inherited = Object.fromEntries(names.map((name) => [name, '/host']));
    const of = (isSandboxed: boolean): string[] =>
      Object.keys(build({ inherited, isSandboxed })).filter((name) => names.includes(name));
    expect(of(false)).toEqual(names);
    expect(of(true)).toEqual([]);
  });

  test('the session and the caller may name one', () => {
    const environment = build({
      isSandboxed: true,
      caller: { TMPDIR: '/tmp/own' },
      session: new Map([['TMP', '/tmp/s']]),
    });
    expect(environment).toMatchObject({ TMPDIR: '/tmp/own', TMP: '/tmp/s' });
  });

  test('another home takes the place of the user’s', () => {
    expect(build({ isSandboxed: true, home: '/tmp' })['HOME']).toBe('/tmp');
    expect(build({ isSandboxed: true, home: '/tmp', caller: { HOME: '/x' } })['HOME']).toBe('/x');
  });

  test('tar gives files to nobody else where the server is root, unless the operator has other wishes', () => {
    const isRoot = process.getuid?.() === 0;
    expect(build({ isSandboxed: true })['TAR_OPTIONS']).toBe(isRoot ? '--no-same-owner' : undefined);
    expect(build({ isSandboxed: false })['TAR_OPTIONS']).toBeUndefined();
    expect(build({ isSandboxed: true, inherited: { TAR_OPTIONS: '-v' } })['TAR_OPTIONS']).toBe('-v');
    expect(build({ isSandboxed: true, caller: { TAR_OPTIONS: '-v' } })['TAR_OPTIONS']).toBe('-v');
  });

  test('npm does not try again where there is no network', () => {
    expect(build({ hasNetwork: false })['npm_config_fetch_retries']).toBe('0');
    expect(build({ hasNetwork: true })['npm_config_fetch_retries']).toBeUndefined();
    const inherited = { npm_config_fetch_retries: '5' };
    expect(build({ hasNetwork: false, inherited })['npm_config_fetch_retries']).toBe('5');
  });
});

describe('variables that change what every program runs', () => {
  test.for([
    'LD_PRELOAD',
    'LD_AUDIT',
    'DYLD_INSERT_LIBRARIES',
    'BASH_ENV',
    'SHELLOPTS',
    'BASHOPTS',
    'PS4',
    'PROMPT_COMMAND',
    'INPUTRC',
    'GCONV_PATH',
    'GLIBC_TUNABLES',
  ])('%s is refused and named', (name) => {
    expect(() => checkDangerous({ HARMLESS: 'x', [name]: 'x' })).toThrow(
      expect.objectContaining({
        code: 'SECURITY_003',
        message: `environment_variables must not set ${name}.`,
        details: { parameter: 'environment_variables', variable: name },
      }),
    );
    expect(() => checkDangerous({ [name]: '' })).toThrow(/must not set/);
  });

  test.for([
    'PATH',
    'LD_LIBRARY_PATH',
    'NODE_OPTIONS',
    'PYTHONPATH',
    'PS1',
    'MY_LD_PRELOAD',
    'ld_preload',
    'LD_PRELOAD_X',
  ])('%s is the caller’s own business', (name) => {
    expect(() => checkDangerous({ [name]: 'x' })).not.toThrow();
  });
});

test('without the server’s own names the rest stays', () => {
  expect(withoutOwn({ MCP_SHELL_TOKEN: 'x', [MARKER_NAME]: 'y', MCP_SHEL: 'a', A: 'b' })).toEqual({
    MCP_SHEL: 'a',
    A: 'b',
  });
});

test('cd leads nowhere that the server has been, unless a caller says so', () => {
  const inherited = { ...HOST, OLDPWD: '/etc', CDPATH: '/etc' };
  expect(build({ inherited })).not.toHaveProperty('OLDPWD');
  expect(build({ inherited })).not.toHaveProperty('CDPATH');
  expect(build({ inherited, caller: { CDPATH: '/usr' } })).toMatchObject({ CDPATH: '/usr' });
  const values = ['TZ', 'CDPATH', 'MCP_SHELL_TOKEN', 'NOT_SET'].map((name) =>
    inheritedValue(name, inherited, { mode: 'inherited', allowed: [] }),
  );
  expect(values).toEqual(['Europe/Vienna', undefined, undefined, undefined]);
  expect(inheritedValue('EDITOR_THEME', inherited, { mode: 'allowed', allowed: [] })).toBeUndefined();
});

test('what is the same for two commands is one object, and changes with what it is made of', () => {
  const environmentOf = createEnvironments();
  const ask = (changes: Partial<EnvironmentParts> = {}) => environmentOf(partsOf(changes));
  const first = ask({ caller: { A: '1' } });
  expect(ask({ caller: { A: '1' } })).toBe(first);
  expect(Object.isFrozen(first)).toBe(true);
  for (const changes of [
    {},
    { caller: { A: '2' } },
    { caller: { A: '1', B: '1' } },
    { caller: { A: '1' }, path: '/usr/bin' },
    { caller: { A: '1' }, isSandboxed: true },
    { caller: { A: '1' }, inherited: { ...HOST, A: '0' } },
  ]) {
    expect(ask(changes)).toEqual(build(changes));
    ask({ caller: { A: '1' } });
  }
  const session = new Map<string, string | undefined>();
  expect(ask({ session })).toEqual(build());
  session.set('A', '3');
  expect(ask({ session })).toMatchObject({ A: '3' });
  expect(ask()).not.toHaveProperty('A');
});
