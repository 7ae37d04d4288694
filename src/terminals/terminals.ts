/**
 * The entry point of terminals. A terminal is an execution with a screen: started, recorded, limited and ended as every
 * other is. They live in a process of their own (host/); here is who may type into which of them, read, resize and close
 * it.
 */
import { rmSync } from 'node:fs';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import type { Execution, ExecutionRecord, Executions, Instance } from '../executions/executions.ts';
import { readsPassword, type Security } from '../security/security.ts';
import { Gone } from './channel.ts';
import { createHostEvents } from './host-events.ts';
import { createHostSet } from './host-set.ts';
import type { Host, HostStart } from './hosts.ts';
import { type Caller, type CreateRequest, createOpening } from './open-terminal.ts';
import type { Dimensions, ReadRequest, ReadResult, SendResult, TerminalState } from './protocol.ts';
import { createRegister, type Entry, forgetTyped, type Register } from './register.ts';
import { createSending, type InputOptions } from './send.ts';

export { readControlCodes, readHex } from './control-codes.ts';
export type { Caller, CreateRequest } from './open-terminal.ts';
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

export type Terminals = ReturnType<typeof createTerminals>;

interface TerminalsOptions {
  readonly settings: Settings;
  readonly security: Security;
  readonly executions: Executions;
  readonly instance: Pick<Instance, 'directory'>;
  /** The program of the process that holds them. */
  readonly hostPath: string;
  readonly takeHost?: HostStart['takeBooted'];
  /** The start-up files of shells. */
  readonly scripts: string;
  readonly log: Log;
}

export function createTerminals(options: TerminalsOptions) {
  const { settings, executions, instance, log } = options;
  const register = createRegister();
  const salvage = createSalvage(options);
  const { conclude, ...events } = createHostEvents({ ...options, salvage }, register);
  const hosts = createHostSet({
    program: options.hostPath,
    ...(options.takeHost && { takeBooted: options.takeHost }),
    directory: instance.directory,
    graceMs: settings.limits.terminalGraceMs,
    log,
    ...events,
  });
  const send = createSending(options.security);
  const open = createOpening({ ...options, register, hostOf: hosts.own });

  /** Throws RESOURCE_002 where there is no such terminal of the caller's. */
  async function find(principal: string, id: string): Promise<Entry> {
    // It may be one of a server that is gone.
    if (!register.entries.has(id)) await executions.ready();
    return register.find(principal, id);
  }

  return {
    async create(request: CreateRequest, caller: Caller) {
      await executions.ready();
      return open(request, caller).catch((error: unknown) => {
        // It had nothing to do any more, and was just leaving.
        if (!(error instanceof Gone)) throw error;
        return open(request, caller);
      });
    },
    /** Newest first. */
    async list(principal: string): Promise<TerminalState[]> {
      await executions.ready();
      const states = await Promise.allSettled(
        [...register.entries.values()].filter(({ owner }) => owner === principal).map(stateOf),
      );
      return states
        .flatMap((state) => (state.status === 'fulfilled' ? [state.value] : []))
        .sort((a, b) => b.createdAtMs - a.createdAtMs);
    },
    get: async (principal: string, id: string) => stateOf(await find(principal, id)),
    async send(id: string, input: InputOptions, caller: Caller): Promise<SendResult> {
      const entry = await find(caller.principal, id);
      const result = await send(entry, input, caller);
      if (result.after !== undefined) noteRead(entry, caller.reader, result.after);
      if (result.outcome !== undefined) await conclude(entry);
      return result.after === undefined ? result : { ...result, after: asKept(entry, result.after) };
    },
    read: async (id: string, request: LookRequest, caller: Caller) =>
      read(await find(caller.principal, id), request, caller, conclude),
    resize: async (principal: string, id: string, dimensions: Dimensions): Promise<TerminalState> =>
      (await find(principal, id)).host.ask('resize', { id, dimensions }),
    /** Where nothing is said of the history, what was said when it was opened holds. */
    async close(principal: string, id: string, savesHistory: boolean | undefined) {
      const entry = await find(principal, id);
      const { isSaved } = await entry.host.ask('close', { id, savesHistory });
      return { execution: await conclude(entry), isSaved };
    },
    /** What a host that was killed had written, as it would have kept it. */
    salvage,
    /** What servers that are gone have left in their directories, which are ours by now. */
    async takeOver(dead: readonly string[]): Promise<void> {
      for (const id of dead) await hosts.takeOver(id, (host) => resume(register, host, { log, from: id }));
    },
    dispose: hosts.dispose,
  };
}

const stateOf = ({ host, id }: Entry): Promise<TerminalState> => host.ask('state', { id });

async function read(
  entry: Entry,
  request: LookRequest,
  { reader, signal }: Caller,
  conclude: (entry: Entry) => Promise<Execution>,
): Promise<ReadResult> {
  const isNew = request.view === 'new';
  const view = request.view === 'screen' ? 'screen' : 'scrollback';
  const before = entry.lastRead.get(reader);
  const from = isNew ? (before?.line ?? 0) : request.from;
  const found = await entry.host.ask('read', { ...request, id: entry.id, reader, view, from, isNew }, signal);
  const result = asKept(entry, found);
  entry.facts = result.facts ?? entry.facts;
  if (result.outcome !== undefined) await conclude(entry);
  if (view === 'screen') return result;
  noteRead(entry, reader, result);
  const isKnown =
    isNew && before !== undefined && result.from === before.line && result.lines[0] === before.text;
  return isKnown ? { ...result, from: result.from + 1, lines: result.lines.slice(1) } : result;
}

/** A shell that may run what it reads asks for no password: that is recorded. */
const asKept = ({ entered }: Entry, result: ReadResult): ReadResult => ({
  ...result,
  isSecretPrompt: result.isSecretPrompt && (result.facts?.isShellInFront !== true || readsPassword(entered)),
});

const createSalvage =
  ({ hostPath, log }: Pick<TerminalsOptions, 'hostPath' | 'log'>) =>
  async ({ terminal, outcome }: ExecutionRecord, directory: string): Promise<void> => {
    if (terminal === undefined) return;
    // The emulator is only needed here where a host was killed, perhaps because it had hung over this very recording.
    const { saveRecording } = await import('./replay.ts');
    const { discardRaw, hasTranscript, isRecorded } = await import('./recording.ts');
    if (!isRecorded(directory)) return;
    // A host writes the outcome when the transcript is there.
    if (terminal.autoSaves && (outcome === undefined || !hasTranscript(directory))) {
      const error = await saveRecording({ directory, program: hostPath }, terminal.sessionName);
      if (error !== undefined) log.warn('the transcript of a terminal is incomplete', { directory, error });
    }
    discardRaw(directory);
    if (outcome !== undefined && !hasTranscript(directory))
      rmSync(directory, { recursive: true, force: true });
  };

async function resume(
  register: Register,
  host: Host,
  { log, from }: { readonly log: Log; readonly from: string },
): Promise<void> {
  for (const state of await host.ask('list', {})) {
    const { id, owner, sessionName } = state;
    const entry = register.remember({ id, owner, sessionName, host });
    entry.hasEnded = state.outcome !== undefined;
    entry.isHeld = state.isHeld;
    // Its last server may have left something on the line.
    forgetTyped(entry);
    log.info('resumed a terminal', { terminal: id, from });
  }
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
