/** The Test Anything Protocol, as node --test, Vitest and many others print it. Tests with subtests are not counted themselves. */
import { cutText, type FailedTest, placeIn, type TestResults } from './results.ts';

const POINT = /^( *)(not )?ok\b(?: (\d+))?(?: -)?(.*)$/;

interface Point {
  readonly at: number;
  readonly isOk: boolean;
  readonly name: string;
  readonly directive: string;
}

export function parseTap(lines: readonly string[]): TestResults | undefined {
  if (!lines.some((line) => /^ *1\.\.\d+/.test(line))) return undefined;
  const points = findPoints(lines);
  if (points.length === 0) return undefined;
  const isLeftOut = ({ directive }: Point): boolean => /^(?:skip|todo)/i.test(directive);
  const failed = points.filter((point) => !point.isOk && !isLeftOut(point));
  return {
    kind: 'tests',
    tool: 'tap',
    passed: points.filter((point) => point.isOk && !isLeftOut(point)).length,
    failed: failed.length,
    skipped: points.filter(isLeftOut).length,
    failures: failed.map(({ name, at }) => ({ name, ...detailOf(lines, at) })),
  };
}

function findPoints(lines: readonly string[]): Point[] {
  const points: Point[] = [];
  // The greatest indentation of points since the last one that is less indented: subtests stand before their test.
  let deepest = -1;
  // Vitest has them behind it, in braces.
  const isBraced = lines.some((line) => POINT.test(line) && line.trimEnd().endsWith('{'));
  lines.forEach((line, at) => {
    const found = POINT.exec(line);
    if (found === null) return;
    const [, indent = '', not, , rest = ''] = found;
    const isParent = isBraced ? rest.trimEnd().endsWith('{') : deepest > indent.length;
    deepest = deepest > indent.length ? indent.length : Math.max(deepest, indent.length);
    if (isParent) return;
    const hash = rest.lastIndexOf(' # ');
    const name = cutText(hash === -1 ? rest : rest.slice(0, hash)) || `test ${found[3] ?? ''}`.trim();
    points.push({ at, isOk: not === undefined, name, directive: hash === -1 ? '' : rest.slice(hash + 3) });
  });
  return points;
}

/** The YAML below it. */
function detailOf(lines: readonly string[], at: number): Omit<FailedTest, 'name'> {
  if (lines[at + 1]?.trim() !== '---') return {};
  let place: ReturnType<typeof placeIn>;
  let message: string | undefined;
  for (let index = at + 2; index < Math.min(at + 200, lines.length); index++) {
    const line = (lines[index] ?? '').trim();
    if (line === '...' || /^(?:not )?ok\b/.test(line)) break;
    const [, key, value = ''] = /^(\w+): *(.*)$/.exec(line) ?? [];
    if (key === 'location' || key === 'at') place ??= placeIn(value);
    if ((key === 'error' || key === 'message') && value !== '')
      message ??= value.startsWith('|') || value.startsWith('>') ? lines[index + 1] : value;
  }
  return { ...place, message: message && cutText(message.trim().replace(/^(['"])(.*)\1$/, '$2')) };
}
