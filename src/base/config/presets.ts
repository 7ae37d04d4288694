/**
 * The four presets: what holds of [security] where a setting does not say otherwise. Defaults of settings are in the
 * table; the traits below belong to the presets alone.
 */
import { type FieldName, type FieldValue, fieldName } from './fields.ts';
import type { Kind, Setting } from './kinds.ts';
import { PRESET_NAMES, type PresetName } from './preset-names.ts';
import { SECURITY_TABLE } from './security-keys.ts';
import { later, only, type PerPreset, type Strictness } from './strictness.ts';

export * from './preset-names.ts';

/** From open to strict: all but the private ones, what programs need, or the allowed programs alone. */
const ROOTS = ['host', 'minimal', 'programs'] as const;
export type RootView = (typeof ROOTS)[number];

export interface PresetTraits {
  /** What of the host's files is there. */
  readonly root: RootView;
  /** Caches of package managers in the home directory are writable. */
  readonly hasToolCaches: boolean;
  /** /tmp is one directory a principal and kept, rather than empty memory for each execution. */
  readonly keepsTmp: boolean;
  /** Debuggers and tracers work on what the command itself started. */
  readonly allowsPtrace: boolean;
  /** What is typed into one cannot be held to rules about arguments. */
  readonly hasTerminals: boolean;
}

interface Trait<Value> {
  readonly presets: PerPreset<Value>;
  readonly strictness: Strictness<Value>;
}

const ONLY_DEVELOPMENT: Trait<boolean> = {
  presets: { development: true, sandbox: false, production: false, minimal: false },
  strictness: only(false),
};

const TRAITS: { readonly [Name in keyof PresetTraits]: Trait<PresetTraits[Name]> } = {
  root: {
    presets: { development: 'host', sandbox: 'minimal', production: 'programs', minimal: 'programs' },
    strictness: later(ROOTS),
  },
  hasToolCaches: ONLY_DEVELOPMENT,
  keepsTmp: ONLY_DEVELOPMENT,
  allowsPtrace: ONLY_DEVELOPMENT,
  hasTerminals: {
    presets: { development: true, sandbox: true, production: true, minimal: false },
    strictness: only(false),
  },
};

type Table = typeof SECURITY_TABLE;
type Decided = {
  [Key in keyof Table as Table[Key] extends Trait<unknown> ? Key : never]: Table[Key];
};

/** All that a preset decides, by the fields of Settings. */
export type Preset = PresetTraits & {
  readonly [Key in keyof Decided as FieldName<Key, Decided[Key]>]: FieldValue<Decided[Key]>;
};

const SETTINGS: Readonly<Record<string, Setting<unknown, unknown>>> = SECURITY_TABLE;

const DECIDED: readonly (Trait<unknown> & Partial<Kind<unknown>> & { readonly name: string })[] = [
  ...Object.entries(TRAITS).map(([name, trait]) => ({ ...trait, name })),
  ...Object.entries(SETTINGS).flatMap(([key, setting]) =>
    setting.presets === undefined ? [] : [{ ...setting, name: fieldName(key, setting) }],
  ),
];

export const PRESETS = Object.fromEntries(
  PRESET_NAMES.map((preset) => [
    preset,
    Object.fromEntries(
      DECIDED.map(({ name, presets: { [preset]: value }, toField }) => [
        name,
        value === undefined ? undefined : (toField?.(value) ?? value),
      ]),
    ),
  ]),
) as unknown as Readonly<Record<PresetName, Preset>>;

/** The stricter of the settings and the preset in every respect but the commands, which are the policy's. */
export function tightenTo<Settings extends Omit<Preset, 'mode'>>(
  settings: Settings,
  preset: PresetName,
): Settings {
  const next: Record<string, unknown> = Object.fromEntries(Object.entries(settings));
  const says: Readonly<Record<string, unknown>> = { ...PRESETS[preset] };
  for (const { name, strictness } of DECIDED) {
    if (name === 'mode') continue;
    const [held, asked] = [next[name], says[name]];
    next[name] =
      held === undefined || asked === undefined ? (held ?? asked) : strictness.stricter(held, asked);
  }
  return next as Settings;
}
