/**
 * A recording of a terminal (asciicast, version 2) as a picture: its last screen as SVG. The same recording always gives
 * the same picture, so that a test can compare them.
 */
import xterm from '@xterm/headless';

const CELL = { width: 8.4, height: 19 };
const MARGIN = { x: 16, top: 44, bottom: 16 };
const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, &quot;DejaVu Sans Mono&quot;, monospace';
const BACKGROUND = '#16181d';
const FOREGROUND = '#d7dae0';
/** The sixteen colours that programs choose from. */
const PALETTE = [
  '#3b4048',
  '#f07178',
  '#8bd49c',
  '#e5c07b',
  '#70b0f0',
  '#c792ea',
  '#6fd3d6',
  '#c8ccd4',
  '#6b7280',
  '#ff8b92',
  '#a5e8b4',
  '#f3d79b',
  '#8fc4ff',
  '#dab0f5',
  '#92e6e8',
  '#ffffff',
];
/** Steps of the colour cube of 256 colours. */
const CUBE = [0, 95, 135, 175, 215, 255];

interface Style {
  readonly color: string;
  readonly background: string | undefined;
  readonly isBold: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
}

interface Run extends Style {
  readonly column: number;
  readonly width: number;
  readonly text: string;
}

export async function renderPicture(cast: string, title: string): Promise<string> {
  const [header = '', ...lines] = cast.split('\n').filter((line) => line !== '');
  const { width, height } = JSON.parse(header) as { width: number; height: number };
  const terminal = new xterm.Terminal({ cols: width, rows: height, allowProposedApi: true });
  for (const line of lines) {
    const [, kind, data] = JSON.parse(line) as [number, string, string];
    if (kind === 'o') await new Promise<void>((resolve) => terminal.write(data, resolve));
  }
  const rows = Array.from({ length: height }, (_, row) => runsOf(terminal, row));
  terminal.dispose();
  const used = rows.findLastIndex((runs) => runs.length > 0) + 1;
  return draw(rows.slice(0, used), width, title);
}

/** Neighbouring cells of one style are one run. */
function runsOf(terminal: xterm.Terminal, row: number): Run[] {
  const buffer = terminal.buffer.active;
  const line = buffer.getLine(buffer.baseY + row);
  const runs: Run[] = [];
  for (let column = 0; line !== undefined && column < terminal.cols; column++) {
    const cell = line.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const style = styleOf(cell);
    const last = runs.at(-1);
    const text = cell.getChars() || ' ';
    if (last !== undefined && last.column + last.width === column && isSame(last, style))
      runs[runs.length - 1] = { ...last, width: last.width + cell.getWidth(), text: last.text + text };
    else runs.push({ ...style, column, width: cell.getWidth(), text });
  }
  return runs.map(trim).filter(({ text }) => text !== '');
}

/** Without the blanks around it that nobody sees: where a viewer drops blanks, the rest would be stretched over them. */
function trim(run: Run): Run {
  if (run.background !== undefined || run.isUnderlined) return run;
  const text = run.text.trimEnd();
  const width = run.width - (run.text.length - text.length);
  const indent = text.length - text.trimStart().length;
  return { ...run, column: run.column + indent, width: width - indent, text: text.trimStart() };
}

function styleOf(cell: xterm.IBufferCell): Style {
  const color = colorOf(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor());
  const background = colorOf(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor());
  const isInverse = cell.isInverse() !== 0;
  return {
    color: isInverse ? (background ?? BACKGROUND) : (color ?? (cell.isDim() === 0 ? FOREGROUND : '#8b919c')),
    background: isInverse ? (color ?? FOREGROUND) : background,
    isBold: cell.isBold() !== 0,
    isItalic: cell.isItalic() !== 0,
    isUnderlined: cell.isUnderline() !== 0,
  };
}

function isSame(a: Style, b: Style): boolean {
  return (
    a.color === b.color &&
    a.background === b.background &&
    a.isBold === b.isBold &&
    a.isItalic === b.isItalic &&
    a.isUnderlined === b.isUnderlined
  );
}

/** Undefined: the terminal's own. */
function colorOf(isRgb: boolean, isPalette: boolean, value: number): string | undefined {
  if (isRgb) return `#${value.toString(16).padStart(6, '0')}`;
  if (!isPalette) return undefined;
  if (value < 16) return PALETTE[value];
  const grey = 8 + (value - 232) * 10;
  const parts =
    value >= 232
      ? [grey, grey, grey]
      : [36, 6, 1].map((step) => CUBE[Math.floor((value - 16) / step) % 6] ?? 0);
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

function draw(rows: readonly Run[][], columns: number, title: string): string {
  const width = Math.round(columns * CELL.width + 2 * MARGIN.x);
  const height = MARGIN.top + rows.length * CELL.height + MARGIN.bottom;
  const dots = ['#f07178', '#e5c07b', '#8bd49c'].map(
    (color, index) => `<circle cx="${20 + index * 20}" cy="20" r="6" fill="${color}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="10" fill="${BACKGROUND}"/>`,
    ...dots,
    `<text x="${width / 2}" y="25" text-anchor="middle" fill="#8b919c" font-family="sans-serif" font-size="13">${escape(title)}</text>`,
    `<g font-family="${FONT}" font-size="14">`,
    ...rows.flatMap((runs, row) => runs.flatMap((run) => drawRun(run, row))),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Each run stands where its cells are and is as wide as they are, whatever font there is. */
function drawRun(run: Run, row: number): string[] {
  const x = round(MARGIN.x + run.column * CELL.width);
  const top = MARGIN.top + row * CELL.height;
  const width = round(run.width * CELL.width);
  const attributes = [
    `x="${x}" y="${top + 14}" textLength="${width}" lengthAdjust="spacingAndGlyphs" fill="${run.color}"`,
    ...(run.isBold ? ['font-weight="bold"'] : []),
    ...(run.isItalic ? ['font-style="italic"'] : []),
    ...(run.isUnderlined ? ['text-decoration="underline"'] : []),
  ];
  const back =
    run.background === undefined
      ? []
      : [`<rect x="${x}" y="${top}" width="${width}" height="${CELL.height}" fill="${run.background}"/>`];
  // Browsers draw several spaces in a row as one, whatever the group says.
  return [...back, `<text ${attributes.join(' ')}>${escape(run.text).replaceAll(' ', '\u00a0')}</text>`];
}

const round = (value: number): number => Math.round(value * 100) / 100;

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
