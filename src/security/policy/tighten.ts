/**
 * The ratchet: what a caller may do to its own restrictions. The answer is never looser than what was there, in any
 * respect; a wish that is looser anywhere is refused as a whole, with those parts named.
 */
import { type CompiledEntry, compileEntry } from './list-entry.ts';
import { type Allowed, effectiveAllowed, writesOf } from './policy.ts';
import type { Entry, PolicyConfig, PolicyMode } from './policy-types.ts';
import { PRESET_COMMANDS, type Preset, presetRank } from './preset-lists.ts';
import { isInside, type RealPath } from './resolve-path.ts';

export interface Restrictions extends PolicyConfig {
  readonly preset?: Preset | undefined;
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

export interface TightenOptions {
  readonly realPath?: RealPath;
  /** Numbers of the preset that is asked for: taken where they are smaller, never a reason to refuse. */
  readonly presetValues?: Pick<Restrictions, 'maxExecutionSeconds' | 'maxMemoryMb' | 'enableNetwork'>;
}

export function tighten(current: Restrictions, wish: Wish, options: TightenOptions = {}): Tightened {
  const loosening: Loosening[] = [];
  const refuse = (key: keyof Restrictions, reason: string): void => {
    loosening.push({ key, reason });
  };
  const { realPath = (path) => path, presetValues = {} } = options;

  const preset = nextPreset(current, wish, refuse);
  const commands = nextCommands(current, wish, refuse);
  const next: Restrictions = {
    ...current,
    ...commands,
    ...(preset === undefined ? {} : { preset }),
    ...defined({
      blockedCommands: union('blockedCommands', current.blockedCommands, wish.blockedCommands, refuse),
      askCommands: union('askCommands', current.askCommands, wish.askCommands, refuse),
      allowedDirectories: narrower(current.allowedDirectories, wish.allowedDirectories, realPath, refuse),
      maxExecutionSeconds: smaller('maxExecutionSeconds', current, wish, presetValues, refuse),
      maxMemoryMb: smaller('maxMemoryMb', current, wish, presetValues, refuse),
      enableNetwork: nextNetwork(current, wish, presetValues, refuse),
      allowWrites: nextAllowWrites(current, wish),
    }),
  };
  if (wish.allowWrites === true && nextAllowWrites(current, {}) === false)
    refuse('allowWrites', 'commands do not write here');
  if (wish.workspace !== undefined) refuse('workspace', 'only the operator opens paths');
  if (wish.openPaths !== undefined) refuse('openPaths', 'only the operator opens paths');
  if (loosening.length > 0) return { kind: 'refused', loosening };
  return { kind: 'tightened', next, changes: differences(current, next) };
}

type Refuse = (key: keyof Restrictions, reason: string) => void;

function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function nextPreset(current: Restrictions, wish: Wish, refuse: Refuse): Preset | undefined {
  if (wish.preset === undefined) return current.preset;
  if (presetRank(wish.preset) < presetRank(current.preset ?? 'development')) {
    refuse('preset', `"${wish.preset}" is looser than "${current.preset ?? 'development'}"`);
  }
  return wish.preset;
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
    return {
      mode,
      ...(wish.allowedCommands === undefined
        ? { allowedCommands: [] }
        : { allowedCommands: wish.allowedCommands }),
      allowedArguments: wish.allowedArguments,
    };
  }
  const preset = fromPreset === undefined ? undefined : effectiveAllowed(fromPreset);
  const kept = preset === undefined ? had : had === undefined ? preset : intersect(had, preset);
  if (kept === undefined) {
    return { mode, allowedCommands: undefined, allowedArguments: undefined };
  }
  if (kept.isBuiltIn && mode === 'restrictive')
    return { mode, allowedCommands: undefined, allowedArguments: undefined };
  return {
    mode: mode === 'permissive' ? current.mode : mode,
    allowedCommands: kept.entries,
    allowedArguments: Object.keys(kept.table).length === 0 ? undefined : kept.table,
  };
}

function sourceOf(entry: Entry): string {
  return typeof entry === 'string' ? entry : entry.entry;
}

