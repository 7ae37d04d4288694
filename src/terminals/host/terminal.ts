/** One terminal: a pseudo-terminal with a program in it, the screen it draws, and the record of what it wrote. */
import { join } from 'node:path';
import { ticks } from '../../base/clock.ts';
import {
  type createCgroups,
  createPipes,
  createSpawner,
  type Held,
  leaveOutcome,
  type Outcome,
  reserveOutcome,
} from '../../executions/processes.ts';
import { createMasker } from '../../security/security.ts';
import type { TerminalSpec, TerminalState } from '../protocol.ts';
import { createRecorder, discardHistory, discardRaw } from '../recording.ts';
import { saveRecording } from '../replay.ts';
import { createExchange, describeFront, type Exchange } from './exchange.ts';
import { directoryOf, lookAtFront } from './foreground.ts';
import { createHold } from './hold.ts';
import { watchMarks } from './marks.ts';
import { watchForPasswordPrompt } from './prompt-watch.ts';
import { openPty } from './pty.ts';
import { readLineMode } from './secret-prompt.ts';
import type { Observed } from './settle.ts';
import { findShell, startProcess } from './terminal-program.ts';

export interface HostedTerminal extends Exchange {
  readonly spec: TerminalSpec;
  readonly process: Held;
  state(): TerminalState;
  resize(columns: number, rows: number): void;
  /** What it writes, as it comes, until the function that is returned is called. */
  attach(listener: (chunk: Uint8Array) => void): () => void;
  snapshot(): string;
  /** Called each time that a program begins to wait for a password. */
  onPasswordPrompt(listener: () => void): void;
  /** A person takes it over, until the function that is returned is called. */
  hold(): () => void;
  /** False where it is still held when the time is over. */
  untilFree(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /** As a person types it. */
  type(bytes: Uint8Array): Promise<void>;
  end(cause: 'terminated' | 'server_shutdown'): void;
  /** Resolves when everything of it is gone, and its transcript and its outcome are on disk. */
  readonly finished: Promise<Outcome>;
  /** Ends it, and says what is kept of it where that is not what was said before. */
  close(savesHistory: boolean | undefined): Promise<void>;
  /** Whether there is a transcript. */
  isSaved(): boolean;
  /** After its end: it cannot be read any more. */
  dispose(): void;
}

/** What may be the beginning of a secret is held back no longer than this. */
const MASK_FLUSH_MS = 20;

export async function startTerminal(
  spec: TerminalSpec,
  tools: {
    readonly directory: string;
    /** The host's own. */
    readonly program: string;
    readonly cgroups: ReturnType<typeof createCgroups>;
  },
): Promise<HostedTerminal> {
  reserveOutcome(spec.directory);
  const { columns, rows } = spec.dimensions;
  const { masked, sandboxSpec } = spec.permit;
  const pty = openPty(columns, rows);
  const pipes = createPipes(join(tools.directory, `pipes-${spec.id}`), createSpawner(), 4);
  const starting = startProcess(spec, pty.path, { pipes, cgroups: tools.cgroups });
  starting.catch(() => undefined);
  // While the sandbox is being built: it takes a while to load.
  const { createScreen } = await import('./screen.ts');
  const screen = createScreen({
    columns,
    rows,
    onReply: (data) => void pty.write(Buffer.from(data)),
    onParsed: () => tellChanges(),
  });
  const marks = watchMarks(screen, spec.nonce, spec.hasCommandMark);
  const recorder = createRecorder(spec.directory, { ...spec, columns, rows, now: ticks });
  const viewers = new Set<(chunk: Uint8Array) => void>();
  let receivedBytes = 0;
  let byPerson = 0;
  let lastDataAt = performance.now();
  let lastActivityMs = Date.now();
  let outcome: Outcome | undefined;

  const listeners = new Set<(isMark: boolean) => void>();
  let recorded: { readonly state: string; readonly finished: number } = { ...marks };

  function tellChanges(): void {
    const { state: shellState, finished: ended } = marks;
    const isMark = recorded.state !== shellState || recorded.finished !== ended || outcome !== undefined;
    recorded = { state: shellState, finished: ended };
    for (const listener of listeners) listener(isMark);
  }

  function receive(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    recorder.write(chunk);
    screen.write(chunk);
    for (const viewer of viewers) viewer(chunk);
  }

  const masker = masked.length === 0 ? undefined : createMasker(masked);
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

  const launched = await starting
    .catch(async (error: unknown) => {
      await pty.drain();
      recorder.close();
      screen.dispose();
      throw error;
    })
    .finally(() => pipes.dispose());
  const { identity, group, ending } = launched;
  const program = await findShell(launched, sandboxSpec?.kind === 'bubblewrap');
  const recording = { directory: spec.directory, program: tools.program, isHost: true };
  let savesHistory = spec.autoSaves;
  let isSaved = false;

  /** Nothing of it where it cannot be written. */
  async function save(): Promise<void> {
    isSaved = await saveRecording(recording, spec.sessionName).then(
      () => true,
      () => false,
    );
  }

  const finished = (async (): Promise<Outcome> => {
    const ended = await ending.finished;
    await pty.drain();
    clearTimeout(flushing);
    if (masker !== undefined) receive(masker.rest());
    screen.catchUp();
    recorder.close();
    if (savesHistory) await save();
    outcome = leaveOutcome(spec.directory, ended);
    tellChanges();
    return outcome;
  })();

  const end = (cause: 'terminated' | 'server_shutdown'): void => void ending.end(cause);
  const observed: Observed = {
    screen,
    marks,
    program,
    lastDataAt: () => lastDataAt,
    receivedBytes: () => receivedBytes,
    hasEnded: () => outcome !== undefined,
    outcome: () => outcome,
    byPerson: () => byPerson,
    lineMode: () => readLineMode(pty.path),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const hold = createHold();
  const exchange = createExchange(spec, observed, { pty, recording, hold });

  function state(): TerminalState {
    screen.catchUp();
    const front = outcome === undefined ? lookAtFront(program) : undefined;
    const isShell = front?.processes.some(({ pid }) => pid === program.shell) ?? false;
    return {
      id: spec.id,
      owner: spec.owner,
      sessionName: spec.sessionName,
      shell: spec.shell,
      dimensions: { columns: screen.columns, rows: screen.rows },
      createdAtMs: spec.createdAtMs,
      autoSaves: spec.autoSaves,
      processId: program.shell,
      lastActivityMs,
      isIdle: isShell && marks.state !== 'running',
      workingDirectory: directoryOf(program.shell),
      lastExitCode: marks.lastExitCode,
      front: describeFront(front),
      title: screen.view().title,
      isAlternate: screen.isAlternate,
      viewers: viewers.size,
      isHeld: hold.isHeld(),
      rules: spec.rules,
      outcome,
    };
  }

  return {
    ...exchange,
    spec,
    process: { ...identity, program: program.shell, ...(group !== undefined && { group: group.path }) },
    state,
    async send(request, signal) {
      lastActivityMs = Date.now();
      return exchange.send(request, signal);
    },
    resize(newColumns, newRows) {
      pty.resize(newColumns, newRows);
      screen.resize(newColumns, newRows);
      recorder.resize(newColumns, newRows);
    },
    attach(listener) {
      viewers.add(listener);
      return () => void viewers.delete(listener);
    },
    snapshot: screen.snapshot,
    onPasswordPrompt(listener) {
      const stop = watchForPasswordPrompt(observed, listener);
      void finished.then(stop, stop);
    },
    hold: hold.take,
    untilFree: hold.untilFree,
    async type(bytes) {
      lastActivityMs = Date.now();
      byPerson++;
      await pty.write(bytes);
    },
    end,
    finished,
    async close(saves = savesHistory) {
      savesHistory = saves;
      if (outcome === undefined) end('terminated');
      await finished;
      if (saves && !isSaved) await save();
      if (saves || !isSaved) return;
      discardHistory(spec.directory);
      isSaved = false;
    },
    isSaved: () => isSaved,
    dispose() {
      screen.dispose();
      discardRaw(spec.directory);
    },
  };
}
