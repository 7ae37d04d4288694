/** Paths outside the allowed directories. */
import { OPEN } from './evaluate-word.ts';
import type { Findings } from './findings.ts';
import type { Denial, JudgeContext } from './policy-types.ts';
import { safeRealPath } from './resolve-path.ts';
import { escapeText } from './show-decision.ts';
import { allPaths, createBoundary, type PathUse } from './working-directory.ts';

interface Limits {
  readonly directories: readonly string[] | undefined;
  readonly openPaths: readonly string[];
  /** The allow-list, if there is one: it is stricter about unknown paths. */
  readonly allow: unknown;
}

export function findOutside(
  findings: Findings,
  { directories, openPaths, allow }: Limits,
  context: JudgeContext,
): Denial | undefined {
  if (directories === undefined) return undefined;
  const locate = createBoundary([...directories, ...openPaths], safeRealPath(context.realPath), context.home);
  const { certain, guessed } = allPaths(findings, context);
  const isOutside = ({ path, readings, cwds }: PathUse): boolean =>
    (path === undefined ? readings : [path]).some((each) => locate(each, cwds) === 'outside');
  const isOpen = ({ path, readings, cwds, isEntered }: PathUse): boolean => {
    // Wherever the shell is, it got there by what was judged: only `..` leads out.
    if (path !== undefined)
      return (allow !== undefined || /(?:^|\/)\.\.(?:\/|$)/.test(path)) && locate(path, cwds) === 'unknown';
    return (
      allow !== undefined ||
      (isEntered === true && (readings.length === 0 || readings.some((each) => each.includes(OPEN))))
    );
  };
  const found =
    certain.find((use) => isOutside(use) || isOpen(use)) ??
    guessed.find((use) => isOutside(use) && use.path !== '~');
  if (found === undefined) return undefined;
  const { path, text, cwds } = found;
  const isLost = isOutside(found) && cwds.length > 1 && !isOutside({ ...found, cwds: cwds.slice(0, 1) });
  return {
    ruleClass: 'directory',
    rule: path ?? text,
    reason: isOutside(found)
      ? `${path ?? text} is outside the allowed directories${isLost ? ' if an earlier cd fails' : ''}.`
      : `It cannot be decided beforehand whether ${text} is inside the allowed directories.`,
    part: text,
    hint: `${isLost ? 'Join the commands with &&, or write the path out.' : 'Write the path out.'} Allowed: ${escapeText(directories.join(', '))}.`,
  };
}
