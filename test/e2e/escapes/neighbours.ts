/** Processes of the host beside the server, which a command must not reach. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, closeSync, constants, mkdirSync, openSync, readSync } from 'node:fs';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { randomText } from '../../../src/base/ids.ts';
import type { Target } from './attempt.ts';
import { type House, idOf, makeRoom, removeRoom } from './stage.ts';

export interface Neighbours {
  readonly about: Pick<Target, 'victimPid' | 'tcpPort' | 'sockets' | 'abstractName' | 'fifo'>;
  /** What reached them since the last look; nothing, if the sandbox holds. */
  disturbed(): string[];
  dispose(): Promise<void>;
}

/** Processes of the host beside the server: listeners, a reader of a FIFO, and one that only wants to live. */
export async function startNeighbours(house: House): Promise<Neighbours> {
  const places = [makeRoom('/run'), makeRoom('/opt')];
  const paths = [
    join(house.home, 'agent/sock'),
    ...places.map((room) => join(room, 'sock')),
    join(house.home, '.cache/agent/sock'),
  ];
  const abstractName = `mcp-escapes-${randomText()}`;
  const reached: string[] = [];
  const servers: net.Server[] = [];
  const listen = async (where: string, options: net.ListenOptions): Promise<net.Server> => {
    const server = net.createServer((socket) => {
      reached.push(where);
      socket.on('error', () => undefined).end(`${house.secret} ${where}\n`);
    });
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(options, resolve);
    });
    return server;
  };
  for (const path of paths) {
    mkdirSync(dirname(path), { recursive: true });
    await listen(path, { path });
    chmodSync(path, 0o777);
  }
  await listen('the abstract socket', { path: `\0${abstractName}` });
  const tcp = (await listen('TCP', { host: '127.0.0.1', port: 0 })).address() as net.AddressInfo;
  const fifo = join(house.home, 'ctl/fifo');
  mkdirSync(dirname(fifo));
  const cached = join(house.home, '.cache/ctl/fifo');
  mkdirSync(dirname(cached), { recursive: true });
  execFileSync('mkfifo', ['-m', '666', fifo, cached]);
  const readers = [fifo, cached].map((path) => openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
  const id = idOf(house.user);
  const victim: ChildProcess = spawn('sleep', ['600'], {
    stdio: 'ignore',
    uid: id,
    gid: id,
    detached: true,
    cwd: '/',
  });
  for (const path of [
    dirname(fifo),
    join(house.home, 'agent'),
    join(house.home, '.cache'),
    join(house.home, '.cache/agent'),
    dirname(cached),
  ])
    chownSync(path, id, id);

  return {
    about: { victimPid: victim.pid ?? 0, tcpPort: tcp.port, sockets: paths, abstractName, fifo },
    disturbed() {
      const found = reached.splice(0).map((where) => `${where} got a connection`);
      const buffer = Buffer.alloc(4096);
      for (const reader of readers) {
        try {
          found.push(`a FIFO got ${JSON.stringify(buffer.toString('utf8', 0, readSync(reader, buffer)))}`);
        } catch {
          // Nothing to be read, as it should be.
        }
      }
      if (victim.exitCode !== null || victim.signalCode !== null) found.push('another process was ended');
      return found;
    },
    async dispose() {
      const ended = new Promise((resolve) => {
        victim.once('exit', resolve);
      });
      if (victim.exitCode === null && victim.signalCode === null && victim.kill('SIGKILL')) await ended;
      for (const reader of readers) closeSync(reader);
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      for (const room of places) removeRoom(room);
    },
  };
}
