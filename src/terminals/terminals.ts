/**
 * The door of the terminals: opened with a permit like every execution, typed into under the same policy, read, resized
 * and closed. They live in a process of their own (host/); here is who may do what with which of them, and what of
 * them stays.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import type { Executions, Instance } from '../executions/executions.ts';
import type { Outcome } from '../executions/processes.ts';
import type { Outputs } from '../outputs/types.ts';
import type { Security } from '../security/security.ts';
import { Gone } from './channel.ts';
import { createHistory } from './history.ts';
import { type Host, startHost, takeOverHosts } from './hosts.ts';
import { type Caller, type CreateRequest, createOpening, type Entry, type Place } from './open.ts';
import type {
  Dimensions,
  HostEvent,
  InputFacts,
  ReadRequest,
  ReadResult,
  SendResult,
  TerminalState,
  Typed,
  WaitSpec,
} from './protocol.ts';
import { createRegister } from './register.ts';

export { readControlCodes, readHex } from './control-codes.ts';
export type { Caller, CreateRequest } from './open.ts';
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
export { SHELL_TYPES, type ShellType } from './shells.ts';

export interface InputOptions {
  readonly typed: Typed;
  readonly guard: string | undefined;
  readonly wait: WaitSpec | undefined;
}

/** `new` is what has not been read yet. */
export interface LookRequest extends Omit<ReadRequest, 'id' | 'view'> {
  readonly view: 'scrollback' | 'screen' | 'new';
}

export interface Closed {
  readonly outcome: Outcome;
  readonly isSaved: boolean;
  readonly outputIds: readonly string[];
}

export interface Terminals {
  create(request: CreateRequest, caller: Caller): Promise<TerminalState>;
  /** Newest first. */
  list(principal: string): Promise<TerminalState[]>;
  /** Throws RESOURCE_002, as everything below does where there is no such terminal of the caller's. */
  get(principal: string, id: string): Promise<TerminalState>;
  send(id: string, input: InputOptions, caller: Caller): Promise<SendResult>;
  read(id: string, request: LookRequest, caller: Caller): Promise<ReadResult>;
  resize(principal: string, id: string, dimensions: Dimensions): Promise<TerminalState>;
  close(principal: string, id: string, savesHistory: boolean): Promise<Closed>;
  /** How many are open, of all principals. */
  count(): number;
  /** What servers that are gone have left in their directories, which are ours by now. */
  takeOver(dead: readonly string[]): Promise<void>;
  dispose(): Promise<void>;
}

