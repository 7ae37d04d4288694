/**
 * The one table of settings. Validation, the JSON Schema, the environment variables, the presets, what is stricter, the
 * fields of Settings that the rest of the server reads, and the reference page all come from it; a new setting is one
 * entry here.
 */
import { LIMITS } from '../limits.ts';
import { MARKER_NAME } from '../marker.ts';
import {
  choice,
  directory,
  file,
  freeText,
  host,
  integer,
  type Kind,
  names,
  program,
  type Setting,
  toggle,
} from './kinds.ts';
import { BY_PRESET, SECURITY_TABLE } from './security-keys.ts';
import { SHELL_TOOL_TABLE } from './shell-tool-keys.ts';
import { fewerTools, insideProject, type Strictness, smaller } from './strictness.ts';

const ANSWERS = ['auto', 'text', 'both'] as const;

const KIB = 1024;
const MIB = 1024 * KIB;

export const SETTINGS_TABLE = {
  default_workdir: {
    ...directory,
    description: 'The working directory of commands that do not name one.',
    unset: 'the first allowed directory, else the directory the server was started in (home if that is `/`)',
    strictness: insideProject(),
  },
  tools: {
    ...names,
    description: 'The toolsets and tools that clients see.',
    default: ['standard'],
    flag: 'tools',
    strictness: fewerTools(),
  },
  answers: {
    ...choice(ANSWERS),
    description:
      'What clients are answered with: text alone, or text and structured content. `auto`: text alone for Claude Code and Codex, which show a model only the structured part where there is one, and both for others.',
    default: 'auto',
  },
  shell: {
    ...program,
    description: 'The shell that runs commands.',
    unset: '`$SHELL`, else `/bin/bash`',
    flag: 'shell',
  },
  state_dir: {
    ...directory,
    description: 'The directory that holds records, outputs and the audit log, readable by its owner only.',
    unset:
      '`$XDG_STATE_HOME/mcp-shell-server`, else `~/.local/state/mcp-shell-server` (macOS: `~/Library/Application Support/mcp-shell-server`; Windows: `%LOCALAPPDATA%\\mcp-shell-server`)',
    flag: 'stateDir',
  },

  ...SECURITY_TABLE,

  'limits.max_processes': {
    ...integer({ min: 1, max: 1000 }),
    description: 'The number of executions that one caller may run at the same time.',
    default: LIMITS.processes,
    strictness: smaller(),
  },
  'limits.max_processes_total': {
    ...integer({ min: 1, max: 10_000 }),
    description: 'The number of executions that all callers together may run at the same time.',
    default: LIMITS.processesTotal,
    strictness: smaller(),
  },
  'limits.max_terminals': {
    ...integer({ min: 1, max: 200 }),
    description: 'The number of terminals that one caller may have open.',
    default: LIMITS.terminals,
    strictness: smaller(),
  },
  'limits.max_terminals_total': {
    ...integer({ min: 1, max: 1000 }),
    description: 'The number of terminals that all callers together may have open.',
    default: LIMITS.terminalsTotal,
    strictness: smaller(),
  },
  'limits.terminal_grace_seconds': {
    ...integer({ min: 0, max: 86_400, unit: 1000 }),
    description:
      'The seconds that terminals survive after their server was killed, so that the next one can resume them.',
    default: LIMITS.terminalGraceSeconds,
    field: 'terminalGraceMs',
    strictness: smaller(),
  },
  'limits.max_output_mb': {
    ...integer({ min: 1, max: 10_240, unit: MIB }),
    description:
      'The MiB of each stream that are stored; beyond that, only the last part and the total size.',
    default: LIMITS.outputBytes / MIB,
    field: 'maxOutputBytes',
    strictness: smaller(),
  },
  'limits.inline_output_kb': {
    ...integer({ min: 1, max: 1024, unit: KIB }),
    description: 'The KiB of output in an answer, over both streams, unless the caller sets max_output_size.',
    default: LIMITS.inlineOutputBytes / KIB,
    field: 'inlineOutputBytes',
    strictness: smaller(),
  },
  'limits.max_wait_seconds': {
    ...integer({ min: 1, max: 3600 }),
    description: 'The seconds after which a call answers even if its command is still running.',
    unset: `${LIMITS.maxWaitSeconds}, longer for clients that are known to wait`,
    strictness: smaller(LIMITS.maxWaitSeconds),
  },

  'limits.shell_exec_seconds': {
    ...integer({ min: 1, max: LIMITS.timeoutSecondsMax }),
    description: 'The seconds after which a command of `shell_exec` or `shell/exec` is killed.',
    default: LIMITS.timeoutSecondsDefault,
    strictness: smaller(),
  },

  // Not from a project: the state directory is shared, and a cloned repository must not have others' outputs collected.
  'retention.max_age_hours': {
    ...integer({ min: 1, max: 87_600 }),
    description: 'The hours after which outputs of ended executions are removed.',
    default: LIMITS.retentionHours,
  },
  'retention.max_total_mb': {
    ...integer({ min: 1, max: 1_048_576, unit: MIB }),
    description: 'The MiB of all outputs together above which the oldest are removed.',
    default: LIMITS.retentionTotalBytes / MIB,
    field: 'maxTotalBytes',
  },
  'retention.max_count': {
    ...integer({ min: 1, max: 100_000 }),
    description: 'The number of stored executions above which the oldest are removed.',
    default: LIMITS.retentionCount,
  },

  'audit.fsync': {
    ...toggle,
    description:
      'Whether each audit line is synced to disk before the server acts on it. Without it, a power failure may lose the last lines.',
    default: false,
    field: 'syncs',
  },
  'audit.max_file_mb': {
    ...integer({ min: 1, max: 1024, unit: MIB }),
    description: 'The MiB after which the audit log continues in a new file; each day also starts a new one.',
    default: LIMITS.auditFileBytes / MIB,
    field: 'maxFileBytes',
  },

  'http.host': {
    ...host,
    description: 'The address that the HTTP transport listens on.',
    default: '127.0.0.1',
    flag: 'httpAddress',
  },
  'http.port': {
    ...integer({ min: 0, max: 65_535 }),
    description: 'The port that the HTTP transport listens on; 0 lets the system choose one.',
    default: 3737,
    flag: 'httpAddress',
  },
  'http.public_url': {
    ...freeText,
    description:
      'The URL that clients use if it is not the listening address, such as `https://shell.example.com` behind a proxy; no other host name is then accepted.',
    unset: 'the address it listens on',
  },
  'http.tls_cert': {
    ...file,
    description: 'The certificate chain for HTTPS, in PEM.',
    unset: 'plain HTTP',
    field: 'tls.cert',
  },
  'http.tls_key': {
    ...file,
    description: 'The private key of that certificate, in PEM; commands cannot read it.',
    unset: 'plain HTTP',
    field: 'tls.key',
  },
  'http.ui': {
    ...toggle,
    description:
      'Whether the HTTP transport also serves the operator’s page, under `/ui`, for the operator’s own token only.',
    default: false,
    field: 'hasPage',
  },
  'http.metrics_host': {
    ...host,
    description:
      'The address on which `/healthz`, `/readyz` and `/metrics` are served, without authentication.',
    default: '127.0.0.1',
    field: 'metrics.host',
  },
  'http.metrics_port': {
    ...integer({ min: 0, max: 65_535 }),
    description:
      'The port for `/healthz`, `/readyz` and `/metrics`, over HTTP and stdio; 0 lets the system choose one.',
    unset: 'they are not served',
    field: 'metrics.port',
  },

  ...SHELL_TOOL_TABLE,
} as const satisfies Record<string, Setting<unknown, unknown>>;

