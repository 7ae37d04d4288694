/**
 * Watches what trees use, from time to time and until they end. One look at the processes of the machine serves all
 * monitors that are due, so that many cost little more than one.
 */
import type { Clock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { createLooks, type Look } from './process-scan.ts';
import { createSampler, type Metric, type Sample, type Sampler, type Summary } from './sampler.ts';
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

export interface MonitorReading extends MonitorView {
  /** Since the last read. */
  readonly samples: readonly Sample[];
  /** Of those, how many there was no room for. */
  readonly dropped: number;
  /** Over the whole life of the monitor. */
  readonly summary: Summary;
}

export interface Monitors {
  /** Throws RESOURCE_005 where the watcher has as many as it may have. */
  start(
    watcher: string,
    watched: Watched,
    options: { readonly intervalMs: number; readonly metrics: readonly Metric[] | undefined },
  ): MonitorView;
  /** Throws RESOURCE_001 where there is none of that watcher's. */
  read(watcher: string, id: string): MonitorReading;
  /** The last reading; the monitor is gone after it. */
  stop(watcher: string, id: string): MonitorReading;
  dispose(): void;
}

interface Monitor {
  readonly id: string;
  readonly watcher: string;
  readonly executionId: string;
  readonly pid: number;
  readonly startedAtMs: number;
  readonly intervalMs: number;
  readonly sampler: Sampler;
  /** Undefined once it ended: nothing of the execution is held then. */
  tree: ProcessTree | undefined;
  endedAtMs: number | undefined;
  dueAtMs: number;
}

/** Who is due this soon is served with the others. */
const TOGETHER_MS = 25;

export function createMonitors(options: { readonly clock: Clock; readonly look?: () => Look }): Monitors {
  const { clock, look = createLooks() } = options;
  const monitors = new Map<string, Monitor>();
  let timer: NodeJS.Timeout | undefined;

  function sampleDue(): void {
    const dueBy = performance.now() + TOGETHER_MS;
    const due = active().filter(({ dueAtMs }) => dueAtMs <= dueBy);
    try {
      const shared = due.length === 0 ? undefined : look();
      for (const { tree, sampler } of due) {
        if (tree !== undefined && shared !== undefined) sampler.sample(tree.members(shared), clock.now());
      }
    } catch {
      // The process table could not be read (too many open files, say); the next look may do better.
    }
    const now = performance.now();
    for (const monitor of due) monitor.dueAtMs = now + monitor.intervalMs;
    schedule();
  }

  function schedule(): void {
    clearTimeout(timer);
    const next = Math.min(...active().map(({ dueAtMs }) => dueAtMs));
    timer = Number.isFinite(next)
      ? setTimeout(sampleDue, Math.max(1, next - performance.now())).unref()
      : undefined;
  }

  const active = (): Monitor[] => [...monitors.values()].filter(({ tree }) => tree !== undefined);

  function get(watcher: string, id: string): Monitor {
    const monitor = monitors.get(id);
    if (monitor?.watcher === watcher) return monitor;
    throw new ShellServerError('RESOURCE_001', `There is no monitor ${JSON.stringify(id.slice(0, 64))}.`, {
      hint: 'It was stopped, or the server was restarted. Start one with process_id.',
    });
  }

  /** Of those that ended, the oldest make room. */
  function makeRoom(watcher: string): void {
    const own = [...monitors.values()].filter((monitor) => monitor.watcher === watcher);
    if (own.length < LIMITS.monitors) return;
    const ended = own.find(({ tree }) => tree === undefined);
    if (ended === undefined) {
      throw new ShellServerError(
        'RESOURCE_005',
        `The limit of ${LIMITS.monitors} active monitors is reached.`,
        {
          hint: 'Stop one: process_monitor with its monitor_id and action "stop".',
          details: { limit: LIMITS.monitors, monitors: own.slice(0, 5).map(({ id }) => id) },
        },
      );
    }
    monitors.delete(ended.id);
  }

  function end(monitor: Monitor): void {
    if (monitor.tree === undefined) return;
    monitor.tree = undefined;
    monitor.endedAtMs = clock.now();
    schedule();
  }

  function view(monitor: Monitor, status: MonitorView['status']): MonitorView {
    const { id, executionId, pid, startedAtMs, endedAtMs, intervalMs, sampler } = monitor;
    const { metrics } = sampler;
    return {
      id,
      executionId,
      pid,
      status,
      startedAtMs,
      endedAtMs,
      intervalMs,
      metrics,
      unavailable: sampler.unavailable(),
    };
  }

  const statusOf = ({ tree }: Monitor): MonitorView['status'] => (tree === undefined ? 'ended' : 'active');

  return {
    start(watcher, { executionId, pid, tree, finished }, { intervalMs, metrics }) {
      makeRoom(watcher);
      const startedAtMs = clock.now();
      const sampler = createSampler(metrics, tree.members(look()));
      const monitor: Monitor = {
        id: createId('mon'),
        watcher,
        executionId,
        pid,
        startedAtMs,
        intervalMs,
        sampler,
        tree,
        endedAtMs: undefined,
        dueAtMs: performance.now() + intervalMs,
      };
      monitors.set(monitor.id, monitor);
      void finished.then(
        () => end(monitor),
        () => end(monitor),
      );
      schedule();
      return view(monitor, 'active');
    },
    read(watcher, id) {
      const monitor = get(watcher, id);
      return { ...view(monitor, statusOf(monitor)), ...monitor.sampler.take() };
    },
    stop(watcher, id) {
      const monitor = get(watcher, id);
      const status = monitor.tree === undefined ? 'ended' : 'stopped';
      end(monitor);
      monitors.delete(id);
      return { ...view(monitor, status), ...monitor.sampler.take() };
    },
    dispose() {
      for (const monitor of monitors.values()) monitor.tree = undefined;
      clearTimeout(timer);
    },
  };
}
