/** process_monitor: watches what an execution uses, until it ends or is no longer of interest. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import {
  type Figure,
  METRICS,
  type MonitorReading,
  type MonitorView,
  pidOf,
  type Sample,
  whyUnavailable,
} from '../executions/executions.ts';
import { describeBytes, toMegabytes } from './describe.ts';
import { findTarget } from './find-target.ts';
import { type Answer, type Call, type DataOf, defineTool } from './tool.ts';

/** Few executions have a network of their own: it is measured by itself there, taken if asked for, and not listed. */
const LISTED = METRICS.filter((metric) => metric !== 'network');

const inputSchema = () =>
  z.strictObject({
    process_id: z.number().int().min(1).max(4_194_304).optional(),
    execution_id: z.string().optional(),
    monitor_interval_ms: z.number().int().min(100).max(60_000).default(1000).describe('Default 1000'),
    include_metrics: z
      .array(z.enum(METRICS).meta({ enum: LISTED }))
      .min(1)
      .optional(),
    monitor_id: z.string().optional(),
    action: z.enum(['read', 'stop']).default('read'),
  });

type Input = z.output<ReturnType<typeof inputSchema>>;

const sampleSchema = () => z.object({ at: z.string() }).catchall(z.number());

const outputSchema = () =>
  z.object({
    monitor_id: z.string(),
    execution_id: z.string(),
    process_id: z.number(),
    status: z.enum(['active', 'ended', 'stopped']),
    started_at: z.string(),
    ended_at: z.string(),
    monitor_interval_ms: z.number(),
    unavailable: z.record(z.string(), z.string()),
    samples: z.array(sampleSchema()),
    samples_dropped: z.number(),
    sample_count: z.number(),
    summary: z.record(z.string(), z.object({ min: z.number(), mean: z.number(), max: z.number() })),
  });

export const processMonitor = defineTool({
  name: 'process_monitor',
  title: 'Monitor an execution',
  description:
    'Measures cpu, memory, io (and network, if it has its own) of an execution and all it started: execution_id or process_id starts; monitor_id reads what is new, or stops. Ends with it.',
  input: inputSchema,
  output: outputSchema,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  async run(input, call) {
    const { monitor_id: id } = input;
    const { monitors } = call.modules.executions;
    checkWhich(input);
    if (id === undefined) return start(input, call);
    if (input.action === 'stop') return describeReading(monitors.stop(watcherOf(call), id));
    return describeReading(monitors.read(watcherOf(call), id));
  },
});

function checkWhich(input: Input): void {
  const given = (['process_id', 'execution_id', 'monitor_id'] as const).filter(
    (name) => input[name] !== undefined,
  );
  if (given.length === 1) return;
  const isMissing = given.length === 0;
  throw new ShellServerError(
    isMissing ? 'PARAM_001' : 'PARAM_002',
    isMissing
      ? 'execution_id, process_id or monitor_id is missing.'
      : `${given.join(' and ')} were both given.`,
    { hint: 'execution_id or process_id starts a monitor; monitor_id reads or stops one.' },
  );
}

/** Who only reads must neither end the monitors of who works, nor use up their number. */
const watcherOf = ({ principal, reader }: Call): string => `${principal} ${reader}`;

async function start(input: Input, call: Call): Promise<Answer<DataOf<typeof outputSchema>>> {
  const { executions } = call.modules;
  const { live, record } = await findTarget(input, call);
  const pid = pidOf(record.process);
  if (live === undefined || pid === undefined)
    throw new ShellServerError('RESOURCE_001', `${record.id} does not run.`, {
      hint: 'process_get_execution shows how it ended.',
    });
  const watched = { executionId: record.id, pid, tree: live.tree, finished: live.finished };
  const view = executions.monitors.start(watcherOf(call), watched, {
    intervalMs: input.monitor_interval_ms,
    metrics: input.include_metrics,
  });
  const measured = view.metrics.filter((metric) => !view.unavailable.includes(metric));
  return {
    data: fieldsOf(view),
    text: `${view.id} watches ${record.id} (process ${pid}) every ${view.intervalMs} ms: ${measured.join(', ')}.${describeUnavailable(view)}\nprocess_monitor with this monitor_id reads it.`,
  };
}

