/**
 * Watches what trees use, from time to time and until they end. One look at the processes of the machine serves all
 * monitors that are due, so that many cost little more than one.
 */
import { attempt } from '../base/attempt.ts';
import type { Clock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { once } from '../base/once.ts';
import { createLooks, type Look } from './process-scan.ts';
import { createSampler, type Metric, type Sampler, whyUnavailable } from './sampler.ts';
import type { ProcessTree } from './tree.ts';

/** What is watched. */
export interface Watched {
  readonly executionId: string;
  readonly pid: number;
  readonly tree: ProcessTree;
  readonly finished: Promise<unknown>;
}

export interface MonitorView {
  readonly id: string;
  readonly executionId: string;
  readonly pid: number;
  readonly status: 'active' | 'ended' | 'stopped';
  readonly startedAtMs: number;
  readonly endedAtMs: number | undefined;
  readonly intervalMs: number;
  readonly metrics: readonly Metric[];
  /** What was asked for and the kernel does not tell. */
  readonly unavailable: readonly Metric[];
}

/** With samples since the last read, how many of those there was no room for, and a summary of its whole life. */
export type MonitorReading = ReturnType<typeof reading>;

interface MonitorOptions {
  readonly intervalMs: number;
  readonly metrics: readonly Metric[] | undefined;
}

export type Monitors = ReturnType<typeof createMonitors>;

interface Monitor {
  readonly about: Pick<MonitorView, 'id' | 'executionId' | 'pid' | 'startedAtMs' | 'intervalMs'>;
  readonly watcher: string;
  readonly sampler: Sampler;
  /** Undefined once it ended: nothing of the execution is held then. */
  tree: ProcessTree | undefined;
  endedAtMs: number | undefined;
  dueAtMs: number;
}

/** Who is due this soon is served with the others. */
const TOGETHER_MS = 25;

export function createMonitors({ clock, look = createLooks() }: { clock: Clock; look?: () => Look }) {
  const monitors = new Map<string, Monitor>();
  let timer: NodeJS.Timeout | undefined;

  function sampleDue(): void {
    const dueBy = performance.now() + TOGETHER_MS;
    const due = active().filter(({ dueAtMs }) => dueAtMs <= dueBy);
    // Where the process table cannot be read (too many open files, say), the next look may do better.
    attempt(() => {
      const shared = once(look);
      for (const { tree, sampler } of due) sampler.sample(tree?.members(shared()) ?? [], clock.now());
    });
    const now = performance.now();
    for (const monitor of due) monitor.dueAtMs = now + monitor.about.intervalMs;
    schedule();
  }

  function schedule(): void {
    clearTimeout(timer);
    const next = Math.min(...active().map(({ dueAtMs }) => dueAtMs));
    if (Number.isFinite(next)) timer = setTimeout(sampleDue, Math.max(1, next - performance.now())).unref();
  }

  const active = (): Monitor[] => [...monitors.values()].filter(({ tree }) => tree !== undefined);

  function end(monitor: Monitor): void {
    if (monitor.tree === undefined) return;
    monitor.tree = undefined;
    monitor.endedAtMs = clock.now();
    schedule();
  }

  return {
    /** Throws RESOURCE_005 where the watcher has as many as it may have, PARAM_002 where nothing can be measured. */
    start(watcher: string, { finished, tree, ...watched }: Watched, options: MonitorOptions): MonitorView {
      const { intervalMs, metrics } = options;
      const sampler = measuring(createSampler(metrics, tree.members(look())), watched.executionId);
      makeRoom(monitors, watcher);
      const monitor: Monitor = {
        about: { ...watched, id: createId('mon'), startedAtMs: clock.now(), intervalMs },
        watcher,
        sampler,
        tree,
        endedAtMs: undefined,
        dueAtMs: performance.now() + intervalMs,
      };
      monitors.set(monitor.about.id, monitor);
      void finished.catch(() => undefined).then(() => end(monitor));
      schedule();
      return view(monitor, 'active');
    },
    /** Throws RESOURCE_001 where there is none of that watcher's. */
    read(watcher: string, id: string): MonitorReading {
      const monitor = get(monitors, watcher, id);
      return reading(monitor, monitor.tree === undefined ? 'ended' : 'active');
    },
    /** The last reading; the monitor is gone after it. */
    stop(watcher: string, id: string): MonitorReading {
      const monitor = get(monitors, watcher, id);
      const status = monitor.tree === undefined ? 'ended' : 'stopped';
      end(monitor);
      monitors.delete(id);
      return reading(monitor, status);
    },
    dispose(): void {
      for (const monitor of monitors.values()) monitor.tree = undefined;
      clearTimeout(timer);
    },
  };
}

function get(monitors: ReadonlyMap<string, Monitor>, watcher: string, id: string): Monitor {
  const monitor = monitors.get(id);
  if (monitor?.watcher === watcher) return monitor;
  throw new ShellServerError('RESOURCE_001', `There is no monitor ${JSON.stringify(id.slice(0, 64))}.`, {
    hint: 'It was stopped, or the server was restarted. Start one with process_id.',
  });
}

/** The same sampler; throws where it would measure nothing. */
function measuring(sampler: Sampler, executionId: string): Sampler {
  const missing = sampler.unavailable();
  if (missing.length < sampler.metrics.length) return sampler;
  const reasons = [...new Set(missing.map(whyUnavailable))].join('; ');
  throw new ShellServerError(
    'PARAM_002',
    `${missing.join(' and ')} cannot be measured for ${executionId}: ${reasons}.`,
    {
      hint: 'Leave include_metrics out to measure everything that can be measured.',
      details: { parameter: 'include_metrics' },
    },
  );
}

/** Of those that ended, the oldest make room. */
function makeRoom(monitors: Map<string, Monitor>, watcher: string): void {
  const own = [...monitors.values()].filter((monitor) => monitor.watcher === watcher);
  if (own.length < LIMITS.monitors) return;
  const ended = own.find(({ tree }) => tree === undefined);
  if (ended === undefined) {
    throw new ShellServerError(
      'RESOURCE_005',
      `The limit of ${LIMITS.monitors} active monitors is reached.`,
      {
        hint: 'Stop one: process_monitor with its monitor_id and action "stop".',
        details: { limit: LIMITS.monitors, monitors: own.slice(0, 5).map(({ about }) => about.id) },
      },
    );
  }
  monitors.delete(ended.about.id);
}

function view(monitor: Monitor, status: MonitorView['status']): MonitorView {
  const { about, endedAtMs, sampler } = monitor;
  return { ...about, status, endedAtMs, metrics: sampler.metrics, unavailable: sampler.unavailable() };
}

const reading = (monitor: Monitor, status: MonitorView['status']) => ({
  ...view(monitor, status),
  ...monitor.sampler.take(),
});
