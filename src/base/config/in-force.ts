/** The values that are in force, with those that the preset decides. */
import type { SecuritySettings } from '../settings.ts';
import type { SettingKey, SettingValues } from './keys.ts';
import { type PolicyMode, PRESETS, type Preset } from './presets.ts';
import type { Origin } from './resolved.ts';

const MIB = 1024 * 1024;

type Values = Readonly<Partial<SettingValues>>;
type Origins = Readonly<Record<SettingKey, Origin>>;

export interface InForce {
  readonly values: Values;
  readonly origins: Origins;
}

/** A value that nothing else sets, or that is stricter than the one that was set, comes from the preset. */
export function withPreset(security: SecuritySettings, { values, origins }: InForce): InForce {
  const preset: Origin = { source: 'preset', where: security.preset };
  const inForce: Partial<Record<SettingKey, unknown>> = { ...values };
  const from: Record<SettingKey, Origin> = { ...origins };
  for (const [key, value] of presetValues({ ...security, mode: modeOf(security) })) {
    if (value === undefined || value === values[key]) continue;
    inForce[key] = value;
    from[key] = preset;
  }
  // Lists without a mode mean that exactly the lists hold.
  const list = ownList(security);
  if (security.mode === undefined && list !== undefined) from['security.mode'] = origins[list];
  // The keys are those of the table, with values of their types.
  return { values: inForce as Values, origins: from };
}

type Decided = Omit<Preset, 'maxMemoryBytes' | 'maxPids'> &
  Pick<SecuritySettings, 'maxMemoryBytes' | 'maxPids'>;

/** The settings that a preset decides, in the units of the table; undefined: no limit. */
export function presetValues(security: Decided): (readonly [SettingKey, unknown])[] {
  const mib = (bytes: number | undefined): number | undefined => bytes && bytes / MIB;
  return [
    ['security.sandbox', security.sandbox],
    ['security.mode', security.mode],
    ['security.enable_network', security.network],
    ['security.environment', security.environment],
    ['security.max_execution_time', security.maxExecutionTimeSeconds],
    ['security.max_memory_mb', mib(security.maxMemoryBytes)],
    ['security.max_pids', security.maxPids],
    ['security.max_file_mb', mib(security.maxFileBytes)],
    ['security.max_tmp_mb', mib(security.maxTmpBytes)],
  ];
}

export function ownList(security: SecuritySettings): SettingKey | undefined {
  if (security.allowedCommands !== undefined) return 'security.allowed_commands';
  return security.allowedArguments === undefined ? undefined : 'security.allowed_arguments';
}

export function modeOf(security: SecuritySettings): PolicyMode {
  if (security.mode !== undefined) return security.mode;
  return ownList(security) === undefined ? PRESETS[security.preset].mode : 'custom';
}
