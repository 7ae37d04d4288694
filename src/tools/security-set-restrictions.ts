/** security_set_restrictions: a caller tightens what it may do itself, until the server restarts. Never the other way. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { isInside, realPathOf } from '../base/config/paths.ts';
import { POLICY_MODES, PRESET_NAMES } from '../base/config/presets.ts';
import { type Effective, wireName } from '../security/security.ts';
import { type Call, defineTool } from './tool.ts';

const inputSchema = () =>
  z.strictObject({
    security_mode: z.enum(POLICY_MODES).optional(),
    security_preset: z.enum(PRESET_NAMES).optional(),
    allowed_commands: z.array(z.string().min(1).max(1000)).max(1000).optional(),
    blocked_commands: z.array(z.string().min(1).max(1000)).max(1000).optional(),
    allowed_directories: z.array(z.string().min(1)).max(100).optional(),
    max_execution_time: z.number().int().min(1).max(86_400).optional().describe('Seconds'),
    max_memory_mb: z.number().int().min(1).max(32_768).optional(),
    enable_network: z.boolean().optional(),
  });

const restrictionFields = () =>
  z.object({
    security_preset: z.string(),
    security_mode: z.string(),
    allowed_commands: z.record(z.string(), z.array(z.string())),
    blocked_commands: z.array(z.string()),
    ask_commands: z.array(z.string()),
    allow_writes: z.boolean().optional(),
    allowed_directories: z.array(z.string()).optional(),
    writable_directories: z.array(z.string()),
    max_execution_time: z.number().optional(),
    max_memory_mb: z.number().optional(),
    enable_network: z.boolean(),
    sandbox: z.string(),
  });

/** In words: what a restriction can be differs from one to the next. */
const change = () =>
  z.object({
    parameter: z.string(),
    from: z.string().optional(),
    to: z.string().optional(),
  });

export const securitySetRestrictions = defineTool({
  name: 'security_set_restrictions',
  title: 'Tighten restrictions',
  description:
    'Only when the user asks: tightens what this caller may run, until the server restarts. Without parameters it shows what holds.',
  input: inputSchema,
  output: () =>
    z.object({
      restriction_id: z.string(),
      active: z.boolean(),
      configured_at: z.string(),
      restrictions: restrictionFields(),
      changes: z.array(change()),
    }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const { security } = call.modules;
    const { allowed_commands: allowedCommands } = input;
    const { effective, changes } = security.tighten(call, {
      // Lists without a mode mean that exactly the lists hold.
      mode: input.security_mode ?? (allowedCommands === undefined ? undefined : 'custom'),
      preset: input.security_preset,
      allowedCommands,
      blockedCommands: input.blocked_commands,
      allowedDirectories: input.allowed_directories,
      maxExecutionSeconds: input.max_execution_time,
      maxMemoryMb: input.max_memory_mb,
      enableNetwork: input.enable_network,
    });
    const named = changes.map(({ key, from, to }) => ({
      parameter: wireName(key),
      from: from === undefined ? undefined : show(from),
      to: to === undefined ? undefined : show(to),
    }));
    const restrictions = describe(effective);
    const { restriction } = effective;
    const lines = named.map(
      ({ parameter, from, to }) => `${parameter}: ${from ?? show(undefined)} -> ${to ?? show(undefined)}`,
    );
    return {
      data: {
        restriction_id: restriction?.id,
        configured_at: restriction && isoTime(restriction.configuredAtMs),
        active: restriction !== undefined,
        restrictions,
        changes: named,
      },
      text: [
        lines.length === 0 ? 'Nothing changed.' : lines.join('\n'),
        `In force: ${JSON.stringify(restrictions)}`,
        ...(restriction === undefined ? [] : [`Restriction ${restriction.id}, until the server restarts.`]),
        ...describeDefault(call, effective),
        ...(effective.security.network || (await keepsNetwork(call)) ? [] : [NOT_KEPT]),
      ].join('\n'),
    };
  },
});

const NOT_KEPT =
  'Nothing keeps the network off: commands run without a sandbox of this server, as the operator has set it.';

/** A default directory that is outside now would only be noticed by the next command, which is refused. */
function describeDefault({ principal, modules }: Call, { security }: Effective): string[] {
  const { allowedDirectories } = security;
  const current = modules.executions.sessions.defaultDirectory(principal);
  const isOutside =
    allowedDirectories?.every((path) => !isInside(realPathOf(current), realPathOf(path))) === true;
  if (!isOutside) return [];
  const target = allowedDirectories?.[0];
  const example = target === undefined ? '' : `, for example to ${target}`;
  return [
    `The default working directory ${current} is outside the allowed ones: move it with shell_set_default_workdir${example}, or name a working_directory with each command.`,
  ];
}

/** Also where nothing runs for lack of a sandbox. */
async function keepsNetwork({ principal, modules }: Call): Promise<boolean> {
  const { kind } = await modules.security.sandbox.state();
  const { sandbox } = modules.security.restrictions.of(principal).security;
  return kind !== 'container' && !(kind === 'none' && sandbox === 'off');
}

function describe({ policy, security, restrictions }: Effective) {
  const entryText = (entry: string | { readonly entry: string }): string =>
    typeof entry === 'string' ? entry : entry.entry;
  return {
    security_preset: security.preset,
    security_mode: restrictions.mode,
    allowed_commands: policy.allowedTable(),
    blocked_commands: (restrictions.blockedCommands ?? []).map(entryText),
    ask_commands: (restrictions.askCommands ?? []).map(entryText),
    allow_writes: policy.hasAllowList ? policy.writes : undefined,
    allowed_directories: security.allowedDirectories && [...security.allowedDirectories],
    writable_directories: [...security.workspace],
    max_execution_time: restrictions.maxExecutionSeconds,
    max_memory_mb: restrictions.maxMemoryMb,
    enable_network: security.network,
    sandbox: security.sandbox,
  };
}

const show = (value: unknown): string => (value === undefined ? 'not set' : JSON.stringify(value));