/** Entries of the second that the first does not cover. */
function looserThan(had: Allowed | undefined, asked: Allowed): [keyof Restrictions, string][] {
  if (had === undefined) return [];
  const rows = Object.entries(asked.table).flatMap(([name, list]) =>
    list.length === 0 ? [name] : list.map((word) => `${name} ${word}`),
  );
  return [
    ...asked.entries
      .map(sourceOf)
      .filter((source) => !isCovered(source, had))
      .map((source): [keyof Restrictions, string] => ['allowedCommands', source]),
    ...rows
      .filter((source) => !isCovered(source, had))
      .map((source): [keyof Restrictions, string] => ['allowedArguments', source]),
  ];
}

/** What both allow: entries of either that the other covers. */
function intersect(one: Allowed, other: Allowed): Allowed {
  const covered = (from: Allowed, by: Allowed): Entry[] =>
    from.entries.filter((entry) => isCovered(sourceOf(entry), by));
  const rows = (from: Allowed, by: Allowed): [string, readonly string[]][] =>
    Object.entries(from.table).flatMap(([name, list]): [string, readonly string[]][] => {
      if (list.length === 0) return isCovered(name, by) ? [[name, []]] : [];
      const left = list.filter((word) => isCovered(`${name} ${word}`, by));
      return left.length === 0 ? [] : [[name, left]];
    });
  const entries = [...new Set([...covered(one, other), ...covered(other, one)])];
  return {
    entries,
    table: Object.fromEntries([...rows(one, other), ...rows(other, one)]),
    isBuiltIn: one.isBuiltIn && other.isBuiltIn,
  };
}

function isCovered(source: string, by: Allowed): boolean {
  if (by.entries.some((entry) => sourceOf(entry).trim() === source.trim())) return true;
  const asked = compileEntry(source, 'allowed_commands');
  if ('problem' in asked || asked.name === undefined || source.trim().startsWith('/')) return false;
  const isBeginning = (entry: CompiledEntry): boolean =>
    entry.name === asked.name && entry.words.every((word, index) => asked.words[index] === word);
  const entries = by.entries.map((entry) => compileEntry(sourceOf(entry), 'allowed_commands'));
  if (
    entries.some(
      (entry) =>
        !('problem' in entry) &&
        !entry.source.trim().startsWith('/') &&
        entry.name !== undefined &&
        isBeginning(entry),
    )
  )
    return true;
  const row = Object.entries(by.table).find(
    ([name]) => name.toLowerCase() === asked.name?.toLowerCase(),
  )?.[1];
  return row !== undefined && (row.length === 0 || row.includes(asked.words[0] ?? ''));
}

function union(
  key: 'blockedCommands' | 'askCommands',
  had: readonly Entry[] | undefined,
  asked: readonly Entry[] | undefined,
  refuse: Refuse,
): readonly Entry[] | undefined {
  if (asked === undefined) return had;
  if (asked.length === 0 && (had?.length ?? 0) > 0) refuse(key, 'an empty list would lift what is there');
  const known = new Set((had ?? []).map(sourceOf));
  return [...(had ?? []), ...asked.filter((entry) => !known.has(sourceOf(entry)))];
}

function narrower(
  had: readonly string[] | undefined,
  asked: readonly string[] | undefined,
  realPath: RealPath,
  refuse: Refuse,
): readonly string[] | undefined {
  if (asked === undefined || had === undefined) return asked ?? had;
  for (const directory of asked) {
    if (!had.some((each) => isInside(realPath(directory), realPath(each))))
      refuse('allowedDirectories', `${directory} lies outside of what was allowed`);
  }
  return asked;
}

function smaller(
  key: 'maxExecutionSeconds' | 'maxMemoryMb',
  current: Restrictions,
  wish: Wish,
  preset: TightenOptions['presetValues'],
  refuse: Refuse,
): number | undefined {
  const had = current[key];
  const asked = wish[key];
  if (asked !== undefined && had !== undefined && asked > had) refuse(key, `${asked} is more than ${had}`);
  const values = [had, asked, preset?.[key]].filter((value) => value !== undefined);
  return values.length === 0 ? undefined : Math.min(...values);
}

function nextNetwork(
  current: Restrictions,
  wish: Wish,
  preset: TightenOptions['presetValues'],
  refuse: Refuse,
): boolean | undefined {
  if (wish.enableNetwork === true && current.enableNetwork === false)
    refuse('enableNetwork', 'the network is off');
  const values = [current.enableNetwork, wish.enableNetwork, preset?.enableNetwork];
  return values.includes(false) ? false : (current.enableNetwork ?? wish.enableNetwork);
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
