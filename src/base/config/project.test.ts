/** A settings file that came with a cloned repository: most cases here are hostile. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace, PROJECT_FILE, USER_FILE } from './config.fixture.ts';
import { SETTING_KEYS, SETTINGS_FILE_NAME, type SettingKey } from './config.ts';

const FILE = SETTINGS_FILE_NAME;
const TOOLSETS = { standard: ['shell_execute', 'process_list'], simple: ['shell_exec'], all: [] };

/** Those that a project's file can only add to. */
const ADDING = ['security.blocked_commands', 'security.ask_commands', 'shell_tool.blocked_commands'] as const;
type LooseningKey = Exclude<SettingKey, (typeof ADDING)[number]>;
const isLoosening = (key: SettingKey): key is LooseningKey => !(ADDING as readonly string[]).includes(key);

/** One line that loosens, for each other key of the table. */
const LOOSENING: Readonly<Record<LooseningKey, readonly [toml: string, warning: string]>> = {
  default_workdir: [
    'default_workdir = "/"',
    '"/" is ignored: a project file can only name a directory inside the project',
  ],
  tools: ['tools = ["all"]', '"all" is ignored: a project file can only leave tools out, and standard holds'],
  shell: ['shell = "./trojan"', 'ignored: a project file cannot set it'],
  state_dir: ['state_dir = "."', 'ignored: a project file cannot set it'],
  'security.allowed_directories': [
    'security.allowed_directories = ["/"]',
    '"/" is ignored: a project file can only name directories inside the project',
  ],
  'security.preset': [
    'security.preset = "development"',
    '"development" is ignored: a project file can only choose a stricter one than sandbox',
  ],
  'security.mode': ['security.mode = "permissive"', 'ignored: a project file cannot set it'],
  'security.allowed_commands': [
    'security.allowed_commands = ["bash"]',
    'ignored: a project file cannot set it',
  ],
  'security.extend_allowed': ['security.extend_allowed = true', 'ignored: a project file cannot set it'],
  'security.allow_writes': [
    'security.allow_writes = true',
    'true is ignored: a project file can only set false',
  ],
  'security.allowed_arguments': [
    'security.allowed_arguments = { bash = [] }',
    'ignored: a project file cannot set it',
  ],
  'security.sandbox': ['security.sandbox = "off"', '"off" is ignored: a project file can only set required'],
  'security.readable_paths': [
    'security.readable_paths = ["/home/me/.ssh"]',
    'ignored: a project file cannot set it',
  ],
  'security.writable_paths': ['security.writable_paths = ["/"]', 'ignored: a project file cannot set it'],
  'security.expose': ['security.expose = ["docker"]', 'ignored: a project file cannot set it'],
  'security.enable_network': [
    'security.enable_network = true',
    'true is ignored: a project file can only set false',
  ],
  'security.allowed_domains': [
    'security.allowed_domains = ["evil.example"]',
    'ignored: a project file cannot set it',
  ],
  answers: ['answers = "text"', 'ignored: a project file cannot set it'],
  'security.environment': [
    'security.environment = "inherited"',
    '"inherited" is ignored: a project file can only choose a stricter one than filtered',
  ],
  'security.allowed_environment': [
    'security.allowed_environment = ["SECRET"]',
    'ignored: a project file cannot set it',
  ],
  'security.askpass': ['security.askpass = true', 'true is ignored: a project file can only set false'],
  'security.mask_output': [
    'security.mask_output = false',
    'false is ignored: a project file can only set true',
  ],
  'security.max_cpu_percent': [
    'security.max_cpu_percent = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'security.max_cpu_seconds': [
    'security.max_cpu_seconds = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'security.max_pids': [
    'security.max_pids = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'security.max_file_mb': [
    'security.max_file_mb = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'security.max_tmp_mb': [
    'security.max_tmp_mb = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'security.max_execution_time': [
    'security.max_execution_time = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'security.max_memory_mb': [
    'security.max_memory_mb = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'limits.max_processes': [
    'limits.max_processes = 51',
    '51 is ignored: a project file can only lower it, and 50 holds',
  ],
  'limits.max_processes_total': [
    'limits.max_processes_total = 201',
    '201 is ignored: a project file can only lower it, and 200 holds',
  ],
  'limits.max_terminals_total': [
    'limits.max_terminals_total = 81',
    '81 is ignored: a project file can only lower it, and 80 holds',
  ],
  'limits.max_terminals': [
    'limits.max_terminals = 31',
    '31 is ignored: a project file can only lower it, and 20 holds',
  ],
  'limits.terminal_grace_seconds': [
    'limits.terminal_grace_seconds = 601',
    '601 is ignored: a project file can only lower it, and 600 holds',
  ],
  'limits.max_output_mb': [
    'limits.max_output_mb = 101',
    '101 is ignored: a project file can only lower it, and 100 holds',
  ],
  'limits.inline_output_kb': [
    'limits.inline_output_kb = 11',
    '11 is ignored: a project file can only lower it, and 10 holds',
  ],
  'limits.shell_exec_seconds': [
    'limits.shell_exec_seconds = 31',
    '31 is ignored: a project file can only lower it, and 30 holds',
  ],
  'shell_tool.default_timeout': [
    'shell_tool.default_timeout = 301',
    '301 is ignored: a project file can only lower it, and 300 holds',
  ],
  'shell_tool.max_timeout': [
    'shell_tool.max_timeout = 61',
    '61 is ignored: a project file can only lower it, and 60 holds',
  ],
  'shell_tool.allowed_directories': [
    'shell_tool.allowed_directories = ["/"]',
    '"/" is ignored: a project file can only name directories inside the project',
  ],
  'shell_tool.max_output_size': [
    'shell_tool.max_output_size = "100MB"',
    'ignored: a project file cannot set it',
  ],
  'shell_tool.log_commands': [
    'shell_tool.log_commands = false',
    'false is ignored: a project file can only set true',
  ],
  'shell_tool.abort_file': [
    'shell_tool.abort_file = "/etc/nologin"',
    'ignored: a project file cannot set it',
  ],
  'limits.max_wait_seconds': [
    'limits.max_wait_seconds = 46',
    '46 is ignored: a project file can only lower it, and 45 holds',
  ],
  'retention.max_age_hours': ['retention.max_age_hours = 1', 'ignored: a project file cannot set it'],
  'retention.max_total_mb': ['retention.max_total_mb = 1', 'ignored: a project file cannot set it'],
  'retention.max_count': ['retention.max_count = 1', 'ignored: a project file cannot set it'],
  'audit.fsync': ['audit.fsync = false', 'ignored: a project file cannot set it'],
  'audit.max_file_mb': ['audit.max_file_mb = 1', 'ignored: a project file cannot set it'],
  'http.host': ['http.host = "0.0.0.0"', 'ignored: a project file cannot set it'],
  'http.port': ['http.port = 1', 'ignored: a project file cannot set it'],
  'http.public_url': ['http.public_url = "https://evil.example"', 'ignored: a project file cannot set it'],
  'http.tls_cert': ['http.tls_cert = "cert.pem"', 'ignored: a project file cannot set it'],
  'http.tls_key': ['http.tls_key = "key.pem"', 'ignored: a project file cannot set it'],
  'http.ui': ['http.ui = true', 'ignored: a project file cannot set it'],
  'http.metrics_host': ['http.metrics_host = "0.0.0.0"', 'ignored: a project file cannot set it'],
  'http.metrics_port': ['http.metrics_port = 1', 'ignored: a project file cannot set it'],
};

