/**
 * Finds every command that a text would run. It follows the shell's grammar from left to right and keeps what the shell
 * would know: the directory, functions, values of variables. What it cannot follow is unknown, never left out.
 */
import { applyBuiltin, isOwn } from './builtins.ts';
import {
  ANYWHERE,
  type Arg,
  boundValues,
  guessedWords,
  literalArg,
  MAX_GUESSES,
  OPEN,
  textOf,
  UNDECIDED,
  valuesOf,
} from './evaluate-word.ts';
import { inspectGiven, SHELL_INTEGERS } from './evaluated.ts';
import {
  type Call,
  type Cwds,
  checkDepth,
  type Findings,
  type FoundCommand,
  forgetting,
  guessScope,
  type Invocation,
  joinCwds,
  MOVES,
  NO_INPUT,
  type Place,
  type Scope,
  TooComplex,
  type Walk,
} from './findings.ts';
import { followInvocation, setPositional } from './follow.ts';
import { walkScript } from './grammar.ts';
import { parseBounded } from './parse.ts';
import type { JudgeContext } from './policy-types.ts';
import { enterPath, isPlainTarget, safeRealPath } from './resolve-path.ts';

/** Characters of nested text that are looked at, each time they are looked at. */
const MAX_UNITS = 1_500_000;
const MAX_INVOCATIONS = 5000;
/** Functions that call each other with arguments are followed so far. */
const MAX_CALLS = 3;
/** A script with many functions is looked at once; the rest of its calls are judged by their bodies alone. */
const MAX_BODIES = 64;

export function findCommands(command: string, context: JudgeContext): Findings {
  const walk = createWalk(context);
  guarded(walk, () => {
    // bash drops a backslash at the very end; the parser keeps it.
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(command))
      walk.unknown('a backslash at the end escapes nothing', command, startScope(context));
    walk.walkText(command, startScope(context));
  });
  return walk.findings;
}

/** The same for a program that is started without a shell. */
export function findArgvCommands(argv: readonly string[], context: JudgeContext): Findings {
  const walk = createWalk(context);
  guarded(walk, () => walk.invoke({ args: argv.map((word) => literalArg(word)) }, startScope(context)));
  return walk.findings;
}

function guarded(walk: Walk, run: () => void): void {
  try {
    run();
  } catch (error) {
    // The parser and the walk recurse; a stack that overflows is a text that is too deep.
    if (!(error instanceof TooComplex || error instanceof RangeError)) throw error;
    walk.findings.tooComplex ??=
      error instanceof TooComplex ? error.message : 'it is nested too deeply to be judged';
  }
}

function startScope(context: JudgeContext): Scope {
  return {
    cwds: [context.directory],
    source: '',
    foundIn: [],
    variables: new Map(Object.entries(context.environment ?? {}).map(([name, value]) => [name, [value]])),
    functions: new Set(),
    settled: new Set(),
    isConditional: false,
    isBackground: false,
    isGuess: false,
    pipeline: undefined,
    inFunction: undefined,
    input: NO_INPUT,
    depth: 0,
    calls: 0,
  };
}

const noFindings = (): Findings => ({
  invocations: [],
  pipelines: [],
  redirections: [],
  assignments: [],
  arithmetic: [],
  unknowns: [],
  integers: new Set(SHELL_INTEGERS),
  functions: new Map(),
  tooComplex: undefined,
});

function createWalk(context: JudgeContext): Walk {
  const findings = noFindings();
  // A caller that sets HOME changes what `~` is.
  const assigned = new Set<string>(Object.keys(context.environment ?? {}));
  const { left, ...moves } = createMoves(context, assigned);
  let units = 0;
  let bodies = 0;

  const walk: Walk = {
    context,
    findings,
    ...moves,
    knowledge: ({ cwds, variables }) => ({
      home: context.home,
      directory: cwds.length === 1 ? (cwds[0] ?? undefined) : undefined,
      places: cwds.filter((place) => place !== null),
      previous: [...left].map((place) => place ?? UNDECIDED),
      inherited: (name) => valueIn(name, context),
      variables,
      assigned,
    }),
    spend(count) {
      units += count;
      if (units > MAX_UNITS) throw new TooComplex('it repeats too much to be judged');
    },
    unknown(reason, part, scope) {
      if (!scope.isGuess) findings.unknowns.push({ reason, part });
    },
    assign(given, scope) {
      const { name, value } = given;
      assigned.add(name);
      findings.assignments.push(given);
      inspectGiven(walk, given, scope);
      const values = value === undefined ? [] : valuesOf(value);
      if (values.length === 0) return;
      scope.variables.set(name, boundValues([...values, ...valuesBefore(name, scope, context)]));
    },
    walkText(text, scope) {
      walk.spend(text.length);
      const parsed = parseBounded(text);
      if (parsed.kind === 'too-complex') throw new TooComplex(parsed.reason);
      const inner = { ...scope, source: text };
      walkScript(walk, parsed.script, inner);
      scope.cwds = inner.cwds;
    },
    walkParsed: (script, scope) => walkScript(walk, script, scope),
    invoke(command, scope) {
      if (findings.invocations.length >= MAX_INVOCATIONS)
        throw new TooComplex('it has too many commands to be judged');
      checkDepth(scope);
      const { input = NO_INPUT } = command;
      const invocation = addInvocation(findings, command, scope);
      const call = { walk, invocation, args: invocation.args.slice(1), scope, input };
      follow(call);
      if (!scope.isGuess) guess(call);
      if (!invocation.isFunction || bodies >= MAX_BODIES) return;
      bodies += 1;
      callFunction(findings, invocation, scope);
    },
  };
  return walk;
}

