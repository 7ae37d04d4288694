/**
 * From what each source said to what holds: one value for each key, and from those the Settings.
 */
import type { Settings } from '../settings.ts';
import { resolveDefaultWorkdir } from './default-workdir.ts';
import { withPreset } from './in-force.ts';
import { SETTING_KEYS, SETTINGS, type SettingKey, type SettingValues } from './keys.ts';
import { parseSize } from './kinds.ts';
import { type Layer, mistake } from './layers.ts';
import { defaultStateDirectory, directoryProblem } from './paths.ts';
import type { Project } from './project-rules.ts';
import { resolveSecurity } from './resolve-security.ts';
import type { Held, Origin, ResolveContext } from './resolved.ts';
import { settingsWithoutEffect } from './without-effect.ts';

export type { Origin } from './resolved.ts';

export interface LoadedSettings {
  readonly settings: Settings;
  /** Those in force; absent where nothing sets one. */
  readonly values: Readonly<Partial<SettingValues>>;
  readonly origins: Readonly<Record<SettingKey, Origin>>;
  /** For the log: what a project's file asked for and did not get, and directories that are not there. */
  readonly warnings: readonly string[];
  /** Settings that were made and change nothing. */
  readonly withoutEffect: readonly string[];
}

const KIB = 1024;
const MIB = 1024 * KIB;

export function resolveSettings(layers: readonly Layer[], context: ResolveContext): LoadedSettings {
  // The default directory is judged by the allowed ones, which are therefore found out first.
  const allowed = hold('security.allowed_directories', layers, projectOf(context, undefined));
  const project = projectOf(context, allowed.value);
  const find = <Key extends SettingKey>(key: Key) => hold(key, layers, project).value;
  const get = <Key extends SettingKey>(key: Key): SettingValues[Key] => {
    const value = find(key);
    if (value === undefined) throw new Error(`The table of settings has no default for ${key}.`);
    return value;
  };
  const workdir = resolveDefaultWorkdir(hold('default_workdir', layers, project), allowed, context);

  const overruled: string[] = [];
  const settings: Settings = {
    defaultWorkdir: workdir.path,
    tools: get('tools'),
    answers: get('answers'),
    shell: find('shell'),
    stateDir: find('state_dir') ?? defaultStateDirectory(context),
    verbose: context.verbose,
    // The key of the certificate is as secret as they are.
    files: [...context.files, ...present(find('http.tls_key'))],
    security: resolveSecurity(<Key extends SettingKey>(key: Key) => hold(key, layers, project), {
      allowed,
      workdir,
      context,
      warn: (warning) => overruled.push(warning),
    }),
    limits: {
      maxProcesses: get('limits.max_processes'),
      maxProcessesTotal: get('limits.max_processes_total'),
      maxTerminals: get('limits.max_terminals'),
      maxTerminalsTotal: get('limits.max_terminals_total'),
      terminalGraceMs: get('limits.terminal_grace_seconds') * 1000,
      maxOutputBytes: get('limits.max_output_mb') * MIB,
      inlineOutputBytes: get('limits.inline_output_kb') * KIB,
      maxWaitSeconds: find('limits.max_wait_seconds'),
      shellExecSeconds: get('limits.shell_exec_seconds'),
    },
    shellTool: {
      defaultTimeoutSeconds: Math.min(get('shell_tool.default_timeout'), get('shell_tool.max_timeout')),
      maxTimeoutSeconds: get('shell_tool.max_timeout'),
      allowedDirectories: find('shell_tool.allowed_directories'),
      maxOutputBytes: parseSize(get('shell_tool.max_output_size')),
      blockedCommands: get('shell_tool.blocked_commands'),
      logsCommands: get('shell_tool.log_commands'),
      abortFile: find('shell_tool.abort_file'),
    },
    retention: {
      maxAgeHours: get('retention.max_age_hours'),
      maxTotalBytes: get('retention.max_total_mb') * MIB,
      maxCount: get('retention.max_count'),
    },
    audit: { syncs: get('audit.fsync'), maxFileBytes: get('audit.max_file_mb') * MIB },
    http: {
      host: get('http.host'),
      port: get('http.port'),
      publicUrl: find('http.public_url'),
      tls: resolveTls(hold('http.tls_cert', layers, project), hold('http.tls_key', layers, project), context),
      hasPage: get('http.ui'),
      metrics: { host: get('http.metrics_host'), port: find('http.metrics_port') },
    },
    environment: context.environment,
  };
  const all = SETTING_KEYS.map((key) => [key, hold(key, layers, project)] as const);
  const said = {
    values: {
      ...Object.fromEntries(all.map(([key, held]) => [key, held.value])),
      default_workdir: workdir.path,
      state_dir: settings.stateDir,
    },
    origins: { ...originsOf(all), default_workdir: workdir.origin },
  };
  const inForce = withPreset(settings.security, said);
  return {
    settings,
    ...inForce,
    withoutEffect: settingsWithoutEffect(settings, { ...inForce, toolsets: context.toolsets }),
    warnings: [
      ...all.flatMap(([, held]) => held.refusals),
      ...overruled,
      ...missingDirectories(allowed),
      ...workdir.warnings,
    ],
  };
}

