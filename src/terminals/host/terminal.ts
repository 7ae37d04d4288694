/** One terminal: a pseudo-terminal with a program in it, the screen it draws, and the record of what it wrote. */
import { join } from 'node:path';
import {
  type createCgroups,
  createPipes,
  createSpawner,
  forkerBeside,
  type Held,
  reserveOutcome,
} from '../../executions/processes.ts';
import type { TerminalSpec, TerminalState } from '../protocol.ts';
import { discardRaw } from '../recording.ts';
import { createExchange, type Exchange } from './exchange.ts';
import { frontOf } from './facts.ts';
import { describeFront, directoryOf } from './foreground.ts';
import { createHold } from './hold.ts';
import { createLife } from './life.ts';
import { watchMarks } from './marks.ts';
import { createChanges, createOutput } from './output.ts';
import { watchForPasswordPrompt } from './prompt-watch.ts';
import { openPty } from './pty.ts';
import { createScreen } from './screen.ts';
import { readLineMode } from './secret-prompt.ts';
import type { Observed } from './settle.ts';
import { findShell, startProcess } from './terminal-program.ts';

export type HostedTerminal = ReturnType<typeof createTerminal>;

export interface TerminalTools {
  readonly directory: string;
  /** The host's own. */
  readonly program: string;
  readonly cgroups: ReturnType<typeof createCgroups>;
}

export async function startTerminal(spec: TerminalSpec, tools: TerminalTools): Promise<HostedTerminal> {
  return createTerminal(spec, await launchIn(spec, tools));
}

async function launchIn(spec: TerminalSpec, tools: TerminalTools) {
  reserveOutcome(spec.directory);
  const { columns, rows } = spec.dimensions;
  const pty = openPty(columns, rows);
  const spawner = createSpawner(forkerBeside(tools.program));
  const pipes = createPipes(join(tools.directory, `pipes-${spec.id}`), spawner, 4);
  const starting = startProcess(spec, pty.path, { pipes, spawner, cgroups: tools.cgroups });
  starting.catch(() => undefined);
  const screen = createScreen({
    columns,
    rows,
    onReply: (data) => void pty.write(Buffer.from(data)),
    onParsed: () => changes.tell(false),
  });
  const marks = watchMarks(screen, spec.nonce, spec.hasCommandMark);
  const changes = createChanges(marks);
  const output = createOutput(spec, screen);
  pty.onData(output.receive);
  const launched = await starting
    .catch(async (error: unknown) => {
      await pty.drain();
      output.close();
      screen.dispose();
      throw error;
    })
    .finally(() => pipes.dispose());
  const { identity, group, ending } = launched;
  const program = await findShell(launched, spec.permit);
  const recording = { directory: spec.directory, program: tools.program, isHost: true };
  const life = createLife(spec, {
    ending,
    recording,
    async finishOutput() {
      await pty.drain();
      output.flush();
      output.close();
    },
    onEnd: () => changes.tell(true),
  });
  const observed: Observed = {
    screen,
    marks,
    program,
    activity: output.activity,
    outcome: life.outcome,
    lineMode: () => readLineMode(pty.path),
    onChange: changes.onChange,
  };
  const held: Held = {
    ...identity,
    program: program.shell,
    ...(group !== undefined && { group: group.path }),
  };
  return { pty, output, observed, recording, life, process: held };
}

function createTerminal(spec: TerminalSpec, parts: Awaited<ReturnType<typeof launchIn>>) {
  const { pty, output, observed, recording, life, process } = parts;
  const { activity, viewers } = output;
  const { screen } = observed;
  const hold = createHold();
  const exchange = createExchange(spec, observed, { pty, recording, hold });
  return {
    ...exchange,
    ...life,
    spec,
    process,
    state: (): TerminalState => ({
      ...describe(spec, observed),
      lastActivityMs: activity.lastMs,
      viewers: viewers.size,
      isHeld: hold.isHeld(),
    }),
    send(...asked: Parameters<Exchange['send']>): ReturnType<Exchange['send']> {
      activity.lastMs = Date.now();
      return exchange.send(...asked);
    },
    resize(columns: number, rows: number): void {
      pty.resize(columns, rows);
      output.resize(columns, rows);
    },
    /** What it writes, as it comes, until the function that is returned is called. */
    attach(listener: (chunk: Uint8Array) => void): () => void {
      viewers.add(listener);
      return () => void viewers.delete(listener);
    },
    snapshot: screen.snapshot,
    /** Called each time that a program begins to wait for a password. */
    onPasswordPrompt(listener: () => void): void {
      const stop = watchForPasswordPrompt(observed, spec, listener);
      void life.finished.then(stop, stop);
    },
    /** A person takes it over, until the function that is returned is called. */
    hold: hold.take,
    untilFree: hold.untilFree,
    /** As a person types it. */
    async type(bytes: Uint8Array): Promise<void> {
      activity.lastMs = Date.now();
      activity.byPerson++;
      await pty.write(bytes);
    },
    /** After its end: it cannot be read any more. */
    dispose(): void {
      screen.dispose();
      discardRaw(spec.directory);
    },
  };
}

function describe(
  spec: TerminalSpec,
  observed: Observed,
): Omit<TerminalState, 'lastActivityMs' | 'viewers' | 'isHeld'> {
  const { screen, marks, program } = observed;
  screen.catchUp();
  const front = frontOf(observed);
  const isShell = front.some(({ pid }) => pid === program.shell);
  return {
    id: spec.id,
    owner: spec.owner,
    sessionName: spec.sessionName,
    shell: spec.shell,
    dimensions: { columns: screen.columns, rows: screen.rows },
    createdAtMs: spec.createdAtMs,
    autoSaves: spec.autoSaves,
    rules: spec.rules,
    processId: program.shell,
    isIdle: isShell && marks.state !== 'running',
    workingDirectory: directoryOf(program.shell),
    lastExitCode: marks.lastExitCode,
    front: describeFront(front),
    title: screen.view().title,
    isAlternate: screen.isAlternate,
    outcome: observed.outcome(),
  };
}
