/** The modules below the tools, on a state directory of their own: real processes, real files, a real clock. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { defaultSettings } from '../../src/base/config/defaults.fixture.ts';
import { PRESETS } from '../../src/base/config/presets.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import type { SecuritySettings, Settings } from '../../src/base/settings.ts';
import {
  createExecutions,
  createInstance,
  type Execution,
  type Executions,
  type Outcome,
  ownProcesses,
  runHelper,
  type StartRequest,
  waitForEnd,
} from '../../src/executions/executions.ts';
import type { Outputs } from '../../src/outputs/outputs.ts';
import { createOutputs } from '../../src/outputs/outputs.ts';
import { createSandbox } from '../../src/security/sandbox/sandbox.ts';
import { createSecurity, type Security } from '../../src/security/security.ts';
import { chooseShells } from '../../src/security/shells.ts';
import { createTerminals, type Terminals } from '../../src/terminals/terminals.ts';
import { ROOT } from './root.ts';

export interface World {
  readonly directory: string;
  readonly settings: Settings;
  readonly executions: Executions;
  readonly terminals: Terminals;
  readonly outputs: Outputs;
  readonly security: Security;
  start(command: string, request?: Partial<StartRequest>, signal?: AbortSignal): Promise<Execution>;
  /** Starts it and waits for its end. */
  run(command: string, request?: Partial<StartRequest>): Promise<Ran>;
  /** Ends everything but the detached, and removes the directory unless it was given. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Ran {
  readonly execution: Execution;
  readonly outcome: Outcome;
  readonly stdout: string;
  readonly stderr: string;
}

export interface WorldOptions {
  readonly settings?: Partial<Omit<Settings, 'security'>> & { readonly security?: Partial<SecuritySettings> };
  /** A directory that another world had; it is then not removed. */
  readonly directory?: string;
  readonly log?: Log;
  readonly clock?: Clock;
}

export const WRAPPER = join(ROOT, 'dist/wrapper.js');

export function createWorld(options: WorldOptions = {}): World {
  const directory = options.directory ?? mkdtempSync(join(realpathSync(tmpdir()), 'world-'));
  const work = join(directory, 'work');
  mkdirSync(work, { recursive: true });
  const { security = {}, ...rest } = options.settings ?? {};
  const defaults = defaultSettings(work);
  const settings: Settings = {
    ...defaults,
    shell: '/bin/bash',
    stateDir: join(directory, 'state'),
    http: { ...defaults.http, port: 0 },
    environment: definedOnly(process.env),
    ...rest,
    security: {
      ...defaults.security,
      ...PRESETS[security.preset ?? 'development'],
      // Most tests are about something else; those of the sandbox ask for it.
      sandbox: 'off',
      mode: undefined,
      maxMemoryBytes: undefined,
      maxPids: undefined,
      ...security,
    },
  };
  const log = options.log ?? silentLog;
  const clock = options.clock ?? systemClock;
  const instance = createInstance(settings.stateDir);
  const auditDirectory = join(settings.stateDir, 'audit');
  const guard = createSecurity({
    settings,
    instance: instance.id,
    auditDirectory,
    clock,
    log,
    sandbox: createSandbox({
      settings,
      log,
      runHelper,
      installation: [join(ROOT, 'dist')],
      runDirectory: instance.directory,
      shell: chooseShells(settings.shell, settings.environment['SHELL']).forCommands,
    }),
    protectedProcesses: ownProcesses,
  });
  const executionsDirectory = join(settings.stateDir, 'executions');
  const outputs = createOutputs({
    directory: executionsDirectory,
    limits: { maxOutputBytes: settings.limits.maxOutputBytes, tailBytes: LIMITS.outputTailBytes },
    retention: settings.retention,
    clock,
    log,
  });
  const executions = createExecutions({
    settings,
    security: guard,
    outputs,
    instance,
    directory: executionsDirectory,
    onTakenOver: (dead) => terminals.takeOver(dead),
    salvage: (record, bundle) => terminals.salvage(record, bundle),
    wrapperPath: WRAPPER,
    clock,
    log,
  });
  const terminals = createTerminals({
    settings,
    security: guard,
    executions,
    instance,
    hostPath: join(ROOT, 'dist/pty-host.js'),
    scripts: join(ROOT, 'dist/shell-integration'),
    log,
  });
  const never = new AbortController().signal;

  function start(command: string, request: Partial<StartRequest> = {}, signal = never): Promise<Execution> {
    return executions.start({ ...DEFAULT_REQUEST, command, ...request }, signal);
  }

  return {
    directory,
    settings,
    executions,
    outputs,
    security: guard,
    terminals,
    start,
    async run(command, request) {
      const execution = await start(command, request);
      const outcome = await outcomeOf(execution);
      return {
        execution,
        outcome,
        stdout: textOf(execution, 'stdout') ?? textOf(execution, 'combined') ?? '',
        stderr: textOf(execution, 'stderr') ?? '',
      };
    },
    async [Symbol.asyncDispose]() {
      await executions.dispose();
      await terminals.dispose();
      await guard.dispose();
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

const DEFAULT_REQUEST: StartRequest = {
  principal: 'local',
  client: 'test',
  requestId: 'req_test',
  command: '',
  mode: 'foreground',
  workingDirectory: undefined,
  environment: {},
  inputData: undefined,
  timeoutMs: 30_000,
  captureStderr: true,
  mergeStderr: false,
  sessionId: undefined,
  patienceMs: 30_000,
};

export async function outcomeOf(execution: Execution): Promise<Outcome> {
  if (execution.live !== undefined) {
    await waitForEnd(execution.live, { patienceMs: 60_000 }, new AbortController().signal);
  }
  if (execution.record.outcome === undefined) throw new Error('it has not ended');
  return execution.record.outcome;
}

export function textOf(execution: Execution, stream: 'stdout' | 'stderr' | 'combined'): string | undefined {
  if (!execution.record.streams.includes(stream)) return undefined;
  const source = execution.bundle.source(stream);
  try {
    return source?.read(0, source.size()).toString('utf8');
  } finally {
    source?.close();
  }
}

/** Until a trap is set, a signal does what it does to anybody. */
export async function untilPrinted(execution: Execution, text: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (textOf(execution, 'stdout')?.includes(text) === true) return;
    await sleep(10);
  }
  throw new Error(`${JSON.stringify(text)} was not printed`);
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
