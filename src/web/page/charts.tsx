/** Executions, failures, denials and durations over time. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { AuditSeries } from '../wire.ts';
import type { ChartData } from './draw-chart.ts';

type Name = Exclude<keyof AuditSeries, 'times'>;

const CHARTS: readonly (readonly [Name, string, string])[] = [
  ['ended', 'Executions', '--accent'],
  ['failed', 'Failures', '--bad'],
  ['denied', 'Denials', '--warn'],
  ['longest', 'Longest, in seconds', '--quiet'],
];

export function Charts({ series }: { series: AuditSeries }): JSX.Element {
  return (
    <div class="charts">
      {CHARTS.map(([name, title, color]) => (
        <Chart key={name} title={title} color={color} times={series.times} values={series[name]} />
      ))}
    </div>
  );
}

function Chart({ title, color, times, values }: ChartData & { title: string }): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const most = values.reduce((largest, value) => Math.max(largest, value), 0);
  const sum = values.reduce((total, value) => total + value, 0);
  useEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    let dispose: (() => void) | undefined;
    let isGone = false;
    void import('./draw-chart.ts').then(({ drawChart }) => {
      if (!isGone) dispose = drawChart(box, { color, times, values });
    });
    return () => {
      isGone = true;
      dispose?.();
    };
  }, [times, values]);
  const about = title.startsWith('Longest') ? `at most ${most.toFixed(1)}` : `${sum} in all`;
  return (
    <figure>
      <figcaption>
        {title} <span class="quiet">{about}</span>
      </figcaption>
      <div ref={element} class="chart" role="img" aria-label={`${title}: ${about}`} />
    </figure>
  );
}
