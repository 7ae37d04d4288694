/** A program that is started without a shell: how it is called, and whether it is there. */
import { join, resolve } from 'node:path';
import { ShellServerError } from '../base/errors.ts';
import { hintForMissing, isExecutable, type Place } from './explain/explain-missing.ts';
import type { Policy } from './policy/policy-types.ts';

/**
 * Under an allow-list the case of a command does not matter, and what is judged is what is run: a name that is
 * only listed in another case is taken for the one in lower case.
 */
export function nameProgram(argv: readonly string[], policy: Policy): readonly string[] {
  const [typed = '', ...args] = argv;
  if (!policy.hasAllowList || typed.includes('/')) return argv;
  const listed = Object.keys(policy.allowedTable());
  const lower = typed.toLowerCase();
  if (listed.includes(typed) || !listed.some((name) => name.toLowerCase() === lower)) return argv;
  return [lower, ...args];
}

/** Throws EXECUTION_001 where it is not there, before anything is prepared for it. */
export function checkProgram(name: string, where: Place): void {
  // A path may lead elsewhere in the sandbox than it does for us.
  if (process.platform === 'win32' || (where.isSandboxed && name.includes('/'))) return;
  const places = name.includes('/')
    ? [resolve(where.directory, name)]
    : where.path.split(':').map((entry) => join(resolve(where.directory, entry), name));
  if (places.some(isExecutable)) return;
  throw new ShellServerError('EXECUTION_001', `${name}: command not found`, {
    hint: /^[^\s:]{1,99}$/.test(name)
      ? hintForMissing(name, where)
      : 'Check its name; without a shell there are no builtins, aliases or operators.',
    details: { program: name, path: where.path },
  });
}