const NUMBERS = ['execution_time', 'memory_mb', 'cpu_percent', 'cpu_seconds', 'pids', 'file_mb', 'tmp_mb'];
const OPERATORS = [
  '[security]',
  'preset = "sandbox"',
  'environment = "filtered"',
  ...NUMBERS.map((name) => `max_${name} = 60`),
  '[shell_tool]',
  'max_timeout = 60',
].join('\n');

describe('the file of a project cannot loosen', () => {
  it.each(SETTING_KEYS.filter(isLoosening))('%s', (key) => {
    const [toml, warning] = LOOSENING[key];
    const place = createPlace();
    place.write(USER_FILE, OPERATORS);
    const without = place.load();
    place.write(PROJECT_FILE, `\n${toml}\n`);
    expect(place.load()).toEqual({ ...without, warnings: [`${key}: ${warning} (${FILE}:2)`] });
  });

  it('by opening what the user has narrowed, even inside the project', () => {
    const place = createPlace();
    place.makeDirectory('home/project/src/lib');
    place.makeDirectory('home/project/docs');
    place.write(USER_FILE, 'security.allowed_directories = ["~/project/src"]');
    place.write(
      PROJECT_FILE,
      'default_workdir = "docs"\nsecurity.allowed_directories = [".", "docs", "src/lib", "src/../docs"]',
    );
    const { settings, warnings } = place.load();
    expect(settings.security.allowedDirectories).toEqual([join(place.project, 'src/lib')]);
    expect(settings.defaultWorkdir).toBe(join(place.project, 'src/lib'));
    const outside = 'is ignored: a project file can only name directories inside what is allowed without it';
    expect(warnings).toEqual([
      `default_workdir: "${place.project}/docs" is ignored: it is outside security.allowed_directories (${FILE}:1)`,
      `security.allowed_directories: "${place.project}" ${outside} (${FILE}:2)`,
      `security.allowed_directories: "${place.project}/docs" ${outside} (${FILE}:2)`,
      `security.allowed_directories: "${place.project}/docs" ${outside} (${FILE}:2)`,
    ]);
  });

  it('by a link in the repository that leads out of it', () => {
    const place = createPlace();
    const secrets = place.makeDirectory('home/.ssh');
    place.link('home/project/link', secrets);
    place.write(PROJECT_FILE, 'default_workdir = "link"\nsecurity.allowed_directories = ["link", "link/.."]');
    const { settings, warnings } = place.load();
    // "link/.." is the project itself, as typed: what it means is settled before any link is followed.
    expect(settings.security.allowedDirectories).toEqual([place.project]);
    expect(settings.defaultWorkdir).toBe(place.project);
    expect(warnings).toEqual([
      `default_workdir: "${place.project}/link" is ignored: a project file can only name a directory inside the project (${FILE}:1)`,
      `security.allowed_directories: "${place.project}/link" is ignored: a project file can only name directories inside the project (${FILE}:2)`,
    ]);
  });

  it('by a directory that is not there yet and may be made as a link', () => {
    const place = createPlace();
    place.link('home/project/broken', join(place.home, 'later'));
    place.write(PROJECT_FILE, 'security.allowed_directories = ["later", "broken"]');
    const { settings, warnings } = place.load();
    expect(settings.security.allowedDirectories).toBeUndefined();
    expect(warnings).toEqual([
      `security.allowed_directories: "${place.project}/later" is ignored: it does not exist (${FILE}:1)`,
      `security.allowed_directories: "${place.project}/broken" is ignored: it does not exist (${FILE}:1)`,
    ]);
  });

  it('by lying in a parent directory in which anybody may write', () => {
    const place = createPlace();
    chmodSync(place.makeDirectory('shared'), 0o777);
    const cwd = place.makeDirectory('shared/mine');
    place.makeDirectory('shared/trap');
    place.write('shared/mcp-shell-server.toml', 'default_workdir = "trap"');
    expect(place.load({ cwd }).settings.defaultWorkdir).toBe(cwd);
  });
});

