/**
 * What is thought about a request before anything is prepared for it: its text and variables, its directory, and what
 * the policy says. Executions and `policy explain` both come by here, so that the one cannot say what the other does not do.
 */
import { homedir } from 'node:os';
import { realPathOf } from '../base/config/paths.ts';
import type { Settings } from '../base/settings.ts';
import type { Directories } from './directories.ts';
import { checkDangerous, checkEnvironment, inheritedValue } from './environment.ts';
import { type ConsideredRequest, checkCommand, definedEntries, startIn } from './launch-request.ts';
import { combinePolicies } from './policy/policy.ts';
import type { Judgement, Policy, ProtectedProcess } from './policy/policy-types.ts';
import { nameProgram } from './programs.ts';
import type { RestrictionStore } from './restrictions.ts';

interface Considered {
  readonly directory: string;
  readonly policy: Policy;
  readonly argv: readonly string[] | undefined;
  /** Undefined where there is nothing to judge: an empty terminal. */
  readonly judgement: Judgement | undefined;
}

export type Consider = ReturnType<typeof createConsider>;

export function createConsider(options: {
  readonly settings: Settings;
  readonly restrictions: RestrictionStore;
  readonly directories: Directories;
  protectedProcesses(): readonly ProtectedProcess[];
}) {
  const { settings, restrictions, directories } = options;

  /** What holds for a principal, with the extra rules of a request. */
  function policyOf({ principal, rules }: Pick<ConsideredRequest, 'principal' | 'rules'>): Policy {
    const { policy } = restrictions.of(principal);
    return rules?.policy === undefined ? policy : combinePolicies(policy, rules.policy);
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
      ...(request.isTyped === true && { isContinued: true }),
    };
    return at.argv === undefined
      ? at.policy.judge(request.command, context)
      : at.policy.judgeArgv(at.argv, context);
  }

  return {
    policyOf,
    /** Throws where the request cannot be what it says, or is in a directory that is not allowed. */
    consider(request: ConsideredRequest): Considered {
      const { principal, workingDirectory, defaultDirectory } = request;
      if (request.terminal === undefined || request.command !== '') checkCommand(request.command);
      checkEnvironment(request.callerEnvironment);
      checkDangerous(request.callerEnvironment);
      const within = request.rules?.allowedDirectories;
      const directory = directories.check(
        workingDirectory ?? startIn(defaultDirectory, within),
        defaultDirectory,
        { principal, within, isDefault: workingDirectory === undefined, session: request.carriedBy },
      );
      const policy = policyOf(request);
      const argv = request.argv === undefined ? undefined : nameProgram(request.argv, policy);
      const at = { directory, policy, argv };
      return { ...at, judgement: judge(request, at) };
    },
  };
}
