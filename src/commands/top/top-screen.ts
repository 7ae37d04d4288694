/** One picture of `top`, as lines of a terminal. Pure: what is there in, what is shown out. */
import { escapeText } from '../../security/security.ts';
import { clipTo, type Paint, padTo } from '../paint.ts';
import { many, showBytes, showClock } from '../when.ts';
import type { TopRow } from './rows.ts';

export interface TopView {
  readonly rows: readonly TopRow[];
  readonly servers: number;
  readonly load: readonly number[];
  /** The id of the row that is chosen. */
  readonly chosen: string | undefined;
  readonly showsEnded: boolean;
  /** Under the table: a question, or what became of one. */
  readonly message: string;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

interface Column {
  readonly title: string;
  readonly width: number;
  readonly isRight?: true;
  /** Of the window; narrower ones go without it. */
  readonly minColumns?: number;
  show(row: TopRow): string;
}

const COLUMNS: readonly Column[] = [
  { title: 'STATE', width: 9, show: ({ state }) => state },
  { title: 'TIME', width: 8, isRight: true, show: ({ durationMs }) => showClock(durationMs) },
  { title: 'CPU%', width: 6, isRight: true, show: ({ cpuPercent }) => cpuPercent?.toFixed(1) ?? '' },
  {
    title: 'MEMORY',
    width: 8,
    isRight: true,
    show: ({ memoryBytes }) => (memoryBytes === undefined ? '' : showBytes(memoryBytes)),
  },
  { title: 'PROC', width: 5, isRight: true, minColumns: 70, show: ({ processes }) => `${processes ?? ''}` },
  { title: 'PID', width: 8, isRight: true, minColumns: 70, show: ({ pid }) => `${pid ?? ''}` },
  { title: 'WHO', width: 12, minColumns: 100, show: ({ owner }) => escapeText(owner) },
];

const HEAD_LINES = 3;
const FOOT_LINES = 2;

export function drawTop(view: TopView, size: Size, paint: Paint): string[] {
  const running = view.rows.filter(({ endedAtMs, canEnd }) => canEnd && endedAtMs === undefined).length;
  const columns = COLUMNS.filter(({ minColumns = 0 }) => size.columns >= minColumns);
  const room = Math.max(1, size.rows - HEAD_LINES - FOOT_LINES);
  const shown = windowAround(view.rows, view.chosen, room);
  const chosen = view.rows.find(({ id }) => id === view.chosen);
  const head = `${running} running, ${many(view.servers, 'server')}`;
  const load = `load ${view.load.map((value) => value.toFixed(2)).join(' ')}`;
  const titles = `  ${columns.map((column) => fit(column.title, column)).join(' ')} COMMAND`;
  const lines = [
    spread(`mcp-shell-server: ${head}`, load, size.columns),
    '',
    paint('strong', clipTo(titles, size.columns)),
    ...shown.map((row) => drawRow(row, row.id === view.chosen, { columns, width: size.columns, paint })),
  ];
  while (lines.length < HEAD_LINES + room) lines.push('');
  if (view.rows.length === 0) lines[HEAD_LINES] = paint('quiet', '  Nothing runs.');
  const more = view.rows.length > shown.length ? `  ${shown.length} of ${view.rows.length} shown` : '';
  const keys = `q quit  ↑↓ choose  x end it  f ${view.showsEnded ? 'hide' : 'show'} what ended${more}`;
  return [
    ...lines,
    paint('quiet', clipTo(escapeText(chosen?.detail ?? ''), size.columns)),
    view.message === ''
      ? paint('quiet', clipTo(keys, size.columns))
      : paint('strong', clipTo(view.message, size.columns)),
  ];
}

function drawRow(
  row: TopRow,
  isChosen: boolean,
  { columns, width, paint }: { columns: readonly Column[]; width: number; paint: Paint },
): string {
  const cells = columns.map((column) => fit(column.show(row), column));
  const [state = '', ...rest] = cells;
  const used = 2 + cells.reduce((sum, cell) => sum + cell.length + 1, 0);
  const command = clipTo(escapeText(row.command), Math.max(0, width - used));
  const after = ` ${rest.join(' ')} ${command}`;
  const isOver = !row.canEnd;
  return `${isChosen ? paint('strong', '> ') : '  '}${paint(row.tone, state)}${isOver && !isChosen ? paint('quiet', after) : isChosen ? paint('strong', after) : after}`;
}

function fit(text: string, { width, isRight }: Column): string {
  const cut = clipTo(text, width);
  return isRight === true ? cut.padStart(width) : padTo(cut, width);
}

/** So many rows, with the chosen one among them. */
function windowAround(rows: readonly TopRow[], chosen: string | undefined, room: number): readonly TopRow[] {
  const at = Math.max(
    0,
    rows.findIndex(({ id }) => id === chosen),
  );
  const from = Math.max(0, Math.min(at - Math.floor(room / 2), rows.length - room));
  return rows.slice(from, from + room);
}

function spread(left: string, right: string, columns: number): string {
  const gap = columns - left.length - right.length;
  return gap < 2 ? clipTo(left, columns) : `${left}${' '.repeat(gap)}${right}`;
}
