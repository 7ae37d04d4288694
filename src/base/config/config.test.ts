import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../limits.ts';
import { createPlace, PROJECT_FILE, USER_FILE } from './config.fixture.ts';
import { readEnvironment, SETTING_KEYS, type SettingKey, settingsJsonSchema, variablesOf } from './config.ts';
import { PRESETS } from './presets.ts';

const TOOLSETS = { standard: ['shell_execute', 'process_list'], simple: ['shell_exec'] };

/** For each key, the text of a variable that is not its default. */
const TEXTS: Readonly<Record<SettingKey, string>> = {
  default_workdir: '/',
  tools: 'all',
  shell: 'zsh',
  state_dir: '/state',
  'security.allowed_directories': '/',
  'security.preset': 'sandbox',
  'security.mode': 'restrictive',
  'security.allowed_commands': 'ls',
  'security.blocked_commands': 'rm -rf',
  'security.ask_commands': 'git push',
  'security.allowed_arguments': '{"git":["status"]}',
  'security.sandbox': 'required',
  'security.readable_paths': '/srv',
  'security.writable_paths': '/srv',
  'security.expose': 'gh',
  'security.enable_network': 'false',
  'security.allowed_domains': 'example.com',
  'security.environment': 'filtered',
  'security.allowed_environment': 'EDITOR',
  'security.mask_output': 'true',
  'security.askpass': 'true',
  'security.extend_allowed': 'true',
  'security.allow_writes': 'false',
  'security.max_cpu_percent': '7',
  'security.max_cpu_seconds': '7',
  'security.max_pids': '8',
  'security.max_file_mb': '7',
  'security.max_tmp_mb': '7',
  'security.max_execution_time': '7',
  'security.max_memory_mb': '7',
  answers: 'text',
  'limits.max_processes': '7',
  'limits.max_processes_total': '7',
  'limits.max_terminals': '7',
  'limits.max_terminals_total': '7',
  'limits.terminal_grace_seconds': '7',
  'limits.max_output_mb': '7',
  'limits.inline_output_kb': '7',
  'limits.max_wait_seconds': '7',
  'limits.shell_exec_seconds': '7',
  'shell_tool.default_timeout': '7',
  'shell_tool.max_timeout': '7',
  'shell_tool.allowed_directories': '/srv',
  'shell_tool.max_output_size': '7MB',
  'shell_tool.blocked_commands': 'dd',
  'shell_tool.log_commands': 'false',
  'shell_tool.abort_file': '.abort',
  'retention.max_age_hours': '7',
  'retention.max_total_mb': '7',
  'retention.max_count': '7',
  'audit.fsync': 'true',
  'audit.max_file_mb': '7',
  'http.host': 'localhost',
  'http.port': '7',
  'http.public_url': 'https://shell.example.com',
  'http.tls_cert': '/cert.pem',
  'http.tls_key': '/key.pem',
  'http.ui': 'true',
  'http.metrics_host': 'localhost',
  'http.metrics_port': '7',
};

/** What does not go alone. */
const WITH: Partial<Record<SettingKey, Record<string, string>>> = {
  'http.tls_cert': { MCP_SHELL_HTTP_TLS_KEY: '/key.pem' },
  'http.tls_key': { MCP_SHELL_HTTP_TLS_CERT: '/cert.pem' },
};

/** What the preset sets; of the others it says that there is no limit. */
const BY_DEVELOPMENT = new Set<SettingKey>([
  'security.sandbox',
  'security.mode',
  'security.enable_network',
  'security.environment',
  'security.max_memory_mb',
  'security.max_pids',
]);

