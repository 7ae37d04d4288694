/**
 * [security]: the preset, and what was set instead of it. What a project's file asks for never loosens what the preset
 * says without it.
 */
import type { SecuritySettings } from '../settings.ts';
import type { DefaultWorkdir } from './default-workdir.ts';
import type { SettingKey, SettingValues } from './keys.ts';
import { isInside, realPathOf, startDirectory } from './paths.ts';
import { PRESETS } from './presets.ts';
import type { Held, ResolveContext } from './resolve.ts';

const MIB = 1024 * 1024;

type HoldKey = <Key extends SettingKey>(key: Key) => Held<SettingValues[Key]>;

interface Around {
  readonly allowed: Held<readonly string[]>;
  readonly workdir: DefaultWorkdir;
  readonly context: ResolveContext;
}

export function resolveSecurity(hold: HoldKey, around: Around): SecuritySettings {
  const preset = hold('security.preset').value ?? 'development';
  const says = PRESETS[preset];
  const limit = (held: Held<number>, unit: number, otherwise: number | undefined): number | undefined => {
    if (held.value === undefined) return otherwise;
    const value = held.value * unit;
    // The operator may go beyond the preset; a file that came with a clone may not.
    return held.origin.source === 'project' ? Math.min(value, otherwise ?? Infinity) : value;
  };
  const listOf = (
    key:
      | 'security.readable_paths'
      | 'security.writable_paths'
      | 'security.expose'
      | 'security.allowed_domains'
      | 'security.allowed_environment',
  ): readonly string[] => hold(key).value ?? [];
  return {
    ...says,
    preset,
    mode: hold('security.mode').value,
    allowedCommands: hold('security.allowed_commands').value,
    blockedCommands: hold('security.blocked_commands').value ?? [],
    askCommands: hold('security.ask_commands').value ?? [],
    allowedArguments: hold('security.allowed_arguments').value,
    extendsAllowed: hold('security.extend_allowed').value ?? false,
    allowWrites: hold('security.allow_writes').value,
    sandbox: hold('security.sandbox').value ?? says.sandbox,
    network: hold('security.enable_network').value ?? says.network,
    allowedDomains: listOf('security.allowed_domains'),
    environment: hold('security.environment').value ?? says.environment,
    allowedEnvironment: listOf('security.allowed_environment'),
    masksOutput: hold('security.mask_output').value ?? false,
    allowedDirectories: around.allowed.value,
    workspace: workspaceOf(around),
    readablePaths: listOf('security.readable_paths'),
    writablePaths: listOf('security.writable_paths'),
    expose: listOf('security.expose'),
    maxExecutionTimeSeconds: limit(hold('security.max_execution_time'), 1, says.maxExecutionTimeSeconds),
    maxMemoryBytes: limit(hold('security.max_memory_mb'), MIB, says.maxMemoryBytes),
    maxPids: limit(hold('security.max_pids'), 1, says.maxPids),
    maxFileBytes: limit(hold('security.max_file_mb'), MIB, says.maxFileBytes),
    maxTmpBytes: limit(hold('security.max_tmp_mb'), MIB, says.maxTmpBytes),
    maxCpuPercent: hold('security.max_cpu_percent').value,
    maxCpuSeconds: hold('security.max_cpu_seconds').value,
  };
}

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
