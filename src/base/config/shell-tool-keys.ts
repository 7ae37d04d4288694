/** The settings of [shell_tool], which hold for the tool `shell` alone; part of the one table in keys.ts. */
import { LIMITS } from '../limits.ts';
import { commands, directories, freeText, integer, type Setting, size, toggle } from './kinds.ts';
import { more, narrowerDirectories, never, only, smaller } from './project-rules.ts';

const SECONDS = { min: 1, max: LIMITS.shellToolSecondsMax };

export const SHELL_TOOL_TABLE = {
  'shell_tool.default_timeout': integer(SECONDS, {
    description: 'The seconds after which a command of `shell` is ended where its caller did not say.',
    default: LIMITS.shellToolSecondsDefault,
    fromProject: smaller(),
  }),
  'shell_tool.max_timeout': integer(SECONDS, {
    description: 'The seconds that a caller of `shell` may ask for.',
    default: LIMITS.shellToolSecondsMax,
    fromProject: smaller(),
  }),
  'shell_tool.allowed_directories': directories({
    description:
      'The only directories, with all below them, that commands of `shell` may run in and name, among those that are open at all.',
    unset: 'as `[security]` says',
    fromProject: narrowerDirectories(),
  }),
  'shell_tool.max_output_size': size(
    { min: LIMITS.maxOutputSizeMin, max: LIMITS.maxOutputSizeMax },
    {
      description: 'How much of each stream an answer of `shell` holds.',
      default: '10MB',
      fromProject: never(),
    },
  ),
  'shell_tool.blocked_commands': commands({
    description: 'Commands that `shell` never runs, besides those that are blocked for all.',
    default: [],
    fromProject: more(),
  }),
  'shell_tool.log_commands': toggle({
    description: 'Whether the log says which commands `shell` was asked for; the audit log does in any case.',
    default: true,
    fromProject: only(true),
  }),
  'shell_tool.abort_file': freeText({
    description:
      'A file that is written when a command of `shell` fails, so that a workflow can stop; relative to the directory of the command.',
    unset: 'none is written',
    fromProject: never(),
  }),
} as const satisfies Record<string, Setting<unknown>>;
