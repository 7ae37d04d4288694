/** read_execution_output: a part of an output by bytes, by lines, or by what a search finds in it; or results in it. */
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { ByteSource, OutputInfo } from '../outputs/types.ts';
import {
  asShown,
  EXTRACTS,
  type Lines,
  matchesAsShown,
  readLines,
  readRange,
  type SearchResult,
  searchLines,
  useSource,
} from '../outputs/views.ts';
import { comparePart, extractPart } from './extract-output.ts';
import { answerBytes } from './known-clients.ts';
import { type Answer, type Call, type DataOf, defineTool } from './tool.ts';

export const readInput = () =>
  z.strictObject({
    output_id: z.string(),
    offset: z.number().int().min(-1e12).max(1e12).optional().describe('Bytes; negative: from the end'),
    size: z
      .number()
      .int()
      .min(1)
      .max(LIMITS.readBytesMax)
      .default(LIMITS.readBytesDefault)
      .describe('Default 8192, max 1 MiB'),
    encoding: z.string().max(40).default('utf-8').describe('utf-8, base64, latin1, shift_jis, …'),
    start_line: z.number().int().min(-1e9).max(1e9).optional().describe('From 1; negative: from the end'),
    line_count: z.number().int().min(1).max(LIMITS.readLinesMax).optional(),
    pattern: z
      .string()
      .min(1)
      .max(LIMITS.patternLength)
      .optional()
      .describe('Regular expression: only lines that match'),
    context_lines: z.number().int().min(0).max(LIMITS.searchContextLines).optional(),
    extract: z.enum(EXTRACTS).optional().describe('Failed tests, compiler errors, … as data'),
    path: z.string().max(LIMITS.patternLength).optional().describe('JSON Pointer'),
    compare_to: z.string().optional().describe('output_id of an earlier run'),
    ignore_times: z.boolean().optional().describe('With compare_to; addresses too'),
  });
type Input = z.output<ReturnType<typeof readInput>>;

export const readFields = () =>
  z.object({
    output_id: z.string(),
    content: z.string(),
    size: z.number(),
    total_size: z.number(),
    is_truncated: z.boolean(),
    encoding: z.string(),
    next_offset: z.number(),
    offset: z.number(),
    start_line: z.number(),
    end_line: z.number(),
    total_lines: z.number(),
    next_start_line: z.number(),
    match_count: z.number(),
    order: z.enum(['exact', 'approximate']),
    is_running: z.boolean(),
    note: z.string(),
    extracted: z.record(z.string(), z.unknown()),
    differences: z.object({ summary: z.string(), removed: z.array(z.string()), added: z.array(z.string()) }),
  });
type Output = DataOf<typeof readFields>;

export const readExecutionOutput = defineTool({
  name: 'read_execution_output',
  title: 'Read an output',
  description:
    'Reads a stored output: by bytes (offset, size), by lines (start_line, line_count), or searched on the server (pattern, context_lines); or its results as data (extract). Works while the command still writes.',
  input: readInput,
  output: readFields,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  takesTurns: true,
  run: readOutput,
});

export async function readOutput(input: Input, call: Call): Promise<Answer<Output>> {
  refuseMixtures(input);
  await call.modules.executions.ready();
  const { info, source } = call.modules.outputs.open(call.principal, input.output_id);
  // What a client does not pass on is left for the next call, which the answer names.
  const isBase64 = input.encoding.toLowerCase() === 'base64';
  const size = Math.min(input.size, answerBytes(call.client, isBase64 ? 4 / 3 : 1));
  const part = await useSource(source, (opened) => readPart(opened, { ...input, size }, call));
  return {
    ...finish(part, info),
    async shorter(share) {
      const less = Math.floor(share * Math.min(size, part.data.size ?? size));
      return less < 1 ? undefined : readOutput({ ...input, size: less }, call);
    },
  };
}

interface Part {
  readonly data: Output;
  /** Where it is not the content. */
  readonly text?: string;
  /** How to go on, in words. */
  readonly next: string;
}

function readPart(source: ByteSource, input: Input, call: Call): Promise<Part> {
  const { extract, path, size: maxBytes, compare_to: earlier } = input;
  if (earlier !== undefined) return compare(source, input, earlier, call);
  if (extract !== undefined)
    return extractPart(source, { kind: extract, path, maxBytes, signal: call.signal });
  if (input.pattern !== undefined) return search(source, input, input.pattern, call);
  if (input.start_line !== undefined || input.line_count !== undefined) return lines(source, input, call);
  return Promise.resolve(range(source, input));
}

async function compare(source: ByteSource, input: Input, earlier: string, call: Call): Promise<Part> {
  const other = call.modules.outputs.open(call.principal, earlier).source;
  const request = { kind: input.extract, maxBytes: input.size, ignoresTimes: input.ignore_times === true };
  return useSource(other, (opened) => comparePart(source, opened, { ...request, signal: call.signal }));
}

function range(source: ByteSource, input: Input): Part {
  const part = readRange(source, { offset: input.offset ?? 0, size: input.size, encoding: input.encoding });
  const end = part.offset + part.sizeBytes;
  return {
    data: {
      content: part.content,
      offset: part.offset,
      size: part.sizeBytes,
      total_size: part.totalBytes,
      is_truncated: part.isTruncated,
      encoding: part.encoding,
      next_offset: part.nextOffset,
      note: part.note,
    },
    next: `bytes ${part.offset} to ${end} of ${part.totalBytes}${part.nextOffset === undefined ? '' : `; go on with offset ${part.nextOffset}`}`,
  };
}

