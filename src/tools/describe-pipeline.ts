/** What the caller should know of a pipeline that succeeded although one of its stages failed. */
import type { Outcome } from '../executions/executions.ts';

type Stages = NonNullable<Outcome['pipeline']>;

/** Those that let a part through: what they dropped is nowhere. */
const DROPS = new Set(['head', 'tail', 'grep']);

export function describePipeline(stages: Stages): string {
  const last = stages.at(-1);
  const program = /^\S*/.exec(last?.command ?? '')?.[0] ?? '';
  const failed = stages
    .slice(0, -1)
    .filter(({ exitCode }) => exitCode !== 0)
    .map(({ command, exitCode }) => `${command.replaceAll(/\s+/g, ' ')} exited ${exitCode}`);
  const said = `${failed.join(', ')}; the exit code ${last?.exitCode} is ${program}'s.`;
  return DROPS.has(program)
    ? `${said} What ${program} dropped was not kept: without "| ${program}" all output is kept, and can be read and searched.`
    : said;
}
