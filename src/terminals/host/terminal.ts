/** One terminal: a pseudo-terminal with a program in it, the screen it draws, and the record of what it wrote. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ShellServerError } from '../../base/errors.ts';
import { writeFileWhole } from '../../base/files.ts';
import {
  type createCgroups,
  createPipes,
  createSpawner,
  createUsageMeter,
  type Outcome,
  type Usage,
} from '../../executions/processes.ts';
import { createMasker } from '../../security/security.ts';
import type {
  FrontInfo,
  Look,
  ReadRequest,
  ReadResult,
  SendRequest,
  SendResult,
  TerminalSpec,
  TerminalState,
  WaitSpec,
} from '../protocol.ts';
import { createRecorder, discardRaw, readOldLines, saveHistory } from '../recording.ts';
import { OUTCOME } from '../records.ts';
import { directoryOf, type Front, lookAtFront, readActivity } from './front.ts';
import { passesGuard, readGuard } from './guard.ts';
import { bytesOf, echoedLines } from './input.ts';
import { watchMarks } from './marks.ts';
import { shellOf, startProcess } from './program.ts';
import { openPty } from './pty.ts';
import { createScreen } from './screen.ts';
import { asksForSecret, readLineMode } from './secret-prompt.ts';
import { type Before, type Observed, rememberBefore, settle } from './settle.ts';

export interface HostedTerminal {
  readonly spec: TerminalSpec;
  state(): TerminalState;
  look(): Promise<Look>;
  usage(): Usage | undefined;
  send(request: SendRequest, signal: AbortSignal): Promise<SendResult>;
  read(request: ReadRequest, signal: AbortSignal): Promise<ReadResult>;
  resize(columns: number, rows: number): void;
  /** What it writes, as it comes, until the function that is returned is called. */
  attach(listener: (chunk: Uint8Array) => void): () => void;
  snapshot(): Promise<string>;
  /** As a person types it. */
  type(bytes: Uint8Array): Promise<void>;
  end(cause: 'terminated' | 'server_shutdown'): void;
  /** Resolves when everything of it is gone and all that it wrote is on disk. */
  readonly finished: Promise<Outcome>;
  /** Afterwards: the transcript and the recording, or nothing at all. */
  conclude(savesHistory: boolean): Promise<boolean>;
}

/** The emulator takes some 25 MB a second; what comes faster waits in the kernel. */
const HIGH_BYTES = 128 * 1024;
const LOW_BYTES = 16 * 1024;
/** What may be the beginning of a secret is held back no longer than this. */
const MASK_FLUSH_MS = 20;