/** What the server gives a variable, or an earlier command may have; of some the shell keeps numbers and letters alone. */
function valueIn(name: string, { isContinued, inherited }: JudgeContext): string {
  if (isContinued !== true) return inherited?.(name) ?? '';
  return /^[?#!$-]$/.test(name) ? OPEN : ANYWHERE;
}

/** Where it may not be set after all, a variable may be as an earlier command left it. */
const valuesBefore = (
  name: string,
  { variables, isConditional }: Scope,
  { isContinued }: JudgeContext,
): readonly string[] => variables.get(name) ?? (isContinued === true && isConditional ? [ANYWHERE] : []);

/** `left`: where the shell was before it went elsewhere. `cd -` and the stack of directories lead there. */
function createMoves(
  context: JudgeContext,
  assigned: ReadonlySet<string>,
): Pick<Walk, 'enter' | 'goBack'> & { readonly left: ReadonlySet<string | null> } {
  const left = new Set<string | null>(startedFrom(context));
  const realPath = createRealPath(context);
  const leave = (places: Cwds): void => {
    for (const place of places) left.add(place);
  };
  return {
    left,
    enter(target, scope) {
      leave(scope.cwds);
      const isSearched = assigned.has('CDPATH') && !isPlainTarget(target.value ?? '');
      const path = target.value ?? target.guesses[0];
      const places = path === undefined ? [null] : enterPath(scope.cwds, path, realPath);
      scope.cwds = target.value === undefined || isSearched ? [...places, null] : places;
    },
    goBack(scope) {
      const back = [...left];
      leave(scope.cwds);
      scope.cwds = joinCwds(back, scope.cwds);
    },
  };
}

/** The directory before the first, which a fresh shell has only where a caller gives it one. */
function startedFrom({ environment, isContinued }: JudgeContext): (string | null)[] {
  const given = environment?.['OLDPWD'];
  if (isContinued === true) return [null];
  return given === undefined ? [] : [given];
}

/** A path is asked for more than once in a judgement, and each time is a look at the disk. */
function createRealPath(context: JudgeContext): (path: string) => string {
  const realPath = safeRealPath(context.realPath);
  const known = new Map<string, string>();
  return (path) => {
    const found = known.get(path) ?? realPath(path);
    known.set(path, found);
    return found;
  };
}

function addInvocation(findings: Findings, command: FoundCommand, scope: Scope): Invocation {
  const { text = textOf(command.args), input = NO_INPUT, fedBy = [] } = command;
  const { foundIn, cwds, isGuess, isBackground, pipeline: own, inFunction } = scope;
  const args = isGuess ? command.args.flatMap(settle) : command.args;
  const name = args[0]?.value;
  const place: Place = { foundIn, cwds, isGuess, isBackground, pipeline: own, inFunction };
  const invocation: Invocation = {
    ...place,
    args,
    text,
    isFunction: name !== undefined && scope.functions.has(name),
    unknown: undefined,
    ownWords: undefined,
    given: input.kind === 'text' ? input.text.guesses : [],
    fedBy,
  };
  findings.invocations.push(invocation);
  for (let pipeline = own; pipeline !== undefined; pipeline = pipeline.parent)
    pipeline.stages.at(-1)?.push(invocation);
  return invocation;
}

function follow(call: Call): void {
  const { scope, invocation } = call;
  forgetting(scope, () => {
    applyBuiltin(call);
    followInvocation(call);
  });
  // In a shell that has run other commands it may be a function of those.
  const name = invocation.args[0]?.value;
  if (name === 'unset' || !isOwn(name)) scope.settled.clear();
}

/** Inside of a guess every open word is guessed as well. */
function settle(arg: Arg): readonly Arg[] {
  if (arg.value !== undefined || arg.guesses.length === 0) return [arg];
  return guessedWords([arg], 0).map((word) => literalArg(word));
}

/** The body with the arguments of this call; it was judged without them where it is defined. */
function callFunction({ functions }: Findings, { args }: Invocation, scope: Scope): void {
  const body = functions.get(args[0]?.value ?? '');
  const isKnown = args.length < 2 && !MOVES.test(scope.source);
  if (body === undefined || isKnown || scope.calls >= MAX_CALLS) return;
  const inner = { ...guessScope(scope), calls: scope.calls + 1 };
  setPositional(inner, args.slice(1));
  body(inner);
  scope.cwds = joinCwds(inner.cwds, scope.cwds);
}

/** Where a word is open, the command is looked at once more with what it may be. */
function guess({ walk, invocation, scope, input }: Call): void {
  const { args, text, fedBy, isFunction } = invocation;
  if (isFunction || args.every(({ value }) => value !== undefined)) return;
  const seen = new Set<string>();
  const count = Math.min(MAX_GUESSES, Math.max(1, ...args.map(({ guesses }) => guesses.length)));
  for (let variant = 0; variant < count; variant++) {
    const words = guessedWords(args, variant);
    const key = words.join('\0');
    if (words.length === 0 || seen.has(key)) continue;
    seen.add(key);
    walk.invoke({ args: words.map((word) => literalArg(word)), text, input, fedBy }, guessScope(scope));
  }
}
