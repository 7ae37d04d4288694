/** The terminals of this host, from their creation until a while after their end. */
import { ShellServerError } from '../../base/errors.ts';
import type { HostEvent, Methods, TerminalSpec, TerminalState } from '../protocol.ts';
import { type HostedTerminal, startTerminal, type TerminalTools } from './terminal.ts';

/** A terminal whose program has ended is still there to be read for so long, unless it is closed. */
const LINGER_MS = 60_000;

interface HostedListeners {
  /** For the servers. */
  tell(event: HostEvent): void;
  /** There is one more of them, or one fewer. */
  onCount(): void;
}

export type Hosted = ReturnType<typeof createHosted>;

export function createHosted(tools: TerminalTools, { tell, onCount }: HostedListeners) {
  const terminals = new Map<string, HostedTerminal>();

  function find(id: string): HostedTerminal {
    const terminal = terminals.get(id);
    if (terminal !== undefined) return terminal;
    throw new ShellServerError('RESOURCE_002', `There is no terminal ${id.slice(0, 64)}.`);
  }

  function drop(terminal: HostedTerminal): void {
    const { id } = terminal.spec;
    if (!terminals.delete(id)) return;
    terminal.dispose();
    tell({ event: 'gone', id, isSaved: terminal.isSaved() });
    onCount();
  }

  return {
    get count() {
      return terminals.size;
    },
    find,
    states: (): TerminalState[] => [...terminals.values()].map((terminal) => terminal.state()),
    async create(spec: TerminalSpec, signal: AbortSignal): Promise<Methods['create'][1]> {
      const { id } = spec;
      const terminal = await startTerminal(spec, tools);
      terminals.set(id, terminal);
      terminal.onPasswordPrompt(() => tell({ event: 'password_prompt', id }));
      onCount();
      void terminal.finished.then(() => {
        tell({ event: 'ended', id });
        setTimeout(() => drop(terminal), LINGER_MS);
      });
      // A caller that gave up while its shell started never learns its id.
      const facts = await terminal.begin(signal).catch(async (error: unknown) => {
        await terminal.close(false);
        drop(terminal);
        throw error;
      });
      return { state: terminal.state(), facts, process: terminal.process };
    },
    async close({ id, savesHistory }: Methods['close'][0]): Promise<Methods['close'][1]> {
      const terminal = find(id);
      await terminal.close(savesHistory);
      drop(terminal);
      return { isSaved: terminal.isSaved() };
    },
    endAll(): Promise<unknown> {
      return Promise.all(
        [...terminals.values()].map(async (terminal) => {
          terminal.end('server_shutdown');
          await terminal.finished;
          drop(terminal);
        }),
      );
    },
  };
}
