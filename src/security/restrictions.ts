/**
 * What holds for a principal: the operator's settings, and what the principal has added to them since the server
 * started. It only ever gets tighter.
 */

import type { CommandEntry } from '../base/config/kinds.ts';
import { isInside, realPathOf } from '../base/config/paths.ts';
import { ENVIRONMENT_MODES, PRESETS, type PresetName, type RootView } from '../base/config/presets.ts';
import { ShellServerError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import type { SecuritySettings, ShellToolSettings } from '../base/settings.ts';
import { combinePolicies, createPolicy, effectiveAllowed, READING_COMMANDS } from './policy/policy.ts';
import type { Entry, Policy, PolicyConfig } from './policy/policy-types.ts';
import { PRESET_COMMANDS, presetRank } from './policy/preset-lists.ts';
import { type Change, type Restrictions, tighten, type Wish } from './policy/tighten.ts';

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

export interface RestrictionStore {
  of(principal: string): Effective;
  /** The preset that a principal starts with; one that is looser than what holds says nothing. */
  begin(principal: string, preset: PresetName | undefined): void;
  /** Throws AUTH_003 where anything of it would loosen, PARAM_002 where it cannot be read. */
  tighten(
    principal: string,
    wish: Wish,
    nowMs: number,
  ): { readonly effective: Effective; readonly changes: readonly Change[] };
  /** What the operator should know about the rules. */
  readonly warnings: readonly string[];
}

const MIB = 1024 * 1024;
const ROOTS: readonly RootView[] = ['host', 'minimal', 'programs'];

/** Files that every program uses, wherever it may work. */
const OPEN_PATHS = [
  '/tmp',
  '/var/tmp',
  '/dev/null',
  '/dev/zero',
  '/dev/full',
  '/dev/random',
  '/dev/urandom',
  '/dev/stdin',
  '/dev/stdout',
  '/dev/stderr',
  '/dev/fd',
  '/dev/tty',
];

export function createRestrictions(
  base: SecuritySettings,
  /** Of rules that hold for some calls only. */
  warnings: readonly string[] = [],
): RestrictionStore {
  const initial = effectiveOf(base, restrictionsOf(base));
  const tightened = new Map<string, Effective>();
  const begun = new Map<string, PresetName>();
  const of = (principal: string): Effective => tightened.get(principal) ?? initial;

  function begin(principal: string, preset: PresetName | undefined): void {
    if (preset === undefined || begun.get(principal) === preset) return;
    const held = of(principal).restrictions.preset ?? 'development';
    if (preset !== held && presetRank(preset) >= presetRank(held)) tightenOf(principal, { preset });
    begun.set(principal, preset);
  }

  function tightenOf(
    principal: string,
    wish: Wish,
    named?: Restriction,
  ): ReturnType<RestrictionStore['tighten']> {
    const current = of(principal);
    const says = wish.preset === undefined ? undefined : PRESETS[wish.preset];
    const result = tighten(current.restrictions, wish, {
      realPath: realPathOf,
      ...(says !== undefined && {
        presetValues: {
          maxExecutionSeconds: says.maxExecutionTimeSeconds,
          maxMemoryMb: says.maxMemoryBytes / MIB,
          enableNetwork: says.network,
        },
      }),
    });
    if (result.kind === 'refused') throw loosens(result.loosening);
    const { policy, ...rest } = effectiveOf(base, result.next);
    // Whatever the wish came to, it never allows what was refused before it.
    const asks = Object.values(wish).some((value) => value !== undefined);
    const isNew = asks && (result.changes.length > 0 || current.restriction === undefined);
    const restriction = isNew ? (named ?? current.restriction) : current.restriction;
    const effective = { ...rest, restriction, policy: combinePolicies(initial.policy, policy) };
    tightened.set(principal, effective);
    return { effective, changes: result.changes };
  }

  const tightenNamed: RestrictionStore['tighten'] = (principal, wish, nowMs) =>
    tightenOf(principal, wish, { id: createId('rst'), configuredAtMs: nowMs });

  return { of, begin, tighten: tightenNamed, warnings: [...initial.policy.warnings, ...warnings] };
}

function loosens(loosening: readonly { readonly key: string; readonly reason: string }[]): ShellServerError {
  const what = loosening.map(({ key, reason }) => `${wireName(key)}: ${reason}`);
  return new ShellServerError('AUTH_003', `Restrictions can only be tightened. ${what.join('; ')}.`, {
    hint: 'Nothing was changed. Only the operator can loosen them, in the settings of the server.',
    details: { loosening: loosening.map(({ key, reason }) => ({ parameter: wireName(key), reason })) },
  });
}

const WIRE: Readonly<Record<string, string>> = {
  preset: 'security_preset',
  mode: 'security_mode',
  allowedCommands: 'allowed_commands',
  blockedCommands: 'blocked_commands',
  askCommands: 'ask_commands',
  allowedArguments: 'allowed_arguments',
  allowWrites: 'allow_writes',
  allowedDirectories: 'allowed_directories',
  maxExecutionSeconds: 'max_execution_time',
  maxMemoryMb: 'max_memory_mb',
  enableNetwork: 'enable_network',
};

export const wireName = (key: string): string => WIRE[key] ?? key;

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
  const { allowWrites } = security;
  return {
    ...allowedOf(security),
    ...(allowWrites !== undefined && { allowWrites }),
    blockedCommands: security.blockedCommands.map(entryOf),
    askCommands: security.askCommands.map(entryOf),
    ...(security.allowedDirectories !== undefined && {
      allowedDirectories: security.allowedDirectories.map(realPathOf),
    }),
    openPaths: OPEN_PATHS,
  };
}

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
  for (const [name, list] of Object.entries(other)) {
    const had = merged[name];
    const isAny = had?.length === 0 || list.length === 0;
    merged[name] = isAny ? [] : [...new Set([...(had ?? []), ...list])];
  }
  return merged;
}

