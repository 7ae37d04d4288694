/** The shell's grammar: lists, pipelines, groups, loops, functions. What a simple command does is in command.ts. */
import type {
  ArithmeticFor,
  CommandNode,
  For,
  Function as FunctionNode,
  If,
  ParsedScript,
  PipelineNode,
  Redirected,
  Select,
  Statement,
} from 'unbash';
import { isOwn } from './builtins.ts';
import { walkCommand, walkRedirects } from './command.ts';
import { boundValues, evaluateWord, listOf, positionalArg, unknownArg } from './evaluate-word.ts';
import { isPlainWord, REPLACED } from './evaluated.ts';
import {
  type Cwds,
  copyScope,
  forgetting,
  type Input,
  type Invocation,
  joinCwds,
  MOVES,
  type Scope,
  type Walk,
} from './findings.ts';
import { textsOf } from './follow.ts';
import {
  inspectArithmetic,
  inspectParts,
  inspectTest,
  inspectWord,
  recordRead,
  sourceOf,
} from './inspect.ts';
import { syntaxProblem } from './parse.ts';

export function walkScript(walk: Walk, script: ParsedScript, scope: Scope): void {
  const problem = syntaxProblem(script);
  if (problem !== undefined) walk.unknown(`bash would not read it: ${problem}`, scope.source, scope);
  let last = 0;
  for (const statement of script.commands) {
    // In a terminal a line may have ended early, and the next one is run all the same.
    const isNextLine = scope.source.slice(last, statement.pos).includes('\n');
    if (walk.context.isContinued === true && isNextLine) scope.settled.clear();
    walkStatement(walk, statement, scope);
    last = statement.end;
  }
}

function walkStatement(walk: Walk, { command, background }: Statement, scope: Scope): void {
  walkList(walk, command, background === true ? copyScope(scope, { isBackground: true }) : scope);
}

/** Where the shell may be after a list, by its exit status: a `cd` that fails leaves it where it was. */
interface Ends {
  readonly succeeded: Cwds;
  readonly failed: Cwds;
}

function walkList(walk: Walk, node: Statement['command'], scope: Scope): Ends {
  const before = scope.cwds;
  const commands = node.type === 'AndOr' ? node.commands : [node];
  let ends: Ends = { succeeded: before, failed: [] };
  commands.forEach((command, index) => {
    const isOr = node.type === 'AndOr' && node.operators[index - 1] === '||';
    const from = isOr ? ends.failed : ends.succeeded;
    const inner = index === 0 ? scope : { ...scope, isConditional: true, cwds: from };
    if (index === 0) walkPipeline(walk, command, inner);
    else forgetting(scope, () => walkPipeline(walk, command, inner));
    if (leavesShell(walk, command)) {
      ends = isOr ? { ...ends, failed: [] } : { ...ends, succeeded: [] };
      return;
    }
    const after = endsOf(command, inner.cwds, from);
    ends = isOr
      ? { succeeded: joinCwds(ends.succeeded, after.succeeded), failed: after.failed }
      : { succeeded: after.succeeded, failed: joinCwds(ends.failed, after.failed) };
  });
  const all = joinCwds(ends.succeeded, ends.failed);
  scope.cwds = all.length === 0 ? before : all;
  return ends;
}

/** Only a plain `cd` is certain to have moved where it succeeded, and not to have moved where it failed. */
function endsOf(node: PipelineNode, after: Cwds, before: Cwds): Ends {
  const both = joinCwds(after, before);
  if (node.type === 'Pipeline' && node.prefixes.some(({ type }) => type === 'Negation'))
    return { succeeded: both, failed: both };
  return { succeeded: after, failed: both };
}

/** `exit` or `{ …; exit 1; }`: what follows does not run. */
function leavesShell(walk: Walk, node: PipelineNode): boolean {
  if (node.type === 'BraceGroup') {
    const last = node.body.commands.at(-1);
    if (last === undefined || last.background === true || last.command.type === 'AndOr') return false;
    return leavesShell(walk, last.command);
  }
  if (node.type !== 'Command' || node.name?.text !== 'exit') return false;
  // A terminal with stopped jobs stays, and so does a shell that is given too many numbers.
  const isPlain = node.args.length <= 1 && node.args.every(({ text }) => /^(?:\d+|\$\?)$/.test(text));
  const isFree = walk.context.isContinued !== true && !walk.findings.functions.has('exit');
  return isPlain && isFree && node.prefix.length === 0 && node.redirects.length === 0;
}