export async function startTerminal(
  spec: TerminalSpec,
  tools: { readonly directory: string; readonly cgroups: ReturnType<typeof createCgroups> },
): Promise<HostedTerminal> {
  mkdirSync(spec.directory, { recursive: true, mode: 0o700 });
  const { columns, rows } = spec.dimensions;
  const pty = openPty(columns, rows);
  const screen = createScreen({ columns, rows, onReply: (data) => void pty.write(Buffer.from(data)) });
  const marks = watchMarks(screen, spec.nonce, spec.hasCommandMark);
  const recorder = createRecorder(spec.directory, { ...spec, columns, rows, now: Date.now });
  const viewers = new Set<(chunk: Uint8Array) => void>();
  let receivedBytes = 0;
  let lastDataAt = performance.now();
  let lastActivityMs = Date.now();
  let outcome: Outcome | undefined;

  function receive(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    recorder.write(chunk);
    screen.write(chunk);
    for (const viewer of viewers) viewer(chunk);
    if (screen.pendingBytes > HIGH_BYTES) {
      pty.pause();
      void waitUntilRead();
    }
  }

  async function waitUntilRead(): Promise<void> {
    while (screen.pendingBytes > LOW_BYTES) await new Promise((resolve) => setTimeout(resolve, 1));
    pty.resume();
  }

  const masker = spec.masked.length === 0 ? undefined : createMasker(spec.masked);
  let flushing: NodeJS.Timeout | undefined;
  pty.onData((chunk) => {
    receivedBytes += chunk.length;
    lastDataAt = performance.now();
    lastActivityMs = Date.now();
    if (masker === undefined) return receive(chunk);
    receive(masker.push(chunk));
    clearTimeout(flushing);
    flushing = setTimeout(() => receive(masker.rest()), MASK_FLUSH_MS);
  });

  const pipes = createPipes(join(tools.directory, `pipes-${spec.id}`), createSpawner(), 4);
  const enclosed = await startProcess(spec, pty.path, { pipes, cgroups: tools.cgroups })
    .catch(async (error: unknown) => {
      await pty.drain();
      recorder.close();
      screen.dispose();
      discardRaw(spec.directory);
      throw error;
    })
    .finally(() => pipes.dispose());
  const shell = await shellOf(enclosed, spec.wall?.kind === 'bubblewrap');
  const limit =
    spec.maxDurationMs === undefined
      ? undefined
      : setTimeout(() => void enclosed.ending.end('timeout'), spec.maxDurationMs);

  const finished = (async (): Promise<Outcome> => {
    const ended = await enclosed.ending.finished;
    clearTimeout(limit);
    await pty.drain();
    clearTimeout(flushing);
    if (masker !== undefined) receive(masker.rest());
    await screen.flush();
    recorder.close();
    writeFileWhole(join(spec.directory, OUTCOME), JSON.stringify(ended));
    outcome = ended;
    return ended;
  })();

  const meter = createUsageMeter(spec.createdAtMs, Date.now);
  const observed: Observed = {
    screen,
    marks,
    shell,
    lastDataAt: () => lastDataAt,
    receivedBytes: () => receivedBytes,
    hasEnded: () => outcome !== undefined,
    lineMode: () => readLineMode(pty.path),
  };

  /** What came before this, the caller has been told of: whoever waits later misses nothing that came in between. */
  let told: Before | undefined;

  const front = (): Front | undefined => (outcome === undefined ? lookAtFront(shell) : undefined);
  const isShellInFront = (now: Front | undefined): boolean =>
    now?.processes.some(({ pid }) => pid === shell) ?? false;

  /** Only who is reading can be asking: the shell at its prompt reads for itself. */
  async function isSecretPrompt(): Promise<boolean> {
    return outcome === undefined && marks.state !== 'prompt' && asksForSecret(await readLineMode(pty.path));
  }

  /** Lines for somebody who does not read them wait in the kernel for the shell. */
  async function isTypedAhead(): Promise<boolean> {
    if (outcome !== undefined || screen.view().isAlternate || readActivity(shell)?.activity === 'reading')
      return false;
    return (await readLineMode(pty.path))?.isByLine === true;
  }

  function state(now: Front | undefined = front()): TerminalState {
    const view = screen.view();
    const isShell = isShellInFront(now);
    return {
      id: spec.id,
      owner: spec.owner,
      sessionName: spec.sessionName,
      shell: spec.shell,
      directory: spec.directory,
      dimensions: { columns: screen.columns, rows: screen.rows },
      createdAtMs: spec.createdAtMs,
      autoSaves: spec.autoSaves,
      processId: shell,
      lastActivityMs,
      isIdle: isShell && marks.state !== 'running',
      workingDirectory: directoryOf(shell),
      lastExitCode: marks.lastExitCode,
      front: describeFront(now),
      title: view.title,
      isAlternate: view.isAlternate,
      viewers: viewers.size,
      rules: spec.rules,
      outcome,
    };
  }

  function checkGuard(text: string): ReturnType<typeof readGuard> {
    const guard = readGuard(text);
    if (guard !== undefined) return guard;
    throw new ShellServerError(
      'PARAM_002',
      `send_to is no program guard: ${JSON.stringify(text.slice(0, 80))}.`,
      {
        hint: 'A program’s name, its path, "pid:N", "sessionleader:" or "*".',
        details: { parameter: 'send_to' },
      },
    );
  }

  async function send(request: SendRequest, signal: AbortSignal): Promise<SendResult> {
    const guard = request.guard === undefined ? undefined : checkGuard(request.guard);
    await screen.flush();
    const { isAlternate } = screen.view();
    const bytes = bytesOf(request.typed, { ...screen.modes(), isAlternate });
    // A secret is not echoed, and neither is its line end.
    const before = rememberBefore(observed, request.isSecret ? 0 : echoedLines(request.typed));
    const fromLine = screen.cursorLine();
    const fromText = request.isSecret ? (screen.lines(fromLine, fromLine + 1)[0] ?? '') : '';
    const refuse = (why: SendResult['why'], now: Front | undefined): SendResult => ({
      sent: 'nothing',
      why,
      front: describeFront(now),
      bytes: 0,
      waited: undefined,
      fromLine,
      fromText: '',
    });
    if (outcome !== undefined) return refuse('ended', undefined);
    if (pty.pendingBytes > MAX_PENDING_BYTES) throw notReading(front());
    if ((await isSecretPrompt()) !== request.isSecret) return refuse('secret', front());
    // Last of all, since nothing holds who is in front in their place.
    const now = front();
    if (guard !== undefined && !passesGuard(guard, now, shell)) return refuse('guard', now);
    lastActivityMs = Date.now();
    const writing = pty.write(bytes);
    // A program that does not read must not keep the answer: what it has not taken, it gets when it does.
    const isWritten = await Promise.race([writing, after(WRITE_MS)]);
    told = before;
    const waited = await waitSince(before, request.wait, signal);
    return {
      sent: isWritten === true ? 'all' : 'part',
      why: undefined,
      front: describeFront(front()),
      bytes: bytes.length,
      waited,
      fromLine: Math.min(before.line, screen.totalLines()),
      fromText,
    };
  }

  async function waitSince(before: Before, wait: WaitSpec | undefined, signal: AbortSignal) {
    if (wait === undefined) return undefined;
    const waited = await settle(observed, wait, { ...before, at: performance.now() }, signal);
    // Who goes on waiting waits for the same thing.
    if (waited.reason !== 'timeout_still_running') told = rememberBefore(observed);
    return waited;
  }

  async function read(request: ReadRequest, signal: AbortSignal): Promise<ReadResult> {
    const waited = await waitSince(told ?? rememberBefore(observed), request.wait, signal);
    await screen.flush();
    if (waited === undefined && told !== undefined)
      told = { ...told, line: Math.max(told.line, screen.cursorLine()) };
    const view = screen.view();
    const about = {
      cursor: view.cursor,
      title: view.title,
      isAlternate: view.isAlternate,
      totalLines: screen.totalLines(),
      isSecretPrompt: await isSecretPrompt(),
      front: describeFront(front()),
      waited,
    };
    if (request.view === 'screen') {
      const lines = request.withAnsi ? screen.ansiView().split('\r\n') : view.rows;
      return { ...about, lines, from: 0, missing: 0 };
    }
    const total = about.totalLines;
    const from = Math.min(request.from ?? Math.max(0, total - request.count), total);
    const to = Math.min(total, from + request.count);
    const first = screen.firstLine();
    const old = from < first ? await readOldLines(spec.directory, from, Math.min(to, first)) : [];
    const recent = screen.lines(Math.max(from, screen.firstLine()), to, request.withAnsi);
    return { ...about, lines: [...old, ...recent], from, missing: to - from - old.length - recent.length };
  }

  return {
    spec,
    state: () => state(),
    async look() {
      await screen.flush();
      const now = front();
      return {
        state: state(now),
        isAtPrompt: marks.state === 'prompt',
        isForShell: isShellInFront(now) || (await isTypedAhead()),
        promptLine: marks.promptLine(),
        finished: marks.finished,
        isSecretPrompt: await isSecretPrompt(),
      };
    },
    usage: () => (outcome === undefined ? meter.read(enclosed.tree) : undefined),
    send,
    read,
    resize(newColumns, newRows) {
      pty.resize(newColumns, newRows);
      screen.resize(newColumns, newRows);
      recorder.resize(newColumns, newRows);
    },
    attach(listener) {
      viewers.add(listener);
      return () => void viewers.delete(listener);
    },
    async snapshot() {
      await screen.flush();
      return screen.snapshot();
    },
    async type(bytes) {
      lastActivityMs = Date.now();
      await pty.write(bytes);
    },
    // As when its window is closed: an interactive shell ignores TERM.
    end: (cause) => void enclosed.ending.end(cause, 'SIGHUP'),
    finished,
    async conclude(savesHistory) {
      await finished;
      screen.dispose();
      if (savesHistory) await saveHistory(spec.directory, spec.sessionName);
      else discardRaw(spec.directory);
      return savesHistory;
    },
  };
}

const WRITE_MS = 1000;
/** Typed at a program that does not read; what comes after that is refused. */
const MAX_PENDING_BYTES = 1024 * 1024;

function notReading(now: Front | undefined): ShellServerError {
  const who = now?.processes[0]?.name ?? 'the program in front';
  return new ShellServerError(
    'RESOURCE_005',
    `Nothing was sent: ${who} does not read what was typed before.`,
    {
      hint: 'Wait until it does, or end it: keys ["ctrl+c"] are read by the terminal itself, unless the program has switched that off.',
      details: { limit: MAX_PENDING_BYTES },
    },
  );
}

const after = (ms: number): Promise<undefined> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms, undefined);
  });

function describeFront(front: Front | undefined): FrontInfo[] {
  return (front?.processes ?? []).map(({ pid, name, path }) => ({ pid, name, path }));
}