describe('the file of a project can tighten', () => {
  it('every number, the tools and the directories', () => {
    const place = createPlace();
    place.makeDirectory('home/project/src');
    place.write(
      PROJECT_FILE,
      [
        'default_workdir = "src"',
        'tools = ["shell_execute"]',
        '[security]',
        'allowed_directories = ["src"]',
        'max_execution_time = 86400',
        '[limits]',
        'max_processes = 50',
        'max_wait_seconds = 30',
      ].join('\n'),
    );
    const { settings, origins, warnings } = place.load({ toolsets: TOOLSETS });
    expect(settings).toMatchObject({
      defaultWorkdir: join(place.project, 'src'),
      tools: ['shell_execute'],
      security: { allowedDirectories: [join(place.project, 'src')], maxExecutionTimeSeconds: 86_400 },
      limits: { maxProcesses: 50, maxWaitSeconds: 30 },
    });
    expect(origins['security.allowed_directories']).toEqual({ source: 'project', where: `${FILE}:4` });
    expect(warnings).toEqual([]);
  });

  it('directories through links, which are followed once and for all', () => {
    const place = createPlace();
    place.makeDirectory('home/project/src');
    place.link('home/project/link', 'src');
    place.link('home/alias', 'project');
    place.write(USER_FILE, 'security.allowed_directories = ["~/alias"]');
    place.write(PROJECT_FILE, 'default_workdir = "link"\nsecurity.allowed_directories = ["link"]');
    const { settings } = place.load({ cwd: join(place.home, 'alias') });
    expect(settings.security.allowedDirectories).toEqual([join(place.project, 'src')]);
    expect(settings.defaultWorkdir).toBe(join(place.project, 'src'));
  });

  it('the directories so far that the default directory of the operator is outside, and then another is chosen', () => {
    const place = createPlace();
    const source = place.makeDirectory('home/project/src');
    place.write(PROJECT_FILE, 'security.allowed_directories = ["src"]');
    const { settings, origins, warnings } = place.load({ environment: { MCP_SHELL_DEFAULT_WORKDIR: '~' } });
    expect(settings.defaultWorkdir).toBe(source);
    expect(origins.default_workdir).toEqual({ source: 'default' });
    expect(warnings).toEqual([
      `default_workdir: "${place.home}" is outside security.allowed_directories, as the project narrows them (${FILE}:1)`,
    ]);
  });

  it.each<[held: string, typed: string, kept: string[], refused: string[]]>([
    ['all', '"standard", "anything"', ['standard', 'anything'], []],
    ['simple,standard', '"standard"', ['standard'], []],
    ['standard', '"simple", "standard"', ['standard'], ['simple']],
    ['standard', '"shell_execute"', ['standard'], ['shell_execute']],
  ])('the tools %s by [%s] where it does not know what is in a set', (held, typed, kept, refused) => {
    const place = createPlace();
    place.write(
      USER_FILE,
      `tools = [${held
        .split(',')
        .map((name) => `"${name}"`)
        .join(', ')}]`,
    );
    place.write(PROJECT_FILE, `tools = [${typed}]`);
    const { settings, warnings } = place.load();
    expect(settings.tools).toEqual(kept);
    expect(warnings).toEqual(
      refused.map(
        (name) =>
          `tools: "${name}" is ignored: a project file can only leave tools out, and ${held} holds (${FILE}:1)`,
      ),
    );
  });

  it('tools that are in the sets that hold, but no others', () => {
    const place = createPlace();
    place.write(PROJECT_FILE, 'tools = ["process_list", "shell_exec", "simple"]');
    const { settings, warnings } = place.load({ toolsets: TOOLSETS });
    expect(settings.tools).toEqual(['process_list']);
    expect(warnings).toHaveLength(2);
  });
});

