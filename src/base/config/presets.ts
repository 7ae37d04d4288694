/**
 * The four presets: what holds of [security] where a setting does not say otherwise. From open to strict, in this
 * order; a project's file may choose a stricter one, never an opener one.
 */
const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const PRESET_NAMES = ['development', 'sandbox', 'production', 'minimal'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

export const SANDBOX_MODES = ['auto', 'required', 'container', 'off'] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

export const POLICY_MODES = ['permissive', 'restrictive', 'custom'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** From open to strict: all of the server's, without what looks like a secret, or named variables alone. */
export const ENVIRONMENT_MODES = ['inherited', 'filtered', 'allowed'] as const;
export type EnvironmentMode = (typeof ENVIRONMENT_MODES)[number];

/** What of the host's files is there: all but the private ones, what programs need, or the allowed programs alone. */
export type RootView = 'host' | 'minimal' | 'programs';

export interface Preset {
  /** Which commands may run; the lists for it are the policy's. */
  readonly mode: PolicyMode;
  readonly sandbox: SandboxMode;
  readonly root: RootView;
  readonly network: boolean;
  readonly environment: EnvironmentMode;
  /** Caches of package managers in the home directory are writable. */
  readonly hasToolCaches: boolean;
  /** /tmp is one directory a principal and kept, rather than empty memory for each execution. */
  readonly keepsTmp: boolean;
  /** Debuggers and tracers work on what the command itself started. */
  readonly allowsPtrace: boolean;
  /** What is typed into one cannot be held to rules about arguments. */
  readonly hasTerminals: boolean;
  readonly maxMemoryBytes: number;
  readonly maxPids: number;
  readonly maxFileBytes: number | undefined;
  readonly maxTmpBytes: number | undefined;
  readonly maxExecutionTimeSeconds: number | undefined;
}

const SHUT = {
  sandbox: 'required',
  network: false,
  environment: 'allowed',
  hasToolCaches: false,
  keepsTmp: false,
  allowsPtrace: false,
  hasTerminals: true,
  maxPids: 256,
  maxTmpBytes: 256 * MIB,
} as const;

export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  development: {
    mode: 'permissive',
    sandbox: 'auto',
    root: 'host',
    network: true,
    environment: 'inherited',
    hasToolCaches: true,
    keepsTmp: true,
    allowsPtrace: true,
    hasTerminals: true,
    // Compilers and test suites need much of both.
    maxMemoryBytes: 4 * GIB,
    maxPids: 1024,
    maxFileBytes: undefined,
    maxTmpBytes: undefined,
    // Dev servers run for days.
    maxExecutionTimeSeconds: undefined,
  },
  sandbox: {
    ...SHUT,
    mode: 'permissive',
    root: 'minimal',
    maxMemoryBytes: GIB,
    maxFileBytes: 512 * MIB,
    maxExecutionTimeSeconds: 300,
  },
  production: {
    ...SHUT,
    mode: 'restrictive',
    root: 'programs',
    maxMemoryBytes: GIB,
    maxFileBytes: 256 * MIB,
    maxExecutionTimeSeconds: 300,
  },
  minimal: {
    ...SHUT,
    mode: 'restrictive',
    hasTerminals: false,
    root: 'programs',
    maxMemoryBytes: 512 * MIB,
    maxFileBytes: 256 * MIB,
    maxExecutionTimeSeconds: 30,
  },
};
