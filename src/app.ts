/**
 * Builds the modules in order and disposes them in reverse. Nothing here touches the disk or starts a process: some
 * clients start a server twice, only to ask what it is.
 */
import { join } from 'node:path';
import { systemClock } from './base/clock.ts';
import type { PresetName } from './base/config/presets.ts';
import { createDisposables } from './base/dispose.ts';
import { messageOf } from './base/errors.ts';
import { createHeap } from './base/heap.ts';
import { LIMITS } from './base/limits.ts';
import type { Log } from './base/log.ts';
import type { Settings } from './base/settings.ts';
import {
  createExecutions,
  createInstance,
  type LimitEnforcement,
  ownProcesses,
} from './executions/executions.ts';
import { createOutputs, createSearchThread } from './outputs/outputs.ts';
import { createQuestions, createSecretQuestions } from './security/questions/questions.ts';
import type { Sandbox, SandboxState } from './security/sandbox/sandbox.ts';
import { type AuditHealth, createSecurity, type Security } from './security/security.ts';
import {
  approvalLine,
  type CallEntry,
  callLine,
  createDispatch,
  createPageLinks,
  type Dispatch,
  deniedRequestLine,
} from './server/dispatch.ts';
import type { DeniedRequest } from './server/http/http.ts';
import { type InstructionFacts, instructionsFor, sandboxFacts } from './server/instructions.ts';
import type { ServerFactory } from './server/server.ts';
import { LOCAL_PRINCIPAL } from './server/stdio.ts';
import { createTerminals, type Terminals } from './terminals/terminals.ts';
import {
  createLastLooks,
  findAliases,
  type Modules,
  patienceMs,
  pickMethods,
  pickTools,
} from './tools/tools.ts';

export interface App {
  /** Server objects of the SDK, which is loaded for them: over stdio most clients are served without. */
  factory(): Promise<ServerFactory>;
  /** Every call; the HTTP edge answers methods without a handshake through it. */
  readonly dispatch: Dispatch;
  /** Shell, platform, host and user: shown at start-up and in the instructions. */
  readonly facts: InstructionFacts;
  /** Whether commands have a sandbox around them; found out by trying. */
  sandbox(): Promise<SandboxState>;
  /** What the operator should know about the rules for commands. */
  readonly warnings: readonly string[];
  /** Who keeps each limit on this machine. */
  limitEnforcement(): Promise<LimitEnforcement>;
  /** The PATH that commands see. */
  commandPath(): Promise<string>;
  /** What would be decided about a command; nothing is run, and nothing is recorded. */
  readonly explain: Security['explain'];
  /** Tightens what holds for a principal in this process alone, as it did in another. */
  readonly retighten: Security['retighten'];
  /** A token says what its principal starts with. */
  admit(principal: string, preset: PresetName | undefined): void;
  /** Records who was not let in over HTTP; throws where that cannot be written. */
  recordDeniedRequest(entry: DeniedRequest): void;
  /** Called with every call that ended. */
  onCallEnded(listener: (entry: CallEntry) => void): void;
  /** What runs now, for all principals, and whether the server can do its work. */
  health(): AppHealth;
  /** Ends everything but detached work. Calling it again waits for the first call. */
  dispose(): Promise<void>;
}

export interface AppHealth {
  readonly executions: number;
  readonly terminals: number;
  readonly audit: AuditHealth;
}

export interface AppOptions {
  readonly settings: Settings;
  readonly version: string;
  readonly wrapperPath: string;
  /** The program of the process that holds terminals. */
  readonly hostPath: string;
  /** The program of the thread that searches large outputs. */
  readonly searchWorkerPath: string;
  /** The start-up files of shells in terminals. */
  readonly scripts: string;
  /** The instance's id, and its sandbox, which was asked about already. */
  readonly instanceId: string;
  readonly sandbox: Sandbox;
  readonly facts: InstructionFacts;
  readonly log: Log;
  /** Called with every execution that ended; keeps the process small unless it belongs to a test. */
  readonly tidy?: () => void;
}

