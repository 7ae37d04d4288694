/**
 * What holds for a principal: the operator's settings, and what the principal has added to them since the server
 * started. It only ever gets tighter.
 */
import type { CommandEntry } from '../base/config/kinds.ts';
import { realPathOf } from '../base/config/paths.ts';
import { type PresetName, tightenTo } from '../base/config/presets.ts';
import { commonDirectories } from '../base/config/strictness.ts';
import { ShellServerError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import type { SecuritySettings } from '../base/settings.ts';
import { list } from './list.ts';
import { combinePolicies, createPolicy, effectiveAllowed, READING_COMMANDS } from './policy/policy.ts';
import type { Entry, Policy, PolicyConfig } from './policy/policy-types.ts';
import { PRESET_COMMANDS } from './preset-lists.ts';
import { unknownExposures } from './sandbox/openings.ts';
import {
  type Change,
  isLooserPreset,
  type Loosening,
  type Restrictions,
  tighten,
  type Wish,
  wireName,
} from './tighten.ts';

/** What a caller has tightened, which holds until the server ends. */
export interface Restriction {
  readonly id: string;
  readonly configuredAtMs: number;
}

export interface Effective {
  /** Of the last change that the caller made. */
  readonly restriction?: Restriction | undefined;
  readonly policy: Policy;
  readonly security: SecuritySettings;
  readonly restrictions: Restrictions;
}

export type RestrictionStore = ReturnType<typeof createRestrictions>;

const MIB = 1024 * 1024;

/** Files that every program uses, wherever it may work. */
const OPEN_PATHS = list(`
  /tmp /var/tmp /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/stdin /dev/stdout /dev/stderr
  /dev/fd /dev/tty
`);

export function createRestrictions(base: SecuritySettings) {
  const initial = effectiveOf(base, restrictionsOf(base));
  const tightened = new Map<string, Effective>();
  const begun = new Map<string, PresetName>();
  const of = (principal: string): Effective => tightened.get(principal) ?? initial;

  /** The preset that a principal starts with; one that is looser than what holds says nothing. */
  function begin(principal: string, preset: PresetName | undefined): void {
    if (preset === undefined || begun.get(principal) === preset) return;
    const { preset: held } = of(principal).restrictions;
    if (preset !== held && !isLooserPreset(held, preset)) tightenOf(principal, { preset });
    begun.set(principal, preset);
  }

  function tightenOf(
    principal: string,
    wish: Wish,
    named?: Restriction,
  ): { readonly effective: Effective; readonly changes: readonly Change[] } {
    const current = of(principal);
    const result = tighten(current.restrictions, wish);
    if (result.kind === 'refused') throw loosens(result.loosening);
    const { policy, ...rest } = effectiveOf(current.security, result.next, wish.preset);
    // Whatever the wish came to, it never allows what was refused before it.
    const asks = Object.values(wish).some((value) => value !== undefined);
    const isNew = asks && (result.changes.length > 0 || current.restriction === undefined);
    const restriction = isNew ? (named ?? current.restriction) : current.restriction;
    const effective = { ...rest, restriction, policy: combinePolicies(initial.policy, policy) };
    tightened.set(principal, effective);
    return { effective, changes: result.changes };
  }

  const slips = unknownExposures(base.expose).map(
    (name) =>
      `security.expose: ${JSON.stringify(name)} is neither a known name nor a path that starts with / or ~, so it may expose nothing`,
  );
  return {
    of,
    begin,
    /** Throws AUTH_003 where anything of it would loosen, PARAM_002 where it cannot be read. */
    tighten: (principal: string, wish: Wish, nowMs: number) =>
      tightenOf(principal, wish, { id: createId('rst'), configuredAtMs: nowMs }),
    /** What the operator should know about the rules. */
    warnings: [...initial.policy.warnings, ...slips] as readonly string[],
  };
}

function loosens(loosening: readonly Loosening[]): ShellServerError {
  const what = loosening.map(({ key, reason }) => `${wireName(key)}: ${reason}`);
  return new ShellServerError('AUTH_003', `Restrictions can only be tightened. ${what.join('; ')}.`, {
    hint: 'Nothing was changed. Only the operator can loosen them, in the settings of the server.',
    details: { loosening: loosening.map(({ key, reason }) => ({ parameter: wireName(key), reason })) },
  });
}

function restrictionsOf(security: SecuritySettings): Restrictions {
  return {
    ...policyConfigOf(security),
    preset: security.preset,
    maxExecutionSeconds: security.maxExecutionTimeSeconds,
    maxMemoryMb: security.maxMemoryBytes === undefined ? undefined : security.maxMemoryBytes / MIB,
    enableNetwork: security.network,
  };
}

/** Lists without a mode mean that exactly the lists hold. */
function policyConfigOf(security: SecuritySettings): PolicyConfig {
  const { allowWrites, askCommands } = security;
  return {
    ...allowedOf(security),
    ...(allowWrites !== undefined && { allowWrites }),
    askCommands: askCommands.map(entryOf),
    ...boundsOf(security),
  };
}

type Bounds = Pick<SecuritySettings, 'blockedCommands' | 'allowedDirectories'>;

const boundsOf = ({ blockedCommands, allowedDirectories }: Bounds) => ({
  blockedCommands: blockedCommands.map(entryOf),
  ...(allowedDirectories !== undefined && { allowedDirectories: allowedDirectories.map(realPathOf) }),
  openPaths: OPEN_PATHS,
});

type AllowedConfig = Pick<PolicyConfig, 'mode' | 'allowedCommands' | 'allowedArguments' | 'allowWrites'>;

function allowedOf({ preset, mode, extendsAllowed, ...lists }: SecuritySettings): AllowedConfig {
  const { allowedArguments } = lists;
  const allowedCommands = lists.allowedCommands?.map(entryOf);
  const builtIn = mode === undefined ? PRESET_COMMANDS[preset] : { mode };
  if (allowedCommands === undefined && allowedArguments === undefined) return builtIn;
  if (!extendsAllowed || mode === 'permissive')
    return {
      mode: mode ?? 'custom',
      ...(allowedCommands !== undefined && { allowedCommands }),
      ...(allowedArguments !== undefined && { allowedArguments }),
    };
  const base = effectiveAllowed(builtIn) ?? { entries: READING_COMMANDS, table: {} };
  return {
    mode: 'custom',
    allowedCommands: [...base.entries, ...(allowedCommands ?? [])],
    allowedArguments: mergeTables(base.table, allowedArguments ?? {}),
    // The list reads; that something was added to it does not make it write.
    allowWrites: false,
  };
}

/** Of a command in both: the arguments of both, and any where one of them says so. */
function mergeTables(
  one: Readonly<Record<string, readonly string[]>>,
  other: Readonly<Record<string, readonly string[]>>,
): Record<string, readonly string[]> {
  const merged = { ...one };
  for (const [name, added] of Object.entries(other)) {
    const had = merged[name];
    const isAny = had?.length === 0 || added.length === 0;
    merged[name] = isAny ? [] : [...new Set([...(had ?? []), ...added])];
  }
  return merged;
}

/** What holds besides the rules of a principal; undefined where nothing. */
export function extraPolicy(bounds: Bounds): Policy | undefined {
  const isEmpty = bounds.blockedCommands.length === 0 && bounds.allowedDirectories === undefined;
  return isEmpty ? undefined : createPolicy({ mode: 'custom', ...boundsOf(bounds) });
}

function entryOf(entry: CommandEntry): Entry {
  if (typeof entry === 'string') return entry;
  const { entry: text, match, not_match: notMatch } = entry;
  return { entry: text, ...(match !== undefined && { match }), ...(notMatch !== undefined && { notMatch }) };
}

/** Of what held before it, so that nothing of an earlier preset is lost. */
function effectiveOf(held: SecuritySettings, restrictions: Restrictions, asked?: PresetName): Effective {
  const { preset = held.preset, allowedDirectories, maxMemoryMb } = restrictions;
  const security: SecuritySettings = {
    ...(asked === undefined || asked === held.preset ? held : tightenTo(held, asked)),
    preset,
    network: held.network && restrictions.enableNetwork !== false,
    maxExecutionTimeSeconds: restrictions.maxExecutionSeconds,
    maxMemoryBytes: maxMemoryMb === undefined ? undefined : maxMemoryMb * MIB,
    allowedDirectories,
    // What is allowed narrows what can be written to.
    workspace:
      allowedDirectories === undefined
        ? held.workspace
        : commonDirectories(held.workspace, allowedDirectories),
  };
  const workspace = [...security.workspace, ...security.writablePaths];
  return { restrictions, policy: createPolicy({ ...restrictions, workspace }), security };
}
