/** Opens a terminal: an execution that the host starts, its first prompt, and the command that is typed there. */
import { randomText, renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Settings } from '../base/settings.ts';
import type { Executions, TerminalStart } from '../executions/executions.ts';
import type { Security } from '../security/security.ts';
import type { OwnHost } from './hosts.ts';
import type { Dimensions, TerminalSpec, TerminalState } from './protocol.ts';
import type { Register } from './register.ts';
import { findShell, type ShellType } from './shell-start.ts';

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
  readonly sessionName?: string | undefined;
  readonly shellType?: ShellType | undefined;
  readonly dimensions: Dimensions;
  readonly workingDirectory?: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** Whose directory and variables it begins with. */
  readonly sessionId?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly autoSaves: boolean;
  /** Typed into the shell when its prompt is there. */
  readonly command?: string | undefined;
}

export interface OpeningOptions {
  readonly settings: Settings;
  readonly security: Security;
  readonly executions: Executions;
  readonly scripts: string;
  readonly register: Register;
  hostOf(): Promise<OwnHost>;
}

/** One that is being opened. */
interface Opening {
  readonly request: CreateRequest;
  readonly caller: Caller;
  readonly shell: ReturnType<typeof findShell>;
  readonly sessionName: string;
  readonly nonce: string;
}

export function createOpening(options: OpeningOptions) {
  const { security, executions, register, hostOf } = options;

  return async (request: CreateRequest, caller: Caller) => {
    const { principal, signal } = caller;
    // It takes longer to start than everything else that comes before it is needed.
    const starting = hostOf();
    starting.catch(() => undefined);
    // So that they are made at the same time; that it cannot be made is found out again.
    security.expectedSandbox(principal).catch(() => undefined);
    const path = await executions.commandPath();
    const shell = findShell(request.shellType, security.terminalShellFor(principal), path);
    const { sessionName, release } = register.reserve(principal, request.sessionName);
    const opening: Opening = { request, caller, shell, sessionName, nonce: randomText() };
    let state: TerminalState | undefined;

    const open: TerminalStart['open'] = async (start) => {
      const host = await starting;
      const spec = describeTerminal(options, opening, start);
      const { id } = spec;
      const entry = register.remember({ id, owner: principal, sessionName, host });
      entry.entered = request.command;
      release();
      try {
        const created = await host.ask('create', spec, signal);
        ({ state } = created);
        entry.facts = created.facts;
        return { ...created.process, wrapper: host.identity };
      } catch (error) {
        // A caller that gave up while its shell started never learns its id.
        await host.ask('close', { id, savesHistory: false }).catch(() => undefined);
        register.entries.delete(id);
        throw error;
      }
    };

    try {
      const execution = await executions.start(describeStart(options, opening, open), signal);
      if (state === undefined) throw new Error(`${execution.record.id} was started without a terminal`);
      return { execution, state };
    } finally {
      release();
    }
  };
}

/** For the host. */
function describeTerminal(
  { settings, security }: OpeningOptions,
  { request, caller, shell, sessionName, nonce }: Opening,
  { record, permit, directory }: Parameters<TerminalStart['open']>[0],
): TerminalSpec {
  return {
    id: renameId(record.id, 'term'),
    owner: caller.principal,
    sessionName,
    shell: shell.name,
    directory,
    dimensions: request.dimensions,
    createdAtMs: record.createdAtMs,
    autoSaves: request.autoSaves,
    permit,
    timeoutMs: record.timeoutMs,
    maxBytes: settings.limits.maxOutputBytes,
    tailBytes: LIMITS.outputTailBytes,
    nonce,
    hasCommandMark: shell.hasCommandMark,
    rules: security.rulesOf(caller.principal),
    isListed: security.hasLists(caller.principal),
    command: request.command,
  };
}

function describeStart(
  { scripts }: OpeningOptions,
  { request, caller, shell, sessionName, nonce }: Opening,
  open: TerminalStart['open'],
): Parameters<Executions['start']>[0] {
  return {
    principal: caller.principal,
    client: caller.client.name,
    requestId: caller.requestId,
    command: request.command ?? shell.name,
    mode: 'terminal',
    workingDirectory: request.workingDirectory,
    environment: request.environment,
    inputData: undefined,
    timeoutMs: request.timeoutMs,
    captureStderr: false,
    mergeStderr: false,
    sessionId: request.sessionId,
    patienceMs: 0,
    approval: caller.approval,
    terminal: {
      record: { sessionName, shell: shell.name, autoSaves: request.autoSaves },
      command: request.command ?? '',
      shell: {
        shell: shell.path,
        scripts,
        start: (files, about) => shell.start(files, { ...about, nonce }),
      },
      open,
    },
  };
}