describe('the file of a project is looked for', () => {
  it('in the parents of the start directory', () => {
    const place = createPlace();
    const cwd = place.makeDirectory('home/project/a/b');
    place.write(PROJECT_FILE, '\nlimits.max_processes = 5');
    expect(place.load({ cwd }).origins['limits.max_processes']).toEqual({
      source: 'project',
      where: `${join(place.root, PROJECT_FILE)}:2`,
    });
  });

  it.each([
    ['as far as the root of the repository', 'home/project/.git', PROJECT_FILE, 5],
    ['not beyond the root of the repository', 'home/project/a/.git', PROJECT_FILE, 50],
    ['as far as the home directory', 'home/none', 'home/mcp-shell-server.toml', 5],
    ['not beyond the home directory', 'home/none', 'mcp-shell-server.toml', 50],
    ['and the nearest counts', 'home/project/a/mcp-shell-server.toml', PROJECT_FILE, 50],
  ])('%s', (_name, other, file, expected) => {
    const place = createPlace();
    const cwd = place.makeDirectory('home/project/a/b');
    place.write(other, '');
    place.write(file, 'limits.max_processes = 5');
    expect(place.load({ cwd }).settings.limits.maxProcesses).toBe(expected);
  });
});

describe('the workspace', () => {
  it('is no wider than where the server was started, though the project’s file lies above that', () => {
    const place = createPlace();
    place.makeDirectory('home/project/packages/one');
    place.makeDirectory('home/project/packages/two');
    place.write(PROJECT_FILE, 'security.allowed_directories = ["."]');
    const cwd = join(place.project, 'packages/one');
    expect(place.load({ cwd }).settings.security.workspace).toEqual([cwd]);
  });

  it('is what the project narrows it to', () => {
    const place = createPlace();
    place.makeDirectory('home/project/src');
    place.write(PROJECT_FILE, 'security.allowed_directories = ["src"]');
    expect(place.load().settings.security.workspace).toEqual([join(place.project, 'src')]);
  });

  it('has the operator’s default directory in it, and not the project’s', () => {
    const place = createPlace();
    const other = place.makeDirectory('home/other');
    place.makeDirectory('home/project/src');
    place.write(PROJECT_FILE, 'default_workdir = "src"');
    expect(place.load().settings.security.workspace).toEqual([place.project]);
    const environment = { MCP_SHELL_DEFAULT_WORKDIR: other };
    expect(place.load({ environment }).settings.security.workspace).toEqual([place.project, other]);
  });
});