export function createApp(options: AppOptions): App {
  const { settings, version, wrapperPath, hostPath, scripts, sandbox, facts, log } = options;
  const clock = systemClock;
  const disposables = createDisposables((name, error) =>
    log.error('a module could not be closed', { name, error: messageOf(error) }),
  );
  const instance = createInstance(settings.stateDir, options.instanceId);
  const security = createSecurity({
    settings,
    instance: instance.id,
    auditDirectory: join(settings.stateDir, 'audit'),
    clock,
    log,
    sandbox,
    protectedProcesses: ownProcesses,
  });
  disposables.add('security', security.dispose);
  const directory = join(settings.stateDir, 'executions');
  const outputs = createOutputs({
    directory,
    limits: { maxOutputBytes: settings.limits.maxOutputBytes, tailBytes: LIMITS.outputTailBytes },
    retention: settings.retention,
    clock,
    log,
  });
  const asking = { stateDir: settings.stateDir, instance: instance.id, clock };
  const questions = createQuestions({ ...asking, seconds: LIMITS.approvalSeconds });
  const links = createPageLinks(questions);
  disposables.add('questions', async () => questions.dispose());
  const searchThread = createSearchThread(options.searchWorkerPath);
  disposables.add('search thread', searchThread.dispose);
  const executions = createExecutions({
    onTakenOver: (dead) => terminals.takeOver(dead),
    salvage: (record, bundle) => terminals.salvage(record, bundle),
    settings,
    security,
    outputs,
    instance,
    directory,
    wrapperPath,
    clock,
    log,
    questions: { ...questions, secrets: createSecretQuestions(asking), links },
    onEnded: options.tidy ?? createHeap().tidy,
  });
  const terminals: Terminals = createTerminals({
    settings,
    security,
    executions,
    instance,
    hostPath,
    scripts,
    log,
  });
  disposables.add('terminals', terminals.dispose);
  // Before the hosts that hold some of them leave.
  disposables.add('executions', executions.dispose);

  const modules: Modules = {
    settings,
    clock,
    outputs,
    searchThread,
    security,
    executions,
    terminals,
    lastLooks: createLastLooks(),
  };
  const tools = pickTools(settings.tools).map((tool) => tool.configured?.(settings) ?? tool);
  let state: SandboxState | undefined;
  const listeners: ((entry: CallEntry) => void)[] = [];

  /** What was done is done, and its answer is owed; only what is yet to run is refused when it cannot be recorded. */
  function recordCall(entry: CallEntry): void {
    for (const listener of listeners) listener(entry);
    try {
      security.audit.write(callLine(entry));
    } catch (error) {
      log.error('the audit log cannot be written', { request_id: entry.requestId, error: messageOf(error) });
    }
  }

  const dispatch = createDispatch({
    tools,
    aliases: findAliases(tools),
    methods: pickMethods(tools),
    modules,
    news: executions.news,
    answers: settings.answers,
    log,
    clock,
    audit: recordCall,
    onApproval: (entry) => security.audit.write(approvalLine(entry)),
    approvals: {
      questions,
      links,
      patienceMs: (client) => patienceMs(client, settings.limits.maxWaitSeconds),
    },
  });
  async function factory(): Promise<ServerFactory> {
    const [{ createServerFactory }, { createDefinitions }] = await Promise.all([
      import('./server/server.ts'),
      import('./server/definitions.ts'),
    ]);
    return createServerFactory({
      dispatch,
      definitions: createDefinitions(tools),
      answers: settings.answers,
      info: { version },
      onCaller: executions.anticipate,
      instructions: (principal, names) =>
        instructionsFor({
          ...facts,
          shell: security.shellFor({ principal }),
          ...sandboxFacts(security.restrictions.of(principal).security),
          sandbox: state,
          tools: names,
        }),
    });
  }
  return {
    factory,
    dispatch,
    facts,
    sandbox: async () => (state = await sandbox.state()),
    warnings: security.restrictions.warnings,
    limitEnforcement: () => executions.limitEnforcement(LOCAL_PRINCIPAL),
    commandPath: executions.commandPath,
    explain: security.explain,
    retighten: security.retighten,
    admit: security.admit,
    recordDeniedRequest: (entry) => security.audit.write(deniedRequestLine(entry)),
    onCallEnded: (listener) => void listeners.push(listener),
    health: () => ({
      executions: executions.count('executions'),
      terminals: executions.count('terminals'),
      audit: security.audit.health(),
    }),
    dispose: disposables.dispose,
  };
}
