import { chmodSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace, PROJECT_FILE, USER_FILE } from './config.fixture.ts';
import { SETTINGS_FILE_NAME, type SettingFlags } from './config.ts';

const FILE = SETTINGS_FILE_NAME;

/** What is written into the file of the project, and the sentences that come of it. */
const MISTAKEN_FILES: readonly (readonly [name: string, toml: string, mistakes: readonly string[]])[] = [
  // Ranges and types.
  [
    'a number below its range',
    '\n[security]\nmax_execution_time = 0',
    [`security.max_execution_time: must be between 1 and 86400, got 0 (${FILE}:3)`],
  ],
  [
    'a number above its range',
    'security.max_execution_time = 86401',
    [`security.max_execution_time: must be between 1 and 86400, got 86401 (${FILE}:1)`],
  ],
  [
    'a negative number',
    'retention = { max_count = -1 }',
    [`retention.max_count: must be between 1 and 100000, got -1 (${FILE}:1)`],
  ],
  [
    'a fraction',
    '[limits]\nmax_processes = 1.5',
    [`limits.max_processes: must be a whole number, got 1.5 (${FILE}:2)`],
  ],
  [
    'infinity',
    '[limits]\nmax_processes = inf',
    [`limits.max_processes: must be a whole number, got Infinity (${FILE}:2)`],
  ],
  [
    'not a number',
    '[limits]\nmax_processes = nan',
    [`limits.max_processes: must be a whole number, got NaN (${FILE}:2)`],
  ],
  ['a huge number', '[http]\nport = 1e300', [`http.port: must be a whole number, got 1e+300 (${FILE}:2)`]],
  ['a number as text', '[http]\nport = "80"', [`http.port: must be a whole number, got "80" (${FILE}:2)`]],
  ['a truth value', 'shell = true', [`shell: must be a string, got true (${FILE}:1)`]],
  ['a date', 'shell = 1979-05-27', [`shell: must be a string, got "1979-05-27" (${FILE}:1)`]],
  ['text for a list', 'tools = "standard"', [`tools: must be a list of strings, got "standard" (${FILE}:1)`]],
  ['an empty list', 'tools = []', [`tools: must name at least one (${FILE}:1)`]],
  [
    'an empty list of directories, which might mean all or none',
    'security.allowed_directories = []',
    [
      `security.allowed_directories: must name at least one directory; leave the key out to allow all (${FILE}:1)`,
    ],
  ],
  [
    'wrong items of a list, each with its line',
    'tools = [\n  "a b",\n  "ok", 3,\n  "",\n]',
    [
      `tools[0]: must be one name without spaces or commas, got "a b" (${FILE}:2)`,
      `tools[2]: must be a string, got 3 (${FILE}:3)`,
      `tools[3]: must not be empty (${FILE}:4)`,
    ],
  ],
  ['a value for a table', 'limits = 3', [`limits: must be a table, got 3 (${FILE}:1)`]],
  [
    'a list for a table',
    '[[limits]]\nmax_processes = 3',
    [`limits: must be a table, got [{"max_processes":3}] (${FILE}:1)`],
  ],
  ['a table for a value', '[shell]\npath = "x"', [`shell: must be a string, got {"path":"x"} (${FILE}:1)`]],
  ['an empty path', 'state_dir = ""', [`state_dir: must not be empty (${FILE}:1)`]],
  [
    'a NUL in a path',
    'state_dir = "/a\\u0000b"',
    [`state_dir: must not contain a NUL character, got "/a\\u0000b" (${FILE}:1)`],
  ],
  [
    'the home of another user',
    'state_dir = "~root/x"',
    [
      `state_dir: must not name another user's home directory (~ alone is your own), got "~root/x" (${FILE}:1)`,
    ],
  ],
  [
    'an address for a host',
    '[http]\nhost = "http://localhost"',
    [
      `http.host: must be a host name or an IP address, without brackets or port, got "http://localhost" (${FILE}:2)`,
    ],
  ],
  [
    'a long value, of which the message shows the beginning',
    `[http]\nhost = "${'/'.repeat(1000)}"`,
    [
      `http.host: must be a host name or an IP address, without brackets or port, got "${'/'.repeat(59)}… (${FILE}:2)`,
    ],
  ],
  // Unknown keys.
  [
    'a slip in a key',
    '[security]\nmax_exection_time = 5',
    [`security.max_exection_time: unknown key; did you mean security.max_execution_time? (${FILE}:2)`],
  ],
  [
    'a slip in a table',
    '[limit]\nmax_processes = 5',
    [`limit: unknown key; did you mean limits? (${FILE}:1)`],
  ],
  [
    'a key in the wrong table',
    'max_processes = 5',
    [`max_processes: unknown key; did you mean limits.max_processes? (${FILE}:1)`],
  ],
  ['a key that is like no other', 'zzz = 5', [`zzz: unknown key (${FILE}:1)`]],
  [
    'quoted and dotted keys',
    '"limits"."max_processes" = 0\n\'a.b\' = 1\n"" = 2',
    [
      `limits.max_processes: must be between 1 and 1000, got 0 (${FILE}:1)`,
      `"a.b": unknown key (${FILE}:2)`,
      `"": unknown key (${FILE}:3)`,
    ],
  ],
  [
    'a key after text that looks like keys',
    'shell = """\n[limits]\nmax_processes = 1\n"""\n[limits]\nmax_processes = 0\n',
    [`limits.max_processes: must be between 1 and 1000, got 0 (${FILE}:6)`],
  ],
  [
    'a key that reaches for the prototype',
    'a = 1\n__proto__ = 1',
    [`${FILE}:2: not valid TOML: document contains an unsafe property`],
  ],
  [
    'line ends of Windows and a byte order mark',
    '\uFEFF# first\r\n[limits]\r\nmax_processes = 0\r\n',
    [`limits.max_processes: must be between 1 and 1000, got 0 (${FILE}:3)`],
  ],
  // Syntax.
  [
    'a key that is written twice',
    'shell = "a"\nshell = "b"',
    [`${FILE}:2: not valid TOML: trying to redefine an already defined table or value`],
  ],
  [
    'a table that is written twice',
    '[http]\nport = 1\n[limits]\n[http]\n',
    [`${FILE}:4: not valid TOML: trying to redefine an already defined table or value`],
  ],
  ['a value that is missing', 'tools = ["a"]\nshell =\n', [`${FILE}:2: not valid TOML: invalid value`]],
  [
    'a number that loses digits',
    '[http]\nport = 99999999999999999999',
    [`${FILE}:2: not valid TOML: integer value cannot be represented losslessly`],
  ],
];

