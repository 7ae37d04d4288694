/**
 * What is thought about a request before anything is prepared for it: its text and variables, its directory, and what
 * the policy says. Executions and `policy explain` both come by here, so that the one cannot say what the other does not do.
 */
import { homedir } from 'node:os';
import { realPathOf } from '../base/config/paths.ts';
import type { Settings } from '../base/settings.ts';
import type { Directories } from './directories.ts';
import { checkDangerous, checkEnvironment, inheritedValue } from './environment.ts';
import { checkCommand, definedEntries, type LaunchRequest, startIn } from './launch-request.ts';
import { combinePolicies } from './policy/policy.ts';
import type { Judgement, Policy, ProtectedProcess } from './policy/policy-types.ts';
import { nameProgram } from './programs.ts';
import { type RestrictionStore, shellToolPolicy } from './restrictions.ts';

export type ConsideredRequest = Pick<
  LaunchRequest,
  | 'principal'
  | 'command'
  | 'argv'
  | 'rules'
  | 'terminal'
  | 'workingDirectory'
  | 'defaultDirectory'
  | 'callerEnvironment'
  | 'sessionEnvironment'
>;

export interface Considered {
  readonly directory: string;
  readonly policy: Policy;
  readonly argv: readonly string[] | undefined;
  /** Undefined where there is nothing to judge: an empty terminal. */
  readonly judgement: Judgement | undefined;
}

export interface Consider {
  /** Throws where the request cannot be what it says, or is in a directory that is not allowed. */
  consider(request: ConsideredRequest): Considered;
  /** What holds for a principal, and for the one tool that has rules of its own. */
  policyOf(request: Pick<LaunchRequest, 'principal' | 'rules'>): Policy;
}

export function createConsider(options: {
  readonly settings: Settings;
  readonly restrictions: RestrictionStore;
  readonly directories: Directories;
  protectedProcesses(): readonly ProtectedProcess[];
}): Consider {
  const { settings, restrictions, directories } = options;
  const shellTool = shellToolPolicy(settings.shellTool);

  function policyOf({ principal, rules }: Pick<LaunchRequest, 'principal' | 'rules'>): Policy {
    const { policy } = restrictions.of(principal);
    return rules === undefined || shellTool === undefined ? policy : combinePolicies(policy, shellTool);
  }

  function judge(request: ConsideredRequest, at: Omit<Considered, 'judgement'>): Judgement | undefined {
    if (request.terminal !== undefined && request.command === '') return undefined;
    const { security } = restrictions.of(request.principal);
    const passed = { mode: security.environment, allowed: security.allowedEnvironment };
    const context = {
      directory: at.directory,
      home: homedir(),
      realPath: realPathOf,
      inherited: (name: string) => inheritedValue(name, settings.environment, passed),
      environment: {
        ...Object.fromEntries(definedEntries(request.sessionEnvironment)),
        ...request.callerEnvironment,
      },
      protectedProcesses: options.protectedProcesses(),
    };
    return at.argv === undefined
      ? at.policy.judge(request.command, context)
      : at.policy.judgeArgv(at.argv, context);
  }

  return {
    policyOf,
    consider(request) {
      const { principal, workingDirectory, defaultDirectory } = request;
      if (request.terminal === undefined || request.command !== '') checkCommand(request.command);
      checkEnvironment(request.callerEnvironment);
      checkDangerous(request.callerEnvironment);
      const within = request.rules === undefined ? undefined : settings.shellTool.allowedDirectories;
      const directory = directories.check(
        workingDirectory ?? startIn(defaultDirectory, within),
        defaultDirectory,
        { principal, within, isDefault: workingDirectory === undefined },
      );
      const policy = policyOf(request);
      const argv = request.argv === undefined ? undefined : nameProgram(request.argv, policy);
      const at = { directory, policy, argv };
      return { ...at, judgement: judge(request, at) };
    },
  };
}
