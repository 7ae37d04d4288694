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
import { locatePath } from './paths.ts';
import { ENVIRONMENT_MODES, POLICY_MODES, PRESET_NAMES, SANDBOX_MODES, type SandboxMode } from './presets.ts';
import { later, more, narrowerDirectories, never, only, smaller } from './project-rules.ts';

export const BY_PRESET = 'as the preset says';

export const SECURITY_TABLE = {
  'security.preset': choice(PRESET_NAMES, {
    description: 'The named set of security settings that applies unless a setting of its own overrides it.',
    default: 'development',
    fromProject: later(PRESET_NAMES),
  }),
  'security.sandbox': choice(SANDBOX_MODES, {
    description:
      'Whether commands run in a sandbox: if available (`auto`), always (`required`), never (`off`), or in the container that the server runs in (`container`).',
    unset: BY_PRESET,
    fromProject: only<SandboxMode>('required', ['auto']),
  }),
  'security.mode': choice(POLICY_MODES, {
    description:
      'Which commands may run: all except blocked ones (`permissive`), only reading ones or `allowed_commands` (`restrictive`), or exactly what the lists say (`custom`).',
    unset: BY_PRESET,
    fromProject: never(),
  }),
  'security.allowed_commands': commands({
    description:
      'The commands that may run, as a name (`ls`), a name with leading arguments (`git status`) or a `/regex/`.',
    unset: 'all in `permissive` and `custom`, reading commands in `restrictive`',
    fromProject: never(),
  }),
  'security.blocked_commands': commands({
    description: 'Commands that never run, regardless of other settings; `curl | sh` blocks a pipeline.',
    default: [],
    fromProject: more(),
  }),
  'security.ask_commands': commands({
    description: 'Commands that require approval each time.',
    default: [],
    fromProject: more(),
  }),
  'security.allowed_arguments': argumentTable({
    description: 'Commands that may run, with their allowed first arguments; an empty list allows any.',
    unset: BY_PRESET,
    fromProject: never(),
  }),
  'security.extend_allowed': toggle({
    description:
      'Whether `allowed_commands` and `allowed_arguments` are added to the built-in list (that of `minimal`, else the reading commands) instead of replacing it.',
    default: false,
    fromProject: never(),
  }),
  'security.allow_writes': toggle({
    description:
      'Under an allow-list, whether allowed commands may write in the workspace: redirections, `sed -i`, `tee`, `cp` and the like; never to files that other programs execute or trust.',
    unset: 'true with a list of your own, false with the built-in ones',
    fromProject: only(false),
  }),
  'security.allowed_directories': directories({
    description:
      'The only directories, with their subdirectories, in which commands may run and to which they can write. With `development`, programs can still read elsewhere; other presets show nothing else. `/` restricts nothing and is not writable.',
    unset: 'commands may run anywhere, and can write below the directory the server was started in',
    variable: 'MCP_SHELL_ALLOWED_WORKDIRS',
    fromProject: narrowerDirectories(),
  }),
  'security.readable_paths': paths({
    description: 'Hidden files and directories that the sandbox shows anyway.',
    default: [],
    fromProject: never(),
  }),
  'security.writable_paths': paths({
    description: 'Files and directories that commands can write to besides the workspace.',
    default: [],
    fromProject: never(),
  }),
  'security.expose': {
    ...list({
      description:
        'Credentials and sockets of the host that commands can use, by name (`gh`, `git`, `ssh-agent`, `docker`, …) or path.',
      default: [],
      fromProject: never(),
    }),
    locate: (entries, base) =>
      entries.map((entry) => (entry.startsWith('~') ? locatePath(entry, base) : entry)),
  } satisfies Setting<readonly string[]>,
  'security.enable_network': toggle({
    description: 'Whether commands have network access.',
    unset: BY_PRESET,
    fromProject: only(false),
  }),
  'security.allowed_domains': list(
    {
      description:
        'With the network on, the only domains that commands can reach, through a proxy that checks addresses; empty: all.',
      default: [],
      fromProject: never(),
    },
    checkDomainEntry,
  ),
  'security.environment': choice(ENVIRONMENT_MODES, {
    description:
      'Which of the server’s variables commands inherit: all except its own (`inherited`), none with secret-looking names (`filtered`), or only common ones and `allowed_environment` (`allowed`).',
    unset: BY_PRESET,
    fromProject: later(ENVIRONMENT_MODES),
  }),
  'security.allowed_environment': list(
    {
      description: 'Variables that commands inherit with `environment = "allowed"`.',
      default: [],
      fromProject: never(),
    },
    (name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : 'must be names of variables'),
  ),
  'security.mask_output': toggle({
    description: 'Whether values of variables with secret-looking names are replaced by `***` in outputs.',
    default: false,
    fromProject: only(true),
  }),
  'security.askpass': toggle({
    description:
      'Whether `sudo -A`, `ssh` and `git` of a command without a terminal ask the operator for passwords, on the page or with `mcp-shell-server questions`. The command gets what is typed there; outputs show it as `***`. Requires `/usr/bin/perl` in the sandbox: with the presets `production` and `minimal`, some allowed command must be one of `perl`.',
    default: false,
    fromProject: only(false),
  }),
  'security.max_execution_time': integer(
    { min: 1, max: 86_400 },
    {
      description: 'The seconds after which any execution is killed, regardless of its caller.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
  'security.max_memory_mb': integer(
    { min: 1, max: 32_768 },
    {
      description:
        'The MiB of memory that an execution may use with everything it started, before it is killed.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
  'security.max_cpu_percent': integer(
    { min: 1, max: 100_000 },
    {
      description: 'The share of one processor that an execution gets with everything it started.',
      unset: 'no limit',
      fromProject: smaller(),
    },
  ),
  'security.max_cpu_seconds': integer(
    { min: 1, max: 864_000 },
    {
      description: 'The seconds of processor time after which an execution is killed.',
      unset: 'no limit',
      fromProject: smaller(),
    },
  ),
  'security.max_pids': integer(
    { min: 8, max: 100_000 },
    {
      description: 'The number of processes and threads that an execution may have at the same time.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
  'security.max_file_mb': integer(
    { min: 1, max: 1_048_576 },
    {
      description: 'The largest file that a command can write, in MiB.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
  'security.max_tmp_mb': integer(
    { min: 1, max: 1_048_576 },
    {
      description: 'The size of `/tmp` in MiB, where it is in memory.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
