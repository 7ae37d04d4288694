/**
 * The entry point of terminals. A terminal is an execution with a screen: started, recorded, limited and ended as every
 * other is. They live in a process of their own (host/); here is who may type into which of them, read, resize and close
 * it.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/errors.ts';
import { renameId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import {
  type Execution,
  type ExecutionRecord,
  type Executions,
  type Instance,
  OPERATOR,
} from '../executions/executions.ts';
import type { Security } from '../security/security.ts';
import { Gone } from './channel.ts';
import { type Host, type OwnHost, startHost, takeOverHosts } from './hosts.ts';
import { type Caller, type CreateRequest, createOpening, type Opened } from './open-terminal.ts';
import type {
  Dimensions,
  HostEvent,
  ReadRequest,
  ReadResult,
  SendResult,
  TerminalState,
} from './protocol.ts';
import { createRegister, type Entry } from './register.ts';
import { createSending, type InputOptions } from './send.ts';

export { readControlCodes, readHex } from './control-codes.ts';
export type { Caller, CreateRequest, Opened } from './open-terminal.ts';
export type {
  ReadResult,
  SendResult,
  TerminalState,
  Typed,
  Waited,
  WaitReason,
  WaitSpec,
} from './protocol.ts';
export { WAIT_REASONS } from './protocol.ts';
export { SHELL_TYPES, type ShellType } from './shell-start.ts';

/** `new` is what has not been read yet. */
export interface LookRequest extends Omit<ReadRequest, 'id' | 'reader' | 'view'> {
  readonly view: 'scrollback' | 'screen' | 'new';
}

export interface Closed {
  readonly execution: Execution;
  readonly isSaved: boolean;
}

export interface Terminals {
  create(request: CreateRequest, caller: Caller): Promise<Opened>;
  /** Newest first. */
  list(principal: string): Promise<TerminalState[]>;
  /** Throws RESOURCE_002, as everything below does where there is no such terminal of the caller's. */
  get(principal: string, id: string): Promise<TerminalState>;
  send(id: string, input: InputOptions, caller: Caller): Promise<SendResult>;
  read(id: string, request: LookRequest, caller: Caller): Promise<ReadResult>;
  resize(principal: string, id: string, dimensions: Dimensions): Promise<TerminalState>;
  /** Where nothing is said of the history, what was said when it was opened holds. */
  close(principal: string, id: string, savesHistory: boolean | undefined): Promise<Closed>;
  /** What a host that was killed had written, as it would have kept it. */
  salvage(record: ExecutionRecord, directory: string): Promise<void>;
  /** What servers that are gone have left in their directories, which are ours by now. */
  takeOver(dead: readonly string[]): Promise<void>;
  dispose(): Promise<void>;
}

export interface TerminalsOptions {
  readonly settings: Settings;
  readonly security: Security;
  readonly executions: Executions;
  readonly instance: Pick<Instance, 'directory'>;
  /** The program of the process that holds them. */
  readonly hostPath: string;
  /** The start-up files of shells. */
  readonly scripts: string;
  readonly log: Log;
}

/** For a host to leave. */
const SHUTDOWN_MS = 500;
/** For the end of an execution to be on disk after its host reported it. */
const CONCLUDE_MS = 10_000;

