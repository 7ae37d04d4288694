/** monitoring_get_stats: how the server is doing, what ran lately, and which sandboxes and limits hold. */
import { statfs } from 'node:fs/promises';
import { freemem, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { measureDirectory } from '../base/directory-size.ts';
import { LOCAL_PRINCIPAL } from '../base/principals.ts';
import type { Status } from '../executions/executions.ts';
import type { AuditHealth } from '../security/security.ts';
import { describeBytes, describeDuration } from './describe.ts';
import { type Call, type DataOf, defineTool } from './tool.ts';

const METRICS = ['processes', 'terminals', 'files', 'system'] as const;
const counts = () => z.record(z.string(), z.number());

const outputSchema = () =>
  z.object({
    active_processes: z.number(),
    active_terminals: z.number(),
    idle_terminals: z.number(),
    total_files: z.number(),
    total_file_bytes: z.number(),
    state_directory: z.object({
      bytes: z.number(),
      audit_bytes: z.number(),
      free_bytes: z.number().optional(),
      is_partial: z.boolean().optional(),
    }),
    executions_by_status: counts(),
    policy_decisions: counts(),
    decisions_since: z.string(),
    time_range_minutes: z.number(),
    system_load: z.object({ load_1m: z.number(), load_5m: z.number(), load_15m: z.number() }),
    memory_usage: z.object({
      server_bytes: z.number().optional(),
      system_bytes: z.number(),
      free_bytes: z.number(),
    }),
    uptime_seconds: z.number(),
    sandbox: z.object({
      kind: z.string(),
      summary: z.string(),
      checks: z.record(z.string(), z.boolean()).optional(),
    }),
    limits: z.record(z.string(), z.string()),
    audit: z.object({
      status: z.enum(['good', 'failing']),
      lines: z.number().optional(),
      lost: z.number().optional(),
      last_written_at: z.string().optional(),
      problem: z.string().optional(),
    }),
    collected_at: z.string(),
  });
type Data = DataOf<typeof outputSchema>;

/** One metric: what becomes part of the answer, and the sentence about it. */
interface Part {
  readonly data: Data;
  readonly text: string;
}

export const monitoringGetStats = defineTool({
  name: 'monitoring_get_stats',
  title: 'Server statistics',
  description: 'Counts, load, memory, sandbox, limits and audit health of this server.',
  input: () =>
    z.strictObject({
      include_metrics: z.array(z.enum(METRICS)).min(1).optional(),
      time_range_minutes: z.number().int().min(1).max(10_080).default(60),
    }),
  output: outputSchema,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const wanted = new Set<string>(input.include_metrics ?? METRICS);
    const found = await Promise.all(
      METRICS.filter((metric) => wanted.has(metric)).map((metric) =>
        COLLECT[metric](call, input.time_range_minutes),
      ),
    );
    return {
      data: Object.assign({}, ...found.map(({ data }) => data), {
        collected_at: isoTime(call.modules.clock.now()),
      }) as Data,
      text: found
        .map(({ text }) => text)
        .filter((text) => text !== '')
        .join('\n'),
    };
  },
});

const COLLECT = { processes, terminals, files, system };

async function processes({ principal, modules }: Call, rangeMinutes: number): Promise<Part> {
  const { executions, security, clock } = modules;
  const now = clock.now();
  const sinceMs = now - rangeMinutes * 60_000;
  const all = await executions.list(principal);
  const byStatus: Record<Status, number> = { running: 0, completed: 0, failed: 0, timeout: 0 };
  const open = all.filter(({ mode, status }) => mode === 'terminal' && status === 'running').length;
  for (const { status, endedAtMs } of all) if ((endedAtMs ?? now) >= sinceMs) byStatus[status]++;
  const decisions = security.decisionsSince(principal, sinceMs);
  // Executions are found on the disk; what was decided before this server was there, the audit log alone knows.
  const startedAtMs = now - process.uptime() * 1000;
  return {
    data: {
      active_processes: byStatus.running - open,
      executions_by_status: byStatus,
      policy_decisions: { ...decisions },
      decisions_since: isoTime(Math.max(sinceMs, startedAtMs)),
      time_range_minutes: rangeMinutes,
    },
    text: `${byStatus.running} running; in the last ${rangeMinutes} min ${byStatus.completed} completed, ${byStatus.failed} failed, ${byStatus.timeout} timed out; ${decisions.allow} allowed, ${decisions.deny} denied, ${decisions.ask} asked about.`,
  };
}