export type SettingKey = keyof typeof SETTINGS_TABLE;

export type SettingValues = {
  readonly [Key in SettingKey]: (typeof SETTINGS_TABLE)[Key] extends Kind<infer Value, infer _Field>
    ? Value
    : never;
};

export const SETTINGS: { readonly [Key in SettingKey]: Setting<SettingValues[Key], unknown> } =
  SETTINGS_TABLE;

/** Settings of which one value can be stricter than another. */
export type ComparableKey = {
  [Key in SettingKey]: (typeof SETTINGS_TABLE)[Key] extends { strictness: { stricter: unknown } }
    ? Key
    : never;
}[SettingKey];

/** By the measure of the setting; undefined restricts nothing. */
export function strictest<Key extends ComparableKey>(
  key: Key,
  values: readonly (SettingValues[Key] | undefined)[],
): SettingValues[Key] | undefined {
  // As the type of the key says.
  const measure = SETTINGS[key].strictness as Strictness<SettingValues[Key]>;
  return values.reduce((held, asked) =>
    held === undefined || asked === undefined ? (held ?? asked) : measure.stricter(held, asked),
  );
}

/** In the order of the table, which is the order of the reference page. */
export const SETTING_KEYS: readonly SettingKey[] = Object.keys(SETTINGS_TABLE).filter(isSettingKey);

function isSettingKey(text: string): text is SettingKey {
  return Object.hasOwn(SETTINGS_TABLE, text);
}

/** Variables with our prefix that are no settings, and what they are; any other unknown one is a mistake. */
export const OTHER_VARIABLES: Readonly<Record<string, string>> = {
  MCP_SHELL_CONFIG:
    'The settings file to use instead of the ones that are searched for; the same as `--config`.',
  MCP_SHELL_TOKEN: 'The token that HTTP clients must send.',
};

/**
 * Marks that we ourselves put on processes. A server that was started by a command of another server, or by a test,
 * finds them in its environment and has nothing to say about them.
 */
export const MARKS: readonly string[] = [MARKER_NAME];

/** What holds where nobody sets it, in words; undefined where a constant does. */
export function unsetText(key: SettingKey): string | undefined {
  const { unset, presets } = SETTINGS[key];
  return unset ?? (presets && BY_PRESET);
}

/** The names of a key in the environment, the one that is made from the key first. */
export function variablesOf(key: SettingKey): readonly string[] {
  const made = `MCP_SHELL_${key.replaceAll('.', '_').toUpperCase()}`;
  const { variable } = SETTINGS[key];
  return variable === undefined ? [made] : [made, variable];
}

/** The flag as it is typed ("--state-dir"). */
export function flagOf(key: SettingKey): string | undefined {
  const { flag } = SETTINGS[key];
  if (flag === undefined) return undefined;
  if (flag === 'httpAddress') return '--http';
  return `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