function fieldsOf(view: MonitorView): DataOf<typeof outputSchema> {
  return {
    monitor_id: view.id,
    execution_id: view.executionId,
    process_id: view.pid,
    status: view.status,
    started_at: isoTime(view.startedAtMs),
    ended_at: view.endedAtMs === undefined ? undefined : isoTime(view.endedAtMs),
    monitor_interval_ms: view.intervalMs,
    ...(view.unavailable.length > 0 && {
      unavailable: Object.fromEntries(view.unavailable.map((metric) => [metric, whyUnavailable(metric)])),
    }),
  };
}

/** As they are called on the wire, and in which unit. */
const NAMES: Readonly<Record<Figure, string>> = {
  cpuPercent: 'cpu_percent',
  memoryBytes: 'memory_mb',
  processes: 'process_count',
  readBytesPerSecond: 'io_read_bytes_per_second',
  writtenBytesPerSecond: 'io_write_bytes_per_second',
  diskReadBytesPerSecond: 'disk_read_bytes_per_second',
  diskWrittenBytesPerSecond: 'disk_write_bytes_per_second',
  receivedBytesPerSecond: 'network_receive_bytes_per_second',
  sentBytesPerSecond: 'network_send_bytes_per_second',
};

const onWire = (figure: Figure, value: number): number =>
  figure === 'memoryBytes' ? toMegabytes(value) : value;

function toWire({ atMs, figures }: Sample): z.input<ReturnType<typeof sampleSchema>> {
  const entries = Object.entries(figures) as [Figure, number][];
  return {
    ...Object.fromEntries(entries.map(([name, value]) => [NAMES[name], onWire(name, value)])),
    at: isoTime(atMs),
  } as z.input<ReturnType<typeof sampleSchema>>;
}

function describeReading(reading: MonitorReading): Answer<DataOf<typeof outputSchema>> {
  const { samples, dropped, summary } = reading;
  const figures = Object.entries(summary.figures) as [Figure, { min: number; mean: number; max: number }][];
  const wire = figures.map(([name, { min, mean, max }]) => [
    NAMES[name],
    { min: onWire(name, min), mean: onWire(name, mean), max: onWire(name, max) },
  ]);
  const shown = figures.map(
    ([name, { min, mean, max }]) =>
      `${titleOf(name)}: ${describe(name, min)} at least, ${describe(name, mean)} on average, ${describe(name, max)} at most`,
  );
  const lines = [
    `${reading.id} (${reading.executionId}, process ${reading.pid}): ${reading.status}, ${summary.samples} samples in all, ${samples.length} new${dropped > 0 ? `, ${dropped} dropped` : ''}.`,
    ...shown,
    ...samples.slice(-SHOWN_SAMPLES).map(describeSample),
  ];
  return {
    data: {
      ...fieldsOf(reading),
      samples: samples.map(toWire),
      samples_dropped: dropped > 0 ? dropped : undefined,
      sample_count: summary.samples,
      summary: Object.fromEntries(wire),
    },
    text: `${lines.join('\n')}${describeUnavailable(reading)}`,
  };
}

/** In the text: the newest of them. */
const SHOWN_SAMPLES = 10;

function describeSample({ atMs, figures }: Sample): string {
  const parts = (Object.entries(figures) as [Figure, number][])
    .filter(([name]) => !name.startsWith('disk'))
    .map(([name, value]) => `${titleOf(name)} ${describe(name, value)}`);
  return `${isoTime(atMs)} ${parts.join(', ')}`;
}

const titleOf = (figure: Figure): string => NAMES[figure].replace(/_(?:mb|bytes_per_second)$/, '');

function describe(figure: Figure, value: number): string {
  if (figure === 'cpuPercent') return `${value} %`;
  if (figure === 'processes') return String(value);
  return figure === 'memoryBytes' ? describeBytes(value) : `${describeBytes(value)}/s`;
}

function describeUnavailable({ unavailable }: MonitorView): string {
  return unavailable.map((metric) => `\nNo ${metric}: ${whyUnavailable(metric)}.`).join('');
}
