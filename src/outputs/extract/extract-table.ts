/** A heading and rows below it, as ps, df, docker ps and kubectl get print them. */
import type { Table } from './results.ts';

/** In capitals, but for df's. */
const HEADING = /^ *(?:[A-Z%][A-Z0-9%#()/._-]*(?: +|$)){2,}$|^Filesystem +.*\bMounted on$/;

export function parseTable(lines: readonly string[]): Table | undefined {
  const at = lines.findIndex((line) => HEADING.test(line));
  const heading = lines[at];
  if (heading === undefined) return undefined;
  const end = lines.findIndex((line, index) => index > at && line.trim() === '');
  const rows = lines.slice(at + 1, end === -1 ? lines.length : end);
  if (rows.length === 0) return undefined;
  return byPosition(heading, rows) ?? byWords(heading, rows);
}

/** Columns two or more spaces apart, each of which begins below its heading. */
function byPosition(heading: string, rows: readonly string[]): Table | undefined {
  const groups = [...heading.matchAll(/\S+(?: \S+)*/g)];
  const starts = groups.map(({ index }) => index);
  const isAligned = rows.every((row) =>
    starts.every((start) => start === 0 || start > row.length || row[start - 1] === ' '),
  );
  // Single spaces in a heading part columns, except in names that are known.
  const isApart = groups.every(
    ([text]) => !text.includes(' ') || /^(?:CONTAINER|IMAGE|VOLUME|NETWORK) \w+$/.test(text),
  );
  if (starts[0] !== 0 || groups.length < 2 || !isAligned || !isApart) return undefined;
  return {
    kind: 'table',
    columns: groups.map(([text]) => text),
    rows: rows.map((row) => starts.map((start, at) => row.slice(start, starts[at + 1]).trim())),
  };
}

/** As many words as the heading has; the last column has the rest. */
function byWords(heading: string, rows: readonly string[]): Table | undefined {
  const columns = heading
    .replace(/\bMounted on$/, 'Mounted_on')
    .trim()
    .split(/ +/);
  const split = rows.map((row) => {
    const words = row.trim().split(/\s+/);
    const rest = words.slice(columns.length - 1).join(' ');
    return words.length < columns.length ? undefined : [...words.slice(0, columns.length - 1), rest];
  });
  const isTable = split.every((row) => row !== undefined);
  if (!isTable) return undefined;
  return { kind: 'table', columns: columns.map((name) => name.replace('_', ' ')), rows: split };
}
