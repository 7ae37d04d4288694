/** Results in an output as data, and what differs from an earlier run, for read_execution_output. */
import { countFitting } from '../base/fit-lines.ts';
import type { ByteSource } from '../outputs/types.ts';
import {
  atPointer,
  compareLines,
  compareResults,
  countResults,
  type Extract,
  extractResults,
  type Results,
  readText,
  renderItems,
} from '../outputs/views.ts';
import { describeBytes } from './describe.ts';

export interface ExtractRequest {
  readonly kind: Extract;
  /** A JSON Pointer. */
  readonly path: string | undefined;
  /** Of the text, in bytes. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface Extracted {
  readonly data: {
    readonly extracted?: Record<string, unknown>;
    readonly differences?: { summary: string; removed: string[]; added: string[] };
    readonly total_size: number;
    readonly is_truncated: boolean;
    readonly note?: string;
  };
  readonly text: string;
  /** In words, what was found. */
  readonly next: string;
}

/** Looked through for results, which takes a tenth of a second: both ends of a longer output. */
const TEXT_BYTES = 2 * 1024 * 1024;
/** JSON is of no use in parts, and is read faster. */
const JSON_BYTES = 8 * 1024 * 1024;
const NAMES: Readonly<Record<Extract, string>> = {
  auto: 'known results',
  json: 'JSON',
  tests: 'test results',
  diagnostics: 'diagnostics',
  table: 'table',
};

export async function extractPart(source: ByteSource, request: ExtractRequest): Promise<Extracted> {
  const kind = request.path === undefined ? request.kind : 'json';
  const maxBytes = kind === 'json' ? JSON_BYTES : TEXT_BYTES;
  const { text, leftOutBytes } = await readText(source, maxBytes, request.signal);
  const results = extractResults(text, kind);
  const about = describeSize(source.size(), leftOutBytes);
  if (results === undefined)
    return {
      data: { ...about, is_truncated: false },
      text: '',
      next: `no ${NAMES[request.kind]} found in it; read it by lines or search it with pattern`,
    };
  const found = results.kind === 'json' ? atPath(results, request.path) : results;
  if (found.kind === 'json') return showJson(found, request.maxBytes, about);
  const { items, isCut } = fit(renderItems(found), request.maxBytes);
  return {
    data: { extracted: cutResults(found, items.length), ...about, is_truncated: isCut },
    text: items.join('\n'),
    next: `${countResults(found)}${isCut ? `; the first ${items.length} are shown, a larger size shows more` : ''}`,
  };
}

const describeSize = (total_size: number, leftOutBytes: number) => ({
  total_size,
  ...(leftOutBytes > 0 && {
    note: `${describeBytes(leftOutBytes)} in its middle were not looked at, since it is long`,
  }),
});

type Json = globalThis.Extract<Results, { kind: 'json' }>;

function atPath(results: Json, path: string | undefined): Json {
  if (path === undefined) return results;
  const values = results.values.map((value) => atPointer(value, path)).filter((value) => value !== undefined);
  return { kind: 'json', values };
}

/** What is too long is described, so that a path can be chosen. */
function showJson({ values }: Json, maxBytes: number, about: ReturnType<typeof describeSize>): Extracted {
  const one = values.length === 1 ? values[0] : values;
  const text = values.length === 0 ? '' : JSON.stringify(one);
  const count = values.length === 0 ? 'nothing at this path' : countResults({ kind: 'json', values });
  if (Buffer.byteLength(text) <= maxBytes)
    return {
      data: { extracted: { kind: 'json', value: one ?? null }, ...about, is_truncated: false },
      text,
      next: count,
    };
  const outline = outlineOf(one);
  return {
    data: { extracted: { kind: 'json', outline }, ...about, is_truncated: true },
    text: JSON.stringify(outline),
    next: `${count} of ${describeBytes(Buffer.byteLength(text))}, of which this is the outline; path (a JSON Pointer) reads a part`,
  };
}

/** Members that are named there. */
const OUTLINE_KEYS = 100;

function outlineOf(value: unknown): unknown {
  if (Array.isArray(value)) return { array_of: value.length, first: typeOf(value[0]) };
  if (typeof value !== 'object' || value === null) return typeOf(value);
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, OUTLINE_KEYS)
      .map(([key, member]) => [key.slice(0, OUTLINE_KEYS), typeOf(member)]),
  );
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return `array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `object with ${Object.keys(value).length} members`;
  return value === null ? 'null' : typeof value;
}

/** A table has its heading among them. */
function cutResults(results: Exclude<Results, Json>, shown: number): Record<string, unknown> {
  switch (results.kind) {
    case 'tests':
      return { ...results, failures: results.failures.slice(0, shown) };
    case 'diagnostics':
      return { ...results, items: results.items.slice(0, shown) };
    case 'table':
      return { ...results, rows: results.rows.slice(0, Math.max(0, shown - 1)) };
  }
}

/** As many as fit, and always one. */
function fit(all: readonly string[], maxBytes: number) {
  const items = all.slice(0, Math.max(1, countFitting(all, maxBytes)));
  return { items, isCut: items.length < all.length };
}

export interface CompareRequest extends Omit<ExtractRequest, 'kind' | 'path'> {
  /** Results are compared instead of lines. */
  readonly kind: Extract | undefined;
  readonly ignoresTimes: boolean;
}

export async function comparePart(
  source: ByteSource,
  earlier: ByteSource,
  request: CompareRequest,
): Promise<Extracted> {
  const [before, after] = [
    await readText(earlier, TEXT_BYTES, request.signal),
    await readText(source, TEXT_BYTES, request.signal),
  ];
  const kind = request.kind ?? 'auto';
  const change = compareResults(extractResults(before.text, kind), extractResults(after.text, kind));
  const about = describeSize(source.size(), before.leftOutBytes + after.leftOutBytes);
  if (request.kind !== undefined && change === undefined)
    return {
      data: { ...about, is_truncated: false },
      text: '',
      next: `no ${NAMES[request.kind]} to compare in both; without extract, lines are compared`,
    };
  const lines = compareLines(before.text, after.text, request.ignoresTimes);
  const isByLine = request.kind === undefined || change === undefined;
  const removed = isByLine ? lines.removed : change.gone;
  const added = isByLine ? lines.added : change.fresh;
  const { items, isCut } = fit(
    [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)],
    request.maxBytes,
  );
  const summary = [
    ...(change === undefined ? [] : [change.summary]),
    ...(isByLine ? [describeLines(lines.removed.length, lines.added.length, lines.isSameOrder)] : []),
  ].join('; ');
  const shownRemoved = items.filter((item) => item.startsWith('- ')).length;
  return {
    data: {
      differences: {
        summary,
        removed: removed.slice(0, shownRemoved),
        added: added.slice(0, items.length - shownRemoved),
      },
      ...about,
      is_truncated: isCut,
    },
    text: items.join('\n'),
    next: `${summary}${isCut ? `; the first ${items.length} are shown, a larger size shows more` : ''}`,
  };
}

function describeLines(removed: number, added: number, isSameOrder: boolean): string {
  if (removed + added > 0) return `${removed} lines only before, ${added} only now`;
  return isSameOrder ? 'no line differs' : 'the same lines in another order';
}