export interface TerminalsOptions {
  readonly settings: Settings;
  readonly security: Security;
  readonly outputs: Outputs;
  readonly executions: Executions;
  readonly instance: Pick<Instance, 'id' | 'directory' | 'isInstanceAlive'>;
  /** The program of the process that holds them. */
  readonly hostPath: string;
  /** The start-up files of shells. */
  readonly scripts: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Of a shutdown's 5 s. */
const SHUTDOWN_MS = 3500;
/** Another program may have come to the front between the decision and the input. */
const MAX_DECISIONS = 3;
/** For a shell to show what was typed before. */
const SHOWN_MS = 5000;

export function createTerminals(options: TerminalsOptions): Terminals {
  const { settings, security, executions, instance, log } = options;
  const parent = join(settings.stateDir, 'terminals');
  const history = createHistory({ ...options, parent });
  const open = createOpening({ ...options, parent, discard: history.discard });
  const register = createRegister(settings.limits);
  const { entries, find, remember } = register;
  const hosts = new Set<Host>();
  let own: Promise<Host> | undefined;
  let isDisposed = false;

  function watch(host: Host): Host {
    hosts.add(host);
    host.onEvent(hear);
    host.onClose(() => {
      hosts.delete(host);
      for (const entry of entries.values()) if (entry.host === host) void lose(entry);
    });
    return host;
  }

  function hear(event: HostEvent): void {
    if (event.event === 'output') return;
    const entry = entries.get(event.id);
    if (entry === undefined) return;
    if (event.event === 'ended') {
      entries.delete(event.id);
      history.conclude(entry, event.outcome, event.isSaved);
      return;
    }
    if (event.event === 'over') {
      entry.hasEnded = true;
      return;
    }
    // A person has looked, and perhaps typed.
    entry.typing.forget();
    entry.facts = undefined;
    security.audit.write({
      event: `terminal_${event.event}`,
      requestId: 'attach',
      terminalId: event.id,
      principal: entry.owner,
    });
  }

  /** Its host is gone, and so is it. */
  async function lose(entry: Entry): Promise<void> {
    entries.delete(entry.id);
    if (!isDisposed) await history.recover(entry.id);
  }

  async function hostOf(): Promise<Host> {
    own ??= startHost({
      program: options.hostPath,
      directory: instance.directory,
      graceMs: settings.limits.terminalGraceMs,
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

  async function send(id: string, input: InputOptions, caller: Caller): Promise<SendResult> {
    const { principal, reader, client, requestId, signal, approval } = caller;
    const entry = find(principal, id);
    const { host, typing } = entry;
    for (let decisions = 1; ; decisions++) {
      const isShownOnly = typing.isShownOnly(input.typed);
      if (isShownOnly) await untilShown(host, id, signal);
      const known = isShownOnly ? undefined : entry.facts;
      const facts = known ?? (await host.ask('facts', { id }, signal));
      const isShell = facts.isForShell && !facts.isSecretPrompt;
      const line = { shown: facts.promptLine, finished: facts.finished };
      if (!isShell) typing.forget();
      security.authorizeInput({
        principal,
        client: client.name,
        requestId,
        terminalId: id,
        openedUnder: facts.rules,
        directory: facts.workingDirectory,
        commands: isShell ? typing.preview(input.typed, line) : undefined,
        input: facts.isSecretPrompt ? undefined : describeTyped(input.typed),
        approval,
      });
      entry.facts = undefined;
      const decidedBy: InputFacts = isShownOnly ? facts : { ...facts, promptLine: undefined };
      const result = await host.ask('send', { ...input, id, facts: decidedBy }, signal);
      if (result.facts !== undefined) entry.facts = result.facts;
      if (result.sent !== 'nothing' && isShell) typing.commit(input.typed, line);
      if (result.after !== undefined) noteRead(entry, reader, result.after);
      if (result.why !== 'changed' || decisions === MAX_DECISIONS) return result;
    }
  }

  async function takeOverHost(host: Host, dead: string): Promise<void> {
    watch(host);
    for (const state of await host.ask('list', { withUsage: false })) {
      const { id, owner, sessionName, createdAtMs } = state;
      remember({ id, owner, sessionName, createdAtMs, host }).hasEnded = state.outcome !== undefined;
      log.info('took over a terminal', { terminal: id, from: dead });
    }
  }

  function stateOf(entry: Entry): Promise<TerminalState> {
    return entry.host.ask('state', { id: entry.id });
  }

  return {
    async create(request, caller) {
      await executions.ready();
      const { sessionName, release } = register.reserve(caller.principal, request.sessionName);
      const place: Place = {
        sessionName,
        hostOf,
        remember: (known) => {
          release();
          return remember(known);
        },
        forget: (id) => entries.delete(id),
      };
      try {
        return await open(request, caller, place).catch((error: unknown) => {
          // It had nothing to do any more, and was just leaving.
          if (!(error instanceof Gone)) throw error;
          return open(request, caller, place);
        });
      } finally {
        release();
      }
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
      return send(id, input, caller);
    },
    async read(id, request, { principal, reader, signal }) {
      await executions.ready();
      const entry = find(principal, id);
      const isNew = request.view === 'new';
      const view = request.view === 'screen' ? 'screen' : 'scrollback';
      const before = entry.lastRead.get(reader);
      const from = isNew ? (before?.line ?? 0) : request.from;
      const result = await entry.host.ask('read', { ...request, id, view, from }, signal);
      entry.facts = result.facts ?? entry.facts;
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
      const closed = await entry.host.ask('close', { id, savesHistory });
      entries.delete(id);
      return { ...closed, outputIds: history.outputIds(id) };
    },
    count: () => register.openOnes().length,
    async takeOver(dead) {
      for (const id of dead) {
        const found = await takeOverHosts(instance.directory, id).catch((error: unknown) => {
          log.warn('terminals of a server that is gone cannot be reached', { error: messageOf(error) });
          return [];
        });
        for (const host of found) await takeOverHost(host, id);
      }
      await history.look(new Set(entries.keys()));
    },
    async dispose() {
      isDisposed = true;
      const leaving = [...hosts].map(async (host) => {
        await Promise.race([host.ask('shutdown', {}), rest(SHUTDOWN_MS)]).catch(() => undefined);
        await host.end();
      });
      await Promise.allSettled(leaving);
    },
  };
}

const rest = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

function describeTyped(typed: Typed): string {
  if (typed.kind === 'keys') return typed.keys.map((key) => `<${key}>`).join('');
  const text =
    typed.kind === 'text' ? typed.text : `<bytes ${Buffer.from(typed.base64, 'base64').toString('hex')}>`;
  return typed.isEntered ? `${text}<enter>` : text;
}

/** A shell that waits for the next key has shown the ones before it. */
async function untilShown(host: Host, id: string, signal: AbortSignal): Promise<void> {
  const wait = { pattern: undefined, idleMs: undefined, timeoutMs: SHOWN_MS };
  const screen = { view: 'screen', from: undefined, count: 1, withAnsi: false, withFront: false } as const;
  await host.ask('read', { ...screen, id, wait }, signal);
}

/** Who goes back to older lines has read the later ones all the same. */
function noteRead({ lastRead }: Entry, reader: string, { lines, from, missing }: ReadResult): void {
  const last = lines.at(-1);
  const line = from + lines.length + missing - 1;
  if (last !== undefined && line >= (lastRead.get(reader)?.line ?? 0))
    lastRead.set(reader, { line, text: last });
}
