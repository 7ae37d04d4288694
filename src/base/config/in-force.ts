/** Which commands may run, where the mode does not say it. */
import type { SecuritySettings } from '../settings.ts';
import type { SettingKey } from './keys.ts';
import { type PolicyMode, PRESETS } from './presets.ts';

type Lists = Pick<SecuritySettings, 'allowedCommands' | 'allowedArguments'>;

/** The operator's own list. */
export function ownList({ allowedCommands, allowedArguments }: Lists): SettingKey | undefined {
  if (allowedCommands !== undefined) return 'security.allowed_commands';
  return allowedArguments === undefined ? undefined : 'security.allowed_arguments';
}

/** Whether commands must be named to run. */
export function hasAllowList(security: Lists & Pick<SecuritySettings, 'mode' | 'preset'>): boolean {
  const mode = modeOf(security);
  return mode === 'restrictive' || (mode === 'custom' && ownList(security) !== undefined);
}

/** Lists without a mode mean that exactly the lists hold. */
export function modeOf(security: Lists & Pick<SecuritySettings, 'mode' | 'preset'>): PolicyMode {
  if (security.mode !== undefined) return security.mode;
  return ownList(security) === undefined ? PRESETS[security.preset].mode : 'custom';
}