function walkPipeline(walk: Walk, node: PipelineNode, scope: Scope): void {
  const commands = node.type === 'Pipeline' ? node.commands : [node];
  const [only] = commands;
  if (commands.length === 1 && only !== undefined) return walkCommandNode(walk, only, scope);
  const stages: Invocation[][] = [];
  const pipeline = { stages, parent: scope.pipeline };
  walk.findings.pipelines.push(pipeline);
  for (const command of commands) {
    const from = stages.at(-1);
    stages.push([]);
    const input: Input = from === undefined ? scope.input : { kind: 'pipe', from };
    const stage = copyScope(scope, { pipeline, input });
    walkCommandNode(walk, command, stage);
    // In zsh the last one runs in the shell itself.
    if (command === commands.at(-1)) scope.cwds = joinCwds(scope.cwds, stage.cwds);
  }
}

function walkCommandNode(walk: Walk, node: CommandNode, scope: Scope): void {
  switch (node.type) {
    case 'Command':
      return walkCommand(walk, node, scope);
    case 'Redirected':
      return walkRedirected(walk, node, scope);
    case 'Function':
      return walkFunction(walk, node, scope);
    case 'Coproc':
      // Inside of a substitution bash prints it again as `coproc COPROC ls`, and then runs COPROC.
      if (node.body.type === 'Command' && scope.foundIn.some((place) => place.endsWith('( )'))) {
        walk.unknown('bash reads a coproc in a substitution in another way', sourceOf(node, scope), scope);
      }
      walk.assign({ name: node.name?.value ?? 'COPROC', text: node.name?.text ?? 'coproc' }, scope);
      walkCommandNode(walk, node.body as CommandNode, copyScope(scope, { isBackground: true }));
      return;
    case 'Subshell':
      return walkBody(walk, node.body.commands, copyScope(scope));
    case 'BraceGroup':
      return walkBody(walk, node.body.commands, scope);
    case 'If':
      return walkIf(walk, node, scope);
    case 'While':
      return walkLoop(walk, [...node.clause.commands, ...node.body.commands], scope);
    case 'For':
    case 'Select':
      return walkFor(walk, node, scope);
    case 'ArithmeticFor':
      return forgetting(scope, () => walkArithmeticFor(walk, node, scope));
    case 'Case':
      inspectWord(walk, node.word, scope);
      for (const item of node.items) {
        for (const pattern of item.pattern) inspectParts(walk, pattern, scope);
        walkBranch(walk, item.body.commands, scope);
      }
      return;
    case 'TestCommand':
      return inspectTest(walk, node.expression, scope);
    case 'ArithmeticCommand':
      return inspectArithmetic(walk, node.expression, node.body, scope);
    default:
      // Only a tree that was repaired after an error has others here, and then the error is known.
      if ('commands' in node) walkBody(walk, (node as { commands: readonly Statement[] }).commands, scope);
  }
}

function walkFunction(walk: Walk, node: FunctionNode, scope: Scope): void {
  const name = node.name.value;
  const body = node.body as CommandNode;
  walk.findings.functions.set(name, (called) => {
    const inside = { ...called, source: scope.source, inFunction: name };
    walkCommandNode(walk, body, inside);
    called.cwds = inside.cwds;
  });
  // `exit()` alone is no definition, but what people type at Python's prompt.
  if (isOwn(name) && body.end > body.pos)
    walk.unknown(`${REPLACED} ${name}`, sourceOf(node.name, scope), scope);
  if (!scope.isConditional) scope.functions.add(name);
  const inner = copyScope(scope, {
    foundIn: [...scope.foundIn, `function ${name}`],
    inFunction: name,
    isBackground: false,
    pipeline: undefined,
    settled: new Set(),
    // It is called later, from wherever the shell is then.
    cwds: joinCwds(scope.cwds, MOVES.test(scope.source) ? [null] : []),
  });
  inner.functions.add(name);
  walkCommandNode(walk, body, inner);
}

function walkArithmeticFor(walk: Walk, node: ArithmeticFor, scope: Scope): void {
  const { initialize, test, update, body } = node;
  const inspect = (part: ArithmeticFor['test']): string => {
    const text = part === undefined ? '' : sourceOf(part, scope);
    if (part !== undefined) inspectArithmetic(walk, part, text, scope);
    return text;
  };
  // Where this cannot set it, the loop does not run.
  for (const [, name] of inspect(initialize).matchAll(/(?:^|,)\s*([A-Za-z_]\w*)\s*=\s*\d+\s*(?=,|$)/g))
    if (name !== undefined) scope.settled.add(name);
  walkRounds(walk, scope, () => {
    inspect(test);
    inspect(update);
    walkLoop(walk, body.commands, scope);
  });
}

