/**
 * The stages of the pipeline that a command ends with. Undefined unless it is certain which pipeline the shell runs last, and
 * that the command cannot notice the EXIT trap by which the shell reports the statuses.
 */
import type { ParsedScript, Pipeline, PipelineNode } from 'unbash';
import { nodesIn, parseBounded, syntaxProblem } from './parse.ts';

/** A longer one is not parsed for this. */
const MAX_CHARS = 16_384;
/** Traps, statuses and descriptors that the command handles itself, and variables that show how bash was started. */
const NOTICES = /\btrap|lsof|\/fd\b|pipestatus|\bBASH_[A-Z]+|\$\{?_(?![A-Za-z0-9_])/i;
/** With one of these another pipeline may have been the last one that ran. */
const LEAVES_EARLY = /\b(?:exit|return|eval|source|logout|bye)\b|(?:^|[\s;&|({])\.\s/;

export function findLastPipeline(command: string): readonly string[] | undefined {
  if (!command.includes('|') || command.length > MAX_CHARS || NOTICES.test(command)) return undefined;
  const parsed = parseBounded(command);
  if (parsed.kind !== 'parsed' || syntaxProblem(parsed.script) !== undefined) return undefined;
  const { script } = parsed;
  const last = script.commands.at(-1);
  if (last === undefined || last.background === true) return undefined;
  const node = last.command.type === 'AndOr' ? last.command.commands.at(-1) : last.command;
  if (!isPlainPipeline(node) || setsVisibleTrap(script)) return undefined;
  const isCertain =
    !LEAVES_EARLY.test(command.slice(0, node.pos)) &&
    (last.command.type !== 'AndOr' || !last.command.operators.includes('||'));
  if (!isCertain && hasAnother(script, node)) return undefined;
  return node.commands.map(({ pos, end }) => command.slice(pos, end).trim());
}

/** Of several stages, and neither negated nor timed, after which shells differ. */
function isPlainPipeline(node: PipelineNode | undefined): node is Pipeline {
  return node?.type === 'Pipeline' && node.commands.length > 1 && node.prefixes.length === 0;
}

/** Whether there is another one of as many stages, so that its statuses could be taken for those of the last one. */
function hasAnother(script: ParsedScript, last: Pipeline): boolean {
  return nodesIn(script, ['Word']).some(
    (node) => node !== last && node.type === 'Pipeline' && node.commands.length === last.commands.length,
  );
}

/** With `set -v` bash prints the trap, and with `set -r` the trap cannot write. */
function setsVisibleTrap(script: ParsedScript): boolean {
  return nodesIn(script, ['Word']).some(
    (node) =>
      node.type === 'Command' &&
      node.name?.value === 'set' &&
      node.args.some(({ text }) => /^-[a-z]*[vr]|verbose|restricted|[$`]/.test(text)),
  );
}
