/**
 * A terminal, live on the page: what `attach` does, over a socket that the guard has let in. To type, a person takes the
 * terminal over first; what the agent types then waits. The end of the socket gives it back.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';
import { attempt } from '../base/attempt.ts';
import { messageOf } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { withoutReplies } from '../commands/attach-terminal.ts';
import { attachTo, type Viewed } from '../terminals/attach.ts';
import type { Actions } from './actions.ts';
import { type Guard, keyOfUpgrade, type Refusal, refuse } from './page-guard.ts';
import type { Session, Sessions } from './page-sessions.ts';
import { TERMINAL_PROTOCOL, type TerminalMessage, type TerminalWish } from './wire.ts';

interface SocketNeeds {
  readonly settings: Pick<Settings, 'stateDir'>;
  readonly guard: Guard;
  /** The path of the page. */
  readonly base: string;
  readonly sessions: Sessions;
  readonly actions: Actions;
  readonly isReadOnly: boolean;
  readonly log: Log;
}

/** A paste; more comes in several messages. */
const MAX_MESSAGE_BYTES = 256 * 1024;
/** For a page that has stopped reading: it attaches anew, and gets the screen as it is then. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Between two looks whether the session still holds. */
const CHECK_MS = 15_000;

export function createTerminalSockets(needs: SocketNeeds) {
  const { guard, log } = needs;
  const path = `${needs.base}api/terminals/`;
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handleProtocols: (offered) => offered.has(TERMINAL_PROTOCOL) && TERMINAL_PROTOCOL,
  });

  function decide(request: IncomingMessage): { session: Session; id: string } | Refusal {
    const refusal = guard.checkPlace(request) ?? guard.checkOrigin(request, true);
    if (refusal !== undefined) return refusal;
    const admission = guard.admit(request, keyOfUpgrade(request));
    if (!admission.ok) return admission.refusal;
    const { url = '' } = request;
    const id = url.startsWith(path) ? url.slice(path.length) : '';
    return isId('term', id) ? { session: admission.session, id } : refuse(404, 'PATH', 'Not found.');
  }

  return {
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      socket.on('error', () => socket.destroy());
      const decided = decide(request);
      if ('status' in decided) {
        const { status } = decided;
        socket.end(
          `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        );
        return;
      }
      server.handleUpgrade(request, socket, head, (opened) => {
        serveTerminal(opened, decided.id, { ...needs, session: decided.session }).catch((error: unknown) => {
          log.debug('a terminal cannot be shown', { terminal: decided.id, error: messageOf(error) });
          opened.close(CLOSE_GONE, 'no such terminal');
        });
      });
    },
    close(): void {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

/** For the page: another attempt has no use. */
const CLOSE_GONE = 4404;
const CLOSE_SESSION = 4401;

async function serveTerminal(
  socket: WebSocket,
  id: string,
  needs: SocketNeeds & { readonly session: Session },
): Promise<void> {
  const { settings, sessions, session } = needs;
  const early: RawData[] = [];
  const keepEarly = (data: RawData): void => void early.push(data);
  socket.on('message', keepEarly);
  socket.on('error', () => socket.terminate());
  const viewed = await attachTo(settings.stateDir, id);
  const check = setInterval(() => {
    if (!sessions.isAlive(session)) socket.close(CLOSE_SESSION, 'session expired');
  }, CHECK_MS);
  socket.once('close', () => {
    clearInterval(check);
    void viewed.detach();
  });
  viewed.onScreen(({ snapshot, dimensions }) => tell(socket, { kind: 'screen', snapshot, ...dimensions }));
  viewed.onOutput((chunk) => {
    if (socket.bufferedAmount > MAX_WAITING_BYTES) socket.terminate();
    else socket.send(chunk);
  });
  // Asked for once more, now that nothing can come in between.
  viewed.redraw();
  void viewed.ended.then(() => {
    tell(socket, { kind: 'ended' });
    socket.close(CLOSE_GONE, 'ended');
  });
  const hear = createHearing(socket, viewed, needs);
  socket.off('message', keepEarly);
  for (const data of early) hear(data);
  socket.on('message', hear);
  // It may have closed while we attached.
  if (socket.readyState !== socket.OPEN) await viewed.detach();
}

const wishSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('hold'), isHeld: z.boolean() }),
  z.object({ kind: z.literal('type'), text: z.string() }),
]);

function createHearing(
  socket: WebSocket,
  viewed: Viewed,
  { actions, session, sessions, isReadOnly }: SocketNeeds & { readonly session: Session },
): (data: RawData) => void {
  let isHeld = false;

  async function hold(wish: boolean): Promise<void> {
    if (wish === isHeld) return;
    // What is not recorded does not happen.
    if (wish) actions.record(session, { action: 'take_over', terminalId: viewed.state.id });
    await viewed.hold(wish);
    isHeld = wish;
    if (!wish) actions.record(session, { action: 'give_back', terminalId: viewed.state.id });
    tell(socket, { kind: 'held', isHeld });
  }

  return (data) => {
    const wish = readWish(data);
    if (wish === undefined || isReadOnly || !sessions.isAlive(session)) return socket.terminate();
    if (wish.kind === 'hold') hold(wish.isHeld).catch(() => socket.terminate());
    else if (isHeld) viewed.type(withoutReplies(Buffer.from(wish.text, 'utf8')));
  };
}

const readWish = (data: RawData): TerminalWish | undefined =>
  attempt(() => wishSchema.parse(JSON.parse((data as Buffer).toString('utf8'))));

function tell(socket: WebSocket, message: TerminalMessage): void {
  socket.send(JSON.stringify(message));
}
