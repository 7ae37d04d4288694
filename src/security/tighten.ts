/**
 * The ratchet: what a caller may do to its own restrictions. The answer is never looser than what was there, in any
 * respect; a wish that is looser anywhere is refused as a whole, with those parts named. What is stricter, the table of
 * settings says.
 */
import { SETTINGS, strictest } from '../base/config/keys.ts';
import { PRESETS, type PresetName } from '../base/config/presets.ts';
import { isWithin } from '../base/config/strictness.ts';
import { intersect, looserThan } from './policy/compare-lists.ts';
import { type Allowed, effectiveAllowed, writesOf } from './policy/policy.ts';
import type { PolicyConfig, PolicyMode } from './policy/policy-types.ts';
import { PRESET_COMMANDS } from './preset-lists.ts';

export interface Restrictions extends PolicyConfig {
  readonly preset?: PresetName | undefined;
  readonly maxExecutionSeconds?: number | undefined;
  readonly maxMemoryMb?: number | undefined;
  /** Undefined: on. */
  readonly enableNetwork?: boolean | undefined;
}

/** What is absent changes nothing. */
export type Wish = { readonly [Key in keyof Restrictions]?: Restrictions[Key] | undefined };

export interface Change {
  readonly key: keyof Restrictions;
  readonly from: unknown;
  readonly to: unknown;
}

export interface Loosening {
  readonly key: keyof Restrictions;
  readonly reason: string;
}

export type Tightened =
  | { readonly kind: 'tightened'; readonly next: Restrictions; readonly changes: readonly Change[] }
  | { readonly kind: 'refused'; readonly loosening: readonly Loosening[] };

/** The setting that each restriction is of; what a preset says of it holds where it is stricter. */
const SETTING_OF = {
  preset: 'security.preset',
  mode: 'security.mode',
  allowedCommands: 'security.allowed_commands',
  blockedCommands: 'security.blocked_commands',
  askCommands: 'security.ask_commands',
  allowedArguments: 'security.allowed_arguments',
  allowWrites: 'security.allow_writes',
  allowedDirectories: 'security.allowed_directories',
  maxExecutionSeconds: 'security.max_execution_time',
  maxMemoryMb: 'security.max_memory_mb',
  enableNetwork: 'security.enable_network',
} as const;

/** As the tool security_set_restrictions calls it. */
export function wireName(key: keyof Restrictions): string {
  if (key === 'workspace' || key === 'openPaths') return key;
  const [section, name] = SETTING_OF[key].split('.');
  return key === 'preset' || key === 'mode' ? `${section}_${name}` : `${name}`;
}

/** Those of which the table can tell the stricter of two; commands that are allowed are compared as lists. */
const MEASURED = [
  'preset',
  'blockedCommands',
  'askCommands',
  'allowedDirectories',
  'maxExecutionSeconds',
  'maxMemoryMb',
  'enableNetwork',
] as const;

export function tighten(current: Restrictions, wish: Wish): Tightened {
  const loosening: Loosening[] = [];
  const refuse: Refuse = (key, reason) => {
    loosening.push({ key, reason });
  };
  const { preset } = wish;
  if (preset !== undefined && isLooserPreset(current.preset, preset))
    refuse('preset', `"${preset}" is looser than "${current.preset}"`);
  const commands = nextCommands(current, wish, refuse);
  refuseLooser(current, wish, refuse);
  if (loosening.length > 0) return { kind: 'refused', loosening };

  const measured = MEASURED.map((key) => {
    const says = preset === undefined ? undefined : SETTINGS[SETTING_OF[key]].presets?.[preset];
    return [key, strictest(SETTING_OF[key], [current[key], wish[key], says])] as const;
  });
  const allowWrites = nextAllowWrites(current, wish);
  const next: Restrictions = {
    ...current,
    ...commands,
    ...Object.fromEntries(measured.filter(([, value]) => value !== undefined)),
    ...(allowWrites !== undefined && { allowWrites }),
  };
  return { kind: 'tightened', next, changes: differences(current, next) };
}

type Refuse = (key: keyof Restrictions, reason: string) => void;

/** Presets with an allow-list are no looser than each other: what is left are the commands that both allow. */
export function isLooserPreset(held: PresetName | undefined, asked: PresetName): boolean {
  if (PRESETS[asked].mode === 'restrictive') return false;
  return strictest('security.preset', [held, asked]) !== asked;
}

