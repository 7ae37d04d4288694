/**
 * [security]: the preset, and what was set instead of it. What a project's file asks for never loosens what the preset
 * says without it; and a preset from a stronger source than a setting yields the stricter of the two, so that
 * an old file does not open what a flag has shut.
 */
import type { SecuritySettings } from '../settings.ts';
import type { DefaultWorkdir } from './default-workdir.ts';
import type { SettingKey, SettingValues } from './keys.ts';
import { isWeaker, loosenings } from './loosenings.ts';
import { isInside, realPathOf, startDirectory } from './paths.ts';
import {
  ENVIRONMENT_MODES,
  type EnvironmentMode,
  type PolicyMode,
  PRESETS,
  type SandboxMode,
} from './presets.ts';
import type { Held, ResolveContext } from './resolved.ts';

const MIB = 1024 * 1024;

type HoldKey = <Key extends SettingKey>(key: Key) => Held<SettingValues[Key]>;

interface Around {
  readonly allowed: Held<readonly string[]>;
  readonly workdir: DefaultWorkdir;
  readonly context: ResolveContext;
  /** Called with each setting that the preset overrules. */
  readonly warn: (warning: string) => void;
}

export function resolveSecurity(hold: HoldKey, around: Around): SecuritySettings {
  const chosen = hold('security.preset');
  const preset = chosen.value ?? 'development';
  const says = PRESETS[preset];
  const settle = <Key extends PresetKey>(
    key: Key,
    fromPreset: SettingValues[Key] | undefined,
    stricter: (one: SettingValues[Key], other: SettingValues[Key]) => SettingValues[Key],
  ): SettingValues[Key] | undefined => {
    const { value, origin } = hold(key);
    if (value === undefined || fromPreset === undefined) return value ?? fromPreset;
    if (!isWeaker(origin, chosen.origin)) return value;
    const strict = stricter(value, fromPreset);
    if (strict !== value)
      around.warn(
        `${key} = ${JSON.stringify(value)} (${origin.where}) does not hold: the preset ${preset} (${chosen.origin.where}) is stricter`,
      );
    return strict;
  };
  const limit = (key: LimitKey, unit: number, otherwise: number | undefined): number | undefined => {
    const value = settle(key, otherwise === undefined ? undefined : otherwise / unit, Math.min);
    if (value === undefined) return undefined;
    // The operator may go beyond the preset; a file that came with a clone may not.
    const isProjects = hold(key).origin.source === 'project';
    return Math.min(value * unit, isProjects ? (otherwise ?? Infinity) : Infinity);
  };
  const listOf = (
    key:
      | 'security.readable_paths'
      | 'security.writable_paths'
      | 'security.expose'
      | 'security.allowed_domains'
      | 'security.allowed_environment',
  ): readonly string[] => hold(key).value ?? [];
  const hasLists =
    (hold('security.allowed_commands').value ?? hold('security.allowed_arguments').value) !== undefined;
  for (const warning of loosenings(hold)) around.warn(warning);
  return {
    ...says,
    preset,
    // Without one, the preset's lists hold.
    mode: hold('security.mode').value && settle('security.mode', says.mode, stricterMode(hasLists)),
    allowedCommands: hold('security.allowed_commands').value,
    blockedCommands: hold('security.blocked_commands').value ?? [],
    askCommands: hold('security.ask_commands').value ?? [],
    allowedArguments: hold('security.allowed_arguments').value,
    extendsAllowed: hold('security.extend_allowed').value ?? false,
    allowWrites: hold('security.allow_writes').value,
    sandbox: settle('security.sandbox', says.sandbox, stricterSandbox) ?? says.sandbox,
    network: settle('security.enable_network', says.network, (one, other) => one && other) ?? says.network,
    allowedDomains: listOf('security.allowed_domains'),
    environment: settle('security.environment', says.environment, stricterEnvironment) ?? says.environment,
    allowedEnvironment: listOf('security.allowed_environment'),
    masksOutput: hold('security.mask_output').value ?? false,
    asksSecrets: hold('security.askpass').value ?? false,
    allowedDirectories: around.allowed.value,
    workspace: workspaceOf(around),
    readablePaths: listOf('security.readable_paths'),
    writablePaths: listOf('security.writable_paths'),
    expose: listOf('security.expose'),
    maxExecutionTimeSeconds: limit('security.max_execution_time', 1, says.maxExecutionTimeSeconds),
    maxMemoryBytes: limit('security.max_memory_mb', MIB, says.maxMemoryBytes),
    maxPids: limit('security.max_pids', 1, says.maxPids),
    maxFileBytes: limit('security.max_file_mb', MIB, says.maxFileBytes),
    maxTmpBytes: limit('security.max_tmp_mb', MIB, says.maxTmpBytes),
    maxCpuPercent: hold('security.max_cpu_percent').value,
    maxCpuSeconds: hold('security.max_cpu_seconds').value,
  };
}

type LimitKey =
  | 'security.max_execution_time'
  | 'security.max_memory_mb'
  | 'security.max_pids'
  | 'security.max_file_mb'
  | 'security.max_tmp_mb';
type PresetKey =
  | LimitKey
  | 'security.sandbox'
  | 'security.enable_network'
  | 'security.environment'
  | 'security.mode';

/** Whether there is a container around the server the operator knows, not the preset. */
const stricterSandbox = (one: SandboxMode, other: SandboxMode): SandboxMode =>
  one === 'container' || other === 'auto' ? one : other;

/** Lists of one's own may be stricter than those of a preset; without lists, "custom" allows everything. */
const stricterMode =
  (hasLists: boolean) =>
  (one: PolicyMode, other: PolicyMode): PolicyMode =>
    other === 'restrictive' && !(one === 'custom' && hasLists) ? other : one;

const stricterEnvironment = (one: EnvironmentMode, other: EnvironmentMode): EnvironmentMode =>
  ENVIRONMENT_MODES.indexOf(one) > ENVIRONMENT_MODES.indexOf(other) ? one : other;

/**
 * What the operator allowed, else where the server was started and where the operator has commands run. A project's
 * file only narrows that: it may lie above the directory that was started in.
 */
function workspaceOf({ allowed, workdir, context }: Around): readonly string[] {
  const listed = allowed.value?.filter((path) => realPathOf(path) !== '/');
  const isOperators = allowed.origin.source !== 'project';
  if (listed !== undefined && isOperators && listed.length === allowed.value?.length) return listed;
  const start = startDirectory(context.cwd, context.homedir, context.platform);
  const own =
    workdir.origin.source === 'project' || workdir.origin.source === 'default' ? [] : [workdir.path];
  const given = [start, ...own.filter((path) => !isInside(realPathOf(path), realPathOf(start)))];
  // "/" restricts nothing, and as a whole it is never written to.
  if (listed === undefined || isOperators)
    return [...given, ...(listed ?? []).filter((path) => !given.includes(path))];
  const bounds = given.map(realPathOf);
  return (allowed.value ?? []).flatMap((path) => {
    const real = realPathOf(path);
    if (bounds.some((bound) => isInside(real, bound))) return [real];
    return bounds.filter((bound) => isInside(bound, real));
  });
}