describe('limits of the preset', () => {
  it('can be lowered by the project and not raised, while the operator may do both', () => {
    const place = createPlace();
    place.write(PROJECT_FILE, 'security.max_memory_mb = 32768\nsecurity.max_pids = 100');
    const { security } = place.load().settings;
    expect(security.maxMemoryBytes).toBe(4 * 1024 ** 3);
    expect(security.maxPids).toBe(100);
    const environment = { MCP_SHELL_SECURITY_MAX_MEMORY_MB: '32768' };
    expect(place.load({ environment }).settings.security.maxMemoryBytes).toBe(32 * 1024 ** 3);
  });
});

describe('the preset of the operator', () => {
  it.each([
    ['environment', '"inherited"', 'allowed'],
    ['environment', '"filtered"', 'allowed'],
    ['max_execution_time', '301', 300],
    ['max_memory_mb', '1025', 1024],
    ['max_pids', '257', 256],
    ['max_file_mb', '513', 512],
    ['max_tmp_mb', '257', 256],
  ] as const)('is not loosened by %s = %s of a project', (name, value, held) => {
    const place = createPlace();
    place.write(USER_FILE, 'security.preset = "sandbox"');
    place.write(PROJECT_FILE, `security.${name} = ${value}`);
    const { values, origins, warnings } = place.load();
    expect([values[`security.${name}`], origins[`security.${name}`].source]).toEqual([held, 'preset']);
    expect(warnings).toEqual([
      `security.${name} = ${value} (${FILE}:1) does not hold: the preset sandbox (${place.root}/${USER_FILE}:1) is stricter`,
    ]);
  });

  it('is tightened by the environment mode of a project', () => {
    const place = createPlace();
    place.write(PROJECT_FILE, 'security.environment = "filtered"');
    expect(place.load().settings.security.environment).toBe('filtered');
  });
});

it('adds commands to those that the operator blocks, and takes none away', () => {
  const place = createPlace();
  place.write(USER_FILE, 'security.blocked_commands = ["rm -rf"]');
  place.write(
    PROJECT_FILE,
    'security.blocked_commands = ["git push"]\nsecurity.ask_commands = ["npm publish"]',
  );
  const { security } = place.load().settings;
  expect(security.blockedCommands).toEqual(['rm -rf', 'git push']);
  expect(security.askCommands).toEqual(['npm publish']);
});
