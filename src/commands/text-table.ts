/** Rows under headers, as wide as what is in them; the last column has what is left of the line. */
import type { CommandContext } from './context.ts';
import { createPaint, fitTo, padTo, type Tone, widthIn, widthOf } from './paint.ts';

export interface Column<Item> {
  readonly title: string;
  readonly isRight?: boolean;
  /** Of the window; narrower ones go without it. */
  readonly minWidth?: number;
  show(item: Item, width: number): Cell;
}

/** Text that moves no cursor, already escaped. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

const GAP = '  ';

export function renderTable<Item>(
  all: readonly Column<Item>[],
  items: readonly Item[],
  context: CommandContext,
): string {
  const paint = createPaint(context);
  const width = widthOf(context.output);
  const columns = all.filter(({ minWidth = 0 }) => width >= minWidth);
  const rows = items.map((item) => columns.map(({ show }) => show(item, width)));
  const last = columns.length - 1;
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...rows.map((row) => widthIn(textOf(row[at] ?? '')))),
  );
  const used = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
  const room = Math.max((columns[last]?.title ?? '').length, width - used);
  const draw = (cells: readonly Cell[], tone: Tone): string =>
    columns
      .map(({ isRight }, at) => {
        const cell = cells[at] ?? '';
        const cut = at === last ? fitTo(textOf(cell), room) : textOf(cell);
        const padding = ' '.repeat(Math.max(0, (widths[at] ?? 0) - widthIn(cut)));
        const padded =
          isRight === true ? `${padding}${cut}` : at === last ? cut : padTo(cut, widths[at] ?? 0);
        return paint(typeof cell === 'string' ? tone : cell.tone, padded);
      })
      .join(GAP)
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  return [draw(titles, 'strong'), ...rows.map((row) => draw(row, 'plain'))]
    .map((line) => `${line}\n`)
    .join('');
}

const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text);
