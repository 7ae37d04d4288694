/** The settings of [security]; part of the one table in keys.ts. */
import { checkDomainEntry } from './domain-names.ts';
import {
  argumentTable,
  choice,
  commands,
  directories,
  integer,
  list,
  paths,
  type Setting,
  toggle,
} from './kinds.ts';
import { locatePath, type PathBase } from './paths.ts';
import {
  ENVIRONMENT_MODES,
  POLICY_MODES,
  type PolicyMode,
  PRESET_NAMES,
  SANDBOX_MODES,
  type SandboxMode,
} from './preset-names.ts';
import { later, more, narrowerDirectories, only, operatorOnly, smaller } from './strictness.ts';

const MIB = 1024 * 1024;

export const BY_PRESET = 'as the preset says';

export const SECURITY_TABLE = {
  'security.preset': {
    ...choice(PRESET_NAMES),
    description: 'The named set of security settings that applies unless a setting of its own overrides it.',
    default: 'development',
    strictness: later(PRESET_NAMES),
  },
  'security.sandbox': {
    ...choice(SANDBOX_MODES),
    description:
      'Whether commands run in a sandbox: if available (`auto`), always (`required`), never (`off`), or in the container that the server runs in (`container`).',
    presets: { development: 'auto', sandbox: 'required', production: 'required', minimal: 'required' },
    strictness: {
      ...only<SandboxMode>('required', ['auto']),
      // Whether there is a container around the server the operator knows, not the preset.
      stricter: (held: SandboxMode, asked: SandboxMode) =>
        held === 'container' || asked === 'auto' ? held : asked,
    },
  },
  'security.mode': {
    ...choice(POLICY_MODES),
    description:
      'Which commands may run: all except blocked ones (`permissive`), only reading ones or `allowed_commands` (`restrictive`), or exactly what the lists say (`custom`).',
    presets: {
      development: 'permissive',
      sandbox: 'permissive',
      production: 'restrictive',
      minimal: 'restrictive',
    },
    strictness: {
      ...operatorOnly,
      stricter: (held: PolicyMode, asked: PolicyMode) => (asked === 'restrictive' ? asked : held),
    },
  },
  'security.allowed_commands': {
    ...commands,
    description:
      'The commands that may run, as a name (`ls`), a name with leading arguments (`git status`) or a `/regex/`.',
    unset: 'all in `permissive` and `custom`, reading commands in `restrictive`',
    opens: 'commands',
  },
  'security.blocked_commands': {
    ...commands,
    description: 'Commands that never run, regardless of other settings; `curl | sh` blocks a pipeline.',
    default: [],
    strictness: more(),
  },
  'security.ask_commands': {
    ...commands,
    description: 'Commands that require approval each time.',
    default: [],
    strictness: more(),
  },
  'security.allowed_arguments': {
    ...argumentTable,
    description: 'Commands that may run, with their allowed first arguments; an empty list allows any.',
    unset: BY_PRESET,
    opens: 'commands',
  },
  'security.extend_allowed': {
    ...toggle,
    description:
      'Whether `allowed_commands` and `allowed_arguments` are added to the built-in list (that of `minimal`, else the reading commands) instead of replacing it.',
    default: false,
    field: 'extendsAllowed',
    opens: 'commands',
  },
  'security.allow_writes': {
    ...toggle,
    description:
      'Under an allow-list, whether allowed commands may write in the workspace: redirections, `sed -i`, `tee`, `cp` and the like; never to files that other programs execute or trust.',
    unset: 'true with a list of your own, false with the built-in ones',
    opens: 'commands',
    strictness: only(false),
  },
  'security.allowed_directories': {
    ...directories,
    description:
      'The only directories, with their subdirectories, in which commands may run and to which they can write. With `development`, programs can still read elsewhere; other presets show nothing else. `/` restricts nothing and is not writable; `/proc`, `/sys` and `/dev` are refused.',
    unset: 'commands may run anywhere, and can write below the directory the server was started in',
    variable: 'MCP_SHELL_ALLOWED_WORKDIRS',
    strictness: narrowerDirectories(),
  },
  'security.readable_paths': {
    ...paths,
    description: 'Hidden files and directories that the sandbox shows anyway.',
    default: [],
    opens: 'host',
  },
  'security.writable_paths': {
    ...paths,
    description: 'Files and directories that commands can write to besides the workspace.',
    default: [],
    opens: 'host',
  },
  'security.expose': {
    ...list(),
    description:
      'Credentials and sockets of the host that commands can use, by name (`gh`, `git`, `ssh-agent`, `docker`, …) or path.',
    default: [],
    opens: 'host',
    locate: (entries: readonly string[], base: PathBase) =>
      entries.map((entry) => (entry.startsWith('~') ? locatePath(entry, base) : entry)),
  },
  'security.enable_network': {
    ...toggle,
    description: 'Whether commands have network access.',
    presets: { development: true, sandbox: false, production: false, minimal: false },
    field: 'network',
    strictness: only(false),
  },
  'security.allowed_domains': {
    ...list(checkDomainEntry),
    description:
      'With the network on, the only domains that commands can reach, through a proxy that checks addresses; empty: all.',
    default: [],
  },
  'security.environment': {
    ...choice(ENVIRONMENT_MODES),
    description:
      'Which of the server’s variables commands inherit: all except its own (`inherited`), none with secret-looking names (`filtered`), or only common ones and `allowed_environment` (`allowed`).',
    presets: { development: 'inherited', sandbox: 'allowed', production: 'allowed', minimal: 'allowed' },
    strictness: later(ENVIRONMENT_MODES),
  },
  'security.allowed_environment': {
    ...list((name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : 'must be names of variables')),
    description: 'Variables that commands inherit with `environment = "allowed"`.',
    default: [],
    opens: 'host',
  },
  'security.mask_output': {
    ...toggle,
    description: 'Whether values of variables with secret-looking names are replaced by `***` in outputs.',
    default: false,
    field: 'masksOutput',
    strictness: only(true),
  },
  'security.askpass': {
    ...toggle,
    description:
      'Whether `sudo -A`, `ssh` and `git` of a command without a terminal ask the operator for passwords, on the page or with `mcp-shell-server questions`. The command gets what is typed there; outputs show it as `***`. Requires `/usr/bin/perl` in the sandbox: with the presets `production` and `minimal`, some allowed command must be one of `perl`.',
    default: false,
    field: 'asksSecrets',
    strictness: only(false),
  },
  'security.max_execution_time': {
    ...integer({ min: 1, max: 86_400 }),
    description: 'The seconds after which any execution is killed, regardless of its caller.',
    // Dev servers run for days.
    presets: { development: undefined, sandbox: 300, production: 300, minimal: 30 },
    field: 'maxExecutionTimeSeconds',
    strictness: smaller(),
  },
  'security.max_memory_mb': {
    ...integer({ min: 1, max: 32_768, unit: MIB }),
    description:
      'The MiB of memory that an execution may use with everything it started, before it is killed.',
    // Compilers and test suites need much.
    presets: { development: 4096, sandbox: 1024, production: 1024, minimal: 512 },
    field: 'maxMemoryBytes',
    strictness: smaller(),
  },
  'security.max_cpu_percent': {
    ...integer({ min: 1, max: 100_000 }),
    description: 'The share of one processor that an execution gets with everything it started.',
    unset: 'no limit',
    strictness: smaller(),
  },
  'security.max_cpu_seconds': {
    ...integer({ min: 1, max: 864_000 }),
    description: 'The seconds of processor time after which an execution is killed.',
    unset: 'no limit',
    strictness: smaller(),
  },
  'security.max_pids': {
    ...integer({ min: 8, max: 100_000 }),
    description: 'The number of processes and threads that an execution may have at the same time.',
    presets: { development: 1024, sandbox: 256, production: 256, minimal: 256 },
    strictness: smaller(),
  },
  'security.max_file_mb': {
    ...integer({ min: 1, max: 1_048_576, unit: MIB }),
    description: 'The largest file that a command can write, in MiB.',
    presets: { development: undefined, sandbox: 512, production: 256, minimal: 256 },
    field: 'maxFileBytes',
    strictness: smaller(),
  },
  'security.max_tmp_mb': {
    ...integer({ min: 1, max: 1_048_576, unit: MIB }),
    description: 'The size of `/tmp` in MiB, where it is in memory.',
    presets: { development: undefined, sandbox: 256, production: 256, minimal: 256 },
    field: 'maxTmpBytes',
    strictness: smaller(),
  },
} as const satisfies Record<string, Setting<unknown, unknown>>;
