/** What clients rely on, pinned by literals: a change here is a change that somebody's client will notice. */
import { expect, test } from 'vitest';
import { TOOLSETS } from '../src/all-tools.ts';
import { categoryOf, ERRORS } from '../src/base/errors.ts';
import { COMPATIBLE_TOOLS, pickMethods } from '../src/compat/compat.ts';
import { createDefinitions } from '../src/server/definitions.ts';
import { TOOLS } from '../src/tools/tools.ts';
import { measureDefinitions } from './support/measure-definitions.ts';

const definitions = createDefinitions(TOOLS);

test('the tools, in the order in which they are listed, with their parameters and those that are required', () => {
  const surface = definitions.map(({ name, inputSchema }) => [
    name,
    Object.keys(inputSchema.properties ?? {}).join(' '),
    (inputSchema.required ?? []).join(' '),
  ]);
  expect(surface).toEqual([
    [
      'shell_execute',
      'command execution_mode working_directory environment_variables input_data timeout_seconds foreground_timeout_seconds max_output_size fold detail capture_stderr merge_stderr return_partial_on_timeout session_id wait_for wait_mode create_terminal terminal_shell terminal_dimensions',
      'command',
    ],
    ['process_get_execution', 'execution_id execution_ids wait_seconds wait_for wait_mode fold', ''],
    ['process_list', 'status_filter command_pattern session_id limit offset', ''],
    ['process_terminate', 'process_id execution_id signal force', ''],
    ['process_monitor', 'process_id execution_id monitor_interval_ms include_metrics monitor_id action', ''],
    ['list_execution_outputs', 'output_type execution_id name_pattern limit', ''],
    [
      'read_execution_output',
      'output_id offset size encoding start_line line_count pattern context_lines extract path compare_to ignore_times',
      'output_id',
    ],
    ['delete_execution_outputs', 'output_ids confirm', 'output_ids confirm'],
    [
      'terminal_create',
      'session_name shell_type dimensions working_directory environment_variables auto_save_history command timeout_seconds',
      '',
    ],
    ['terminal_list', 'session_name_pattern status_filter limit', ''],
    ['terminal_get_info', 'terminal_id', 'terminal_id'],
    [
      'terminal_send_input',
      'terminal_id input execute control_codes raw_bytes keys send_to wait_for wait_idle_ms timeout_seconds',
      'terminal_id',
    ],
    [
      'terminal_get_output',
      'terminal_id start_line line_count include_ansi include_foreground_process view wait_for wait_idle_ms timeout_seconds',
      'terminal_id',
    ],
    ['terminal_resize', 'terminal_id dimensions', 'terminal_id dimensions'],
    ['terminal_close', 'terminal_id save_history', 'terminal_id'],
    ['shell_set_default_workdir', 'working_directory apply_to_existing_sessions', 'working_directory'],
    [
      'security_set_restrictions',
      'security_mode security_preset allowed_commands blocked_commands allowed_directories max_execution_time max_memory_mb enable_network',
      '',
    ],
    ['monitoring_get_stats', 'include_metrics time_range_minutes', ''],
  ]);
});

const compatible = createDefinitions(COMPATIBLE_TOOLS);

test('the tools of other interfaces, with their parameters and those that are required', () => {
  const surface = compatible.map(({ name, inputSchema }) => [
    name,
    Object.keys(inputSchema.properties ?? {}).join(' '),
    (inputSchema.required ?? []).join(' '),
  ]);
  expect(surface).toEqual([
    ['shell_exec', 'command args cwd env', 'command'],
    ['shell_allowed', '', ''],
    ['shell', 'command working_directory timeout environment', 'command'],
    ['shell_get_execution', 'execution_id execution_ids wait_seconds wait_for wait_mode fold', ''],
    ['process_kill', 'process_id execution_id signal force', ''],
    ['file_list', 'file_type execution_id name_pattern limit', ''],
    ['file_read', 'file_id offset size encoding', 'file_id'],
    ['file_delete', 'file_ids confirm', 'file_ids confirm'],
    ['terminal_get', 'terminal_id', 'terminal_id'],
    [
      'terminal_input',
      'terminal_id input execute control_codes raw_bytes keys send_to wait_for wait_idle_ms timeout_seconds',
      'terminal_id',
    ],
    [
      'terminal_output',
      'terminal_id start_line line_count include_ansi include_foreground_process view wait_for wait_idle_ms timeout_seconds',
      'terminal_id',
    ],
  ]);
});

test('the toolsets', () => {
  const standard = definitions.map(({ name }) => name);
  expect(TOOLSETS).toEqual({
    standard,
    simple: ['shell_exec', 'shell_allowed'],
    shell: ['shell'],
    legacy: [
      'shell_execute',
      'shell_get_execution',
      'process_list',
      'process_kill',
      'process_monitor',
      'file_list',
      'file_read',
      'file_delete',
      'terminal_create',
      'terminal_list',
      'terminal_get',
      'terminal_input',
      'terminal_output',
      'terminal_resize',
      'terminal_close',
      'security_set_restrictions',
      'monitoring_get_stats',
    ],
    all: [...standard, ...compatible.map(({ name }) => name)],
  });
});

