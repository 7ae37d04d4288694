/** The executions of all servers on the state directory as the page shows them, with their outputs. */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { isId, renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { silentLog } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { createObserver, type ObservedExecution } from '../executions/executions.ts';
import {
  type Bundle,
  type ByteSource,
  createOutputs,
  createSearchThread,
  readLines,
  type StreamType,
  searchLines,
} from '../outputs/outputs.ts';
import { type AuditLine, byTime, readAudit } from '../security/security.ts';
import { type ListedTerminal, listTerminals } from '../terminals/attach.ts';
import { readRecordingPiece } from './recordings.ts';
import type {
  AuditRow,
  EndAnswer,
  ExecutionDetails,
  OutputAnswer,
  RecordingAnswer,
  Row,
  SearchAnswer,
} from './wire.ts';

export interface Watched {
  look(): Promise<{ readonly servers: number; readonly rows: readonly Row[] }>;
  /** Throws RESOURCE_001, as everything below does. */
  details(id: string): Promise<ExecutionDetails>;
  read(id: string, request: LinesWanted): Promise<OutputAnswer>;
  search(id: string, request: SearchWanted): Promise<SearchAnswer>;
  /** A piece of a terminal's recording. */
  recording(id: string, offset: number): Promise<RecordingAnswer>;
  /** All bytes of a stream that were kept, in pieces. */
  download(id: string, stream: string): AsyncGenerator<Buffer>;
  end(id: string, onDirect: () => void): Promise<EndAnswer['result']>;
  /** Of all executions that left a record. */
  ids(): Promise<readonly string[]>;
  dispose(): Promise<void>;
}

export interface LinesWanted {
  readonly stream: string;
  /** From 1; negative counts from the end. */
  readonly line: number;
  readonly count: number;
}

export interface SearchWanted {
  readonly stream: string;
  readonly pattern: string;
  readonly fromOffset: number;
  readonly signal: AbortSignal;
}

/** Of one answer; the page asks for what its window shows. */
const MAX_LINES = 2000;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MATCHES = 500;
const PIECE_BYTES = 256 * 1024;
/** Of one execution's lines in the audit log. */
const MAX_AUDIT_LINES = 200;
/** Outputs that are open at the same time, with what is known of their lines. */
const MAX_OPEN = 16;
const ENCODING = 'utf-8';

export function createWatched(settings: Settings, searchWorkerPath: string): Watched {
  const { stateDir, limits, retention } = settings;
  const observer = createObserver({ stateDir, clock: systemClock });
  const outputs = createOutputs({
    directory: join(stateDir, 'executions'),
    limits: { maxOutputBytes: limits.maxOutputBytes, tailBytes: LIMITS.outputTailBytes },
    retention,
    clock: systemClock,
    log: silentLog,
  });
  const thread = createSearchThread(searchWorkerPath);
  /** Whether it was running when it was opened: its outputs move when it ends. */
  const open = new Map<string, { readonly bundle: Bundle; readonly isRunning: boolean }>();

  const shown = new Set<string>();

  function bundleOf(id: string): Bundle {
    const summary = isId('exec', id) ? observer.store.summary(id) : undefined;
    if (summary === undefined) throw notFound(id);
    const isRunning = summary.status === 'running';
    const known = open.get(id);
    open.delete(id);
    const bundle =
      known?.isRunning === isRunning
        ? known.bundle
        : outputs.adoptBundle(
            {
              ...summary,
              name: summary.sessionName ?? summary.command,
              storage: observer.store.storageOf(id),
              isRunning: () => isRunning,
            },
            { isChanged: true },
          );
    open.set(id, { bundle, isRunning });
    for (const oldest of open.keys()) {
      if (open.size <= MAX_OPEN) break;
      open.delete(oldest);
      outputs.forget(oldest);
    }
    return bundle;
  }

  async function know(id: string): Promise<void> {
    if (observer.store.summary(id) === undefined) await observer.look();
  }

  async function withSource<Value>(
    id: string,
    stream: string,
    use: (source: ByteSource) => Promise<Value>,
  ): Promise<Value | undefined> {
    const source = bundleOf(id).source(typeOf(stream));
    if (source === undefined) return undefined;
    try {
      return await use(source);
    } finally {
      source.close();
    }
  }

  function streamsOf(id: string): ExecutionDetails['streams'] {
    const bundle = bundleOf(id);
    return STREAMS.flatMap((name) => {
      const source = bundle.source(name);
      if (source === undefined) return [];
      const sizeBytes = source.size;
      source.close();
      return [{ name, sizeBytes }];
    });
  }

  /** Once is enough: from then on it is in files. */
  function show(id: string): void {
    if (shown.has(id)) return;
    shown.add(id);
    observer.show(id);
  }

  async function look(): ReturnType<Watched['look']> {
    const [{ executions, servers }, terminals] = await Promise.all([
      observer.look(),
      listTerminals(stateDir, { findsPrompts: true }).catch(() => []),
    ]);
    for (const id of shown) if (observer.store.summary(id)?.status !== 'running') shown.delete(id);
    const screens = new Map(terminals.map((state) => [renameId(state.id, 'exec'), state]));
    return { servers, rows: executions.map((each) => toRow(each, screens.get(each.id))) };
  }

  return {
    look,
    async details(id) {
      const { rows } = await look();
      const row = rows.find((each) => each.id === id);
      const record = observer.store.read(id);
      if (row === undefined || record === undefined) throw notFound(id);
      if (row.state === 'running') show(id);
      const { command, environment, sessionId, timeoutMs, outcome } = record;
      const audit = auditOf(join(stateDir, 'audit'), id, record.createdAtMs);
      return { row, command, environment, sessionId, timeoutMs, outcome, streams: streamsOf(id), audit };
    },
    async read(id, { stream, line, count }) {
      await know(id);
      const isRunning = observer.store.summary(id)?.status === 'running';
      if (isRunning) show(id);
      const found = await withSource(id, stream, (source) =>
        readLines(source, {
          startLine: line,
          lineCount: Math.min(count, MAX_LINES),
          maxBytes: MAX_BYTES,
          encoding: ENCODING,
        }),
      );
      const { content = '', firstLine, totalLines = 0, totalBytes = 0, note } = found ?? {};
      return {
        lines: firstLine === undefined ? [] : content.split('\n'),
        firstLine: firstLine ?? 1,
        totalLines,
        totalBytes,
        isRunning,
        note,
      };
    },
    async search(id, { stream, pattern, fromOffset, signal }) {
      await know(id);
      const found = await withSource(id, stream, (source) =>
        searchLines(
          source,
          {
            pattern,
            contextLines: 0,
            maxMatches: MAX_MATCHES,
            fromOffset,
            deadlineMs: LIMITS.searchMs,
            encoding: ENCODING,
            signal,
          },
          thread,
        ),
      );
      const matches = (found?.content ?? '').split('\n').flatMap((text) => {
        const [, number, line = ''] = /^(\d+): (.*)$/s.exec(text) ?? [];
        return number === undefined ? [] : [{ line: Number(number), text: line }];
      });
      return { matches, nextOffset: found?.nextOffset };
    },
    async recording(id, offset) {
      await know(id);
      const piece = await withSource(id, 'cast', async (source) => readRecordingPiece(source, offset));
      if (piece === undefined) throw notFound(id, 'recording of the execution');
      return piece;
    },
    async *download(id, stream) {
      await know(id);
      const source = bundleOf(id).source(typeOf(stream));
      if (source === undefined) return;
      try {
        yield* piecesOf(source);
      } finally {
        source.close();
      }
    },
    end: (id, onDirect) => (isId('exec', id) ? observer.end(id, onDirect) : Promise.resolve('unknown')),
    async ids() {
      await observer.look();
      return observer.store.summaries().map(({ id }) => id);
    },
    dispose: thread.dispose,
  };
}

const STREAMS: readonly StreamType[] = ['combined', 'stdout', 'stderr', 'log', 'cast'];

function typeOf(name: string): StreamType {
  const type = STREAMS.find((each) => each === name);
  if (type !== undefined) return type;
  throw new ShellServerError('PARAM_002', `There is no stream ${JSON.stringify(name.slice(0, 40))}.`);
}

const notFound = (id: string, what = 'execution'): ShellServerError =>
  new ShellServerError('RESOURCE_001', `There is no ${what} ${JSON.stringify(id.slice(0, 64))}.`);

function* piecesOf(source: ByteSource): Generator<Buffer> {
  const { size } = source;
  for (let offset = 0; offset < size; ) {
    const piece = source.read(offset, Math.min(PIECE_BYTES, size - offset));
    if (piece.length > 0) {
      yield Buffer.from(piece);
      offset += piece.length;
      continue;
    }
    const gap = source.gaps.find(({ from, to }) => offset >= from && offset < to);
    if (gap === undefined) return;
    offset = gap.to;
  }
}

function toRow(execution: ObservedExecution, screen: ListedTerminal | undefined): Row {
  const { id, state, owner, command, mode, directory, pid, createdAtMs, endedAtMs, usage } = execution;
  const isClosed = mode === 'terminal' && state === 'failed' && execution.signal === 'SIGHUP';
  return {
    id,
    state: isClosed ? 'closed' : state,
    owner,
    command,
    mode,
    directory,
    pid,
    startedAtMs: createdAtMs,
    endedAtMs,
    durationMs: endedAtMs === undefined ? undefined : execution.durationMs,
    exitCode: execution.exitCode,
    signal: execution.signal,
    cpuPercent: usage?.cpuPercent,
    memoryBytes: usage?.memoryBytes,
    processes: usage?.processes,
    canEnd: state === 'running' || (state === 'lost' && (usage?.processes ?? 0) > 0),
    terminal: screen?.outcome === undefined ? toTerminal(screen, execution.sessionName) : undefined,
  };
}

function toTerminal(screen: ListedTerminal | undefined, sessionName: string | undefined): Row['terminal'] {
  if (screen === undefined) return undefined;
  return {
    id: screen.id,
    sessionName: sessionName ?? screen.sessionName,
    foreground: screen.front.map(({ name }) => name).join(', '),
    title: screen.title,
    columns: screen.dimensions.columns,
    rows: screen.dimensions.rows,
    viewers: screen.viewers,
    isIdle: screen.isIdle,
    isHeld: screen.isHeld,
    asksSecret: screen.asksSecret,
  };
}

/** A day before it began: the log of its server may have been opened then. */
function auditOf(directory: string, executionId: string, createdAtMs: number): AuditRow[] {
  const found: AuditLine[] = [];
  const terminalId = renameId(executionId, 'term');
  for (const line of readAudit(directory, { sinceMs: createdAtMs - 60_000 })) {
    const { executionId: about, terminalId: screen } = line.fields;
    if (about === executionId || screen === terminalId) found.push(line);
    if (found.length > MAX_AUDIT_LINES * 4) found.splice(MAX_AUDIT_LINES);
  }
  return found.sort(byTime).slice(0, MAX_AUDIT_LINES).map(toAuditRow);
}

export function toAuditRow({ time, instance, seq, fields }: AuditLine): AuditRow {
  const { hash: _hash, previous: _previous, ...shown } = fields;
  return { time, instance, seq, fields: shown };
}
