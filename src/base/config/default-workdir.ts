/**
 * The directory in which commands run that name none: it exists, and is inside the allowed directories.
 */
import { mistake } from './layers.ts';
import { directoryProblem, isInside, realPathOf, startDirectory } from './paths.ts';
import type { Held, Origin, ResolveContext } from './resolved.ts';

export interface DefaultWorkdir {
  readonly path: string;
  readonly origin: Origin;
  readonly warnings: readonly string[];
}

export function resolveDefaultWorkdir(
  typed: Held<string>,
  allowed: Held<readonly string[]>,
  context: ResolveContext,
): DefaultWorkdir {
  const path = typed.value;
  if (path === undefined) return chooseDirectory(allowed, context, []);

  const where = typed.origin.where ?? 'default';
  const problem = directoryProblem(path);
  if (problem !== undefined) {
    context.mistakes.push(mistake('default_workdir', `${JSON.stringify(path)} ${problem}`, where));
    return { path, origin: typed.origin, warnings: [] };
  }
  const real = realPathOf(path);
  if (allowed.value?.some((directory) => isInside(real, realPathOf(directory))) ?? true) {
    return { path, origin: typed.origin, warnings: [] };
  }
  const outside = `${JSON.stringify(path)} is outside security.allowed_directories`;
  if (allowed.origin.source === 'project') {
    // The project shut it out, which it may; the operator's directory is no mistake of theirs.
    return chooseDirectory(allowed, context, [
      mistake('default_workdir', `${outside}, as the project narrows them`, allowed.origin.where ?? where),
    ]);
  }
  context.mistakes.push(mistake('default_workdir', outside, where));
  return { path, origin: typed.origin, warnings: [] };
}

function chooseDirectory(
  allowed: Held<readonly string[]>,
  context: ResolveContext,
  warnings: readonly string[],
): DefaultWorkdir {
  const origin: Origin = { source: 'default' };
  const first = allowed.value?.find((directory) => directoryProblem(directory) === undefined);
  // "/" restricts nothing, and nobody has work to do there.
  if (allowed.value !== undefined && first !== '/') {
    if (first !== undefined) return { path: first, origin, warnings };
    const where = allowed.origin.where ?? 'default';
    context.mistakes.push(mistake('security.allowed_directories', 'none of them is there to work in', where));
    return { path: context.cwd, origin, warnings };
  }
  const path = startDirectory(context.cwd, context.homedir, context.platform);
  const problem = directoryProblem(path);
  if (problem !== undefined) {
    context.mistakes.push(
      mistake('default_workdir', `${JSON.stringify(path)} ${problem}; name another`, 'default'),
    );
  }
  return { path, origin, warnings };
}
