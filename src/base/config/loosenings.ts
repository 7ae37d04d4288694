/**
 * Settings that open more than a preset which was chosen in a stronger place. Unlike a limit, a list has no stricter of
 * two, and what is allowed by name was meant: it holds, and the log says so.
 */
import type { SettingKey, SettingValues } from './keys.ts';
import type { Source } from './layers.ts';
import { PRESETS } from './presets.ts';
import type { Held, Origin } from './resolved.ts';

type HoldKey = <Key extends SettingKey>(key: Key) => Held<SettingValues[Key]>;

/** From weak to strong. */
const SOURCES: readonly Source[] = ['default', 'user', 'file', 'project', 'environment', 'flag'];

export const isWeaker = (one: Origin, other: Origin): boolean =>
  SOURCES.indexOf(one.source) < SOURCES.indexOf(other.source);

/** Open files, variables and credentials, in every preset that has them shut. */
const OPENING = [
  'security.readable_paths',
  'security.writable_paths',
  'security.expose',
  'security.allowed_environment',
] as const satisfies readonly SettingKey[];

/** Replace or extend the commands of a preset that has a list of them. */
const LISTS = [
  'security.allowed_commands',
  'security.allowed_arguments',
  'security.extend_allowed',
  'security.allow_writes',
] as const satisfies readonly SettingKey[];

/** One sentence a setting. */
export function loosenings(hold: HoldKey): string[] {
  const { value: preset = 'development', origin: chosen } = hold('security.preset');
  if (preset === 'development') return [];
  const keys = [...OPENING, ...(PRESETS[preset].mode === 'restrictive' ? LISTS : [])];
  return keys.flatMap((key) => {
    const { value, origin } = hold(key);
    if (!opens(value) || !isWeaker(origin, chosen)) return [];
    return [
      `${key} = ${JSON.stringify(value)} (${origin.where}) LOOSENS the preset ${preset} (${chosen.where}); remove it there if that is not meant`,
    ];
  });
}

/** An empty list or table allows nothing. */
const opens = (value: unknown): boolean =>
  value === true || (typeof value === 'object' && value !== null && Object.keys(value).length > 0);
