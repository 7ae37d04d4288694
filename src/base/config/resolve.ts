/**
 * From what each source said to what holds: one value for each key, and from those the Settings.
 */
import type { Settings } from '../settings.ts';
import { resolveDefaultWorkdir } from './default-workdir.ts';
import { placeField } from './fields.ts';
import { isVerbose } from './from-environment.ts';
import { SETTING_KEYS, SETTINGS, type SettingKey, type SettingValues } from './keys.ts';
import type { Setting } from './kinds.ts';
import { type Layer, mistake } from './layers.ts';
import { defaultStateDirectory, directoryProblem } from './paths.ts';
import { PRESETS } from './presets.ts';
import { unmountable, withPreset, workspaceOf } from './resolve-security.ts';
import type { Held, HeldSettings, InForce, ResolveContext } from './resolved.ts';
import { operatorOnly, type Project } from './strictness.ts';
import { settingsWithoutEffect } from './without-effect.ts';

export type { Origin } from './resolved.ts';

export interface LoadedSettings extends InForce {
  readonly settings: Settings;
  /** For the log: what a project's file asked for and did not get, and directories that are not there. */
  readonly warnings: readonly string[];
  /** Settings that were made and change nothing. */
  readonly withoutEffect: readonly string[];
}

export function resolveSettings(layers: readonly Layer[], context: ResolveContext): LoadedSettings {
  const held = holdAll(layers, context);
  const allowed = held['security.allowed_directories'];
  context.mistakes.push(...unmountable(held));
  const workdir = resolveDefaultWorkdir(held.default_workdir, allowed, context);
  const { values: decided, origins: found, warnings: overruled } = withPreset(held);
  const values = {
    ...decided,
    default_workdir: workdir.path,
    state_dir: decided.state_dir ?? defaultStateDirectory(context),
  };
  const origins = { ...found, default_workdir: workdir.origin };
  const fields = fieldsOf(values);
  const { shellTool } = fields;
  const settings: Settings = {
    ...fields,
    verbose: isVerbose(context.environment),
    // The key of the certificate is as secret as they are.
    files: [...context.files, values['http.tls_key'] ?? []].flat(),
    security: {
      ...PRESETS[fields.security.preset],
      ...fields.security,
      // Without one, the preset's lists hold.
      mode: held['security.mode'].value && values['security.mode'],
      workspace: workspaceOf(allowed, workdir, context),
    },
    shellTool: {
      ...shellTool,
      defaultTimeoutSeconds: Math.min(shellTool.defaultTimeoutSeconds, shellTool.maxTimeoutSeconds),
    },
    http: { ...fields.http, tls: resolveTls(held['http.tls_cert'], held['http.tls_key'], context) },
    environment: context.environment,
  };
  return {
    settings,
    values,
    origins,
    withoutEffect: settingsWithoutEffect(settings, { values, origins, toolsets: context.toolsets }),
    warnings: [
      ...SETTING_KEYS.flatMap((key) => held[key].refusals),
      ...overruled,
      ...missingDirectories(allowed),
      ...workdir.warnings,
    ],
  };
}

/** The entries of the table, each as its field. */
function fieldsOf(values: InForce['values']): Settings {
  const fields: Record<string, unknown> = {};
  for (const key of SETTING_KEYS) {
    const value = values[key];
    const setting: Setting<unknown, unknown> = SETTINGS[key];
    placeField(fields, key, setting, value === undefined ? undefined : setting.toField(value));
  }
  // As FieldsOf says.
  return fields as unknown as Settings;
}

function holdAll(layers: readonly Layer[], context: ResolveContext): HeldSettings {
  // The default directory is judged by the allowed ones, which are therefore found out first.
  const allowed = hold('security.allowed_directories', layers, projectOf(context, undefined)).value;
  const project = projectOf(context, allowed);
  const all = Object.fromEntries(SETTING_KEYS.map((key) => [key, hold(key, layers, project)]));
  // fromEntries forgets which keys it was given.
  return all as unknown as HeldSettings;
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

  const verdict = (setting.strictness ?? operatorOnly).judge(found.value, without.value, project);
  const refusals = verdict.refusals.map((refusal) => mistake(key, refusal, found.where));
  if (verdict.value === undefined) return { ...without, refusals };
  return { value: verdict.value, origin: { source: 'project', where: found.where }, refusals };
}

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
