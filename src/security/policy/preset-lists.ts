/** What a preset says about commands; its sandbox, limits and environment are settled elsewhere. */

import type { PolicyConfig } from './policy-types.ts';
import { MINIMAL_ARGUMENTS } from './tables/reading.ts';

export type Preset = 'development' | 'sandbox' | 'production' | 'minimal';

export const PRESET_COMMANDS: Readonly<Record<Preset, PolicyConfig>> = {
  development: { mode: 'permissive' },
  sandbox: { mode: 'permissive' },
  production: { mode: 'restrictive' },
  minimal: { mode: 'restrictive', allowedArguments: MINIMAL_ARGUMENTS, allowWrites: false },
};

/** Higher is stricter; production and minimal allow different things, so that going over keeps what both allow. */
export function presetRank(preset: Preset): number {
  return { development: 0, sandbox: 1, production: 2, minimal: 2 }[preset];
}
