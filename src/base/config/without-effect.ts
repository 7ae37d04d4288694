/** Settings without effect, because another setting overrides them. */
import type { Settings } from '../settings.ts';
import { type InForce, modeOf, ownList } from './in-force.ts';
import type { SettingKey } from './keys.ts';
import type { Toolsets } from './project-rules.ts';

interface Around extends InForce {
  readonly toolsets: Toolsets | undefined;
}

/** One sentence a setting. */
export function settingsWithoutEffect(settings: Settings, around: Around): string[] {
  return Object.entries(REASONS).flatMap(([name, reason]) => {
    const key = name as keyof typeof REASONS;
    const { source, where } = around.origins[key];
    const value: unknown = around.values[key];
    const isEmpty = Array.isArray(value) && value.length === 0;
    const why = source === 'default' || isEmpty ? undefined : reason(settings, around);
    return why === undefined ? [] : [`${key} = ${JSON.stringify(value)} (${where}) has no effect: ${why}`];
  });
}

/** Why the setting has no effect; undefined where it has. */
type Reason = (settings: Settings, around: Around) => string | undefined;

const withoutSandbox: Reason = ({ security: { sandbox } }) =>
  sandbox === 'off' || sandbox === 'container' ? `security.sandbox is "${sandbox}"` : undefined;

const permissive: Reason = ({ security }) =>
  modeOf(security) === 'permissive' ? 'security.mode is "permissive"' : undefined;

const withoutTerminals: Reason = ({ security: { hasTerminals, preset } }) =>
  hasTerminals ? undefined : `the preset ${preset} has no terminals`;

const withoutShellTool: Reason = ({ tools }, { toolsets }) =>
  toolsets === undefined || tools.some((name) => toolsets[name]?.includes('shell') === true)
    ? undefined
    : 'tools does not include shell';

/** A limit of one, where the limit of all is lower. */
const above =
  (key: SettingKey, other: SettingKey): Reason =>
  (_settings, { values }) =>
    Number(values[key]) > Number(values[other]) ? `${other} is ${Number(values[other])}` : undefined;

const either =
  (one: Reason, other: Reason): Reason =>
  (settings, around) =>
    one(settings, around) ?? other(settings, around);

const REASONS = {
  'security.allowed_commands': permissive,
  'security.allowed_arguments': permissive,
  'security.extend_allowed': ({ security }, around) =>
    around.values['security.extend_allowed'] !== true || ownList(security) !== undefined
      ? undefined
      : 'neither security.allowed_commands nor security.allowed_arguments is set',
  'security.allow_writes': ({ security }) =>
    modeOf(security) === 'restrictive' || (modeOf(security) === 'custom' && ownList(security) !== undefined)
      ? undefined
      : 'there is no allow-list',
  'security.readable_paths': withoutSandbox,
  'security.expose': withoutSandbox,
  'security.enable_network': (settings, around) =>
    settings.security.network ? undefined : withoutSandbox(settings, around),
  'security.allowed_domains': ({ security }) => (security.network ? undefined : 'the network is off'),
  'security.allowed_environment': ({ security: { environment } }) =>
    environment === 'allowed' ? undefined : `security.environment is "${environment}"`,
  'security.max_tmp_mb': either(
    ({ security: { keepsTmp, preset } }) =>
      keepsTmp ? `under the preset ${preset} /tmp is on disk` : undefined,
    withoutSandbox,
  ),
  'limits.max_processes': above('limits.max_processes', 'limits.max_processes_total'),
  'limits.max_terminals': either(
    withoutTerminals,
    above('limits.max_terminals', 'limits.max_terminals_total'),
  ),
  'limits.max_terminals_total': withoutTerminals,
  'limits.terminal_grace_seconds': withoutTerminals,
  'http.metrics_host': ({ http }) =>
    http.metrics.port === undefined ? 'http.metrics_port is not set' : undefined,
  'shell_tool.default_timeout': either(
    withoutShellTool,
    above('shell_tool.default_timeout', 'shell_tool.max_timeout'),
  ),
  'shell_tool.max_timeout': withoutShellTool,
  'shell_tool.allowed_directories': withoutShellTool,
  'shell_tool.max_output_size': withoutShellTool,
  'shell_tool.blocked_commands': withoutShellTool,
  'shell_tool.log_commands': withoutShellTool,
  'shell_tool.abort_file': withoutShellTool,
} as const satisfies Partial<Record<SettingKey, Reason>>;
