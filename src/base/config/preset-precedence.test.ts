import { describe, expect, test } from 'vitest';
import { createPlace, PROJECT_FILE, USER_FILE } from './config.fixture.ts';
import { PRESETS } from './presets.ts';

const MIB = 1024 * 1024;

/** Each setting that a preset has: what an open file says, what is in force for it, and what `minimal` says. */
const SETTINGS = [
  ['enable_network = true', 'network', true, PRESETS.minimal.network],
  ['sandbox = "off"', 'sandbox', 'off', 'required'],
  ['sandbox = "auto"', 'sandbox', 'auto', 'required'],
  ['environment = "inherited"', 'environment', 'inherited', 'allowed'],
  ['mode = "permissive"', 'mode', 'permissive', 'restrictive'],
  ['max_execution_time = 600', 'maxExecutionTimeSeconds', 600, 30],
  ['max_memory_mb = 9000', 'maxMemoryBytes', 9000 * MIB, 512 * MIB],
  ['max_pids = 5000', 'maxPids', 5000, 256],
  ['max_file_mb = 5000', 'maxFileBytes', 5000 * MIB, 256 * MIB],
  ['max_tmp_mb = 5000', 'maxTmpBytes', 5000 * MIB, 256 * MIB],
] as const;

describe.each(SETTINGS)('%s', (line, name, open, strict) => {
  const withUserFile = () => {
    const place = createPlace();
    place.write(USER_FILE, `[security]\n${line}\n`);
    return place;
  };
  const key = `security.${line.split(' ')[0]}`;

  test('holds over the preset of its own file', () => {
    const place = createPlace();
    place.write(USER_FILE, `[security]\npreset = "minimal"\n${line}\n`);
    const { settings, warnings } = place.load();
    expect({ value: settings.security[name], warnings }).toEqual({ value: open, warnings: [] });
  });

  test('does not open what a preset shuts that was chosen for this server', () => {
    const environment = { MCP_SHELL_SECURITY_PRESET: 'minimal' };
    const { settings, warnings } = withUserFile().load({ environment });
    expect(settings.security[name]).toBe(strict);
    expect(warnings).toEqual([expect.stringContaining(`${key} = `)]);
    expect(warnings[0]).toMatch(
      /mcp-shell-server\.toml:2\) does not hold: the preset minimal \(.+\) is stricter$/,
    );
  });

  test('does not open what a project’s preset shuts', () => {
    const place = withUserFile();
    place.write(PROJECT_FILE, '[security]\npreset = "minimal"\n');
    expect(place.load().settings.security[name]).toBe(strict);
  });

  test('holds where the preset was chosen in a weaker place', () => {
    const place = createPlace();
    place.write(USER_FILE, '[security]\npreset = "minimal"\n');
    const [setting = '', value = ''] = line.split(' = ');
    const environment = { [`MCP_SHELL_SECURITY_${setting.toUpperCase()}`]: value.replaceAll('"', '') };
    expect(place.load({ environment }).settings.security[name]).toBe(open);
  });
});

test.each([
  ['custom', 'minimal', 'restrictive'],
  ['custom', 'production', 'restrictive'],
  ['permissive', 'production', 'restrictive'],
  ['restrictive', 'sandbox', 'restrictive'],
  ['custom', 'sandbox', 'custom'],
])('the mode %s, without lists, under a later preset %s is %s', (mode, preset, expected) => {
  const place = createPlace();
  place.write(USER_FILE, `[security]\nmode = "${mode}"\n`);
  const { settings, warnings } = place.load({ environment: { MCP_SHELL_SECURITY_PRESET: preset } });
  expect(settings.security.mode).toBe(expected);
  expect(warnings).toHaveLength(expected === mode ? 0 : 1);
});

/** Lists hold, and say so: whether they are needed is for the operator to know. */
const OPENING = [
  ['readable_paths', '["/srv"]', '[]', ['sandbox', 'production', 'minimal']],
  ['writable_paths', '["/srv"]', '[]', ['sandbox', 'production', 'minimal']],
  ['expose', '["git"]', '[]', ['sandbox', 'production', 'minimal']],
  ['allowed_environment', '["TOKEN"]', '[]', ['sandbox', 'production', 'minimal']],
  ['allowed_commands', '["curl"]', '[]', ['production', 'minimal']],
  ['allowed_arguments', '{ npm = ["run x"] }', '{}', ['production', 'minimal']],
  ['extend_allowed', 'true', 'false', ['production', 'minimal']],
  ['allow_writes', 'true', 'false', ['production', 'minimal']],
] as const;

describe.each(OPENING)('%s = %s', (name, opening, nothing, loosened) => {
  const namedUnder = (preset: string, value: string): boolean => {
    const place = createPlace();
    place.write(USER_FILE, `[security]\n${name} = ${value}\n`);
    const { warnings } = place.load({ environment: { MCP_SHELL_SECURITY_PRESET: preset } });
    const words = `toml:2) LOOSENS the preset ${preset} (MCP_SHELL_SECURITY_PRESET)`;
    return warnings.some((one) => one.startsWith(`security.${name} = `) && one.includes(words));
  };
  const ALL = ['development', 'sandbox', 'production', 'minimal'] as const;

  test('is named where it loosens a preset that was chosen for this server', () => {
    expect(ALL.filter((preset) => namedUnder(preset, opening))).toEqual(loosened);
  });

  test('is not named where it allows nothing', () => {
    expect(ALL.filter((preset) => namedUnder(preset, nothing))).toEqual([]);
  });

  test('is not named beside the preset of its own file', () => {
    const place = createPlace();
    place.write(USER_FILE, `[security]\npreset = "minimal"\n${name} = ${opening}\n`);
    expect(place.load().warnings).toEqual([]);
  });
});

test('what is stricter than a later preset stays', () => {
  const place = createPlace();
  place.write(
    USER_FILE,
    '[security]\nenable_network = false\nenvironment = "allowed"\nmode = "restrictive"\nmax_memory_mb = 100\nsandbox = "container"\n',
  );
  const { settings, warnings } = place.load({ environment: { MCP_SHELL_SECURITY_PRESET: 'development' } });
  expect(settings.security).toMatchObject({
    network: false,
    environment: 'allowed',
    mode: 'restrictive',
    maxMemoryBytes: 100 * MIB,
    sandbox: 'container',
  });
  expect(warnings).toEqual([]);
});
