/**
 * Builds the modules in order and disposes them in reverse. Nothing here touches the disk or starts a process: some
 * clients start a server twice, only to ask what it is.
 */
import { join } from 'node:path';
import { defineTools, offerTools } from './all-tools.ts';
import { systemClock } from './base/clock.ts';
import { createDisposables, type Disposables } from './base/dispose.ts';
import { messageOf } from './base/errors.ts';
import { LIMITS } from './base/limits.ts';
import type { Log } from './base/log.ts';
import type { Settings } from './base/settings.ts';
import { createExecutions, createInstance, ownProcesses } from './executions/executions.ts';
import { createOutputs, createSearchThread } from './outputs/outputs.ts';
import { createQuestions, createSecretQuestions } from './security/questions/questions.ts';
import type { Sandbox, SandboxState } from './security/sandbox/sandbox.ts';
import { type ConsideredRequest, createSecurity } from './security/security.ts';
import type { Grant } from './server/auth.ts';
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
import type { BootedProgram } from './terminals/boot-host.ts';
import { createTerminals, type Terminals } from './terminals/terminals.ts';
import { createLastLooks, type Modules, patienceMs } from './tools/tools.ts';

export type App = ReturnType<typeof createApp>;

export interface AppOptions {
  readonly settings: Settings;
  readonly version: string;
  readonly wrapperPath: string;
  /** The program of the process that holds terminals. */
  readonly hostPath: string;
  /** One that was started with the first call. */
  readonly takeHost?: () => BootedProgram | undefined;
  /** The program of the thread that searches large outputs. */
  readonly searchWorkerPath: string;
  /** The start-up files of shells in terminals. */
  readonly scripts: string;
  /** The instance's id, and its sandbox, which was asked about already. */
  readonly instanceId: string;
  readonly sandbox: Sandbox;
  readonly facts: InstructionFacts;
  readonly log: Log;
  /** Called with every execution that ended; keeps the process small. */
  tidy(): void;
}

type ExplainRequest = Omit<ConsideredRequest, 'rules'> & {
  readonly tool: string | undefined;
  /** Of the caller's tokens; none: everything. */
  readonly grants: readonly Grant[];
};

export function createApp(options: AppOptions) {
  const { settings, sandbox, facts, log } = options;
  const disposables = createDisposables((name, error) =>
    log.error('a module could not be closed', { name, error: messageOf(error) }),
  );
  const offered = offerTools(settings, log);
  // Rules that cannot be read stop it before anything is made.
  const warnings = offered.warnings();
  const { modules, questions, links } = createModules(options, disposables);
  const { security, executions } = modules;
  let state: SandboxState | undefined;
  const listeners: ((entry: CallEntry) => void)[] = [];

  /** What was done is done, and its answer is owed; only what is yet to run is refused. Returns why it is not recorded. */
  function recordCall(entry: CallEntry): string | undefined {
    for (const listener of listeners) listener(entry);
    try {
      security.audit.write(callLine(entry, security.audit.mask));
    } catch (error) {
      log.error('the audit log cannot be written', { request_id: entry.requestId, error: messageOf(error) });
      return messageOf(error);
    }
    return undefined;
  }

  const dispatch = createDispatch({
    ...offered,
    modules,
    news: executions.news,
    answers: settings.answers,
    log,
    clock: modules.clock,
    audit: recordCall,
    onApproval: (entry) => security.audit.write(approvalLine(entry)),
    approvals: {
      questions,
      links,
      patienceMs: (client) => patienceMs(client, settings.limits.maxWaitSeconds),
    },
  });
  return {
    /** Server objects of the SDK, which is loaded for them: over stdio most clients are served without. */
    factory: () => loadFactory(options, { dispatch, offered, modules, sandbox: () => state }),
    /** Every call; the HTTP edge answers methods without a handshake through it. */
    dispatch,
    facts,
    /** Whether commands have a sandbox around them; found out by trying. */
    sandbox: async () => (state = await sandbox.state()),
    /** What the operator should know about the rules for commands. */
    warnings: [...security.restrictions.warnings, ...warnings],
    limitEnforcement: () => executions.limitEnforcement(LOCAL_PRINCIPAL),
    commandPath: executions.commandPath,
    /** What would be decided about a command; nothing is run, and nothing is recorded. */
    async explain({ tool, grants, ...request }: ExplainRequest) {
      dispatch.checkGranted(tool ?? 'shell_execute', grants);
      const isTyped = tool === 'terminal_send_input';
      return security.explain({ ...request, isTyped, rules: offered.rulesOf(tool) });
    },
    /** Tightens what holds for a principal in this process alone, as it did in another. */
    retighten: security.retighten,
    /** A token says what its principal starts with. */
    admit: security.admit,
    /** Records who was not let in over HTTP; throws where that cannot be written. */
    recordDeniedRequest: (entry: DeniedRequest) => security.audit.write(deniedRequestLine(entry)),
    onCallEnded: (listener: (entry: CallEntry) => void) => void listeners.push(listener),
    health: () => healthOf(modules),
    /** Ends everything but detached work. Calling it again waits for the first call. */
    dispose: disposables.dispose,
  };
}

const healthOf = ({ executions, security }: Pick<Modules, 'executions' | 'security'>) => ({
  executions: executions.count('executions'),
  terminals: executions.count('terminals'),
  audit: security.audit.health(),
});

/** Each with its place in the order in which they are closed, which is the reverse of this one. */
function createModules(options: AppOptions, disposables: Disposables) {
  const { settings, log } = options;
  const clock = systemClock;
  const instance = createInstance(settings.stateDir, options.instanceId);
  const security = createSecurity({
    ...options,
    instance: instance.id,
    auditDirectory: join(settings.stateDir, 'audit'),
    clock,
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
    ...options,
    onTakenOver: (dead) => terminals.takeOver(dead),
    salvage: (record, bundle) => terminals.salvage(record, bundle),
    security,
    outputs,
    instance,
    directory,
    clock,
    questions: { ...questions, secrets: createSecretQuestions(asking), links },
    onEnded: options.tidy,
  });
  const terminals: Terminals = createTerminals({ ...options, security, executions, instance });
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
  return { modules, questions, links };
}

interface Made {
  readonly dispatch: Dispatch;
  readonly offered: ReturnType<typeof offerTools>;
  readonly modules: Modules;
  sandbox(): SandboxState | undefined;
}

async function loadFactory({ settings, version, facts }: AppOptions, made: Made): Promise<ServerFactory> {
  const { dispatch, offered, sandbox } = made;
  const { security, executions } = made.modules;
  const [{ createServerFactory }, definitions] = await Promise.all([
    import('./server/server.ts'),
    defineTools(offered.tools),
  ]);
  return createServerFactory({
    dispatch,
    definitions,
    answers: settings.answers,
    exact: offered.exact,
    info: { version },
    onCaller: executions.anticipate,
    instructions: (principal, names) =>
      instructionsFor({
        ...facts,
        shell: security.shellFor({ principal }),
        ...sandboxFacts(security.restrictions.of(principal).security),
        sandbox: sandbox(),
        tools: names,
      }),
  });
}