function walkFor(walk: Walk, { type, name, wordlist, body }: For | Select, scope: Scope): void {
  const values = (wordlist ?? []).flatMap((word) => {
    inspectWord(walk, word, scope);
    const words = evaluateWord(word, walk.knowledge(scope));
    if (words.some(({ isGlob }) => isGlob)) recordRead(walk, word, scope);
    return words;
  });
  const areNumbers = wordlist !== undefined && values.every(({ value }) => /^\d+$/.test(value ?? ''));
  const given = wordlist === undefined ? [positionalArg(walk.knowledge(scope))] : values;
  const guesses = boundValues(given.flatMap(listOf));
  const { text } = name;
  const isFor = type === 'For' && wordlist !== undefined;
  const isPlain = isFor && values.every(({ value }) => isPlainWord(value));
  const value = unknownArg(text, guesses);
  walk.assign({ name: name.value, value, text, isNumber: areNumbers && isFor, isPlain }, scope);
  if (type === 'Select')
    walk.assign({ name: 'REPLY', value: unknownArg('select', textsOf(scope.input)), text }, scope);
  forgetting(scope, () => {
    if (isPlain) scope.settled.add(name.value);
    walkLoop(walk, body.commands, scope, name.value);
  });
}

function walkRedirected(walk: Walk, node: Redirected, scope: Scope): void {
  const input = walkRedirects(walk, node.redirects, scope) ?? scope.input;
  const inner = { ...scope, input };
  // Where a file cannot be opened, nothing of it runs.
  forgetting(scope, () => walkCommandNode(walk, node.command, inner));
  scope.cwds = inner.cwds;
}

function walkBody(walk: Walk, statements: readonly Statement[], scope: Scope): void {
  for (const statement of statements) walkStatement(walk, statement, scope);
}

function walkIf(walk: Walk, node: If, scope: Scope): void {
  forgetting(scope, () => walkBranches(walk, node, scope));
}

function walkBranches(walk: Walk, node: If, scope: Scope): void {
  const inner = { ...scope, isConditional: true };
  let done: Cwds = [];
  for (const { clause, then } of [node, ...node.elif]) {
    const last = clause.commands.at(-1);
    walkBody(walk, clause.commands.slice(0, -1), inner);
    const isPlain = last !== undefined && last.background !== true;
    const { cwds } = inner;
    const { succeeded, failed } = isPlain
      ? walkList(walk, last.command, inner)
      : { succeeded: cwds, failed: cwds };
    if (last !== undefined && !isPlain) walkStatement(walk, last, inner);
    inner.cwds = succeeded;
    forgetting(scope, () => walkBody(walk, then.commands, inner));
    done = joinCwds(done, inner.cwds);
    inner.cwds = failed;
  }
  if (node.else !== undefined) walkBody(walk, node.else.commands, inner);
  scope.cwds = joinCwds(done, inner.cwds);
}

/** It may not run at all. `cwds`: where it may begin. */
function walkBranch(
  walk: Walk,
  statements: readonly Statement[],
  scope: Scope,
  cwds: Cwds = scope.cwds,
): void {
  const inner = { ...scope, isConditional: true, cwds };
  forgetting(scope, () => walkBody(walk, statements, inner));
  scope.cwds = joinCwds(scope.cwds, inner.cwds);
}

/** A second round begins where the first one ended. `own` is set anew in each. */
function walkLoop(walk: Walk, statements: readonly Statement[], scope: Scope, own?: string): void {
  const moves = statements.some((statement) => MOVES.test(sourceOf(statement, scope)));
  const cwds = moves ? joinCwds(scope.cwds, [null]) : scope.cwds;
  walkRounds(walk, scope, () => walkBranch(walk, statements, scope, cwds), own);
}

/** What does not hold at the end of a round did not at the beginning of the next one. */
function walkRounds({ findings }: Walk, { settled }: Scope, run: () => void, own?: string): void {
  const from = findings.arithmetic.length;
  const before = [...settled];
  run();
  const lost = before.filter((name) => name !== own && !settled.has(name));
  if (lost.length === 0) return;
  const inside = findings.arithmetic.splice(from);
  findings.arithmetic.push(...inside.map((each) => ({ ...each, unsettled: [...each.unsettled, ...lost] })));
}
