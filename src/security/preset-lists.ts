/** What a preset says about commands; its sandbox, limits and environment are in the table of settings. */
import { PRESETS, type PresetName } from '../base/config/presets.ts';
import type { PolicyConfig } from './policy/policy-types.ts';
import { MINIMAL_ARGUMENTS } from './policy/tables/reading.ts';

export const PRESET_COMMANDS: Readonly<Record<PresetName, PolicyConfig>> = {
  development: { mode: PRESETS.development.mode },
  sandbox: { mode: PRESETS.sandbox.mode },
  production: { mode: PRESETS.production.mode },
  minimal: { mode: PRESETS.minimal.mode, allowedArguments: MINIMAL_ARGUMENTS, allowWrites: false },
};
