/**
 * [security]: the preset, and what was set instead of it. What a project's file asks for never loosens what the preset
 * says without it; and a preset from a stronger source than a setting yields the stricter of the two, so that
 * an old file does not open what a flag has shut.
 */
import type { DefaultWorkdir } from './default-workdir.ts';
import { ownList } from './in-force.ts';
import { SETTING_KEYS, SETTINGS, type SettingKey, type SettingValues } from './keys.ts';
import { mistake } from './layers.ts';
import { isWeaker, loosenings } from './loosenings.ts';
import { isInside, realPathOf, startDirectory } from './paths.ts';
import type { PresetName } from './preset-names.ts';
import type { Held, HeldSettings, InForce, Origin, ResolveContext } from './resolved.ts';
import { commonDirectories } from './strictness.ts';

/** A value that nothing else sets, or that is stricter than the one that was set, comes from the preset. */
export function withPreset(held: HeldSettings): InForce & { readonly warnings: readonly string[] } {
  const { value: preset = 'development', origin: chosen } = held['security.preset'];
  const list = ownList({
    allowedCommands: held['security.allowed_commands'].value,
    allowedArguments: held['security.allowed_arguments'].value,
  });
  const values: Partial<Record<SettingKey, unknown>> = {};
  const origins: Partial<Record<SettingKey, Origin>> = {};
  const warnings = loosenings(held);
  for (const key of SETTING_KEYS) {
    const { value, origin } = held[key];
    // Lists of one's own may be stricter than those of a preset; without lists, "custom" allows everything.
    const isExact = key === 'security.mode' && list !== undefined && (value ?? 'custom') === 'custom';
    const settled = isExact ? 'custom' : settle(key, held[key], preset, chosen);
    values[key] = settled;
    origins[key] = settled === value ? origin : { source: 'preset', where: preset };
    if (isExact && value === undefined) origins[key] = held[list].origin;
    else if (value !== undefined && settled !== value)
      warnings.push(
        `${key} = ${JSON.stringify(value)} (${origin.where}) does not hold: the preset ${preset} (${chosen.where ?? chosen.source}) is stricter`,
      );
  }
  // The keys are those of the table, with values of their types.
  return { values: values as InForce['values'], origins: origins as InForce['origins'], warnings };
}

function settle<Key extends SettingKey>(
  key: Key,
  { value, origin }: Held<SettingValues[Key]>,
  preset: PresetName,
  chosen: Origin,
): SettingValues[Key] | undefined {
  const setting = SETTINGS[key];
  if (setting.presets === undefined) return value;
  const says = setting.presets[preset];
  if (value === undefined || says === undefined) return value ?? says;
  // The operator may go beyond the preset; a file that came with a clone may not.
  const holds = origin.source !== 'project' && !isWeaker(origin, chosen);
  return holds ? value : setting.strictness.stricter(value, says);
}

/**
 * What the operator allowed, else where the server was started and where the operator has commands run. A project's
 * file only narrows that: it may lie above the directory that was started in.
 */
export function workspaceOf(
  allowed: Held<readonly string[]>,
  workdir: DefaultWorkdir,
  context: ResolveContext,
): readonly string[] {
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
  return commonDirectories(given, allowed.value ?? []);
}

/** What of a path cannot be mounted in a sandbox; undefined: nothing is wrong with it. */
type PathProblem = (real: string) => string | undefined;

const besides =
  (...directories: readonly string[]): PathProblem =>
  (real) =>
    directories.some((directory) => isInside(real, directory)) && !isInside(real, '/dev/shm')
      ? 'belongs to the kernel, and sandboxes have their own; name another directory'
      : undefined;

const notWhole =
  (problem: PathProblem): PathProblem =>
  (real) =>
    real === '/' ? 'would uncover the whole host; name the paths that commands need' : problem(real);

/** With the host's processes, devices or kernel settings in it, no sandbox holds. */
const MOUNTED = {
  default_workdir: besides('/proc', '/sys', '/dev'),
  'security.allowed_directories': besides('/proc', '/sys', '/dev'),
  'security.writable_paths': notWhole(besides('/proc', '/sys', '/dev')),
  'security.readable_paths': notWhole(besides('/proc', '/dev')),
} as const;

/** Directories that would break every sandbox. A project's file names none that is mounted for it. */
export function unmountable(held: HeldSettings): string[] {
  const keys = Object.keys(MOUNTED) as (keyof typeof MOUNTED)[];
  return keys.flatMap((key) => {
    const { value = [], origin } = held[key];
    return [value].flat().flatMap((path) => {
      const problem = origin.source === 'project' ? undefined : MOUNTED[key](realPathOf(path));
      return problem === undefined
        ? []
        : [mistake(key, `${JSON.stringify(path)} ${problem}`, origin.where ?? 'default')];
    });
  });
}
