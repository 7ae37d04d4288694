/** The settings of [shell_tool], which hold for the tool `shell` alone; part of the one table in keys.ts. */
import { LIMITS } from '../limits.ts';
import { commands, directories, freeText, integer, type Setting, size, toggle } from './kinds.ts';
import { more, narrowerDirectories, only, smaller } from './strictness.ts';

const SECONDS = { min: 1, max: LIMITS.shellToolSecondsMax };

export const SHELL_TOOL_TABLE = {
  'shell_tool.default_timeout': {
    ...integer(SECONDS),
    description: 'The seconds after which a command of `shell` is killed, unless its caller sets a timeout.',
    default: LIMITS.shellToolSecondsDefault,
    field: 'defaultTimeoutSeconds',
    strictness: smaller(),
  },
  'shell_tool.max_timeout': {
    ...integer(SECONDS),
    description: 'The longest timeout that a caller of `shell` may set, in seconds.',
    default: LIMITS.shellToolSecondsMax,
    field: 'maxTimeoutSeconds',
    strictness: smaller(),
  },
  'shell_tool.allowed_directories': {
    ...directories,
    description:
      'The only directories, with their subdirectories, that commands of `shell` may run in and name, among the allowed ones.',
    unset: 'as `[security]` says',
    strictness: narrowerDirectories(),
  },
  'shell_tool.max_output_size': {
    ...size({ min: LIMITS.maxOutputSizeMin, max: LIMITS.maxOutputSizeMax }),
    description: 'The size of each stream in an answer of `shell`.',
    default: '10MB',
    field: 'maxOutputBytes',
  },
  'shell_tool.blocked_commands': {
    ...commands,
    description: 'Commands that `shell` never runs, besides `security.blocked_commands`.',
    default: [],
    strictness: more(),
  },
  'shell_tool.log_commands': {
    ...toggle,
    description: 'Whether the log contains each command of `shell`; the audit log always does.',
    default: true,
    field: 'logsCommands',
    strictness: only(true),
  },
  'shell_tool.abort_file': {
    ...freeText,
    description:
      'A file that is written when a command of `shell` fails, so that a workflow can stop; relative to the directory of the command.',
    unset: 'none is written',
  },
} as const satisfies Record<string, Setting<unknown, unknown>>;