function refuseLooser(current: Restrictions, wish: Wish, refuse: Refuse): void {
  const isLooser = (key: 'maxExecutionSeconds' | 'maxMemoryMb' | 'enableNetwork'): boolean =>
    wish[key] !== undefined && strictest(SETTING_OF[key], [current[key], wish[key]]) !== wish[key];
  for (const key of ['blockedCommands', 'askCommands'] as const) {
    if (wish[key]?.length === 0 && (current[key]?.length ?? 0) > 0)
      refuse(key, 'an empty list would lift what is there');
  }
  for (const directory of wish.allowedDirectories ?? []) {
    if (current.allowedDirectories !== undefined && !isWithin(directory, current.allowedDirectories))
      refuse('allowedDirectories', `${directory} lies outside of what was allowed`);
  }
  for (const key of ['maxExecutionSeconds', 'maxMemoryMb'] as const) {
    if (isLooser(key)) refuse(key, `${wish[key]} is more than ${current[key]}`);
  }
  if (isLooser('enableNetwork')) refuse('enableNetwork', 'the network is off');
  if (wish.allowWrites === true && nextAllowWrites(current, {}) === false)
    refuse('allowWrites', 'commands do not write here');
  for (const key of ['workspace', 'openPaths'] as const) {
    if (wish[key] !== undefined) refuse(key, 'only the operator opens paths');
  }
}

/** Mode and lists together: what counts is which commands are allowed in the end. */
function nextCommands(
  current: Restrictions,
  wish: Wish,
  refuse: Refuse,
): Pick<Restrictions, 'mode' | 'allowedCommands' | 'allowedArguments'> {
  const had = effectiveAllowed(current);
  const lists = wish.allowedCommands !== undefined || wish.allowedArguments !== undefined;
  const named =
    wish.mode ??
    (lists || wish.blockedCommands !== undefined || wish.allowedDirectories !== undefined
      ? 'custom'
      : undefined);
  const fromPreset = wish.preset === undefined ? undefined : PRESET_COMMANDS[wish.preset];
  const mode: PolicyMode =
    named ?? (fromPreset === undefined || fromPreset.mode === 'permissive' ? current.mode : fromPreset.mode);
  if (mode === 'permissive' && (had !== undefined || lists)) {
    if (had !== undefined) refuse('mode', 'there is an allow-list, which "permissive" would lift');
    else refuse('mode', '"permissive" has no allow-list');
  }
  if (lists) {
    const asked: Allowed = {
      entries: wish.allowedCommands ?? [],
      table: wish.allowedArguments ?? {},
      isBuiltIn: false,
    };
    for (const [key, source] of looserThan(had, asked)) refuse(key, `"${source}" was not allowed before`);
    return { mode, allowedCommands: asked.entries, allowedArguments: wish.allowedArguments };
  }
  const preset = fromPreset === undefined ? undefined : effectiveAllowed(fromPreset);
  const kept = preset === undefined ? had : had === undefined ? preset : intersect(had, preset);
  if (kept === undefined || (kept.isBuiltIn && mode === 'restrictive'))
    return { mode, allowedCommands: undefined, allowedArguments: undefined };
  return {
    mode: mode === 'permissive' ? current.mode : mode,
    allowedCommands: kept.entries,
    allowedArguments: Object.keys(kept.table).length === 0 ? undefined : kept.table,
  };
}

/** A list that writes nothing is not followed by one that does, even where that names less. */
function nextAllowWrites(current: Restrictions, wish: Wish): boolean | undefined {
  const had = effectiveAllowed(current);
  const isShut = had !== undefined && !writesOf(current, had);
  const comesShut = wish.preset !== undefined && effectiveAllowed(PRESET_COMMANDS[wish.preset]) !== undefined;
  return isShut || comesShut || wish.allowWrites === false ? false : current.allowWrites;
}

function differences(current: Restrictions, next: Restrictions): Change[] {
  const keys = [...new Set([...Object.keys(current), ...Object.keys(next)])] as (keyof Restrictions)[];
  return keys
    .filter((key) => JSON.stringify(current[key]) !== JSON.stringify(next[key]))
    .map((key) => ({ key, from: current[key], to: next[key] }));
}
