/** What commands write, and whether it lies in the workspace; files that others run or obey are never written to. */
import { once } from '../../base/once.ts';
import {
  OWN_CACHE,
  PROTECTED_IN_HOME,
  PROTECTED_IN_WORKSPACE,
  PROTECTED_NAMES,
  TOOL_CACHES,
} from '../sandbox/protected-paths.ts';
import { OPEN, wordOf } from './evaluate-word.ts';
import type { Cwds, Invocation } from './findings.ts';
import { baseName } from './follow.ts';
import { subcommandOf } from './gadgets.ts';
import { isInside, type RealPath, resolvePath } from './resolve-path.ts';
import { PROTECTED_FILES } from './tables/path-rules.ts';
import { GIT_READS, GIT_WRITERS, WRITERS } from './tables/writers.ts';
import { argumentPaths, type PathUse, pathUse } from './working-directory.ts';

type WriteProblem = 'outside' | 'protected' | 'undecidable';

/** Why this must not be written to; undefined where it may. */
export type Workspace = (use: PathUse) => WriteProblem | undefined;

export function createWorkspace(roots: readonly string[], realPath: RealPath, home: string): Workspace {
  // Most commands write nothing, and each root is a look at the disk.
  const places = once(() => [...new Set(roots.flatMap((root) => [root, realPath(root)]))]);
  const problemAt = (path: string, directory: string): WriteProblem | undefined => {
    const real = resolvePath(directory, path, realPath);
    const root = places().find((place) => isInside(real, place));
    if (root === undefined) return 'outside';
    const isKept = isProtected(path) || isProtected(real.slice(root.length)) || isStartUp(real, home);
    return isKept ? 'protected' : undefined;
  };
  const problemIn = (path: string, cwds: Cwds): WriteProblem | undefined => {
    if (path.includes(OPEN)) return 'undecidable';
    if (path.startsWith('/')) return problemAt(path, '/');
    for (const directory of cwds) {
      const problem = directory === null ? 'undecidable' : problemAt(path, directory);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  return ({ path, readings, cwds }) => {
    const read = path === undefined ? readings : [path];
    if (read.length === 0) return 'undecidable';
    return read.map((each) => problemIn(each, cwds)).find((problem) => problem !== undefined);
  };
}

function isProtected(path: string): boolean {
  if (PROTECTED_FILES.test(path) || PROTECTED_NAMES.test(path)) return true;
  const whole = `/${path.replace(/^(?:\.?\/)+/, '')}/`;
  return PROTECTED_IN_WORKSPACE.some((name) => whole.includes(`/${name}/`));
}

/** What shells and sessions of the user start with: as in the sandbox, everything in the home directory with a dot. */
function isStartUp(path: string, home: string): boolean {
  const own = path.startsWith(`${home}/`) ? path.slice(home.length + 1) : '';
  const isCache = [OWN_CACHE, ...TOOL_CACHES].some((name) => isInside(own, name));
  return (own.startsWith('.') && !isCache) || PROTECTED_IN_HOME.some((name) => isInside(own, name));
}

/** What a program writes whose work that is; undefined for all others. `isNamed`: what the list has in so many words. */
export function writtenBy(
  { args, cwds, ownWords }: Invocation,
  isNamed: (word: string) => boolean,
): readonly PathUse[] | undefined {
  const program = baseName(args[0]?.value ?? '');
  if (program === 'git') {
    const { subcommand = '', after } = subcommandOf(program, args.slice(1));
    const isWriting = GIT_WRITERS.has(subcommand) && !GIT_READS.has(wordOf(after[0]));
    return isWriting && !isNamed(subcommand) ? [] : undefined;
  }
  const kind = Object.hasOwn(WRITERS, program) ? WRITERS[program] : undefined;
  if (kind === undefined) return undefined;
  const own = args.slice(1, ownWords);
  const words = own.map(wordOf);
  const paths =
    kind === 'assigned'
      ? own.filter((_, index) => words[index]?.startsWith('of='))
      : argumentPaths(own, program);
  const isTargetFirst = words.some((word) => /^-[a-zA-Z]*t|^--t/.test(word));
  const written = kind === 'last' && !isTargetFirst ? paths.slice(-1) : paths;
  return written.flatMap((arg) => pathUse(arg, cwds));
}
