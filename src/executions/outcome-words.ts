/** What an answer, and news of an end, say of files that a command has made. */
import type { Outcome } from './record.ts';

/** Empty where there is nothing to say. */
export const describeAppeared = ({ appeared }: Pick<Outcome, 'appeared'>): string =>
  appeared === undefined
    ? ''
    : `New since it began, and executed or obeyed by programs outside the sandbox: ${listPaths(appeared)}. The person should look at that before a client, a shell or git uses it.`;

const MAX_PATHS = 60;

export function listPaths(paths: readonly string[]): string {
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : '';
  return `${paths.slice(0, MAX_PATHS).join(', ')}${more}`;
}
