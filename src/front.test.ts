import { expect, it } from 'vitest';
import { loadSettings } from './base/config/config.ts';
import { POLICY_MODES, PRESET_NAMES } from './base/config/presets.ts';
import { hasRules } from './front.ts';
import { createRestrictions } from './security/security.ts';

const cases = PRESET_NAMES.flatMap((preset) =>
  [undefined, ...POLICY_MODES].map((mode) => [preset, mode] as const),
);

it.each(cases)('knows where rules have warnings: preset %s, mode %s', (preset, mode) => {
  const { settings } = loadSettings({
    flags: {},
    environment: {
      MCP_SHELL_SECURITY_PRESET: preset,
      ...(mode !== undefined && { MCP_SHELL_SECURITY_MODE: mode }),
    },
    cwd: '/tmp',
    homedir: '/tmp',
  });
  const isWarned = createRestrictions(settings.security).warnings.length > 0;
  expect(hasRules(settings)).toBe(isWarned || preset === 'minimal');
});

it.each([
  ['MCP_SHELL_SECURITY_ALLOWED_COMMANDS', 'ls'],
  ['MCP_SHELL_SECURITY_ALLOWED_ARGUMENTS', '{"git":["status"]}'],
  ['MCP_SHELL_SECURITY_BLOCKED_COMMANDS', 'ls'],
  ['MCP_SHELL_SECURITY_ASK_COMMANDS', 'ls'],
  ['MCP_SHELL_SECURITY_EXPOSE', 'dockr'],
  ['MCP_SHELL_SHELL_TOOL_BLOCKED_COMMANDS', 'ls'],
])('knows that %s may be wrong', (name, value) => {
  const { settings } = loadSettings({
    flags: {},
    environment: { [name]: value },
    cwd: '/tmp',
    homedir: '/tmp',
  });
  expect(hasRules(settings)).toBe(true);
});

it.each([
  ['dockr', ['security.expose: "dockr" is neither a known name nor a path']],
  ['docker', []],
  ['~/.aws', []],
])('warns of %j in security.expose only where it is a slip', (expose, warnings) => {
  const { settings } = loadSettings({
    flags: {},
    environment: { MCP_SHELL_SECURITY_EXPOSE: expose },
    cwd: '/tmp',
    homedir: '/tmp',
  });
  expect(createRestrictions(settings.security).warnings).toEqual(
    warnings.map((text) => expect.stringContaining(text)),
  );
});
