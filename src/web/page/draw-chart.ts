/** A small plot over time, loaded when one is shown. */
import uPlot from 'uplot';

export interface ChartData {
  /** The name of a variable of the style sheet. */
  readonly color: string;
  readonly times: readonly number[];
  readonly values: readonly number[];
}

const HEIGHT = 90;

/** Returns what removes it. */
export function drawChart(element: HTMLElement, { color, times, values }: ChartData): () => void {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: read('--quiet'),
    grid: { stroke: read('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  };
  const chart = new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false },
      scales: { y: { range: (_chart, _least, most) => [0, Math.max(1, most)] } },
      axes: [
        { ...axis, size: 22 },
        {
          ...axis,
          size: 40,
          splits: (_chart, _index, least, most) => [least, most / 2, most],
          values: (_chart, splits) =>
            splits.map((value) => String(value >= 100 ? Math.round(value) : Number(value.toFixed(1)))),
        },
      ],
      series: [{}, { stroke: read(color), fill: `${read(color)}22`, width: 1.5, points: { show: false } }],
    },
    [[...times], [...values]],
    element,
  );
  const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
  observer.observe(element);
  return () => {
    observer.disconnect();
    chart.destroy();
  };
}
