/**
 * The resolved settings: what the rest of the server reads. Most fields follow from the table of settings
 * (config/keys.ts), which says what each means; those below depend on more than one entry, or on none.
 */
import type { FieldsOf } from './config/fields.ts';
import type { SETTINGS_TABLE } from './config/keys.ts';
import type { PolicyMode, PresetTraits } from './config/presets.ts';

type Fields = FieldsOf<typeof SETTINGS_TABLE>;

/** The preset with what was set instead of it. */
export interface SecuritySettings extends Omit<Fields['security'], 'mode'>, PresetTraits {
  /** undefined: as the preset says. */
  readonly mode: PolicyMode | undefined;
  /** What commands can write to: fixed when the server starts, whatever a caller says later. */
  readonly workspace: readonly string[];
}

/** Of the tool `shell` alone. */
export type ShellToolSettings = Fields['shellTool'];

export interface Settings extends Omit<Fields, 'defaultWorkdir' | 'stateDir' | 'security' | 'http'> {
  readonly defaultWorkdir: string;
  readonly stateDir: string;
  readonly security: SecuritySettings;
  readonly http: Omit<Fields['http'], 'tls'> & {
    /** Files in PEM; undefined: plain HTTP. */
    readonly tls: { readonly cert: string; readonly key: string } | undefined;
  };
  /** The operator's settings files that were read: no command may see or change them. */
  readonly files: readonly string[];
  readonly verbose: boolean;
  /** The environment the server itself was started with; commands get it filtered. Nobody else reads process.env. */
  readonly environment: Readonly<Record<string, string>>;
}
