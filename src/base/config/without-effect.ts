/** Settings without effect, because another setting overrides them. */
import type { Settings } from '../settings.ts';
import { hasAllowList, modeOf, ownList } from './in-force.ts';
import { SETTING_KEYS, type SettingKey } from './keys.ts';
import type { InForce } from './resolved.ts';
import type { Toolsets } from './strictness.ts';

interface Around extends InForce {
  readonly toolsets: Toolsets | undefined;
}

/** One sentence a setting. */
export function settingsWithoutEffect(settings: Settings, around: Around): string[] {
  return SETTING_KEYS.flatMap((key) => {
    const { source, where } = around.origins[key];
    const value: unknown = around.values[key];
    const isEmpty = Array.isArray(value) && value.length === 0;
    const why = source === 'default' || isEmpty ? undefined : reasonFor(key, settings, around);
    return why === undefined ? [] : [`${key} = ${JSON.stringify(value)} (${where}) has no effect: ${why}`];
  });
}

function reasonFor(key: SettingKey, settings: Settings, around: Around): string | undefined {
  const own = key.startsWith('shell_tool.') ? withoutShellTool(settings, around, key) : undefined;
  return own ?? REASONS[key]?.(settings, around, key);
}

/** Why the setting has no effect; undefined where it has. */
type Reason = (settings: Settings, around: Around, key: SettingKey) => string | undefined;

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
  (other: SettingKey): Reason =>
  (_settings, { values }, key) =>
    Number(values[key]) > Number(values[other]) ? `${other} is ${Number(values[other])}` : undefined;

const either =
  (one: Reason, other: Reason): Reason =>
  (...about) =>
    one(...about) ?? other(...about);

/** Settings of the tool `shell` have one more: that the tool is not there. */
const REASONS: Partial<Record<SettingKey, Reason>> = {
  'security.allowed_commands': permissive,
  'security.allowed_arguments': permissive,
  'security.extend_allowed': ({ security }) =>
    !security.extendsAllowed || ownList(security) !== undefined
      ? undefined
      : 'neither security.allowed_commands nor security.allowed_arguments is set',
  'security.allow_writes': ({ security }) => (hasAllowList(security) ? undefined : 'there is no allow-list'),
  'security.readable_paths': withoutSandbox,
  'security.expose': withoutSandbox,
  'security.enable_network': (settings, ...about) =>
    settings.security.network ? undefined : withoutSandbox(settings, ...about),
  'security.allowed_domains': ({ security }) => (security.network ? undefined : 'the network is off'),
  'security.allowed_environment': ({ security: { environment } }) =>
    environment === 'allowed' ? undefined : `security.environment is "${environment}"`,
  'security.max_tmp_mb': either(
    ({ security: { keepsTmp, preset } }) =>
      keepsTmp ? `under the preset ${preset} /tmp is on disk` : undefined,
    withoutSandbox,
  ),
  'limits.max_processes': above('limits.max_processes_total'),
  'limits.max_terminals': either(withoutTerminals, above('limits.max_terminals_total')),
  'limits.max_terminals_total': withoutTerminals,
  'limits.terminal_grace_seconds': withoutTerminals,
  'http.metrics_host': ({ http }) =>
    http.metrics.port === undefined ? 'http.metrics_port is not set' : undefined,
  'shell_tool.default_timeout': above('shell_tool.max_timeout'),
};
