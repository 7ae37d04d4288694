/**
 * Settings that open more than a preset which was chosen in a stronger place. Unlike a limit, a list has no stricter of
 * two, and what is allowed by name was meant: it holds, and the log says so.
 */
import { SETTING_KEYS, SETTINGS } from './keys.ts';
import type { Source } from './layers.ts';
import { PRESETS } from './presets.ts';
import type { HeldSettings, Origin } from './resolved.ts';

/** From weak to strong. */
const SOURCES: readonly Source[] = ['default', 'user', 'file', 'project', 'environment', 'flag'];

export const isWeaker = (one: Origin, other: Origin): boolean =>
  SOURCES.indexOf(one.source) < SOURCES.indexOf(other.source);

/** One sentence a setting. */
export function loosenings(held: HeldSettings): string[] {
  const { value: preset = 'development', origin: chosen } = held['security.preset'];
  if (preset === 'development') return [];
  const hasList = PRESETS[preset].mode === 'restrictive';
  return SETTING_KEYS.flatMap((key) => {
    const { opens } = SETTINGS[key];
    const { value, origin } = held[key];
    const isShut = opens === 'host' || (opens === 'commands' && hasList);
    if (!isShut || !isOpen(value) || !isWeaker(origin, chosen)) return [];
    return [
      `${key} = ${JSON.stringify(value)} (${origin.where}) LOOSENS the preset ${preset} (${chosen.where}); remove it there if that is not meant`,
    ];
  });
}

/** An empty list or table allows nothing. */
const isOpen = (value: unknown): boolean =>
  value === true || (typeof value === 'object' && value !== null && Object.keys(value).length > 0);
