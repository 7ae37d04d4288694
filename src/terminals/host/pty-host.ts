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
} from '../protocol.ts';
import { readOldLines, saveHistory } from '../recording.ts';
import { REPLAY_MS } from '../replay.ts';
import { createHosted, type Hosted } from './hosted.ts';
import { createViewers, type Viewers } from './viewers.ts';

/** Between the last terminal's end and the host's own: the next one is often just coming. */
const IDLE_MS = 30_000;
/** Without a server: the next one may be about to connect. */
const ALONE_MS = 1000;
/** Where none can come, since only the server that started a host opens terminals in it; another asks what there is. */
const TAKEN_MS = 100;

type Answerers = {
  readonly [Name in MethodName]: (params: Methods[Name][0], call: CallOf) => Promise<Methods[Name][1]>;
};

interface CallOf {
  readonly channel: Channel;
  readonly signal: AbortSignal;
  /** Tells the asker once, before the answer. */
  note(): void;
}

function serve(spec: HostSpec): void {
  const servers = createServers();
  const cgroups = createCgroups();
  const tools = { directory: spec.directory, program: process.argv[1] ?? '', cgroups };
  const terminals = createHosted(tools, { tell: servers.tell, onCount: reconsider });
  const viewers = createViewers(servers.tell);
  let leaving: NodeJS.Timeout | undefined;

  async function leave(): Promise<void> {
    await terminals.endAll();
    cgroups.dispose();
    process.exit(0);
  }

  /** Stays while there is something to stay for. */
  function reconsider(): void {
    clearTimeout(leaving);
    const hasTerminals = terminals.count > 0;
    if (servers.isAnyThere() && hasTerminals) return;
    leaving = setTimeout(() => void leave(), hasTerminals ? spec.graceMs : servers.idleMs());
  }

  const answerers: Answerers = {
    ...answerersAbout(terminals, viewers),
    async hello({ isServer }, { channel }) {
      if (isServer) {
        servers.add(channel);
        reconsider();
      }
      return { protocol: PROTOCOL };
    },
    async resize({ id, dimensions }, { channel }) {
      const terminal = terminals.find(id);
      terminal.resize(dimensions.columns, dimensions.rows);
      viewers.drawAll(terminal);
      if (!servers.has(channel)) servers.tell({ event: 'resized', id });
      return terminal.state();
    },
    async shutdown() {
      await terminals.endAll();
      setTimeout(() => void leave(), 50);
    },
  };

  // The whole path of its socket may be too long for one.
  process.chdir(spec.directory);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void leave());
  const onListening = (): void => {
    reconsider();
    // While the server prepares the first terminal.
    cgroups.held();
  };
  listen(spec.socket, onListening, (socket) => {
    const channel = openChannel(socket, answerers);
    channel.onClose(() => {
      viewers.releaseAll(channel);
      servers.delete(channel);
      reconsider();
    });
  });
}

/** The servers that are connected. */
function createServers() {
  const channels = new Set<Channel>();
  /** Of the server that started us, which may take a while to connect, on a machine under load. */
  let first: Channel | undefined;
  return {
    add(channel: Channel): void {
      first ??= channel;
      channels.add(channel);
    },
    delete: (channel: Channel): void => void channels.delete(channel),
    has: (channel: Channel): boolean => channels.has(channel),
    isAnyThere: (): boolean => channels.size > 0,
    tell(event: HostEvent): void {
      for (const channel of channels) channel.tell(event);
    },
    /** How long a host without terminals stays. */
    idleMs(): number {
      if (first === undefined || channels.has(first)) return IDLE_MS;
      return channels.size > 0 ? TAKEN_MS : ALONE_MS;
    },
  };
}

/** What concerns one terminal, or those that look at it. */
const answerersAbout = (
  terminals: Hosted,
  viewers: Viewers,
): Omit<Answerers, 'hello' | 'resize' | 'shutdown'> => ({
  create: (spec, { signal }) => terminals.create(spec, signal),
  list: async () => terminals.states(),
  state: async ({ id }) => terminals.find(id).state(),
  facts: async ({ id }) => terminals.find(id).facts(),
  send: async (request, { signal, note }) =>
    terminals.find(request.id).send(request, { signal, onTyped: note }),
  read: async (request, { signal }) => terminals.find(request.id).read(request, signal),
  close: terminals.close,
  attach: async ({ id }, { channel }) => viewers.attach(channel, terminals.find(id)),
  redraw: async ({ id }, { channel }) => viewers.draw(channel, terminals.find(id)),
  type: async ({ id, base64 }, { channel }) =>
    viewers.type(channel, terminals.find(id), Buffer.from(base64, 'base64')),
  hold: async ({ id, isHeld }, { channel }) => viewers.hold(channel, terminals.find(id), isHeld),
  untilFree: async ({ id, timeoutMs }, { signal }) => ({
    isFree: await terminals.find(id).untilFree(timeoutMs, signal),
  }),
});

function openChannel(socket: Socket, answerers: Answerers): Channel {
  const channel: Channel = createChannel(socket, (method, params, { signal, note }) => {
    const answerer = Object.hasOwn(answerers, method) ? answerers[method as MethodName] : undefined;
    if (answerer === undefined)
      throw new ShellServerError('SYSTEM_001', 'The terminal host does not know this request.');
    return (answerer as (params: unknown, call: CallOf) => Promise<unknown>)(params, {
      channel,
      signal,
      note,
    });
  });
  return channel;
}

function listen(path: string, onListening: () => void, welcome: (socket: Socket) => void): void {
  const listener = createServer(welcome);
  listener.once('error', (error) => {
    reply(process.stdout, { error: messageOf(error) });
    process.exit(1);
  });
  listener.listen(path, () => {
    chmodSync(path, 0o600);
    reply(process.stdout, { protocol: PROTOCOL });
    onListening();
  });
}

async function replay(spec: ReplaySpec): Promise<void> {
  // Also where the process that waits for it is gone.
  setTimeout(() => process.exit(1), REPLAY_MS).unref();
  const { recording } = spec;
  if ('title' in spec) await saveHistory(recording, spec.title);
  const lines = 'from' in spec ? await readOldLines(recording, spec.from, spec.to) : [];
  reply(process.stdout, lines);
}

closeInherited();
const unused = setTimeout(() => process.exit(0), IDLE_MS);
const spec = (await readSpec(process.stdin)) as HostSpec | ReplaySpec;
clearTimeout(unused);
if ('recording' in spec) await replay(spec);
else serve(spec);
