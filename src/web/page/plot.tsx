/** How busy an execution was in the last minute, in the height of a line. */
import type { JSX } from 'preact';
import { loads, rows } from './page-state.ts';

const WIDTH = 60;
const HEIGHT = 14;

export function Plot({ id }: { id: string }): JSX.Element {
  // Drawn anew with every change of the list.
  void rows.value;
  const values = loads.get(id) ?? [];
  const most = Math.max(100, ...values);
  const points = values
    .map((value, index) => `${WIDTH - values.length + index},${HEIGHT - 1 - (value / most) * (HEIGHT - 2)}`)
    .join(' ');
  const label = `CPU ${(values.at(-1) ?? 0).toFixed(0)} %`;
  return (
    <span class="plot" title={`${label}, last minute`}>
      <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        <polyline points={points} />
      </svg>
      <span class="cpu">{label}</span>
    </span>
  );
}