describe('a mistake in a settings file names its key and its line', () => {
  it.each(MISTAKEN_FILES)('%s', (_name, toml, expected) => {
    const place = createPlace();
    place.write(PROJECT_FILE, toml);
    expect(place.mistakes()).toEqual(expected);
  });
});

describe('a settings file that cannot be read is a mistake', () => {
  const refused = (why: string) => [`${FILE}: the settings file cannot be read: ${why}`];

  it('where it is a directory', () => {
    const place = createPlace();
    place.makeDirectory(PROJECT_FILE);
    expect(place.mistakes()).toEqual(refused('it is not a regular file'));
  });

  it('where it is a device, which would be read for ever', () => {
    const place = createPlace();
    place.link(PROJECT_FILE, '/dev/zero');
    expect(place.mistakes()).toEqual(refused('it is not a regular file'));
  });

  it('where it is a broken link, or one that goes in a circle', () => {
    const place = createPlace();
    place.link(PROJECT_FILE, 'gone.toml');
    place.makeDirectory('home/.config/mcp-shell-server');
    place.link(USER_FILE, FILE);
    const user = join(place.root, USER_FILE);
    expect(place.mistakes()).toEqual([
      ...refused('ENOENT'),
      `${user}: the settings file cannot be read: ELOOP`,
    ]);
  });

  it('where it is not UTF-8', () => {
    const place = createPlace();
    place.write(PROJECT_FILE, Buffer.from('\uFEFFshell = "a"', 'utf16le'));
    expect(place.mistakes()).toEqual(refused('it is not UTF-8'));
  });

  it('where it is larger than settings ever are', () => {
    const place = createPlace();
    place.write(PROJECT_FILE, '#'.repeat(1024 * 1024 + 1));
    expect(place.mistakes()).toEqual(refused('it has more than 1024 KiB'));
  });

  it('where the operator named it and it is not there', () => {
    const place = createPlace();
    const file = join(place.project, 'gone.toml');
    expect(place.mistakes({ flags: { config: 'gone.toml' } })).toEqual([
      'gone.toml: the settings file cannot be read: ENOENT',
    ]);
    expect(place.mistakes({ environment: { MCP_SHELL_CONFIG: file } })).toEqual([
      'gone.toml: the settings file cannot be read: ENOENT',
    ]);
  });

  it.skipIf(process.getuid?.() === 0)('where it may not be opened (skipped for root, who may)', () => {
    const place = createPlace();
    chmodSync(place.write(PROJECT_FILE, ''), 0);
    expect(place.mistakes()).toEqual(refused('EACCES'));
  });
});