function projectOf(context: ResolveContext, allowed: readonly string[] | undefined): Project | undefined {
  const { projectDirectory: directory, toolsets } = context;
  return directory === undefined ? undefined : { directory, toolsets, allowedDirectories: allowed };
}

function hold<Key extends SettingKey>(
  key: Key,
  layers: readonly Layer[],
  project: Project | undefined,
): Held<SettingValues[Key]> {
  const setting = SETTINGS[key];
  const operator = layers.find((layer) => layer.source !== 'project' && layer.entries[key] !== undefined);
  const entry = operator?.entries[key];
  const without: Held<SettingValues[Key]> =
    operator === undefined || entry === undefined
      ? { value: setting.default, origin: { source: 'default' }, refusals: [] }
      : { value: entry.value, origin: { source: operator.source, where: entry.where }, refusals: [] };
  const found = layers.find((layer) => layer.source === 'project')?.entries[key];
  const isOutranked = operator?.source === 'flag' || operator?.source === 'environment';
  if (found === undefined || project === undefined || isOutranked) return without;

  const verdict = setting.fromProject.judge(found.value, without.value, project);
  const refusals = verdict.refusals.map((refusal) => mistake(key, refusal, found.where));
  if (verdict.value === undefined) return { ...without, refusals };
  return { value: verdict.value, origin: { source: 'project', where: found.where }, refusals };
}

const present = <Value>(value: Value | undefined): Value[] => (value === undefined ? [] : [value]);

/** A certificate is nothing without its key. */
function resolveTls(
  cert: Held<string>,
  key: Held<string>,
  { mistakes }: ResolveContext,
): { readonly cert: string; readonly key: string } | undefined {
  if (cert.value !== undefined && key.value !== undefined) return { cert: cert.value, key: key.value };
  const [set, missing] =
    cert.value === undefined ? ([key, 'tls_cert'] as const) : ([cert, 'tls_key'] as const);
  if (set.value !== undefined)
    mistakes.push(
      mistake(`http.${missing}`, 'is missing: TLS needs both files', set.origin.where ?? 'default'),
    );
  return undefined;
}

/** An allowed directory may be made later, but more often its name has a slip in it. */
function missingDirectories(allowed: Held<readonly string[]>): string[] {
  const where = allowed.origin.where ?? 'default';
  return (allowed.value ?? []).flatMap((path) => {
    const problem = directoryProblem(path);
    if (problem === undefined) return [];
    return [mistake('security.allowed_directories', `${JSON.stringify(path)} ${problem}`, where)];
  });
}

function originsOf(all: readonly (readonly [SettingKey, Held<unknown>])[]): Record<SettingKey, Origin> {
  const origins = Object.fromEntries(all.map(([key, held]) => [key, held.origin]));
  // fromEntries forgets which keys it was given.
  return origins as Record<SettingKey, Origin>;
}
