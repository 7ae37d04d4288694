/** Opens a terminal: permit, record, process, first prompt, and the command that is typed there. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { createId, randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Settings } from '../base/settings.ts';
import type { Executions, Instance } from '../executions/executions.ts';
import { NOT_SET_UP } from '../executions/processes.ts';
import type { Security } from '../security/security.ts';
import type { Host } from './hosts.ts';
import type { Dimensions, InputFacts, TerminalState } from './protocol.ts';
import { writeTerminalRecord } from './records.ts';
import { findShell, type ShellType } from './shells.ts';
import type { Typing } from './typing.ts';

/** Who is calling. */
export interface Caller {
  readonly principal: string;
  /** Of several that read for the same principal. */
  readonly reader: string;
  readonly client: { readonly name: string };
  readonly requestId: string;
  readonly signal: AbortSignal;
  readonly approval?: string | undefined;
}

export interface CreateRequest {
  readonly sessionName: string | undefined;
  readonly shellType: ShellType | undefined;
  readonly dimensions: Dimensions;
  readonly workingDirectory: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly autoSaves: boolean;
  /** Typed into the shell when its prompt is there. */
  readonly command: string | undefined;
}

/** A terminal that is open, as the server knows it. */
export interface Entry {
  readonly id: string;
  readonly owner: string;
  readonly sessionName: string;
  readonly createdAtMs: number;
  readonly host: Host;
  readonly typing: Typing;
  hasEnded: boolean;
  /** As the host told them last; undefined where something may have changed since. */
  facts: InputFacts | undefined;
  /** The last line that each reader was given, as it was then: it may have grown since. */
  readonly lastRead: Map<string, { readonly line: number; readonly text: string }>;
}

export type KnownEntry = Omit<Entry, 'typing' | 'hasEnded' | 'facts' | 'lastRead'>;

export interface OpeningOptions {
  readonly settings: Settings;
  readonly security: Security;
  readonly executions: Executions;
  readonly instance: Pick<Instance, 'id'>;
  readonly scripts: string;
  readonly clock: Clock;
  /** Where the directories of terminals lie. */
  readonly parent: string;
  /** Takes back what was prepared for one that could not be opened. */
  discard(id: string): void;
}

export interface Place {
  readonly sessionName: string;
  hostOf(): Promise<Host>;
  remember(known: KnownEntry): Entry;
  forget(id: string): boolean;
}

type Open = (request: CreateRequest, caller: Caller, place: Place) => Promise<TerminalState>;

export function createOpening(options: OpeningOptions): Open {
  const { settings, security, executions, instance, clock, parent } = options;

  const tryOpen: Open = async (request, caller, { sessionName, hostOf, remember, forget }) => {
    const { principal, requestId, client, signal } = caller;
    const id = createId('term');
    const nonce = randomText();
    // It takes longer to start than everything else that comes before it is needed.
    const starting = hostOf();
    starting.catch(() => undefined);
    const path = await executions.commandPath();
    const shell = findShell(request.shellType, security.terminalShellFor(principal), path);
    const permit = await security.authorize({
      principal,
      client: client.name,
      requestId,
      executionId: id,
      command: request.command ?? '',
      mode: 'terminal',
      sessionId: undefined,
      workingDirectory: request.workingDirectory,
      defaultDirectory: executions.sessions.defaultDirectory(principal),
      callerEnvironment: request.environment,
      sessionEnvironment: new Map(),
      path,
      approval: caller.approval,
      terminal: {
        shell: shell.path,
        scripts: options.scripts,
        start: (scripts, about) => shell.start(scripts, { ...about, nonce }),
      },
    });
    signal.throwIfAborted();
    const host = await starting;
    const directory = join(parent, id);
    const createdAtMs = clock.now();
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeTerminalRecord(directory, {
      format: 1,
      id,
      owner: principal,
      instance: instance.id,
      sessionName,
      shell: shell.name,
      createdAtMs,
      marker: permit.marker,
      autoSaves: request.autoSaves,
    });
    const entry = remember({ id, owner: principal, sessionName, createdAtMs, host });
    try {
      const spec = {
        id,
        owner: principal,
        sessionName,
        shell: shell.name,
        directory,
        dimensions: request.dimensions,
        createdAtMs,
        autoSaves: request.autoSaves,
        argv: permit.argv,
        environment: permit.environment,
        workingDirectory: permit.directory,
        marker: permit.marker,
        wall: permit.wall,
        limits: permit.limits,
        masked: permit.masked,
        maxDurationMs: permit.maxDurationMs,
        maxBytes: settings.limits.maxOutputBytes,
        tailBytes: LIMITS.outputTailBytes,
        nonce,
        hasCommandMark: shell.hasCommandMark,
        rules: security.rulesOf(principal),
        command: request.command,
      };
      const { state, facts } = await host.ask('create', spec, signal);
      entry.facts = facts;
      return state;
    } catch (error) {
      // Whoever gave up while its shell started never learns its id.
      await host.ask('close', { id, savesHistory: false }).catch(() => undefined);
      if (forget(id)) options.discard(id);
      throw error;
    }
  };

  return async (request, caller, place) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await tryOpen(request, caller, place);
      } catch (error) {
        security.sandbox.forget(caller.principal);
        if (!isWallFailure(error) || attempt === WALL_ATTEMPTS) throw error;
      }
    }
  };
}

/** As for every execution: what was to be mounted may be gone by then, and nothing was run. */
const WALL_ATTEMPTS = 3;

const isWallFailure = (error: unknown): boolean =>
  error instanceof ShellServerError && error.details?.['sandbox'] === NOT_SET_UP;
