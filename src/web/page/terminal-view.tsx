/** A terminal, live: to watch, and to take over. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  KEY_PROTOCOL,
  TERMINAL_PROTOCOL,
  type TerminalMessage,
  type TerminalRow,
  type TerminalWish,
} from '../wire.ts';
import { storedKey } from './api.ts';
import { session } from './page-state.ts';
import { visible } from './text.ts';
import type { Screen } from './xterm-screen.ts';

type Line = 'connecting' | 'live' | 'broken' | 'ended';

const RETRY_MS = 1000;
/** Another attempt has no use. */
const FINAL = [4404, 4401];

export function TerminalView({ terminal }: { terminal: TerminalRow }): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const live = useRef<ReturnType<typeof follow> | undefined>(undefined);
  const [line, setLine] = useState<Line>('connecting');
  const [isHeld, setHeld] = useState(false);
  const { id, columns, rows } = terminal;
  useEffect(() => {
    if (element.current === null) return undefined;
    live.current = follow(id, element.current, { onLine: setLine, onHeld: setHeld });
    return () => live.current?.close();
  }, [id]);
  useEffect(() => live.current?.resize(columns, rows), [columns, rows]);
  const words = {
    connecting: 'Connecting…',
    live: describe(terminal, isHeld),
    broken: 'Disconnected, trying again…',
    ended: 'This terminal has ended.',
  }[line];
  return (
    <div class={`terminal-view ${isHeld ? 'held' : ''}`}>
      <div class="output-bar">
        <span role="status">{words}</span>
        <span class="bar-fill" />
        {session.value?.isReadOnly !== true && line === 'live' && (
          <button
            type="button"
            aria-pressed={isHeld}
            onClick={() => live.current?.tell({ kind: 'hold', isHeld: !isHeld })}
          >
            {isHeld ? 'Give back' : 'Take over'}
          </button>
        )}
        <span class="quiet size">
          {columns}×{rows}
        </span>
      </div>
      <div
        ref={element}
        class={`terminal-screen ${isHeld ? 'takes-keys' : ''}`}
        role="region"
        aria-label="Terminal"
      />
    </div>
  );
}

function describe(terminal: TerminalRow, isHeld: boolean): string {
  if (isHeld) return 'You type. What the agent types waits until you give it back.';
  if (terminal.isHeld) return 'Another person has taken it over.';
  if (terminal.asksSecret) return 'It asks for a password. Take over to type it; it is not recorded.';
  return visible(terminal.title) || 'Watching';
}

interface Listeners {
  onLine(line: Line): void;
  onHeld(isHeld: boolean): void;
}

/** Until it is closed; a connection that breaks is made anew, with the screen as it is then. */
function follow(id: string, element: HTMLElement, { onLine, onHeld }: Listeners) {
  let screen: Screen | undefined;
  let socket: WebSocket | undefined;
  let isClosed = false;
  let isHeld = false;
  const tell = (wish: TerminalWish): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(wish));
  };

  async function show(message: Extract<TerminalMessage, { kind: 'screen' }>): Promise<void> {
    const { createScreen } = await import('./xterm-screen.ts');
    if (isClosed) return;
    screen?.dispose();
    screen = createScreen(element, { ...message, onTyped: (text) => tell({ kind: 'type', text }) });
    void screen.write(message.snapshot);
    screen.setTyping(isHeld);
    onLine('live');
  }

  function hear(message: TerminalMessage): Promise<void> | undefined {
    if (message.kind === 'screen') return show(message);
    if (message.kind === 'ended') onLine('ended');
    if (message.kind === 'held') {
      isHeld = message.isHeld;
      screen?.setTyping(isHeld);
      onHeld(isHeld);
    }
    return undefined;
  }

  function connect(): void {
    const url = new URL(`api/terminals/${id}`, location.href);
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    url.hash = '';
    const opened = new WebSocket(url, [TERMINAL_PROTOCOL, `${KEY_PROTOCOL}${storedKey()}`]);
    opened.binaryType = 'arraybuffer';
    socket = opened;
    // In the order in which they came, also while the emulator is loaded.
    let last: Promise<void> = Promise.resolve();
    opened.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      last = last.then(() =>
        typeof data === 'string'
          ? hear(JSON.parse(data) as TerminalMessage)
          : void screen?.write(new Uint8Array(data)),
      );
    });
    opened.addEventListener('close', ({ code }) => {
      if (isClosed || socket !== opened) return;
      isHeld = false;
      onHeld(false);
      screen?.setTyping(false);
      onLine(FINAL.includes(code) ? 'ended' : 'broken');
      if (!FINAL.includes(code)) setTimeout(() => !isClosed && connect(), RETRY_MS);
    });
  }
  connect();
  return {
    tell,
    resize: (columns: number, rows: number) => screen?.resize(columns, rows),
    close(): void {
      isClosed = true;
      socket?.close();
      screen?.dispose();
    },
  };
}
