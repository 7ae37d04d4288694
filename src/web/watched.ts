/** The executions of all servers on the state directory as the page shows them, with their outputs. */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { isId, renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Settings } from '../base/settings.ts';
import { openStoredOutputs } from '../commands/stored-outputs.ts';
import { createObserver, type ObservedExecution, type Observer } from '../executions/executions.ts';
import {
  type Bundle,
  type ByteSource,
  createSearchThread,
  readLines,
  type SearchThread,
  type StreamType,
  searchLines,
  useSource,
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

export type Watched = ReturnType<typeof createWatched>;

interface LinesWanted {
  readonly stream: string;
  /** From 1; negative counts from the end. */
  readonly line: number;
  readonly count: number;
}

interface SearchWanted {
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

export function createWatched(settings: Settings, searchWorkerPath: string) {
  const { stateDir } = settings;
  const observer = createObserver({ stateDir, clock: systemClock });
  const bundleOf = createBundles(settings, observer);
  const thread = createSearchThread(searchWorkerPath);
  const { showRunning, forgetEnded } = createShowing(observer);

  async function know(id: string): Promise<void> {
    if (observer.store.summary(id) === undefined) await observer.look();
  }

  async function look() {
    const [{ executions, servers }, terminals] = await Promise.all([
      observer.look(),
      listTerminals(stateDir, { findsPrompts: true }).catch(() => []),
    ]);
    forgetEnded();
    const screens = new Map(terminals.map((state) => [renameId(state.id, 'exec'), state]));
    return { servers, rows: executions.map((each) => toRow(each, screens.get(each.id), observer)) };
  }

  async function open(id: string, stream: string): Promise<ByteSource | undefined> {
    await know(id);
    return bundleOf(id).source(typeOf(stream));
  }

  return {
    look,
    /** Throws RESOURCE_001, as everything below does. */
    async details(id: string): Promise<ExecutionDetails> {
      const { rows } = await look();
      const row = rows.find((each) => each.id === id);
      const record = observer.store.read(id);
      if (row === undefined || record === undefined) throw notFound(id);
      if (row.state === 'running') showRunning(id);
      const { command, environment, sessionId, timeoutMs, outcome } = record;
      const audit = auditOf(join(stateDir, 'audit'), id, record.createdAtMs);
      const streams = await streamsOf(bundleOf(id));
      return { row, command, environment, sessionId, timeoutMs, outcome, streams, audit };
    },
    async read(id: string, wanted: LinesWanted): Promise<OutputAnswer> {
      await know(id);
      const isRunning = showRunning(id);
      return { ...(await readFrom(await open(id, wanted.stream), wanted)), isRunning };
    },
    search: async (id: string, wanted: SearchWanted) =>
      searchIn(await open(id, wanted.stream), wanted, thread),
    /** A piece of a terminal's recording. */
    async recording(id: string, offset: number): Promise<RecordingAnswer> {
      const piece = await useSource(await open(id, 'cast'), (source) => readRecordingPiece(source, offset));
      if (piece === undefined) throw notFound(id, 'recording of the execution');
      return piece;
    },
    /** All bytes of a stream that were kept, in pieces. */
    async *download(id: string, stream: string): AsyncGenerator<Buffer> {
      const source = await open(id, stream);
      if (source !== undefined) yield* piecesOf(source);
    },
    end: async (id: string): Promise<EndAnswer['result']> =>
      isId('exec', id) ? observer.end(id, () => undefined) : 'unknown',
    /** Of all executions that left a record. */
    async ids(): Promise<readonly string[]> {
      await observer.look();
      return observer.store.summaries().map(({ id }) => id);
    },
    dispose: thread.dispose,
  };
}

function createShowing({ store, show }: Observer) {
  const shown = new Set<string>();
  const isRunning = (id: string): boolean => store.summary(id)?.status === 'running';
  return {
    /** Whether it runs; then it is shown, for which once is enough: from then on it is in files. */
    showRunning(id: string): boolean {
      if (!isRunning(id)) return false;
      if (!shown.has(id)) show(id);
      shown.add(id);
      return true;
    },
    forgetEnded(): void {
      for (const id of shown) if (!isRunning(id)) shown.delete(id);
    },
  };
}

/** The outputs of each execution, of which a few stay open. */
function createBundles(settings: Settings, { store }: Observer) {
  const outputs = openStoredOutputs(settings);
  /** Whether it was running when it was opened: its outputs move when it ends. */
  const open = new Map<string, { readonly bundle: Bundle; readonly isRunning: boolean }>();
  return (id: string): Bundle => {
    const summary = isId('exec', id) ? store.summary(id) : undefined;
    if (summary === undefined) throw notFound(id);
    const isRunning = summary.status === 'running';
    const known = open.get(id);
    open.delete(id);
    const adopt = (): Bundle => {
      const name = summary.sessionName ?? summary.command;
      const adopted = { ...summary, name, storageOf: store.storageOf, isRunning: () => isRunning };
      return outputs.adoptBundle(adopted, { isChanged: true });
    };
    const bundle = known?.isRunning === isRunning ? known.bundle : adopt();
    open.set(id, { bundle, isRunning });
    for (const oldest of open.keys()) {
      if (open.size <= MAX_OPEN) break;
      open.delete(oldest);
      outputs.forget(oldest);
    }
    return bundle;
  };
}

async function streamsOf(bundle: Bundle): Promise<ExecutionDetails['streams']> {
  const found = STREAMS.map((name) =>
    useSource(bundle.source(name), (source) => ({ name, sizeBytes: source.size() })),
  );
  return (await Promise.all(found)).filter((stream) => stream !== undefined);
}

async function readFrom(source: ByteSource | undefined, { line, count }: LinesWanted) {
  const wanted = {
    startLine: line,
    lineCount: Math.min(count, MAX_LINES),
    maxBytes: MAX_BYTES,
    encoding: ENCODING,
  };
  const found = await useSource(source, (opened) => readLines(opened, wanted));
  const { content = '', firstLine, totalLines = 0, totalBytes = 0, note } = found ?? {};
  const lines = firstLine === undefined ? [] : content.split('\n');
  return { lines, totalLines, totalBytes, note };
}

async function searchIn(
  source: ByteSource | undefined,
  { pattern, fromOffset, signal }: SearchWanted,
  thread: SearchThread,
): Promise<SearchAnswer> {
  const wanted = {
    pattern,
    contextLines: 0,
    maxMatches: MAX_MATCHES,
    fromOffset,
    deadlineMs: LIMITS.searchMs,
    encoding: ENCODING,
    signal,
  };
  const found = await useSource(source, (opened) => searchLines(opened, wanted, thread));
  const matches = (found?.content ?? '').split('\n').flatMap((text) => {
    const [, number, line = ''] = /^(\d+): (.*)$/s.exec(text) ?? [];
    return number === undefined ? [] : [{ line: Number(number), text: line }];
  });
  return { matches, nextOffset: found?.nextOffset };
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
  const size = source.size();
  try {
    for (let offset = 0; offset < size; ) {
      const piece = source.read(offset, Math.min(PIECE_BYTES, size - offset));
      if (piece.length > 0) {
        yield Buffer.from(piece);
        offset += piece.length;
        continue;
      }
      const gap = source.gaps().find(({ from, to }) => offset >= from && offset < to);
      if (gap === undefined) return;
      offset = gap.to;
    }
  } finally {
    source.close();
  }
}

/** Hung up, on request or with its server; a shell that ignores the signal was killed. */
function isClosed({ id, mode, state, signal }: ObservedExecution, { store }: Observer): boolean {
  if (mode !== 'terminal' || state !== 'failed') return false;
  const reason = store.read(id)?.outcome?.reason;
  return signal === 'SIGHUP' || reason === 'terminated' || reason === 'server_shutdown';
}

function toRow(execution: ObservedExecution, screen: ListedTerminal | undefined, observer: Observer): Row {
  const { id, state, owner, command, mode, directory, createdAtMs, endedAtMs, usage } = execution;
  return {
    id,
    state: isClosed(execution, observer) ? 'closed' : state,
    owner,
    command,
    mode,
    directory,
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
    ...screen.dimensions,
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