describe('a mistake in the environment names its variable', () => {
  it.each<[name: string, environment: Record<string, string>, mistakes: string[]]>([
    [
      'a value out of range',
      { MCP_SHELL_LIMITS_MAX_PROCESSES: '0' },
      ['limits.max_processes: must be between 1 and 1000, got 0 (MCP_SHELL_LIMITS_MAX_PROCESSES)'],
    ],
    [
      'a certificate without its key',
      { MCP_SHELL_HTTP_TLS_CERT: '/cert.pem' },
      ['http.tls_key: is missing: TLS needs both files (MCP_SHELL_HTTP_TLS_CERT)'],
    ],
    [
      'a key without its certificate',
      { MCP_SHELL_HTTP_TLS_KEY: '/key.pem' },
      ['http.tls_cert: is missing: TLS needs both files (MCP_SHELL_HTTP_TLS_KEY)'],
    ],
    [
      'a number with a unit',
      { MCP_SHELL_LIMITS_MAX_OUTPUT_MB: '10MB' },
      ['limits.max_output_mb: must be a whole number, got "10MB" (MCP_SHELL_LIMITS_MAX_OUTPUT_MB)'],
    ],
    [
      'a number in another notation',
      { MCP_SHELL_HTTP_PORT: '0x50' },
      ['http.port: must be a whole number, got "0x50" (MCP_SHELL_HTTP_PORT)'],
    ],
    [
      'an empty value, which must not lift a restriction',
      { MCP_SHELL_ALLOWED_WORKDIRS: ' ' },
      ['security.allowed_directories: must not be empty; leave it out instead (MCP_SHELL_ALLOWED_WORKDIRS)'],
    ],
    [
      'a list of nothing',
      { MCP_SHELL_ALLOWED_WORKDIRS: ' , ,' },
      [
        'security.allowed_directories: must name at least one directory; leave the key out to allow all (MCP_SHELL_ALLOWED_WORKDIRS)',
      ],
    ],
    [
      'a slip in the name',
      { MCP_SHELL_ALOWED_WORKDIRS: '/' },
      ['MCP_SHELL_ALOWED_WORKDIRS: no such setting; did you mean MCP_SHELL_ALLOWED_WORKDIRS? (environment)'],
    ],
    [
      'a name in lower case',
      { mcp_shell_tools: 'all' },
      ['mcp_shell_tools: no such setting; did you mean MCP_SHELL_TOOLS? (environment)'],
    ],
    ['a name like no other', { MCP_SHELL_X: '' }, ['MCP_SHELL_X: no such setting (environment)']],
    [
      'two names for one setting',
      { MCP_SHELL_ALLOWED_WORKDIRS: '/a', MCP_SHELL_SECURITY_ALLOWED_DIRECTORIES: '/b' },
      [
        'security.allowed_directories: is set by two variables; keep one of them (MCP_SHELL_SECURITY_ALLOWED_DIRECTORIES, MCP_SHELL_ALLOWED_WORKDIRS)',
      ],
    ],
    [
      'an empty file name',
      { MCP_SHELL_CONFIG: '' },
      ['config: must not be empty; leave it out instead (MCP_SHELL_CONFIG)'],
    ],
    ['the token, which is no setting', { MCP_SHELL_TOKEN: 'x' }, []],
    ['the mark of a server around this one', { MCP_SHELL_EXECUTION: 'x' }, []],
    ['another program', { MCP_SHELLX: 'x', XMCP_SHELL_TOOLS: 'x' }, []],
  ])('%s', (_name, environment, expected) => {
    expect(createPlace().mistakes({ environment })).toEqual(expected);
  });
});

describe('a mistake in a flag names the flag', () => {
  it.each<[flags: SettingFlags, mistakes: string[]]>([
    [{ tools: '' }, ['tools: must not be empty; leave it out instead (--tools)']],
    [
      { stateDir: '~root' },
      [
        'state_dir: must not name another user\'s home directory (~ alone is your own), got "~root" (--state-dir)',
      ],
    ],
    [{ config: ' ' }, ['config: must not be empty; leave it out instead (--config)']],
    [{ httpAddress: 'localhost:70000' }, ['http.port: must be between 0 and 65535, got 70000 (--http)']],
    [{ httpAddress: '::1' }, ['http: must have an IPv6 address in brackets: [::1] (--http)']],
    [
      { httpAddress: '-x:1' },
      ['http.host: must be a host name or an IP address, without brackets or port, got "-x" (--http)'],
    ],
  ])('%j', (flags, expected) => {
    expect(createPlace().mistakes({ flags })).toEqual(expected);
  });
});

