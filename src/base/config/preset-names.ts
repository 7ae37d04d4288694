/** The names that settings of [security] choose from. */

/** From open to strict, in this order. */
export const PRESET_NAMES = ['development', 'sandbox', 'production', 'minimal'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

export const SANDBOX_MODES = ['auto', 'required', 'container', 'off'] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

export const POLICY_MODES = ['permissive', 'restrictive', 'custom'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** From open to strict: all of the server's, without what looks like a secret, or named variables alone. */
export const ENVIRONMENT_MODES = ['inherited', 'filtered', 'allowed'] as const;
export type EnvironmentMode = (typeof ENVIRONMENT_MODES)[number];
