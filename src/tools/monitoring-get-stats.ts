/** monitoring_get_stats: how the server is doing, what ran lately, and which walls and limits hold. */
import { loadavg, totalmem } from 'node:os';
import { z } from 'zod';
import { isoTime } from '../base/clock.ts';
import type { Status } from '../executions/executions.ts';
import { defineTool } from './tool.ts';
import { describeBytes, describeDuration } from './words.ts';

const METRICS = ['processes', 'terminals', 'files', 'system'] as const;
const counts = z.record(z.string(), z.number());

export const monitoringGetStats = defineTool({
  name: 'monitoring_get_stats',
  title: 'Server statistics',
  description: 'Counts, load, memory, sandbox and limits of this server.',
  input: z.strictObject({
    include_metrics: z.array(z.enum(METRICS)).min(1).optional(),
    time_range_minutes: z.number().int().min(1).max(10_080).default(60),
  }),
  output: z.object({
    active_processes: z.number().optional(),
    active_terminals: z.number().optional(),
    total_files: z.number().optional(),
    total_file_bytes: z.number().optional(),
    executions_by_status: counts.optional(),
    policy_decisions: counts.optional(),
    time_range_minutes: z.number().optional(),
    system_load: z.object({ load_1m: z.number(), load_5m: z.number(), load_15m: z.number() }).optional(),
    memory_usage: z.object({ server_bytes: z.number(), system_bytes: z.number() }).optional(),
    uptime_seconds: z.number().optional(),
    sandbox: z
      .object({ kind: z.string(), summary: z.string(), checks: z.record(z.string(), z.boolean()).optional() })
      .optional(),
    limits: z.record(z.string(), z.string()).optional(),
    collected_at: z.string().optional(),
  }),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const { executions, outputs, security, clock } = call.modules;
    const wanted = new Set<string>(input.include_metrics ?? METRICS);
    const sinceMs = clock.now() - input.time_range_minutes * 60_000;
    const all = await executions.list(call.principal);
    const active = all.filter(({ status }) => status === 'running').length;
    const byStatus: Record<Status, number> = { running: 0, completed: 0, failed: 0, timeout: 0 };
    for (const { status, createdAtMs, endedAtMs } of all) {
      if ((endedAtMs ?? clock.now()) >= sinceMs || createdAtMs >= sinceMs) byStatus[status]++;
    }
    const decisions = security.decisionsSince(call.principal, sinceMs);
    const files = outputs.totals(call.principal);
    const [load1 = 0, load5 = 0, load15 = 0] = loadavg();
    const { kind, summary, checks } = await security.sandbox.state();
    const memory = { server_bytes: process.memoryUsage.rss(), system_bytes: totalmem() };
    const uptimeSeconds = Math.round(process.uptime());
    const data = {
      ...(wanted.has('processes') && {
        active_processes: active,
        executions_by_status: byStatus,
        policy_decisions: { ...decisions },
        time_range_minutes: input.time_range_minutes,
      }),
      ...(wanted.has('terminals') && { active_terminals: 0 }),
      ...(wanted.has('files') && { total_files: files.count, total_file_bytes: files.bytes }),
      ...(wanted.has('system') && {
        system_load: { load_1m: load1, load_5m: load5, load_15m: load15 },
        memory_usage: memory,
        uptime_seconds: uptimeSeconds,
        sandbox: { kind, summary, ...(checks !== undefined && { checks: { ...checks } }) },
        limits: { ...executions.limitKeepers() },
      }),
      collected_at: isoTime(clock.now()),
    };
    const lines = [
      wanted.has('processes')
        ? `${active} running; in the last ${input.time_range_minutes} min ${byStatus.completed} completed, ${byStatus.failed} failed, ${byStatus.timeout} timed out; ${decisions.deny} denied.`
        : '',
      wanted.has('files') ? `${files.count} outputs, ${describeBytes(files.bytes)}.` : '',
      wanted.has('system')
        ? `Sandbox: ${summary}. Server: ${describeBytes(memory.server_bytes)}, up ${describeDuration(uptimeSeconds * 1000)}; load ${load1.toFixed(2)}.\nLimits are kept by: ${Object.entries(
            executions.limitKeepers(),
          )
            .map(([name, keeper]) => `${name} ${keeper}`)
            .join('; ')}.`
        : '',
    ];
    return { data, text: lines.filter((line) => line !== '').join('\n') };
  },
});