async function terminals({ principal, modules }: Call): Promise<Part> {
  const open = (await modules.terminals.list(principal)).filter(({ outcome }) => outcome === undefined);
  const idle = open.filter(({ isIdle }) => isIdle).length;
  return {
    data: { active_terminals: open.length, idle_terminals: idle },
    text: `${open.length} terminals, ${idle} of them idle.`,
  };
}

/** Private tmp directories are part of it, and may have any number of files. */
const MAX_FILES = 20_000;

async function files({ principal, modules }: Call): Promise<Part> {
  const { outputs, executions, settings } = modules;
  await executions.ready();
  const { count, bytes } = outputs.totals(principal);
  const own = { total_files: count, total_file_bytes: bytes };
  const text = `${count} outputs, ${describeBytes(bytes)}.`;
  if (principal !== LOCAL_PRINCIPAL) return { data: own, text };
  const [whole, audit, disk] = await Promise.all([
    measureDirectory(settings.stateDir, MAX_FILES),
    measureDirectory(join(settings.stateDir, 'audit')),
    statfs(settings.stateDir).catch(() => undefined),
  ]);
  const free = disk === undefined ? undefined : disk.bavail * disk.bsize;
  return {
    data: {
      ...own,
      state_directory: {
        bytes: whole.bytes,
        audit_bytes: audit.bytes,
        ...(free !== undefined && { free_bytes: free }),
        ...(whole.isPartial && { is_partial: true }),
      },
    },
    text: `${text} The state directory has ${whole.isPartial ? 'at least ' : ''}${describeBytes(whole.bytes)}${free === undefined ? '' : `, and its disk ${describeBytes(free)} free`}.`,
  };
}

async function system({ principal, modules }: Call): Promise<Part> {
  const { security, executions } = modules;
  const [load1 = 0, load5 = 0, load15 = 0] = loadavg();
  const { kind, summary, checks } = await security.sandbox.state();
  const isOperator = principal === LOCAL_PRINCIPAL;
  // What the server holds in memory is of all principals.
  const serverBytes = isOperator ? process.memoryUsage.rss() : undefined;
  const memory = {
    ...(serverBytes !== undefined && { server_bytes: serverBytes }),
    system_bytes: totalmem(),
    free_bytes: freemem(),
  };
  const uptimeSeconds = Math.round(process.uptime());
  const audit = describeAudit(security.audit.health(), isOperator);
  const enforcement = Object.entries(await executions.limitEnforcement(principal));
  return {
    data: {
      system_load: { load_1m: load1, load_5m: load5, load_15m: load15 },
      memory_usage: memory,
      uptime_seconds: uptimeSeconds,
      sandbox: { kind, summary, ...(checks !== undefined && { checks: { ...checks } }) },
      limits: Object.fromEntries(enforcement),
      audit: audit.data,
    },
    text: [
      `Sandbox: ${summary}. Server: ${serverBytes === undefined ? '' : `${describeBytes(serverBytes)}, `}up ${describeDuration(uptimeSeconds * 1000)}; load ${load1.toFixed(2)}.`,
      `Limits: ${enforcement.map(([name, how]) => `${name} ${how}`).join('; ')}.`,
      audit.text,
    ].join('\n'),
  };
}

/** How many lines there are of all principals, and where they lie, is for the operator to know. */
function describeAudit(
  { lines, lost, lastWrittenAtMs, problem }: AuditHealth,
  isOperator: boolean,
): { readonly data: Data['audit']; readonly text: string } {
  const status = problem === undefined ? 'good' : 'failing';
  const failing = 'THE AUDIT LOG CANNOT BE WRITTEN, and nothing new is run';
  if (!isOperator)
    return { data: { status }, text: problem === undefined ? 'Audit log: good.' : `${failing}.` };
  return {
    data: {
      status,
      lines,
      lost,
      ...(lastWrittenAtMs !== undefined && { last_written_at: isoTime(lastWrittenAtMs) }),
      ...(problem !== undefined && { problem }),
    },
    text:
      problem === undefined
        ? `Audit log: ${lines} lines${lost > 0 ? `, ${lost} lost` : ''}.`
        : `${failing}: ${problem}.`,
  };
}
