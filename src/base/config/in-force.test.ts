import { describe, expect, test } from 'vitest';
import { createPlace, USER_FILE } from './config.fixture.ts';

const loadFile = (lines: readonly string[], environment: Record<string, string> = {}) => {
  const place = createPlace();
  const file = place.write(USER_FILE, `${lines.join('\n')}\n`);
  const toolsets = { standard: ['shell_execute'], simple: ['shell_exec'], shell: ['shell'] };
  return { file, ...place.load({ environment, toolsets }) };
};

describe('the values in force', () => {
  test('are those of the preset where nothing else sets them', () => {
    const { values, origins } = loadFile(['security.preset = "minimal"']);
    const preset = { source: 'preset', where: 'minimal' };
    for (const [key, value] of [
      ['security.sandbox', 'required'],
      ['security.mode', 'restrictive'],
      ['security.enable_network', false],
      ['security.environment', 'allowed'],
      ['security.max_execution_time', 30],
      ['security.max_memory_mb', 512],
      ['security.max_pids', 256],
      ['security.max_file_mb', 256],
      ['security.max_tmp_mb', 256],
    ] as const)
      expect([values[key], origins[key]], key).toEqual([value, preset]);
  });

  test('have no value where the preset sets no limit', () => {
    const { values, origins } = loadFile([]);
    expect(values['security.max_execution_time']).toBeUndefined();
    expect(origins['security.max_execution_time']).toEqual({ source: 'default' });
    expect([values['security.max_memory_mb'], origins['security.max_memory_mb']]).toEqual([
      4096,
      { source: 'preset', where: 'development' },
    ]);
  });

  test('are those of a setting that outranks the preset, and of the preset where it is stricter', () => {
    const lines = ['[security]', 'enable_network = true', 'max_pids = 9'];
    const { file, values, origins } = loadFile(lines, { MCP_SHELL_SECURITY_PRESET: 'sandbox' });
    expect([values['security.enable_network'], origins['security.enable_network']]).toEqual([
      false,
      { source: 'preset', where: 'sandbox' },
    ]);
    expect([values['security.max_pids'], origins['security.max_pids']]).toEqual([
      9,
      { source: 'user', where: `${file}:3` },
    ]);
  });

  test('name the list that makes the mode "custom"', () => {
    const { file, values, origins } = loadFile(['security.allowed_commands = ["ls"]']);
    expect([values['security.mode'], origins['security.mode']]).toEqual([
      'custom',
      { source: 'user', where: `${file}:1` },
    ]);
  });

  test('have absolute paths for "~"', () => {
    const place = createPlace();
    place.write(USER_FILE, 'security.expose = ["gh", "~/notes"]\n');
    expect(place.load().values['security.expose']).toEqual(['gh', `${place.home}/notes`]);
  });
});

/** The line that has no effect, what makes it so, and what gives it one. */
const IDLE: readonly (readonly [line: string, because: string, otherwise: string, reason: string])[] = [
  [
    'security.allowed_commands = ["ls"]',
    'security.mode = "permissive"',
    'security.mode = "custom"',
    'mode is "permissive"',
  ],
  [
    'security.allowed_arguments = {ls = []}',
    'security.mode = "permissive"',
    'security.mode = "custom"',
    'mode is "permissive"',
  ],
  [
    'security.extend_allowed = true',
    'security.preset = "production"',
    'security.allowed_commands = ["ls"]',
    'neither security.allowed_commands',
  ],
  [
    'security.allow_writes = true',
    'security.preset = "sandbox"',
    'security.preset = "production"',
    'there is no allow-list',
  ],
  [
    'security.allow_writes = true',
    'security.mode = "custom"',
    'security.allowed_commands = ["ls"]',
    'there is no allow-list',
  ],
  [
    'security.readable_paths = ["/opt"]',
    'security.sandbox = "off"',
    'security.sandbox = "auto"',
    'sandbox is "off"',
  ],
  [
    'security.expose = ["gh"]',
    'security.sandbox = "container"',
    'security.sandbox = "auto"',
    'sandbox is "container"',
  ],
  [
    'security.enable_network = false',
    'security.sandbox = "off"',
    'security.sandbox = "auto"',
    'sandbox is "off"',
  ],
  [
    'security.allowed_domains = ["a.example"]',
    'security.preset = "sandbox"',
    'security.preset = "development"',
    'the network is off',
  ],
  [
    'security.allowed_environment = ["A"]',
    'security.preset = "development"',
    'security.preset = "sandbox"',
    'environment is "inherited"',
  ],
  [
    'security.max_tmp_mb = 5',
    'security.preset = "development"',
    'security.preset = "sandbox"',
    '/tmp is on disk',
  ],
  [
    'limits.max_processes = 60',
    'limits.max_processes_total = 50',
    'limits.max_processes_total = 60',
    'max_processes_total is 50',
  ],
  [
    'limits.max_terminals = 60',
    'limits.max_terminals_total = 50',
    'limits.max_terminals_total = 60',
    'max_terminals_total is 50',
  ],
  [
    'limits.max_terminals = 6',
    'security.preset = "minimal"',
    'security.preset = "production"',
    'has no terminals',
  ],
  [
    'limits.max_terminals_total = 70',
    'security.preset = "minimal"',
    'security.preset = "sandbox"',
    'has no terminals',
  ],
  [
    'limits.terminal_grace_seconds = 6',
    'security.preset = "minimal"',
    'security.preset = "sandbox"',
    'has no terminals',
  ],
  ['http.metrics_host = "::1"', '', 'http.metrics_port = 9', 'http.metrics_port is not set'],
  [
    'shell_tool.default_timeout = 9',
    'tools = ["shell"]\nshell_tool.max_timeout = 8',
    'tools = ["shell"]\nshell_tool.max_timeout = 9',
    'max_timeout is 8',
  ],
  [
    'shell_tool.max_timeout = 900',
    'tools = ["standard"]',
    'tools = ["simple", "shell"]',
    'does not include shell',
  ],
  ['shell_tool.abort_file = "x"', 'tools = ["simple"]', 'tools = ["shell"]', 'does not include shell'],
];

test.each(IDLE)('%s has no effect with %s', (line, because, otherwise, reason) => {
  const key = line.split(' ')[0] ?? '';
  const about = loadFile([because, line]).withoutEffect.filter((each) => each.startsWith(`${key} = `));
  expect(about).toEqual([expect.stringMatching(/\.toml:\d+\) has no effect: /)]);
  expect(about[0]).toContain(reason);
  expect(loadFile([otherwise, line]).withoutEffect.filter((each) => each.startsWith(key))).toEqual([]);
});

test('defaults and empty lists are not reported', () => {
  expect(loadFile(['security.allowed_domains = []']).withoutEffect).toEqual([]);
  expect(loadFile([], { MCP_SHELL_SECURITY_PRESET: 'minimal' }).withoutEffect).toEqual([]);
});
