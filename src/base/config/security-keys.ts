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
      'Whether commands run inside the operating system’s sandbox: where it works, or not at all without it; `container` says that the server itself runs in one.',
    unset: BY_PRESET,
    fromProject: only<SandboxMode>('required', ['auto']),
  }),
  'security.mode': choice(POLICY_MODES, {
    description:
      'Which commands may run: all but what is blocked, only reading ones or those in `allowed_commands`, or exactly what the lists say.',
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
    description: 'Commands that never run, whatever else is said; `curl | sh` blocks a pipeline.',
    default: [],
    fromProject: more(),
  }),
  'security.ask_commands': commands({
    description: 'Commands that a person must agree to each time.',
    default: [],
    fromProject: more(),
  }),
  'security.allowed_arguments': argumentTable({
    description:
      'Commands that may run, with the first arguments that they may have; an empty list is any argument.',
    unset: BY_PRESET,
    fromProject: never(),
  }),
  'security.extend_allowed': toggle({
    description:
      'Whether `allowed_commands` and `allowed_arguments` are added to the built-in list (that of `minimal`, else the reading commands) rather than taking its place.',
    default: false,
    fromProject: never(),
  }),
  'security.allow_writes': toggle({
    description:
      'Under an allow-list, whether allowed commands may write in the workspace: redirections, `sed -i`, `tee`, `cp` and the like; never to files that others run or obey.',
    unset: 'true with a list of your own, false with the built-in ones',
    fromProject: only(false),
  }),
  'security.allowed_directories': directories({
    description:
      'The only directories, with all below them, in which commands may run, and which they can write to. With `development` programs can still read elsewhere; the other presets do not show anything else. `/` restricts nothing, and is not written to.',
    unset: 'commands may run anywhere, and can write below the directory the server was started in',
    variable: 'MCP_SHELL_ALLOWED_WORKDIRS',
    fromProject: narrowerDirectories(),
  }),
  'security.readable_paths': paths({
    description: 'Files and directories that the sandbox shows although it would hide them.',
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
        'What of the host is let through by name: `gh`, `git`, `ssh-agent`, `docker` and the like, or a path.',
      default: [],
      fromProject: never(),
    }),
    locate: (entries, base) =>
      entries.map((entry) => (entry.startsWith('~') ? locatePath(entry, base) : entry)),
  } satisfies Setting<readonly string[]>,
  'security.enable_network': toggle({
    description: 'Whether commands have the network.',
    unset: BY_PRESET,
    fromProject: only(false),
  }),
  'security.allowed_domains': list(
    {
      description:
        'With the network on, the only domains that commands reach, through a proxy that checks where they lead; empty: all.',
      default: [],
      fromProject: never(),
    },
    checkDomainEntry,
  ),
  'security.environment': choice(ENVIRONMENT_MODES, {
    description:
      'Which of the server’s own variables a command gets: all but its secrets, none that looks like a secret, or only common ones and `allowed_environment`.',
    unset: BY_PRESET,
    fromProject: later(ENVIRONMENT_MODES),
  }),
  'security.allowed_environment': list(
    {
      description: 'Variables of the server’s own that commands get where only allowed ones are.',
      default: [],
      fromProject: never(),
    },
    (name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : 'must be names of variables'),
  ),
  'security.mask_output': toggle({
    description:
      'Whether values of variables that hold secrets are replaced by `***` in what commands print.',
    default: false,
    fromProject: only(true),
  }),
  'security.max_execution_time': integer(
    { min: 1, max: 86_400 },
    {
      description: 'The seconds after which any execution is ended, whatever its caller asked for.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
  'security.max_memory_mb': integer(
    { min: 1, max: 32_768 },
    {
      description:
        'The MiB of memory that an execution may use with everything it started, before it is ended.',
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
      description: 'The seconds of processor time after which an execution is ended.',
      unset: 'no limit',
      fromProject: smaller(),
    },
  ),
  'security.max_pids': integer(
    { min: 8, max: 100_000 },
    {
      description: 'How many processes and threads an execution may have at the same time.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
  'security.max_file_mb': integer(
    { min: 1, max: 1_048_576 },
    {
      description: 'The MiB that a file can have which a command writes.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
  'security.max_tmp_mb': integer(
    { min: 1, max: 1_048_576 },
    {
      description: 'The MiB that fit into `/tmp`, where it is memory of the execution’s own.',
      unset: BY_PRESET,
      fromProject: smaller(),
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