/** By lines and by search, as a terminal would show it. By bytes, or in another encoding, it is exact. */
const isShown = ({ encoding }: Input): boolean => /^utf-?8$/i.test(encoding);

const describePart = ({ totalBytes, encoding, note }: Lines | SearchResult, content: string) => ({
  content,
  size: Buffer.byteLength(content),
  total_size: totalBytes,
  encoding,
  note,
});

async function lines(source: ByteSource, input: Input, { client, signal }: Call): Promise<Part> {
  const part = await readLines(source, {
    startLine: input.start_line ?? 1,
    lineCount: input.line_count ?? LIMITS.readLinesDefault,
    maxBytes: Math.min(LIMITS.readLinesBytes, answerBytes(client)),
    encoding: input.encoding,
    signal,
  });
  const content = isShown(input) ? asShown(part.content) : part.content;
  const shown = part.firstLine === undefined ? 'no lines' : `lines ${part.firstLine} to ${part.lastLine}`;
  return {
    data: {
      ...describePart(part, content),
      is_truncated: part.isTruncated,
      start_line: part.firstLine,
      end_line: part.lastLine,
      total_lines: part.totalLines,
      next_start_line: part.nextStartLine,
    },
    next: `${shown} of ${part.totalLines}${part.nextStartLine === undefined ? '' : `; go on with start_line ${part.nextStartLine}`}`,
  };
}

async function search(source: ByteSource, input: Input, pattern: string, call: Call): Promise<Part> {
  const request = {
    pattern,
    contextLines: input.context_lines ?? 0,
    maxMatches: Math.min(input.line_count ?? LIMITS.readLinesDefault, LIMITS.searchMatches),
    maxBytes: Math.min(LIMITS.searchResultBytes, answerBytes(call.client)),
    fromOffset: input.offset ?? 0,
    deadlineMs: LIMITS.searchMs,
    encoding: input.encoding,
    signal: call.signal,
  };
  const part = await searchLines(source, request, call.modules.searchThread);
  const content = isShown(input) ? matchesAsShown(part.content) : part.content;
  const found = `${part.matchCount} ${part.matchCount === 1 ? 'line matches' : 'lines match'}`;
  return {
    data: {
      ...describePart(part, content),
      is_truncated: part.hasMore,
      match_count: part.matchCount,
      next_offset: part.nextOffset,
    },
    next: `${found}${part.hasMore ? `; there may be more: go on with offset ${part.nextOffset}` : ''}`,
  };
}

function finish({ data, text, next }: Part, info: OutputInfo): Answer<Output> {
  const order = info.exactOrder ? 'exact' : 'approximate';
  const notes = [
    data.note ?? '',
    info.exactOrder
      ? ''
      : 'stdout and stderr are put together by time of arrival, so that their order is approximate',
    info.isRunning ? 'the command is still writing' : '',
  ].filter((note) => note !== '');
  const { content, extracted, differences, ...about } = data;
  const shown = text ?? content ?? '';
  const gap = shown === '' || shown.endsWith('\n') ? '' : '\n';
  return {
    // Clients that cut an answer cut its end: how to go on comes before what was read.
    data: {
      output_id: info.outputId,
      ...about,
      order,
      is_running: info.isRunning,
      content,
      extracted,
      differences,
    },
    text: `${shown}${gap}[${[next, ...notes].join('; ')}]`,
  };
}

/** Ways to say which part; two at once would leave one unheard. */
function refuseMixtures(input: Input): void {
  const problem = findResultMixture(input) ?? findPartMixture(input);
  if (problem === undefined) return;
  throw new ShellServerError('PARAM_002', `${problem}.`, {
    hint: 'Say which part by offset and size, by start_line and line_count, or by pattern; or use extract or compare_to on all of it.',
    details: { name: 'InvalidParameters' },
  });
}

function findResultMixture(input: Input): string | undefined {
  const { extract, compare_to: earlier, path } = input;
  if (path !== undefined && !(earlier === undefined && (extract === 'json' || extract === 'auto')))
    return 'path goes with extract "json" only';
  if (input.ignore_times === true && earlier === undefined) return 'ignore_times goes with compare_to only';
  const how = earlier !== undefined ? 'compare_to' : extract !== undefined ? 'extract' : undefined;
  if (how === undefined) return undefined;
  const part = (['offset', 'start_line', 'line_count', 'pattern', 'context_lines'] as const).find(
    (name) => input[name] !== undefined,
  );
  if (part !== undefined) return `${part} does not go with ${how}`;
  return input.encoding === 'utf-8' ? undefined : `encoding does not go with ${how}`;
}

function findPartMixture(input: Input): string | undefined {
  if (input.pattern !== undefined)
    return input.start_line === undefined ? undefined : 'start_line does not go with pattern; offset does';
  if (input.context_lines !== undefined) return 'context_lines goes with pattern only';
  const byLine = input.start_line !== undefined || input.line_count !== undefined;
  return byLine && input.offset !== undefined
    ? 'offset does not go with start_line or line_count'
    : undefined;
}
