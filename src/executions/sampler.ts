/** From looks at a tree to samples: what it used between two looks, and how that was over all of them. */
import { LIMITS } from '../base/limits.ts';
import type { ProcessEntry } from './process-table.ts';
import type { Network, Transfer } from './transfers.ts';
import { percentOf, readOwnNetwork, sumResident, sumTicks, sumTransfer } from './usage.ts';

export const METRICS = ['cpu', 'memory', 'io', 'network'] as const;
export type Metric = (typeof METRICS)[number];

/** Why the kernel does not tell it. */
export const whyUnavailable = (metric: Metric): string =>
  metric === 'network'
    ? 'it uses the network of the host, and the kernel does not tell by whom that is used'
    : 'the kernel does not tell it for this process';

/** What was measured, by name; a rate is over the time since the sample before. */
type Figures = Partial<Record<Figure, number>>;

export type Figure = 'cpuPercent' | 'memoryBytes' | 'processes' | `${keyof (Transfer & Network)}PerSecond`;

export interface Sample {
  readonly atMs: number;
  readonly figures: Figures;
}

interface Extremes {
  readonly min: number;
  readonly mean: number;
  readonly max: number;
}

export interface Summary {
  readonly samples: number;
  readonly figures: Partial<Record<Figure, Extremes>>;
}

export type Sampler = ReturnType<typeof createSampler>;

interface Counters {
  /** By a clock that nobody sets: rates are made from it. */
  readonly measuredAt: number;
  readonly ticks: number;
  readonly transfer: Transfer | undefined;
  readonly network: Network | undefined;
}

/**
 * `members`: the tree as it is when it begins, from which the first sample is measured. Where nothing is `wanted` in
 * particular, it is everything that can be measured.
 */
export function createSampler(wanted: readonly Metric[] | undefined, members: readonly ProcessEntry[]) {
  const metrics = METRICS.filter((metric) =>
    wanted === undefined
      ? metric !== 'network' || readOwnNetwork(members) !== undefined
      : wanted.includes(metric),
  );
  const has = (metric: Metric): boolean => metrics.includes(metric);
  const totals: Totals = new Map();
  let unread: Sample[] = [];
  let dropped = 0;
  let samples = 0;
  let last = count(members);

  function count(now: readonly ProcessEntry[]): Counters {
    return {
      measuredAt: performance.now(),
      ticks: sumTicks(now),
      transfer: has('io') ? sumTransfer(now) : undefined,
      network: has('network') ? readOwnNetwork(now) : undefined,
    };
  }

  return {
    metrics,
    sample(now: readonly ProcessEntry[], atMs: number): void {
      // Between the end of a tree and the news of it there is nobody to measure.
      if (now.length === 0) return;
      const next = count(now);
      const figures = measure(metrics, now, last, next);
      last = next;
      samples++;
      addTo(totals, figures);
      unread.push({ atMs, figures });
      if (unread.length <= LIMITS.monitorSamples) return;
      unread.shift();
      dropped++;
    },
    /** What was never available so far. */
    unavailable: (): Metric[] =>
      metrics.filter(
        (metric) =>
          (metric === 'io' && last.transfer === undefined && !totals.has('readBytesPerSecond')) ||
          (metric === 'network' && last.network === undefined && !totals.has('receivedBytesPerSecond')),
      ),
    /** Samples since the last time, and the summary of all. */
    take() {
      const figures = [...totals].map(([name, { min, max, sum, count: n }]) => [
        name,
        { min, mean: Math.round((sum / n) * 10) / 10, max },
      ]);
      const taken = {
        samples: unread,
        dropped,
        summary: { samples, figures: Object.fromEntries(figures) as Summary['figures'] },
      };
      unread = [];
      dropped = 0;
      return taken;
    },
  };
}

type Totals = Map<Figure, { min: number; max: number; sum: number; count: number }>;

function addTo(totals: Totals, figures: Figures): void {
  for (const [name, value] of Object.entries(figures) as [Figure, number][]) {
    const total = totals.get(name) ?? { min: value, max: value, sum: 0, count: 0 };
    totals.set(name, {
      min: Math.min(total.min, value),
      max: Math.max(total.max, value),
      sum: total.sum + value,
      count: total.count + 1,
    });
  }
}

function measure(
  metrics: readonly Metric[],
  members: readonly ProcessEntry[],
  before: Counters,
  after: Counters,
): Figures {
  const seconds = Math.max((after.measuredAt - before.measuredAt) / 1000, 0.001);
  const ratesOf = <Name extends keyof (Transfer & Network)>(
    from: Readonly<Record<Name, number>> | undefined,
    to: Readonly<Record<Name, number>> | undefined,
  ): Figures => {
    // What was unavailable before has no beginning to be measured from.
    if (from === undefined || to === undefined) return {};
    const names = Object.keys(to) as Name[];
    const rate = (name: Name): number => Math.round(Math.max(0, to[name] - from[name]) / seconds);
    return Object.fromEntries(names.map((name) => [`${name}PerSecond`, rate(name)]));
  };
  return {
    ...(metrics.includes('cpu') && { cpuPercent: percentOf(after.ticks - before.ticks, seconds) }),
    ...(metrics.includes('memory') && { memoryBytes: sumResident(members) }),
    processes: members.length,
    ...ratesOf(before.transfer, after.transfer),
    ...ratesOf(before.network, after.network),
  };
}
