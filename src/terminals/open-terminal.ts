/** Opens a terminal: an execution that the host starts, its first prompt, and the command that is typed there. */
import { randomText, renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Settings } from '../base/settings.ts';
import type { Execution, Executions, TerminalStart } from '../executions/executions.ts';
import type { Security } from '../security/security.ts';
import type { OwnHost } from './hosts.ts';
import type { Dimensions, TerminalState } from './protocol.ts';
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
  readonly sessionName: string | undefined;
  readonly shellType: ShellType | undefined;
  readonly dimensions: Dimensions;
  readonly workingDirectory: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** Whose directory and variables it begins with. */
  readonly sessionId?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly autoSaves: boolean;
  /** Typed into the shell when its prompt is there. */
  readonly command: string | undefined;
}

export interface Opened {
  readonly execution: Execution;
  readonly state: TerminalState;
}

export interface OpeningOptions {
  readonly settings: Settings;
  readonly security: Security;
  readonly executions: Executions;
  readonly scripts: string;
  readonly register: Register;
  hostOf(): Promise<OwnHost>;
}

type Open = (request: CreateRequest, caller: Caller) => Promise<Opened>;

export function createOpening(options: OpeningOptions): Open {
  const { settings, security, executions, register, hostOf } = options;

  return async (request, caller) => {
    const { principal, client, requestId, approval, signal } = caller;
    // It takes longer to start than everything else that comes before it is needed.
    const starting = hostOf();
    starting.catch(() => undefined);
    const path = await executions.commandPath();
    const shell = findShell(request.shellType, security.shells.configured, path);
    const { sessionName, release } = register.reserve(principal, request.sessionName);
    const nonce = randomText();
    let state: TerminalState | undefined;

    const open: TerminalStart['open'] = async ({ record, permit, directory }) => {
      const host = await starting;
      const id = renameId(record.id, 'term');
      const entry = register.remember({ id, owner: principal, sessionName, host });
      release();
      const spec = {
        id,
        owner: principal,
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
        rules: security.rulesOf(principal),
        command: request.command,
      };
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
      const execution = await executions.start(
        {
          principal,
          client: client.name,
          requestId,
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
          approval,
          terminal: {
            record: { sessionName, shell: shell.name, autoSaves: request.autoSaves },
            command: request.command ?? '',
            shell: {
              shell: shell.path,
              scripts: options.scripts,
              start: (scripts, about) => shell.start(scripts, { ...about, nonce }),
            },
            open,
          },
        },
        signal,
      );
      if (state === undefined) throw new Error(`${execution.record.id} was started without a terminal`);
      return { execution, state };
    } finally {
      release();
    }
  };
}
