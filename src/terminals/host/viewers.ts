/** People who look at terminals, type into them and take them over, each over a connection of their own. */
import type { Channel } from '../channel.ts';
import type { HostEvent, Screen } from '../protocol.ts';
import type { HostedTerminal } from './terminal.ts';

/** Of a viewer that does not read. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

export type Viewers = ReturnType<typeof createViewers>;

/** The servers are told what they do. */
export function createViewers(tellServers: (event: HostEvent) => void) {
  /** Who looks at which terminal. */
  const viewed = new Map<Channel, string>();
  /** Who has typed since they attached. */
  const typists = new WeakSet<Channel>();
  /** Of each connection: the terminals that a person has taken over, and what gives them back. */
  const holders = new WeakMap<Channel, Map<string, () => void>>();

  function draw(channel: Channel, terminal: HostedTerminal): void {
    channel.tell({ event: 'screen', id: terminal.spec.id, ...screenOf(terminal) });
  }

  return {
    attach(channel: Channel, terminal: HostedTerminal): Screen {
      const { id } = terminal.spec;
      const screen = screenOf(terminal);
      const detach = terminal.attach((chunk) => {
        channel.tell({ event: 'output', id, base64: Buffer.from(chunk).toString('base64') });
        // A client that stopped reading must not fill our memory.
        if (channel.pendingBytes > MAX_UNREAD_BYTES) channel.destroy();
      });
      viewed.set(channel, id);
      tellServers({ event: 'attached', id });
      channel.onClose(() => {
        detach();
        viewed.delete(channel);
        tellServers({ event: 'detached', id });
      });
      void terminal.finished.then(() => channel.end());
      return screen;
    },
    draw,
    drawAll(terminal: HostedTerminal): void {
      for (const [channel, id] of viewed) if (id === terminal.spec.id) draw(channel, terminal);
    },
    type(channel: Channel, terminal: HostedTerminal, bytes: Uint8Array): Promise<void> {
      if (!typists.has(channel)) tellServers({ event: 'typed', id: terminal.spec.id });
      typists.add(channel);
      return terminal.type(bytes);
    },
    hold(channel: Channel, terminal: HostedTerminal, isHeld: boolean): void {
      const { id } = terminal.spec;
      const held = holders.get(channel) ?? new Map<string, () => void>();
      holders.set(channel, held);
      const release = held.get(id);
      if (isHeld === (release !== undefined)) return;
      if (release === undefined) {
        held.set(id, terminal.hold());
        tellServers({ event: 'held', id });
      } else {
        held.delete(id);
        release();
        tellServers({ event: 'released', id });
      }
    },
    releaseAll(channel: Channel): void {
      for (const [id, release] of holders.get(channel) ?? []) {
        release();
        tellServers({ event: 'released', id });
      }
    },
  };
}

const screenOf = (terminal: HostedTerminal): Screen => ({
  snapshot: terminal.snapshot(),
  dimensions: terminal.state().dimensions,
});