test('the methods, and the toolsets that open them', () => {
  const methodsFor = (...names: string[]): string[] =>
    pickMethods([...TOOLS, ...COMPATIBLE_TOOLS].filter(({ name }) => names.includes(name))).map(
      ({ name }) => name,
    );
  for (const tool of ['shell_execute', 'shell_exec', 'shell'])
    expect(methodsFor(tool), tool).toEqual(['shell/exec', 'shell/allowed']);
  expect(methodsFor('shell_allowed')).toEqual(['shell/allowed']);
  expect(methodsFor('process_list', 'read_execution_output')).toEqual([]);
});

test('the error codes', () => {
  expect(Object.keys(ERRORS).map((code) => `${code} ${categoryOf(code)}`)).toEqual([
    'AUTH_001 AUTH',
    'AUTH_002 AUTH',
    'AUTH_003 AUTH',
    'PARAM_001 PARAM',
    'PARAM_002 PARAM',
    'PARAM_003 PARAM',
    'RESOURCE_001 RESOURCE',
    'RESOURCE_002 RESOURCE',
    'RESOURCE_003 RESOURCE',
    'RESOURCE_004 RESOURCE',
    'RESOURCE_005 RESOURCE',
    'EXECUTION_001 EXECUTION',
    'EXECUTION_002 EXECUTION',
    'EXECUTION_003 EXECUTION',
    'EXECUTION_004 EXECUTION',
    'EXECUTION_005 EXECUTION',
    'SYSTEM_001 SYSTEM',
    'SYSTEM_002 SYSTEM',
    'SYSTEM_003 SYSTEM',
    'SECURITY_001 SECURITY',
    'SECURITY_002 SECURITY',
    'SECURITY_003 SECURITY',
  ]);
});

test.each([
  [
    'shell_execute',
    'execution_mode',
    ['foreground', 'background', 'detached', 'adaptive'],
    ['sync', 'async'],
  ],
  ['shell_execute', 'terminal_shell', ['bash', 'zsh', 'fish', 'sh'], ['cmd', 'powershell']],
  ['terminal_create', 'shell_type', ['bash', 'zsh', 'fish', 'sh'], ['cmd', 'powershell']],
])('%s lists %s without the values that it takes besides', (name, parameter, listed, others) => {
  const { inputSchema } = definitions.find((definition) => definition.name === name) ?? {};
  expect(inputSchema?.properties?.[parameter]?.['enum']).toEqual(listed);
  const input = TOOLS.find((tool) => tool.name === name)?.input();
  for (const value of [...listed, ...others])
    expect(input?.safeParse({ command: 'ls', [parameter]: value }).success, value).toBe(true);
  expect(input?.safeParse({ command: 'ls', [parameter]: 'other' }).success).toBe(false);
});

test('numbers that Codex leaves out of schemas stand in the text', () => {
  const texts = new Map(
    definitions.map(({ name, description, inputSchema }) => [
      name,
      [description, ...Object.values(inputSchema.properties ?? {}).map((each) => each['description'])].join(
        '\n',
      ),
    ]),
  );
  const expected = {
    shell_execute: ['max 3600', 'Default 10', 'max 300', 'foreground: 30'],
    process_get_execution: ['max 300'],
    process_list: ['50'],
    process_monitor: ['Default 1000'],
    read_execution_output: ['Default 8192, max 1 MiB'],
    terminal_create: ['max 300'],
    terminal_send_input: ['max 300'],
    terminal_get_output: ['max 300'],
  };
  for (const [name, numbers] of Object.entries(expected))
    for (const number of numbers) expect(texts.get(name), name).toContain(number);
});

test('what a model must read of a tool averages under 783 bytes', () => {
  expect(measureDefinitions(definitions).averageBytes).toBeLessThan(783);
});

test('an output schema is one object without required fields, and an error fits it', () => {
  for (const { name, outputSchema } of [...definitions, ...compatible]) {
    expect(outputSchema, name).toMatchObject({ type: 'object', properties: { error: { type: 'object' } } });
    expect(outputSchema.required ?? [], name).toEqual([]);
    expect(JSON.stringify(outputSchema), name).not.toContain('anyOf');
  }
});

test('the tool that matters is loaded from the start by clients that defer the others', () => {
  expect(
    [...definitions, ...compatible]
      .filter(({ _meta }) => _meta !== undefined)
      .map(({ name, _meta }) => [name, _meta]),
  ).toEqual([['shell_execute', { 'anthropic/alwaysLoad': true }]]);
});
