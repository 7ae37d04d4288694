/**
 * Checks the subjects of commits: `type(scope): summary`, imperative, at most 72 characters. Part of `npm run check`; older
 * commits are left as they are, and a copy without history has none to check.
 */
import { execFileSync } from 'node:child_process';
import { basename } from 'node:path';

const SINCE = '2026-11-16T13:00:00Z';
const FORM = /^(build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(\([a-z][a-z0-9/-]*\))?: (\S+)/;
const IMPERATIVES = new Set([
  'bring',
  'embed',
  'exceed',
  'feed',
  'need',
  'proceed',
  'seed',
  'shed',
  'speed',
  'string',
]);

export function problemOf(subject: string): string | undefined {
  const [, , , verb] = FORM.exec(subject) ?? [];
  if (verb === undefined) return 'is not of the form "type(scope): summary"';
  if (subject.length > 72) return `has ${subject.length} characters; at most 72`;
  if (/(ed|ing)$/.test(verb) && !IMPERATIVES.has(verb)) return `does not begin with an imperative: ${verb}`;
  return subject.endsWith('.') ? 'ends with a full stop' : undefined;
}

function readSubjects(): string[] {
  const args = ['log', '--no-merges', `--since-as-filter=${SINCE}`, '--format=%s'];
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')
      .filter(Boolean);
  } catch {
    return [];
  }
}

// scripts/run-ts.mjs keeps the name of the source in argv; a test that imports this file has another one there.
if (basename(process.argv[1] ?? '') === 'commit-subjects.ts') {
  const problems = readSubjects().flatMap((subject) => {
    const problem = problemOf(subject);
    return problem === undefined ? [] : [`"${subject}" ${problem}`];
  });
  if (problems.length > 0) process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
