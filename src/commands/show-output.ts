/** `mcp-shell-server output <execution>`: what an execution printed, for a person to read, follow and search. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { createObserver, type ObservedExecution } from '../executions/executions.ts';
import {
  type ByteSource,
  matchesAsShown,
  readLines,
  type StreamType,
  searchLines,
} from '../outputs/outputs.ts';
import type { CommandContext } from './context.ts';
import { chooseExecution } from './list-executions.ts';
import { createPaint } from './paint.ts';
import { createLineWriter, type LineWriter } from './print-lines.ts';
import { openStoredOutputs } from './stored-outputs.ts';

export interface OutputOptions {
  readonly stdout?: boolean;
  readonly stderr?: boolean;
  readonly head?: number;
  readonly tail?: number;
  readonly follow?: boolean;
  readonly search?: string;
  readonly context?: number;
  readonly raw?: boolean;
}

const POLL_MS = 300;
const CHUNK_BYTES = 256 * 1024;

export async function showOutput(
  context: CommandContext,
  asked: string,
  options: OutputOptions,
): Promise<void> {
  refuseMixtures(options);
  const reader = createReader(context, asked, options);
  const first = await reader.open();
  const writer = createLineWriter(context.output, options.raw === true);
  if (options.search !== undefined) {
    const count = await search(first.source, options, { context, writer });
    first.source.close();
    context.setExitCode(count === 0 ? 1 : 0);
    return;
  }
  let offset = await showBeginning(first.source, options, { context, writer });
  first.source.close();
  let last = first.execution;
  while (options.follow === true && last.state === 'running' && !context.interrupted.aborted) {
    await sleep(POLL_MS, undefined, { signal: context.interrupted }).catch(() => undefined);
    // Anew each time: at its end a small output moves from its files into the record.
    const next = await reader.open();
    offset = await copy(next.source, offset, { context, writer });
    next.source.close();
    writer.showPartial();
    last = next.execution;
  }
  await writer.end();
  if (context.output.isTTY)
    context.output.write(`${createPaint(context)('quiet', aboutEnd(last, options))}\n`);
}

function createReader(context: CommandContext, asked: string, options: OutputOptions) {
  const settings = context.settings();
  const { store, look } = createObserver({ stateDir: settings.stateDir, clock: systemClock });

  return {
    async open() {
      const execution = chooseExecution((await look()).executions, asked);
      const summary = store.summary(execution.id);
      const bundle =
        summary &&
        openStoredOutputs(settings).adoptBundle({
          ...summary,
          name: '',
          storageOf: store.storageOf,
          isRunning: () => execution.state === 'running',
        });
      for (const type of wantedTypes(asked, options)) {
        const source = bundle?.source(type);
        if (source !== undefined) return { execution, source };
      }
      throw missing(execution, options);
    },
  };
}

/** By the last letter of an output's id. */
const LETTERS: Readonly<Record<string, StreamType>> = { s: 'stdout', e: 'stderr', c: 'combined', l: 'log' };

function wantedTypes(asked: string, { stdout, stderr }: OutputOptions): readonly StreamType[] {
  const [, letter = ''] = /^out_[a-z0-9]{26}([a-z])$/.exec(asked) ?? [];
  const named = LETTERS[letter];
  if (stderr === true) return ['stderr'];
  if (stdout === true) return ['stdout'];
  return named === undefined ? ['combined', 'stdout', 'log'] : [named];
}

function missing({ id, mode, state }: ObservedExecution, { stderr }: OutputOptions): ShellServerError {
  const what = stderr === true ? 'no output of its own on stderr' : 'no stored output';
  const hint =
    mode === 'terminal' && state === 'running'
      ? `It is a terminal: \`mcp-shell-server attach ${id.replace('exec_', 'term_')}\` shows it.`
      : stderr === true
        ? 'It was merged into stdout or discarded. Leave --stderr out.'
        : 'It was deleted, or not saved.';
  return new ShellServerError('RESOURCE_003', `${id} has ${what}.`, { hint });
}

