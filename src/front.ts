/**
 * What a client meets first: a handshake and a list are answered from settings and data, and the rest of the server is
 * loaded afterwards, or with the first call. Nothing here touches the disk, and the only processes are those that try the
 * sandbox, without which the instructions could not say what holds.
 */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { App, AppOptions } from './app.ts';
import { hasAllowList, ownList } from './base/config/in-force.ts';
import { createHeap } from './base/heap.ts';
import { createId } from './base/ids.ts';
import { once } from './base/once.ts';
import type { Settings } from './base/settings.ts';
import { currentUser } from './base/user.ts';
import { runHelper } from './executions/helper.ts';
import { createSandbox } from './security/sandbox/sandbox.ts';
import { chooseShells, judgedShell } from './security/shells.ts';
import { type Catalogue, pickMethodNames, pickNamed } from './server/catalogue.ts';
import type { ToolDefinition } from './server/definitions.ts';
import { type InstructionFacts, instructionsFor, sandboxFacts } from './server/instructions.ts';
import type { Offer } from './server/stdio.ts';
import { type BootedProgram, bootHost } from './terminals/boot-host.ts';

/** After the handshake and the lists, which clients wait for. The first call then does not wait for the rest to load. */
const LOAD_AFTER_MS = 300;

export type Front = Awaited<ReturnType<typeof createFront>>;

export interface FrontOptions
  extends Omit<AppOptions, 'instanceId' | 'sandbox' | 'facts' | 'takeHost' | 'tidy'> {
  readonly catalogue: Catalogue;
  /** Directories with the program itself: no command may change them. */
  readonly installation: readonly string[];
  /** Instead of what keeps this process small. */
  readonly tidy?: () => void;
}

export async function createFront(options: FrontOptions) {
  const { settings, catalogue, log } = options;
  const instanceId = createId('inst');
  const shell = chooseShells(settings.shell, settings.environment['SHELL']).forCommands;
  const sandbox = createSandbox({
    settings,
    runHelper,
    installation: options.installation,
    shell,
    runDirectory: join(settings.stateDir, 'run', instanceId),
    log,
  });
  const facts = factsOf(settings, shell);
  let isLoaded = false;
  let loading: NodeJS.Timeout | undefined;
  let host: BootedProgram | undefined;
  function takeHost(): BootedProgram | undefined {
    const taken = host;
    host = undefined;
    return taken?.isThere() === true ? taken : undefined;
  }
  const load = once(async () => {
    const { createApp } = await import('./app.ts');
    return { createApp, tidy: options.tidy ?? createHeap().tidy };
  });
  const app = once(async () => {
    isLoaded = true;
    const { createApp, tidy } = await load();
    return createApp({ ...options, instanceId, sandbox, facts, takeHost, tidy });
  });
  const definitions = await definitionsFor(options);

  /** A terminal's process takes as long to start as the server to load. */
  function loadFor(tool: string | undefined): Promise<App> {
    const needsHost =
      !isLoaded && tool === 'terminal_create' && definitions.some(({ name }) => name === tool);
    if (needsHost) host = bootHost(options.hostPath);
    return app();
  }

  const offer: Offer = {
    definitions,
    answers: settings.answers,
    exact: catalogue.exact,
    methods: pickMethodNames(catalogue, definitions),
    info: { version: options.version },
    instructions: async (_, tools) => instructionsFor({ ...facts, sandbox: await sandbox.state(), tools }),
    dispatch: async (tool) => (await loadFor(tool)).dispatch,
    onCaller() {
      // What is wrong with it the first call says.
      loading ??= setTimeout(() => void load().catch(() => undefined), LOAD_AFTER_MS).unref();
    },
  };

  return {
    offer,
    /** Shell, platform, host and user: shown at start-up and in the instructions. */
    facts,
    /** Whether commands have a sandbox around them; found out by trying, once. */
    sandbox: sandbox.state,
    /** The whole server. Rejects where the rules for commands cannot be read. */
    app,
    /** Ends everything but detached work. */
    async dispose(): Promise<void> {
      clearTimeout(loading);
      host?.dismiss();
      await (isLoaded ? (await app()).dispose() : sandbox.dispose());
    },
  };
}

function factsOf({ security, defaultWorkdir }: Settings, shell: string): InstructionFacts {
  return {
    shell: judgedShell(shell, listsOf(security)),
    platform: `${process.platform} ${process.arch}`,
    host: hostname(),
    user: currentUser().username,
    defaultDirectory: defaultWorkdir,
    ...sandboxFacts(security),
  };
}

/**
 * Whether there are rules for commands of which something must be said at the start: they may be wrong and must then
 * stop it, or allow more than they seem to, as those of the preset `minimal` do.
 */
export function hasRules({ security, shellTool }: Pick<Settings, 'security' | 'shellTool'>): boolean {
  const { preset, blockedCommands, askCommands, expose } = security;
  const lists = [blockedCommands, askCommands, expose, shellTool.blockedCommands];
  return preset === 'minimal' || ownList(security) !== undefined || lists.some(({ length }) => length > 0);
}

/** Whether lists name commands, without reading them: what a list says is the policy's business. */
function listsOf(security: Settings['security']): { hasAllowList: boolean; hasLists: boolean } {
  const isListed = hasAllowList(security);
  const hasLists = isListed || security.blockedCommands.length > 0 || security.askCommands.length > 0;
  return { hasAllowList: isListed, hasLists };
}

async function definitionsFor(options: FrontOptions): Promise<readonly ToolDefinition[]> {
  const { settings, catalogue, log } = options;
  const picked = pickNamed(catalogue.definitions, catalogue.toolsets, settings.tools);
  if (!picked.some(({ name }) => catalogue.configured.includes(name))) return picked;
  const { defineTools, offerTools } = await import('./all-tools.ts');
  return defineTools(offerTools(settings, log).tools);
}
