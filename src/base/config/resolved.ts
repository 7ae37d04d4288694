/** What resolving the settings works with. */
import type { SettingKey, SettingValues } from './keys.ts';
import type { Mistakes, Source } from './layers.ts';
import type { Surroundings } from './paths.ts';
import type { Toolsets } from './strictness.ts';

export interface Origin {
  readonly source: Source;
  /** The flag, the variable, the file with its line, or the preset; absent for a default. */
  readonly where?: string;
}

export interface ResolveContext extends Surroundings {
  readonly cwd: string;
  /** Where the file of the project lies, symbolic links followed; undefined: there is none. */
  readonly projectDirectory: string | undefined;
  readonly toolsets: Toolsets | undefined;
  /** The operator's files that were read. */
  readonly files: readonly string[];
  /** What cannot hold is added here. */
  readonly mistakes: Mistakes;
}

/** What holds for a key. */
export interface Held<Value> {
  /** undefined: nobody set it, and the table has no constant for it. */
  readonly value: Value | undefined;
  readonly origin: Origin;
  /** What the project's file asked for in vain. */
  readonly refusals: readonly string[];
}

export type HeldSettings = { readonly [Key in SettingKey]: Held<SettingValues[Key]> };

export interface InForce {
  /** Absent where nothing sets one. */
  readonly values: Readonly<Partial<SettingValues>>;
  readonly origins: Readonly<Record<SettingKey, Origin>>;
}
