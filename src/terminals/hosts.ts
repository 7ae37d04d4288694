/** The processes that hold terminals: our own, which is started when there is a first terminal, and those we took over. */
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { attempt, readJson } from '../base/attempt.ts';
import { ShellServerError } from '../base/errors.ts';
import { connectSocket } from '../base/sockets.ts';
import { killOwnProgram, type ProcessIdentity } from '../executions/processes.ts';
import { type BootedProgram, bootHost } from './boot-host.ts';
import { type AskedBy, type Channel, createChannel, Gone } from './channel.ts';
import { type HostEvent, type HostSpec, type MethodName, type Methods, PROTOCOL } from './protocol.ts';

export type Host = ReturnType<typeof describeHost>;

const SOCKET = 'terminals.sock';

export const socketIn = (directory: string): string => join(directory, SOCKET);

/** Of ours, which the server that adopts it finds again. */
export interface OwnHost extends Host {
  readonly identity: ProcessIdentity;
}

/** Node starts in 40 ms; a machine under load may take a hundred times as long. */
const START_MS = 30_000;
/** A call that takes longer may well wait for a program: then the host is asked whether it is still there. */
const QUIET_MS = 5000;
/** One that floods answers in tenths of a second. */
const ANSWER_MS = 15_000;

interface Watch {
  readonly quietMs?: number;
  readonly answerMs?: number;
  /** It did not answer, and was killed. */
  onKilled(): void;
}

interface WatchedProcess extends Watch {
  readonly identity: ProcessIdentity | undefined;
}

export interface HostStart extends Watch {
  readonly program: string;
  readonly directory: string;
  readonly graceMs: number;
  /** One that was started in advance; only once. */
  takeBooted?(): BootedProgram | undefined;
}

/** Starts one, which goes on by itself, and connects to it. */
export async function startHost(options: HostStart): Promise<OwnHost> {
  const socket = socketIn(options.directory);
  removeSocket(socket);
  const spec: HostSpec = { socket: SOCKET, directory: options.directory, graceMs: options.graceMs };
  const booted = options.takeBooted?.() ?? bootHost(options.program);
  const { identity, reply } = booted.give({ spec, what: 'The terminal', deadlineMs: START_MS });
  const said = z.object({ error: z.string().optional() }).parse(await reply);
  if (said.error !== undefined)
    throw new ShellServerError('EXECUTION_001', `Terminals cannot be started: ${said.error}.`, {
      hint: 'Run `mcp-shell-server doctor` to see whether terminals work on this machine.',
    });
  writeFileSync(identityFile(socket), JSON.stringify(identity), { mode: 0o600 });
  return { ...(await connectHost(socket, { ...options, identity })), identity };
}

/** Throws where no host is there or answers, or one of another version. An observer gives nothing to watch. */
export async function connectHost(socket: string, watch?: WatchedProcess): Promise<Host> {
  const channel = createChannel(await connectSocket(socket), async () => ({}));
  const answered = await greet(channel, watch);
  if (answered === LATE) {
    channel.destroy();
    if (watch?.identity !== undefined && killOwnProgram(watch.identity)) watch.onKilled();
    throw new Gone(NOT_ANSWERING);
  }
  if ((answered as Methods['hello'][1]).protocol === PROTOCOL) {
    const host = describeHost(channel, watch);
    if (watch !== undefined) host.onClose(() => removeSocket(socket));
    return host;
  }
  channel.destroy();
  throw new ShellServerError('SYSTEM_001', 'The terminals were opened by another version of this program.');
}

const NOT_ANSWERING = 'The terminal host did not respond and was killed. Its terminals are lost.';
const LATE = Symbol('late');

function greet(channel: Channel, watch: WatchedProcess | undefined): Promise<unknown> {
  const hello = { protocol: PROTOCOL, isServer: watch !== undefined };
  // After a stop of this process its answer may be there, and the timer comes before it.
  const late = sleep(watch?.answerMs ?? ANSWER_MS, undefined, { ref: false }).then(() => nextTurn(LATE));
  return Promise.race([channel.ask('hello', hello), late]);
}

function describeHost(channel: Channel, watch: WatchedProcess | undefined) {
  let pending = 0;
  let timer: NodeJS.Timeout | undefined;
  let isKilled = false;

  /** While a call waits; nobody asks an idle host. */
  function arm(): void {
    if (watch?.identity === undefined || timer !== undefined) return;
    timer = setTimeout(() => void check(), watch.quietMs ?? QUIET_MS);
    timer.unref();
  }

  async function check(): Promise<void> {
    const answered = await greet(channel, watch).catch(() => undefined);
    timer = undefined;
    if (answered !== LATE) return pending > 0 && answered !== undefined ? arm() : undefined;
    isKilled = true;
    if (watch?.identity !== undefined && killOwnProgram(watch.identity)) watch.onKilled();
    channel.destroy();
  }

  return {
    async ask<Name extends MethodName>(
      method: Name,
      params: Methods[Name][0],
      signal?: AbortSignal,
      onNoted?: AskedBy['onNoted'],
    ): Promise<Methods[Name][1]> {
      pending++;
      arm();
      try {
        return (await channel.ask(method, params, {
          signal,
          ...(onNoted && { onNoted }),
        })) as Methods[Name][1];
      } catch (error) {
        throw isKilled && error instanceof Gone ? new Gone(NOT_ANSWERING) : error;
      } finally {
        pending--;
        if (pending === 0) {
          clearTimeout(timer);
          timer = undefined;
        }
      }
    },
    onEvent: (listener: (event: HostEvent) => void): void =>
      channel.onEvent((event) => listener(event as HostEvent)),
    onClose: channel.onClose,
    end: channel.end,
  };
}

/** Beside its socket: a host that does not answer cannot be asked who it is. */
const identityFile = (socket: string): string => `${socket}.host`;

const identitySchema = z.object({ pid: z.number(), startTime: z.number() });

function removeSocket(socket: string): void {
  rmSync(socket, { force: true });
  rmSync(identityFile(socket), { force: true });
}

/** Those of a server that is gone: their sockets get a place that stays, and are connected to. */
export async function takeOverHosts(directory: string, id: string, watch: Watch): Promise<Host[]> {
  // One that had taken it over itself may have died before it was done.
  const places = [directory, ...readdirSync(directory).map((name) => join(directory, name))];
  const sockets = places.flatMap((place) => socketsIn(join(place, id)));
  const hosts = await Promise.all(
    sockets.map(async (socket) => {
      // Not by the server's name alone, by which its directory is known, and goes.
      const kept = join(directory, basename(socket) === SOCKET ? `terminals-${id}.sock` : basename(socket));
      const identity = identitySchema.safeParse(readJson(identityFile(socket))).data;
      renameSync(socket, kept);
      if (identity !== undefined) renameSync(identityFile(socket), identityFile(kept));
      try {
        return [await connectHost(kept, { ...watch, identity })];
      } catch {
        removeSocket(kept);
        return [];
      }
    }),
  );
  return hosts.flat();
}

const namesIn = (directory: string): string[] => attempt(() => readdirSync(directory)) ?? [];

const socketsIn = (directory: string): string[] =>
  namesIn(directory)
    .filter((name) => name.endsWith('.sock'))
    .map((name) => join(directory, name));

/** Sockets of all hosts that servers on this state directory have or had. */
export function findSockets(stateDirectory: string): string[] {
  const run = join(stateDirectory, 'run');
  return namesIn(run).flatMap((name) => socketsIn(join(run, name)));
}
