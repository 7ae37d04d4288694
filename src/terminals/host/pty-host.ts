/**
 * The process that holds the terminals. It is apart from the server, so that no command which the server starts inherits
 * a terminal, a flood in one delays no call, and a terminal outlives its server: the next one connects to the socket.
 * Without a server it ends its terminals after a while, and itself; with no terminals it ends at once.
 */
import { chmodSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { closeInherited } from '../../base/descriptors.ts';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { createCgroups, readSpec, reply } from '../../executions/processes.ts';
import { type Channel, createChannel } from '../channel.ts';
import {
  type HostEvent,
  type HostSpec,
  type MethodName,
  type Methods,
  PROTOCOL,
  type ReplaySpec,
  type Screen,
} from '../protocol.ts';
import { readOldLines, saveHistory } from '../recording.ts';
import { REPLAY_MS } from '../replay.ts';
import { type HostedTerminal, startTerminal } from './terminal.ts';

/** Between the last terminal's end and the host's own: the next one is often just coming. */
const IDLE_MS = 30_000;

type Answerers = {
  readonly [Name in MethodName]: (params: Methods[Name][0], call: CallOf) => Promise<Methods[Name][1]>;
};

interface CallOf {
  readonly channel: Channel;
  readonly signal: AbortSignal;
}

function serve(spec: HostSpec): void {
  const terminals = new Map<string, HostedTerminal>();
  const servers = new Set<Channel>();
  /** Who looks at which terminal. */
  const viewers = new Map<Channel, string>();
  /** Who has typed since they attached. */
  const typists = new WeakSet<Channel>();
  const cgroups = createCgroups();
  /** Of each connection: the terminals that a person has taken over, and what gives them back. */
  const holders = new WeakMap<Channel, Map<string, () => void>>();
  const program = process.argv[1] ?? '';
  let leaving: NodeJS.Timeout | undefined;
  /** The server that started us may take a while to connect, on a machine under load. */
  let isAwaited = true;

  function find(id: string): HostedTerminal {
    const terminal = terminals.get(id);
    if (terminal !== undefined) return terminal;
    throw new ShellServerError('RESOURCE_002', `There is no terminal ${id.slice(0, 64)}.`);
  }

  function drop(terminal: HostedTerminal): void {
    const { id } = terminal.spec;
    if (!terminals.delete(id)) return;
    terminal.dispose();
    tellServers({ event: 'gone', id, isSaved: terminal.isSaved() });
    reconsider();
  }

  function endAll(): Promise<unknown> {
    return Promise.all(
      [...terminals.values()].map(async (terminal) => {
        terminal.end('server_shutdown');
        await terminal.finished;
        drop(terminal);
      }),
    );
  }

  async function leave(): Promise<void> {
    await endAll();
    cgroups.dispose();
    process.exit(0);
  }

  /** Stays while there is something to stay for. */
  function reconsider(): void {
    clearTimeout(leaving);
    if (servers.size > 0 && terminals.size > 0) return;
    const idleMs = servers.size > 0 || isAwaited ? IDLE_MS : 1000;
    const ms = servers.size === 0 && terminals.size > 0 ? spec.graceMs : idleMs;
    leaving = setTimeout(() => void leave(), ms);
  }

  const answerers: Answerers = {
    async hello({ isServer }, { channel }) {
      if (isServer) {
        servers.add(channel);
        isAwaited = false;
        reconsider();
      }
      return { protocol: PROTOCOL };
    },
    async create(terminalSpec, { signal }) {
      const { id } = terminalSpec;
      const terminal = await startTerminal(terminalSpec, { directory: spec.directory, program, cgroups });
      terminals.set(id, terminal);
      terminal.onPasswordPrompt(() => tellServers({ event: 'password_prompt', id }));
      reconsider();
      void terminal.finished.then(() => {
        tellServers({ event: 'ended', id });
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
    list: async () => [...terminals.values()].map((terminal) => terminal.state()),
    state: async ({ id }) => find(id).state(),
    facts: async ({ id }) => find(id).facts(),
    send: async (request, { signal }) => find(request.id).send(request, signal),
    read: async (request, { signal }) => find(request.id).read(request, signal),
    async resize({ id, dimensions }, { channel }) {
      const terminal = find(id);
      terminal.resize(dimensions.columns, dimensions.rows);
      for (const [viewer, viewed] of viewers) if (viewed === id) drawFor(viewer, terminal);
      if (!servers.has(channel)) tellServers({ event: 'resized', id });
      return terminal.state();
    },
    async close({ id, savesHistory }) {
      const terminal = find(id);
      await terminal.close(savesHistory);
      drop(terminal);
      return { isSaved: terminal.isSaved() };
    },
    async attach({ id }, { channel }) {
      const terminal = find(id);
      const screen = screenOf(terminal);
      const detach = terminal.attach((chunk) => {
        channel.tell({ event: 'output', id, base64: Buffer.from(chunk).toString('base64') });
        // A client that stopped reading must not fill our memory.
        if (channel.pendingBytes > MAX_UNREAD_BYTES) channel.destroy();
      });
      viewers.set(channel, id);
      tellServers({ event: 'attached', id });
      channel.onClose(() => {
        detach();
        viewers.delete(channel);
        tellServers({ event: 'detached', id });
      });
      void terminal.finished.then(() => channel.end());
      return screen;
    },
    async redraw({ id }, { channel }) {
      drawFor(channel, find(id));
      return {};
    },
    async type({ id, base64 }, { channel }) {
      const terminal = find(id);
      if (!typists.has(channel)) tellServers({ event: 'typed', id });
      typists.add(channel);
      await terminal.type(Buffer.from(base64, 'base64'));
      return {};
    },
    async hold({ id, isHeld }, { channel }) {
      const terminal = find(id);
      const held = holders.get(channel) ?? new Map<string, () => void>();
      holders.set(channel, held);
      const release = held.get(id);
      if (isHeld === (release !== undefined)) return {};
      if (release === undefined) {
        held.set(id, terminal.hold());
        tellServers({ event: 'held', id });
      } else {
        held.delete(id);
        release();
        tellServers({ event: 'released', id });
      }
      return {};
    },
    untilFree: async ({ id, timeoutMs }, { signal }) => ({
      isFree: await find(id).untilFree(timeoutMs, signal),
    }),
    async shutdown() {
      await endAll();
      setTimeout(() => void leave(), 50);
      return {};
    },
  };

  function drawFor(channel: Channel, terminal: HostedTerminal): void {
    channel.tell({ event: 'screen', id: terminal.spec.id, ...screenOf(terminal) });
  }

  function tellServers(event: HostEvent): void {
    for (const server of servers) server.tell(event);
  }

  function welcome(socket: Socket): void {
    const channel: Channel = createChannel(socket, (method, params, signal) => {
      const answerer = Object.hasOwn(answerers, method) ? answerers[method as MethodName] : undefined;
      if (answerer === undefined)
        throw new ShellServerError('SYSTEM_001', 'The terminal host does not know this request.');
      return (answerer as (params: unknown, call: CallOf) => Promise<unknown>)(params, { channel, signal });
    });
    channel.onClose(() => {
      for (const [id, release] of holders.get(channel) ?? []) {
        release();
        tellServers({ event: 'released', id });
      }
      servers.delete(channel);
      reconsider();
    });
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void leave());
  const listener = createServer(welcome);
  listener.once('error', (error) => {
    reply(process.stdout, { error: messageOf(error) });
    process.exit(1);
  });
  listener.listen(spec.socket, () => {
    chmodSync(spec.socket, 0o600);
    reconsider();
    reply(process.stdout, { protocol: PROTOCOL });
  });
}

const screenOf = (terminal: HostedTerminal): Screen => ({
  snapshot: terminal.snapshot(),
  dimensions: terminal.state().dimensions,
});

/** Of a viewer that does not read. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** A terminal whose program has ended is still there to be read for so long, unless it is closed. */
const LINGER_MS = 60_000;

async function replay(spec: ReplaySpec): Promise<void> {
  // Also where the process that waits for it is gone.
  setTimeout(() => process.exit(1), REPLAY_MS).unref();
  const { recording } = spec;
  if ('title' in spec) await saveHistory(recording, spec.title);
  const lines = 'from' in spec ? await readOldLines(recording, spec.from, spec.to) : [];
  reply(process.stdout, lines);
}

closeInherited();
const spec = (await readSpec(process.stdin)) as HostSpec | ReplaySpec;
if ('recording' in spec) await replay(spec);
else serve(spec);