describe('loadSettings', () => {
  it('takes "/" among the allowed directories for no restriction, and for nothing to write to', () => {
    const place = createPlace();
    const of = (dirs: string): unknown => {
      const { settings } = place.load({ environment: { MCP_SHELL_SECURITY_ALLOWED_DIRECTORIES: dirs } });
      return { workspace: settings.security.workspace, workdir: settings.defaultWorkdir };
    };
    expect(of('/')).toEqual({ workspace: [place.project], workdir: place.project });
    expect(of('/,/usr')).toEqual({ workspace: [place.project, '/usr'], workdir: place.project });
    expect(of('/usr')).toEqual({ workspace: ['/usr'], workdir: '/usr' });
  });

  it('gives the defaults where nobody set anything', () => {
    const place = createPlace();
    expect(place.load()).toEqual({
      values: expect.objectContaining({ 'security.preset': 'development', default_workdir: place.project }),
      settings: {
        defaultWorkdir: place.project,
        tools: ['standard'],
        answers: 'auto',
        shell: undefined,
        stateDir: join(place.home, '.local/state/mcp-shell-server'),
        verbose: false,
        files: [],
        security: {
          ...PRESETS.development,
          preset: 'development',
          mode: undefined,
          allowedCommands: undefined,
          blockedCommands: [],
          askCommands: [],
          allowedArguments: undefined,
          extendsAllowed: false,
          allowWrites: undefined,
          allowedDirectories: undefined,
          workspace: [place.project],
          readablePaths: [],
          writablePaths: [],
          expose: [],
          allowedDomains: [],
          allowedEnvironment: [],
          masksOutput: false,
          asksSecrets: false,
          maxCpuPercent: undefined,
          maxCpuSeconds: undefined,
        },
        limits: {
          maxProcesses: LIMITS.processes,
          maxProcessesTotal: LIMITS.processesTotal,
          maxTerminals: LIMITS.terminals,
          maxTerminalsTotal: LIMITS.terminalsTotal,
          terminalGraceMs: LIMITS.terminalGraceSeconds * 1000,
          maxOutputBytes: LIMITS.outputBytes,
          inlineOutputBytes: LIMITS.inlineOutputBytes,
          maxWaitSeconds: undefined,
          shellExecSeconds: 30,
        },
        shellTool: {
          defaultTimeoutSeconds: 300,
          maxTimeoutSeconds: 1800,
          allowedDirectories: undefined,
          maxOutputBytes: 10_000_000,
          blockedCommands: [],
          logsCommands: true,
          abortFile: undefined,
        },
        retention: {
          maxAgeHours: LIMITS.retentionHours,
          maxTotalBytes: LIMITS.retentionTotalBytes,
          maxCount: LIMITS.retentionCount,
        },
        audit: { syncs: false, maxFileBytes: LIMITS.auditFileBytes },
        http: {
          host: '127.0.0.1',
          port: 3737,
          publicUrl: undefined,
          tls: undefined,
          hasPage: false,
          metrics: { host: '127.0.0.1', port: undefined },
        },
        environment: {},
      },
      origins: Object.fromEntries(
        SETTING_KEYS.map((key) => [
          key,
          BY_DEVELOPMENT.has(key) ? { source: 'preset', where: 'development' } : { source: 'default' },
        ]),
      ),
      warnings: [],
      withoutEffect: [],
    });
  });

  it('takes every key from a file that the operator names, with paths relative to it', () => {
    const place = createPlace();
    place.makeDirectory('etc/work');
    place.write(
      'etc/server.toml',
      [
        'default_workdir = "work"',
        'tools = ["simple", "process_list"]',
        'shell = "bin/zsh"',
        'state_dir = "~/state"',
        'limits = { max_processes = 5, max_processes_total = 6, max_terminals = 3, max_terminals_total = 4, terminal_grace_seconds = 8, max_output_mb = 7, inline_output_kb = 20, max_wait_seconds = 50, shell_exec_seconds = 9 }',
        'answers = "both"',
        '[security]',
        'preset = "production"',
        'sandbox = "auto"',
        'mode = "custom"',
        'allowed_commands = ["ls", { entry = "git status", match = ["git status -s"] }]',
        'blocked_commands = ["rm -rf"]',
        'ask_commands = ["git push"]',
        'allowed_arguments = { git = ["status"], cat = [] }',
        'readable_paths = ["shown"]',
        'writable_paths = ["~/written"]',
        'expose = ["gh"]',
        'enable_network = true',
        'allowed_domains = ["*.example.com", "example.org:8443"]',
        'environment = "inherited"',
        'allowed_environment = ["EDITOR"]',
        'mask_output = true',
        'max_cpu_percent = 200',
        'max_cpu_seconds = 60',
        'max_pids = 2000',
        'max_file_mb = 3',
        'max_tmp_mb = 4',
        'allowed_directories = ["."]',
        'max_execution_time = 300',
        'max_memory_mb = 512',
        'extend_allowed = true',
        'allow_writes = false',
        'askpass = true',
        '[retention]',
        'max_age_hours = 1',
        'max_total_mb = 2',
        'max_count = 3',
        '[http]',
        'host = "::1"',
        'port = 0',
        'public_url = "https://shell.example.com"',
        'tls_cert = "cert.pem"',
        'tls_key = "key.pem"',
        'metrics_host = "::"',
        'metrics_port = 9',
        'ui = true',
        '[shell_tool]',
        'default_timeout = 60',
        'max_timeout = 600',
        'allowed_directories = ["work"]',
        'max_output_size = "512 KiB"',
        'blocked_commands = ["/^dd /"]',
        'log_commands = false',
        'abort_file = ".abort"',
        '[audit]',
        'fsync = true',
        'max_file_mb = 2',
      ].join('\n'),
    );
    const from = (line: number) => ({
      source: 'file',
      where: `${join(place.root, 'etc/server.toml')}:${line}`,
    });
    expect(place.load({ flags: { config: '../../etc/server.toml' } })).toEqual({
      values: expect.objectContaining({ 'security.preset': 'production', 'http.port': 0 }),
      settings: {
        defaultWorkdir: join(place.root, 'etc/work'),
        tools: ['simple', 'process_list'],
        answers: 'both',
        shell: join(place.root, 'etc/bin/zsh'),
        stateDir: join(place.home, 'state'),
        verbose: false,
        files: [join(place.root, 'etc/server.toml'), join(place.root, 'etc/key.pem')],
        security: {
          ...PRESETS.production,
          preset: 'production',
          sandbox: 'auto',
          mode: 'custom',
          allowedCommands: ['ls', { entry: 'git status', match: ['git status -s'] }],
          blockedCommands: ['rm -rf'],
          askCommands: ['git push'],
          allowedArguments: { git: ['status'], cat: [] },
          extendsAllowed: true,
          allowWrites: false,
          allowedDirectories: [join(place.root, 'etc')],
          workspace: [join(place.root, 'etc')],
          readablePaths: [join(place.root, 'etc/shown')],
          writablePaths: [join(place.home, 'written')],
          expose: ['gh'],
          network: true,
          allowedDomains: ['*.example.com', 'example.org:8443'],
          environment: 'inherited',
          allowedEnvironment: ['EDITOR'],
          masksOutput: true,
          asksSecrets: true,
          maxCpuPercent: 200,
          maxCpuSeconds: 60,
          maxPids: 2000,
          maxFileBytes: 3 * 1024 * 1024,
          maxTmpBytes: 4 * 1024 * 1024,
          maxExecutionTimeSeconds: 300,
          maxMemoryBytes: 512 * 1024 * 1024,
        },
        limits: {
          maxProcesses: 5,
          maxProcessesTotal: 6,
          maxTerminals: 3,
          maxTerminalsTotal: 4,
          terminalGraceMs: 8000,
          maxOutputBytes: 7 * 1024 * 1024,
          inlineOutputBytes: 20 * 1024,
          maxWaitSeconds: 50,
          shellExecSeconds: 9,
        },
        shellTool: {
          defaultTimeoutSeconds: 60,
          maxTimeoutSeconds: 600,
          allowedDirectories: [join(place.root, 'etc/work')],
          maxOutputBytes: 512 * 1024,
          blockedCommands: ['/^dd /'],
          logsCommands: false,
          abortFile: '.abort',
        },
        retention: { maxAgeHours: 1, maxTotalBytes: 2 * 1024 * 1024, maxCount: 3 },
        audit: { syncs: true, maxFileBytes: 2 * 1024 * 1024 },
        http: {
          host: '::1',
          port: 0,
          publicUrl: 'https://shell.example.com',
          tls: { cert: join(place.root, 'etc/cert.pem'), key: join(place.root, 'etc/key.pem') },
          hasPage: true,
          metrics: { host: '::', port: 9 },
        },
        environment: {},
      },
      origins: {
        default_workdir: from(1),
        tools: from(2),
        shell: from(3),
        state_dir: from(4),
        answers: from(6),
        'limits.max_processes': from(5),
        'limits.max_processes_total': from(5),
        'limits.max_terminals': from(5),
        'limits.max_terminals_total': from(5),
        'limits.terminal_grace_seconds': from(5),
        'limits.max_output_mb': from(5),
        'limits.inline_output_kb': from(5),
        'limits.max_wait_seconds': from(5),
        'limits.shell_exec_seconds': from(5),
        'security.preset': from(8),
        'security.sandbox': from(9),
        'security.mode': from(10),
        'security.allowed_commands': from(11),
        'security.blocked_commands': from(12),
        'security.ask_commands': from(13),
        'security.allowed_arguments': from(14),
        'security.readable_paths': from(15),
        'security.writable_paths': from(16),
        'security.expose': from(17),
        'security.enable_network': from(18),
        'security.allowed_domains': from(19),
        'security.environment': from(20),
        'security.allowed_environment': from(21),
        'security.mask_output': from(22),
        'security.max_cpu_percent': from(23),
        'security.max_cpu_seconds': from(24),
        'security.max_pids': from(25),
        'security.max_file_mb': from(26),
        'security.max_tmp_mb': from(27),
        'security.allowed_directories': from(28),
        'security.max_execution_time': from(29),
        'security.max_memory_mb': from(30),
        'security.extend_allowed': from(31),
        'security.allow_writes': from(32),
        'security.askpass': from(33),
        'retention.max_age_hours': from(35),
        'retention.max_total_mb': from(36),
        'retention.max_count': from(37),
        'http.host': from(39),
        'http.port': from(40),
        'http.public_url': from(41),
        'http.tls_cert': from(42),
        'http.tls_key': from(43),
        'http.metrics_host': from(44),
        'http.metrics_port': from(45),
        'http.ui': from(46),
        'shell_tool.default_timeout': from(48),
        'shell_tool.max_timeout': from(49),
        'shell_tool.allowed_directories': from(50),
        'shell_tool.max_output_size': from(51),
        'shell_tool.blocked_commands': from(52),
        'shell_tool.log_commands': from(53),
        'shell_tool.abort_file': from(54),
        'audit.fsync': from(56),
        'audit.max_file_mb': from(57),
      },
      warnings: [],
      withoutEffect: [expect.stringContaining('security.allowed_environment')],
    });
  });

  it.each(SETTING_KEYS)('takes %s from the environment, so that no key is without effect', (key) => {
    const place = createPlace();
    const [variable = ''] = variablesOf(key);
    const environment = { [variable]: TEXTS[key], ...WITH[key] };
    const without = place.load();
    const { settings, origins } = place.load({ environment });
    expect(origins[key]).toEqual({ source: 'environment', where: variable });
    expect({ ...settings, environment: {} }).not.toEqual(without.settings);
  });

  it.each([
    [1024, 1024],
    ['10MB', 10_000_000],
    ['10 MiB', 10 * 1024 * 1024],
    ['1.5kb', 1500],
    ['64k', 64 * 1024],
    ['2048', 2048],
    ['2048 B', 2048],
  ])('reads the size %s as %i bytes', (written, bytes) => {
    const place = createPlace();
    place.write(USER_FILE, `shell_tool.max_output_size = ${JSON.stringify(written)}`);
    expect(place.load().settings.shellTool.maxOutputBytes).toBe(bytes);
  });

  it.each(['10XB', '-1MB', '1 TB', '10', '1GB', 'MB', '1e9', true])('refuses the size %s', (written) => {
    const place = createPlace();
    place.write(USER_FILE, `shell_tool.max_output_size = ${JSON.stringify(written)}`);
    expect(() => place.load()).toThrow(/shell_tool\.max_output_size: must be a size .*:1\)/);
  });

  it('asks flags first, then the environment, the project, the user, the defaults', () => {
    const place = createPlace();
    place.write(PROJECT_FILE, '[limits]\nmax_processes = 3\nmax_output_mb = 3\ninline_output_kb = 3\n');
    place.write(
      USER_FILE,
      'tools = ["user"]\nshell = "user"\n[limits]\nmax_processes = 4\nmax_output_mb = 4\n[http]\nport = 4\nhost = "user"\n',
    );
    const environment = {
      MCP_SHELL_LIMITS_MAX_PROCESSES: '9',
      MCP_SHELL_SHELL: 'env',
      MCP_SHELL_HTTP_PORT: '5',
    };
    const { settings, origins, warnings } = place.load({
      flags: { shell: 'flag', httpAddress: ':6', stateDir: 'state' },
      environment,
    });
    expect(settings).toMatchObject({
      tools: ['user'],
      shell: 'flag',
      stateDir: join(place.project, 'state'),
      limits: { maxProcesses: 9, maxOutputBytes: 3 * 1024 * 1024, inlineOutputBytes: 3 * 1024 },
      http: { host: 'user', port: 6 },
      environment,
    });
    const user = join(place.root, USER_FILE);
    expect(origins).toMatchObject({
      tools: { source: 'user', where: `${user}:1` },
      shell: { source: 'flag', where: '--shell' },
      state_dir: { source: 'flag', where: '--state-dir' },
      'limits.max_processes': { source: 'environment', where: 'MCP_SHELL_LIMITS_MAX_PROCESSES' },
      'limits.max_output_mb': { source: 'project', where: 'mcp-shell-server.toml:3' },
      'limits.inline_output_kb': { source: 'project', where: 'mcp-shell-server.toml:4' },
      'limits.max_wait_seconds': { source: 'default' },
      'http.host': { source: 'user', where: `${user}:8` },
      'http.port': { source: 'flag', where: '--http' },
    });
    expect(warnings).toEqual([]);
  });

  it('reads lists in the environment with spaces and empty entries', () => {
    const place = createPlace();
    const { settings } = place.load({
      environment: {
        MCP_SHELL_ALLOWED_WORKDIRS: ` ~ ,, ${place.root} ,.`,
        MCP_SHELL_TOOLS: 'simple , shell,',
      },
    });
    expect(settings.security.allowedDirectories).toEqual([place.home, place.root, place.project]);
    expect(settings.tools).toEqual(['simple', 'shell']);
    expect(settings.defaultWorkdir).toBe(place.home);
  });

  it('replaces both searched files by the one of MCP_SHELL_CONFIG, and that by the one of --config', () => {
    const place = createPlace();
    place.write(PROJECT_FILE, 'this is not TOML');
    place.write(USER_FILE, 'nor this');
    place.write('home/a.toml', 'shell = "a"');
    place.write('home/b.toml', 'shell = "b"');
    const environment = { MCP_SHELL_CONFIG: '~/a.toml' };
    expect(place.load({ environment }).settings.shell).toBe('a');
    expect(place.load({ environment, flags: { config: '../b.toml' } }).settings.shell).toBe('b');
  });

  it('looks for the user in XDG_CONFIG_HOME, if that is absolute', () => {
    const place = createPlace();
    place.write('xdg/mcp-shell-server/mcp-shell-server.toml', 'shell = "xdg"');
    place.write(USER_FILE, 'shell = "home"');
    expect(place.load({ environment: { XDG_CONFIG_HOME: join(place.root, 'xdg') } }).settings.shell).toBe(
      'xdg',
    );
    expect(place.load({ environment: { XDG_CONFIG_HOME: 'xdg' } }).settings.shell).toBe('home');
  });

  it('trusts the file of the user even when it was started beside it', () => {
    const place = createPlace();
    place.write(USER_FILE, 'shell = "mine"\n');
    const cwd = join(place.home, '.config/mcp-shell-server');
    expect(place.load({ cwd }).origins.shell).toEqual({ source: 'user', where: 'mcp-shell-server.toml:1' });
  });

  it.each([
    ['DEBUG=mcp-shell', true],
    ['DEBUG=express:*, mcp-shell ,x', true],
    ['DEBUG=mcp-shell-other', false],
    ['DEBUG=', false],
    ['OTHER=mcp-shell', false],
  ])('with %s is verbose: %j', (assignment, verbose) => {
    const [name = '', value = ''] = assignment.split('=');
    expect(createPlace().load({ environment: { [name]: value } }).settings.verbose).toBe(verbose);
  });

  it('works in the home directory when a desktop client started it in a system directory', () => {
    const place = createPlace();
    expect(place.load({ cwd: '/usr' }).settings.defaultWorkdir).toBe(place.home);
  });

  it('works in the first allowed directory that is there, and warns of the ones that are not', () => {
    const place = createPlace();
    place.write('home/file', '');
    const { settings, warnings } = place.load({
      environment: { MCP_SHELL_ALLOWED_WORKDIRS: '~/gone,~/file,~' },
    });
    expect(settings.defaultWorkdir).toBe(place.home);
    expect(warnings).toEqual([
      `security.allowed_directories: "${place.home}/gone" does not exist (MCP_SHELL_ALLOWED_WORKDIRS)`,
      `security.allowed_directories: "${place.home}/file" is not a directory (MCP_SHELL_ALLOWED_WORKDIRS)`,
    ]);
  });

  it('takes the names of tools and of toolsets where it knows them', () => {
    const place = createPlace();
    const flags = { tools: 'simple,process_list,all' };
    expect(place.load({ flags, toolsets: TOOLSETS }).settings.tools).toEqual([
      'simple',
      'process_list',
      'all',
    ]);
    expect(place.mistakes({ flags: { tools: 'simpel,zzzzzzz' }, toolsets: TOOLSETS })).toEqual([
      'tools: no tool or toolset is called "simpel"; did you mean simple? (--tools)',
      'tools: no tool or toolset is called "zzzzzzz"; the toolsets: standard, simple (--tools)',
    ]);
  });
});

describe('readEnvironment', () => {
  it('copies the environment of the process', () => {
    const environment = readEnvironment();
    expect(environment['PATH']).toBe(process.env['PATH']);
    expect(environment).not.toBe(process.env);
  });
});

describe('settingsJsonSchema', () => {
  it('describes every key, with its range and its default', () => {
    expect(settingsJsonSchema()).toMatchObject({
      type: 'object',
      additionalProperties: false,
      properties: {
        tools: { type: 'array', minItems: 1, default: ['standard'] },
        limits: {
          type: 'object',
          additionalProperties: false,
          properties: { max_processes: { type: 'integer', minimum: 1, maximum: 1000, default: 50 } },
        },
      },
    });
    expect(settingsJsonSchema()).not.toHaveProperty('required');
  });
});