describe('the default directory', () => {
  it('is a mistake where it does not exist or is none', () => {
    const place = createPlace();
    place.write('home/project/file', '');
    expect(place.mistakes({ environment: { MCP_SHELL_DEFAULT_WORKDIR: 'gone' } })).toEqual([
      `default_workdir: "${place.project}/gone" does not exist (MCP_SHELL_DEFAULT_WORKDIR)`,
    ]);
    expect(place.mistakes({ environment: { MCP_SHELL_DEFAULT_WORKDIR: 'file' } })).toEqual([
      `default_workdir: "${place.project}/file" is not a directory (MCP_SHELL_DEFAULT_WORKDIR)`,
    ]);
  });

  it('is a mistake outside the allowed directories, also when a link leads there', () => {
    const place = createPlace();
    place.makeDirectory('outside');
    place.link('home/project/link', join(place.root, 'outside'));
    place.write(
      USER_FILE,
      'default_workdir = "~/project/link"\nsecurity.allowed_directories = ["~/project"]',
    );
    expect(place.mistakes()).toEqual([
      `default_workdir: "${place.project}/link" is outside security.allowed_directories (${join(place.root, USER_FILE)}:1)`,
    ]);
  });

  it('is asked for where there is none to choose', () => {
    const place = createPlace();
    const gone = join(place.root, 'gone');
    expect(place.mistakes({ cwd: '/', homedir: gone })).toEqual([
      `default_workdir: "${gone}" does not exist; name another (default)`,
    ]);
    expect(place.mistakes({ environment: { MCP_SHELL_ALLOWED_WORKDIRS: gone } })).toEqual([
      'security.allowed_directories: none of them is there to work in (MCP_SHELL_ALLOWED_WORKDIRS)',
    ]);
  });
});

describe('a path that no sandbox can have', () => {
  const kernel = 'belongs to the kernel, and sandboxes have their own; name another directory';
  const whole = 'would uncover the whole host; name the paths that commands need';
  it.each([
    ['ALLOWED_DIRECTORIES', '/proc', kernel],
    ['ALLOWED_DIRECTORIES', '/proc/self/../sys', kernel],
    ['ALLOWED_DIRECTORIES', '/sys', kernel],
    ['ALLOWED_DIRECTORIES', '/dev', kernel],
    ['ALLOWED_DIRECTORIES', '/home/../dev/pts', kernel],
    ['ALLOWED_DIRECTORIES', '/dev/shm', undefined],
    ['ALLOWED_DIRECTORIES', '/', undefined],
    ['ALLOWED_DIRECTORIES', '/var', undefined],
    ['WRITABLE_PATHS', '/proc/sys/kernel', kernel],
    ['WRITABLE_PATHS', '/sys', kernel],
    ['WRITABLE_PATHS', '/dev/null', kernel],
    ['WRITABLE_PATHS', '/', whole],
    ['READABLE_PATHS', '/proc', kernel],
    ['READABLE_PATHS', '/', whole],
    ['READABLE_PATHS', '/sys', undefined],
    ['READABLE_PATHS', '/process', undefined],
  ])('is a mistake of its setting: %s = %s', (name, typed, problem) => {
    const found = createPlace().mistakes({ environment: { [`MCP_SHELL_SECURITY_${name}`]: typed } });
    const path = JSON.stringify(resolve(typed));
    const key = `security.${name.toLowerCase()}`;
    const expected = `${key}: ${path} ${problem} (MCP_SHELL_SECURITY_${name})`;
    expect(found).toEqual(problem === undefined ? [] : [expected]);
  });

  it('is found where a link leads there, and where commands run by default', () => {
    const place = createPlace();
    place.link('home/project/link', '/proc');
    expect(place.mistakes({ environment: { MCP_SHELL_DEFAULT_WORKDIR: 'link' } })).toEqual([
      `default_workdir: "${place.project}/link" ${kernel} (MCP_SHELL_DEFAULT_WORKDIR)`,
    ]);
  });
});

it('reports the mistakes of all sources at once', () => {
  const place = createPlace();
  place.write(PROJECT_FILE, 'default_workdir = "gone"\n[limits]\nmax_processes = 0\nmax_procesess = 1\n');
  place.write(USER_FILE, 'shell = ');
  const input = {
    flags: { httpAddress: 'x:y' },
    environment: { MCP_SHELL_TOOLS: '', MCP_SHELL_TOOL: 'all' },
  };
  const expected = [
    'http: must be host:port, :port, port or host, with IPv6 in brackets, got "x:y" (--http)',
    'tools: must not be empty; leave it out instead (MCP_SHELL_TOOLS)',
    'MCP_SHELL_TOOL: no such setting; did you mean MCP_SHELL_TOOLS? (environment)',
    `limits.max_processes: must be between 1 and 1000, got 0 (${FILE}:3)`,
    `limits.max_procesess: unknown key; did you mean limits.max_processes? (${FILE}:4)`,
    `${join(place.root, USER_FILE)}:1: not valid TOML: invalid value`,
    `default_workdir: "${place.project}/gone" does not exist (${FILE}:1)`,
  ];
  expect(place.mistakes(input)).toEqual(expected);
  expect(() => place.load(input)).toThrow(
    `7 mistakes in the settings:\n${expected.map((one) => `  ${one}`).join('\n')}`,
  );
});
