/** Terminals as another process of the same person sees them: all that are open on a state directory, and one, live. */
import { messageOf, ShellServerError } from '../base/errors.ts';
import { connectHost, findSockets, type Host } from './hosts.ts';
import type { Dimensions, Screen, TerminalState } from './protocol.ts';

export type { Screen, TerminalState } from './protocol.ts';

export type Viewed = Awaited<ReturnType<typeof view>>;

export interface ListedTerminal extends TerminalState {
  /** It waits for a password; false where nobody asked. */
  readonly asksSecret: boolean;
}

/** Newest first. To find password prompts takes a process for each terminal whose shell is not at its prompt. */
export async function listTerminals(
  stateDirectory: string,
  { findsPrompts = false } = {},
): Promise<ListedTerminal[]> {
  const found = await forEachHost(stateDirectory, async (host) => {
    const states = await host.ask('list', {});
    const listed = await Promise.all(
      states.map(async (state) => {
        const isAsked = findsPrompts && state.outcome === undefined && !state.isIdle;
        const facts = isAsked ? await host.ask('facts', { id: state.id }) : undefined;
        return { ...state, asksSecret: facts?.isSecretPrompt === true };
      }),
    );
    await host.end();
    return listed;
  });
  return found.flat().sort((a, b) => b.createdAtMs - a.createdAtMs);
}

/** By its id, the beginning of it, or its session's name. */
export async function attachTo(stateDirectory: string, wanted: string): Promise<Viewed> {
  const found = await forEachHost(stateDirectory, async (host) => {
    const states = await host.ask('list', {});
    const matching = states.filter((state) => state.outcome === undefined && isMeant(state, wanted));
    if (matching.length === 0) await host.end();
    return matching.map((state) => ({ host, state }));
  });
  const candidates = found.flat();
  const exact = candidates.filter(({ state }) => state.id === wanted);
  const [chosen, ...others] = exact.length > 0 ? exact : candidates;
  if (chosen === undefined || others.length > 0) {
    for (const { host } of candidates) await host.end();
    throw new ShellServerError(
      'RESOURCE_002',
      chosen === undefined
        ? `There is no open terminal ${wanted}.`
        : `${wanted} matches ${candidates.length} terminals.`,
      { hint: '`mcp-shell-server terminals` lists them.' },
    );
  }
  return view(chosen.host, chosen.state);
}

const isMeant = ({ id, sessionName }: TerminalState, wanted: string): boolean =>
  id === wanted || sessionName === wanted || (wanted.length >= 4 && id.startsWith(wanted));

async function view(host: Host, state: TerminalState) {
  const outputs: ((chunk: Buffer) => void)[] = [];
  const screens: ((screen: Screen) => void)[] = [];
  host.onEvent((event) => {
    if (event.event === 'output' && event.id === state.id)
      for (const listener of outputs) listener(Buffer.from(event.base64, 'base64'));
    if (event.event === 'screen' && event.id === state.id) for (const listener of screens) listener(event);
  });
  const ended = new Promise<void>((resolve) => host.onClose(resolve));
  const { id } = state;
  const screen = await host.ask('attach', { id });
  const send = (asked: Promise<unknown>): void => void asked.catch(() => undefined);
  return {
    state,
    /** As it was when it was attached to. */
    screen,
    onOutput: (listener: (chunk: Buffer) => void) => void outputs.push(listener),
    /** After redraw, and whenever the terminal is resized; outputs that come later are not in it. */
    onScreen: (listener: (screen: Screen) => void) => void screens.push(listener),
    redraw: () => send(host.ask('redraw', { id })),
    type: (bytes: Buffer) => send(host.ask('type', { id, base64: bytes.toString('base64') })),
    resize: (dimensions: Dimensions) => send(host.ask('resize', { id, dimensions })),
    /** Takes it over, so that what the agent types waits, or gives it back; detaching does that too. */
    hold: (isHeld: boolean) => host.ask('hold', { id, isHeld }),
    /** Resolves when the terminal has ended, or its host is gone. */
    ended,
    detach: host.end,
  };
}

/** A socket without anybody behind it is what a crash left. */
async function forEachHost<Value>(
  stateDirectory: string,
  use: (host: Host) => Promise<Value>,
): Promise<Value[]> {
  const answers = await Promise.allSettled(
    findSockets(stateDirectory).map(async (socket) => use(await connectHost(socket))),
  );
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
}

/** What is in the way of terminals on this machine; undefined where one can be opened. */
export async function tryTerminal(): Promise<string | undefined> {
  try {
    const { openPty } = await import('./host/pty.ts');
    const pty = openPty(80, 24);
    const read = new Promise<void>((resolve) => pty.onData(() => resolve()));
    // Echoed by the kernel.
    await pty.write(Buffer.from('x'));
    await read;
    await pty.drain();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