interface Target {
  readonly context: CommandContext;
  readonly writer: LineWriter;
}

/** Returns the offset up to which it was read. */
async function showBeginning(source: ByteSource, options: OutputOptions, target: Target): Promise<number> {
  const { head, tail } = options;
  const until = source.size();
  if (head === undefined && tail === undefined) return copy(source, 0, target);
  let startLine = tail === undefined || tail === 0 ? 1 : -tail;
  for (let left = head ?? tail ?? 0; left > 0 && !target.context.interrupted.aborted; ) {
    const part = await readLines(source, {
      startLine,
      lineCount: Math.min(left, LIMITS.readLinesMax),
      maxBytes: LIMITS.readLinesBytes,
      // Any byte is a character of it, so that the writer gets the very bytes.
      encoding: 'latin1',
      signal: target.context.interrupted,
    });
    if (part.firstLine === undefined || part.lastLine === undefined) break;
    await target.writer.write(Buffer.from(`${part.content}\n`, 'latin1'));
    left -= part.lastLine - part.firstLine + 1;
    if (part.nextStartLine === undefined) break;
    startLine = part.nextStartLine;
  }
  return until;
}

async function copy(source: ByteSource, from: number, { context, writer }: Target): Promise<number> {
  const [size, gaps] = [source.size(), source.gaps()];
  let offset = from;
  while (offset < size && !context.interrupted.aborted) {
    const bytes = source.read(offset, Math.min(CHUNK_BYTES, size - offset));
    if (bytes.length > 0) await writer.write(bytes);
    offset += bytes.length;
    if (bytes.length > 0) continue;
    const gap = gaps.find(({ from: start, to }) => start <= offset && offset < to);
    if (gap === undefined) break;
    await writer.note(`[${gap.to - offset} bytes were not stored]`);
    offset = gap.to;
  }
  return offset;
}

/** As grep prints it, with the numbers of the lines. */
async function search(source: ByteSource, options: OutputOptions, target: Target): Promise<number> {
  const { writer, context } = target;
  let count = 0;
  for (let fromOffset: number | undefined = 0; fromOffset !== undefined; ) {
    const part = await searchLines(source, {
      pattern: options.search ?? '',
      contextLines: options.context ?? 0,
      maxMatches: LIMITS.searchMatches,
      fromOffset,
      deadlineMs: LIMITS.searchMs,
      encoding: 'utf-8',
      signal: context.interrupted,
    });
    const content = options.raw === true ? part.content : matchesAsShown(part.content);
    if (content !== '') await writer.write(Buffer.from(`${content}\n`));
    count += part.matchCount;
    fromOffset = part.nextOffset;
  }
  await writer.end();
  return count;
}

function aboutEnd({ state, exitCode, signal }: ObservedExecution, { follow }: OutputOptions): string {
  if (state === 'running')
    return follow === true ? '[it goes on]' : '[still running; --follow waits for more]';
  return `[${state}${signal === undefined ? (exitCode === undefined ? '' : `, exit code ${exitCode}`) : `, ${signal}`}]`;
}

function refuseMixtures(options: OutputOptions): void {
  const { stdout, stderr, head, tail, follow, search: pattern, context } = options;
  const problem = ((): string | undefined => {
    if (stdout === true && stderr === true)
      return '--stdout does not go with --stderr; without both, you see both';
    if (head !== undefined && (tail !== undefined || follow === true))
      return `--head does not go with ${tail === undefined ? '--follow' : '--tail'}`;
    if (context !== undefined && pattern === undefined) return '--context goes with --search only';
    if (pattern === undefined) return undefined;
    if (follow === true) return '--search does not go with --follow';
    if (head !== undefined) return '--search does not go with --head';
    return tail === undefined ? undefined : '--search does not go with --tail';
  })();
  if (problem !== undefined)
    throw new ShellServerError('PARAM_002', `${problem}.`, { hint: 'Leave one of them out.' });
}