/** What the tool `shell` additionally requires of commands; undefined where nothing. */
export function shellToolPolicy(tool: ShellToolSettings): Policy | undefined {
  const { blockedCommands, allowedDirectories } = tool;
  if (blockedCommands.length === 0 && allowedDirectories === undefined) return undefined;
  return createPolicy({
    mode: 'custom',
    blockedCommands: blockedCommands.map(entryOf),
    ...(allowedDirectories !== undefined && { allowedDirectories: allowedDirectories.map(realPathOf) }),
    openPaths: OPEN_PATHS,
  });
}

function entryOf(entry: CommandEntry): Entry {
  if (typeof entry === 'string') return entry;
  const { entry: text, match, not_match: notMatch } = entry;
  return { entry: text, ...(match !== undefined && { match }), ...(notMatch !== undefined && { notMatch }) };
}

function effectiveOf(base: SecuritySettings, restrictions: Restrictions): Effective {
  const security = securityOf(base, restrictions);
  const workspace = [...security.workspace, ...security.writablePaths];
  return { restrictions, policy: createPolicy({ ...restrictions, workspace }), security };
}

function securityOf(base: SecuritySettings, restrictions: Restrictions): SecuritySettings {
  const { preset = base.preset, allowedDirectories, maxMemoryMb } = restrictions;
  return {
    ...(preset === base.preset ? base : stricter(base, preset)),
    network: base.network && restrictions.enableNetwork !== false,
    maxExecutionTimeSeconds: restrictions.maxExecutionSeconds,
    maxMemoryBytes: maxMemoryMb === undefined ? undefined : maxMemoryMb * MIB,
    allowedDirectories,
    workspace: narrowed(base.workspace, base.allowedDirectories, allowedDirectories),
  };
}

/** The stricter of the two in every respect. */
function stricter(base: SecuritySettings, preset: PresetName): SecuritySettings {
  const says = PRESETS[preset];
  const later = <Name>(order: readonly Name[], one: Name, other: Name): Name =>
    order.indexOf(one) >= order.indexOf(other) ? one : other;
  const least = (one: number | undefined, other: number | undefined): number | undefined =>
    one === undefined ? other : other === undefined ? one : Math.min(one, other);
  return {
    ...base,
    preset,
    // A container around the server is a sandbox that a preset may ask for.
    sandbox:
      base.sandbox === 'container'
        ? 'container'
        : later(['off', 'auto', 'required'] as const, base.sandbox, says.sandbox as 'auto'),
    root: later(ROOTS, base.root, says.root),
    environment: later(ENVIRONMENT_MODES, base.environment, says.environment),
    hasToolCaches: base.hasToolCaches && says.hasToolCaches,
    keepsTmp: base.keepsTmp && says.keepsTmp,
    allowsPtrace: base.allowsPtrace && says.allowsPtrace,
    hasTerminals: base.hasTerminals && says.hasTerminals,
    maxPids: least(base.maxPids, says.maxPids),
    maxFileBytes: least(base.maxFileBytes, says.maxFileBytes),
    maxTmpBytes: least(base.maxTmpBytes, says.maxTmpBytes),
  };
}

/** What is allowed narrows what can be written to. */
function narrowed(
  workspace: readonly string[],
  before: readonly string[] | undefined,
  allowed: readonly string[] | undefined,
): readonly string[] {
  if (allowed === undefined || allowed === before) return workspace;
  const roots = workspace.map(realPathOf);
  return allowed.flatMap((path) => {
    const real = realPathOf(path);
    if (roots.some((root) => isInside(real, root))) return [real];
    return roots.filter((root) => isInside(root, real));
  });
}