export function createTerminals(options: TerminalsOptions): Terminals {
  const { settings, security, executions, instance, log } = options;
  const register = createRegister();
  const send = createSending(security);
  const open = createOpening({ ...options, register, hostOf });
  const { entries, find, remember } = register;
  const hosts = new Set<Host>();
  let own: Promise<OwnHost> | undefined;

  const onKilled = (): void => log.error('the terminal host did not respond and was killed', {});

  function watch<Watched extends Host>(host: Watched): Watched {
    hosts.add(host);
    host.onEvent(hear);
    host.onClose(() => {
      hosts.delete(host);
      for (const entry of [...entries.values()].filter((each) => each.host === host)) end(entry, true);
    });
    return host;
  }

  /** False where its end is on disk already. */
  function end(entry: Entry, isGone: boolean): boolean {
    entry.hasEnded = true;
    if (isGone) entries.delete(entry.id);
    return executions.checkEnd(renameId(entry.id, 'exec'));
  }

  /** Nothing of it was to be kept. */
  function discard({ id }: Entry): void {
    const directory = join(settings.stateDir, 'executions', renameId(id, 'exec'));
    rmSync(directory, { recursive: true, force: true });
  }

  function hear(event: HostEvent): void {
    if (event.event === 'output' || event.event === 'screen') return;
    const entry = entries.get(event.id);
    if (entry === undefined) return;
    if (event.event === 'ended') {
      end(entry, false);
      return;
    }
    if (event.event === 'password_prompt') {
      void executions.get(entry.owner, renameId(entry.id, 'exec')).then(
        ({ record }) => executions.news.passwordPrompt(record),
        () => undefined,
      );
      return;
    }
    if (event.event === 'gone') {
      const isRunning = end(entry, true);
      if (event.isSaved) return;
      if (!isRunning) return discard(entry);
      void conclude(entry).then(
        () => discard(entry),
        () => undefined,
      );
      return;
    }
    // A person has looked, and perhaps typed.
    entry.typing.forget();
    entry.facts = undefined;
    if (event.event === 'held' || event.event === 'released') entry.isHeld = event.event === 'held';
    security.audit.write({ event: `terminal_${event.event}`, terminalId: event.id, ...OPERATOR });
  }

  /** Its host has reported the end and written its outcome. */
  async function conclude({ id, owner }: Entry): Promise<Execution> {
    const executionId = renameId(id, 'exec');
    executions.checkEnd(executionId);
    return executions.waitFor(owner, executionId, CONCLUDE_MS, new AbortController().signal);
  }

  async function hostOf(): Promise<OwnHost> {
    own ??= startHost({
      program: options.hostPath,
      directory: instance.directory,
      graceMs: settings.limits.terminalGraceMs,
      onKilled,
    }).then((host) => {
      host.onClose(() => {
        own = undefined;
      });
      return watch(host);
    });
    try {
      return await own;
    } catch (error) {
      own = undefined;
      throw error;
    }
  }

  async function takeOverHost(host: Host, dead: string): Promise<void> {
    watch(host);
    for (const state of await host.ask('list', {})) {
      const { id, owner, sessionName } = state;
      const entry = remember({ id, owner, sessionName, host });
      entry.hasEnded = state.outcome !== undefined;
      entry.isHeld = state.isHeld;
      // Its last server may have left something on the line.
      entry.typing.forget();
      log.info('resumed a terminal', { terminal: id, from: dead });
    }
  }

  function stateOf(entry: Entry): Promise<TerminalState> {
    return entry.host.ask('state', { id: entry.id });
  }

  return {
    async create(request, caller) {
      await executions.ready();
      return open(request, caller).catch((error: unknown) => {
        // It had nothing to do any more, and was just leaving.
        if (!(error instanceof Gone)) throw error;
        return open(request, caller);
      });
    },
    async list(principal) {
      await executions.ready();
      const states = await Promise.allSettled(
        [...entries.values()].filter(({ owner }) => owner === principal).map(stateOf),
      );
      return states
        .flatMap((state) => (state.status === 'fulfilled' ? [state.value] : []))
        .sort((a, b) => b.createdAtMs - a.createdAtMs);
    },
    async get(principal, id) {
      await executions.ready();
      return stateOf(find(principal, id));
    },
    async send(id, input, caller) {
      await executions.ready();
      const entry = find(caller.principal, id);
      const result = await send(entry, input, caller);
      if (result.after !== undefined) noteRead(entry, caller.reader, result.after);
      if (result.outcome !== undefined) await conclude(entry);
      return result;
    },
    async read(id, request, { principal, reader, signal }) {
      await executions.ready();
      const entry = find(principal, id);
      const isNew = request.view === 'new';
      const view = request.view === 'screen' ? 'screen' : 'scrollback';
      const before = entry.lastRead.get(reader);
      const from = isNew ? (before?.line ?? 0) : request.from;
      const result = await entry.host.ask('read', { ...request, id, reader, view, from }, signal);
      entry.facts = result.facts ?? entry.facts;
      if (result.outcome !== undefined) await conclude(entry);
      if (view === 'screen') return result;
      noteRead(entry, reader, result);
      const isKnown =
        isNew && before !== undefined && result.from === before.line && result.lines[0] === before.text;
      return isKnown ? { ...result, from: result.from + 1, lines: result.lines.slice(1) } : result;
    },
    async resize(principal, id, dimensions) {
      await executions.ready();
      return find(principal, id).host.ask('resize', { id, dimensions });
    },
    async close(principal, id, savesHistory) {
      await executions.ready();
      const entry = find(principal, id);
      const { isSaved } = await entry.host.ask('close', { id, savesHistory });
      return { execution: await conclude(entry), isSaved };
    },
    async salvage({ terminal }, directory) {
      if (terminal === undefined) return;
      // The emulator is only needed here where a host was killed, perhaps because it had hung over this very recording.
      const { saveRecording } = await import('./replay.ts');
      const { discardRaw } = await import('./recording.ts');
      if (terminal.autoSaves) {
        const error = await saveRecording({ directory, program: options.hostPath }, terminal.sessionName);
        if (error !== undefined) log.warn('the transcript of a terminal is incomplete', { directory, error });
      }
      discardRaw(directory);
    },
    async takeOver(dead) {
      for (const id of dead) {
        const found = await takeOverHosts(instance.directory, id, { onKilled }).catch((error: unknown) => {
          log.warn('terminals of a server that is gone cannot be reached', { error: messageOf(error) });
          return [];
        });
        for (const host of found) await takeOverHost(host, id);
      }
    },
    async dispose() {
      const leaving = [...hosts].map(async (host) => {
        const late = (): Promise<void> => sleep(SHUTDOWN_MS, undefined, { ref: false });
        await Promise.race([host.ask('shutdown', {}), late()]).catch(() => undefined);
        // Nor does one that hangs take leave.
        await Promise.race([host.end(), late()]);
      });
      await Promise.allSettled(leaving);
    },
  };
}

/** Who goes back to older lines has read the later ones all the same. */
function noteRead({ lastRead }: Entry, reader: string, { lines, from, missing }: ReadResult): void {
  const next = from + lines.length + missing;
  const last = lines.at(-1);
  if (next <= (lastRead.get(reader)?.line ?? 0)) return;
  // Nothing grows where nothing was kept.
  if (missing > 0) lastRead.set(reader, { line: next, text: undefined });
  else if (last !== undefined) lastRead.set(reader, { line: next - 1, text: last });
}
