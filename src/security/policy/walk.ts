/**
 * Finds every command that a text would run. It follows the shell's grammar from left to right and keeps what the shell
 * would know: the directory, functions, values of variables. What it cannot follow is unknown, never left out.
 */
import { applyBuiltin, setPositional } from './builtins.ts';
import {
  type Arg,
  boundValues,
  guessedWords,
  literalArg,
  MAX_GUESSES,
  OPEN,
  UNDECIDED,
} from './evaluate-word.ts';
import {
  type Cwds,
  checkDepth,
  copyScope,
  type Findings,
  type Input,
  type Invocation,
  joinCwds,
  NO_INPUT,
  type Scope,
  TooComplex,
  type Walk,
} from './findings.ts';
import { followInvocation } from './follow.ts';
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
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(command)) {
      walk.unknown('a backslash at the end escapes nothing', command, startScope(context));
    }
    const scope = startScope(context);
    walk.walkText(command, scope);
  });
  return walk.findings;
}

/** The same for a program that is started without a shell. */
export function findArgvCommands(argv: readonly string[], context: JudgeContext): Findings {
  const walk = createWalk(context);
  guarded(walk, () =>
    walk.invoke(
      argv.map((word) => literalArg(word)),
      argv.join(' '),
      startScope(context),
      NO_INPUT,
    ),
  );
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

function createWalk(context: JudgeContext): Walk {
  const findings: Findings = {
    invocations: [],
    pipelines: [],
    redirections: [],
    assignments: [],
    arithmetic: [],
    unknowns: [],
    functions: new Map(),
    tooComplex: undefined,
  };
  // A caller that sets HOME changes what `~` is.
  const assigned = new Set<string>(Object.keys(context.environment ?? {}));
  /** Where the shell was before it went elsewhere: `cd -` and the stack of directories lead there. */
  const left = new Set<string | null>(startedFrom(context));
  let units = 0;
  let bodies = 0;

  const realPath = createRealPath(context);
  const leave = (places: Cwds): void => {
    for (const place of places) left.add(place);
  };

  const walk: Walk = {
    context,
    findings,
    realPath,
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
    knowledge: ({ cwds, variables }) => ({
      home: context.home,
      directory: cwds.length === 1 ? (cwds[0] ?? undefined) : undefined,
      places: cwds.filter((place) => place !== null),
      previous: [...left].map((place) => place ?? UNDECIDED),
      inherited: (name) => (context.isContinued === true ? OPEN : (context.inherited?.(name) ?? '')),
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
    assign(name, value, text, scope, isNumber = false) {
      assigned.add(name);
      findings.assignments.push({ name, value, isNumber, text });
      if (value !== undefined && value.guesses.length > 0) {
        scope.variables.set(name, boundValues([...value.guesses, ...(scope.variables.get(name) ?? [])]));
      }
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
    invoke(args, text, scope, input, fedBy = []) {
      if (findings.invocations.length >= MAX_INVOCATIONS)
        throw new TooComplex('it has too many commands to be judged');
      checkDepth(scope);
      const words = scope.isGuess ? args.flatMap(settle) : args;
      const invocation = addInvocation(findings, words, text, scope, input, fedBy);
      applyBuiltin(walk, invocation, scope, input);
      followInvocation(walk, invocation, scope, input);
      if (!scope.isGuess) guess(walk, invocation, scope, input);
      if (!invocation.isFunction || bodies >= MAX_BODIES) return;
      bodies += 1;
      callFunction(findings, invocation, scope);
    },
  };
  return walk;
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

function addInvocation(
  findings: Findings,
  args: readonly Arg[],
  text: string,
  scope: Scope,
  input: Input,
  fedBy: readonly Invocation[],
): Invocation {
  const name = args[0]?.value;
  const invocation: Invocation = {
    args,
    text,
    foundIn: scope.foundIn,
    cwds: scope.cwds,
    isGuess: scope.isGuess,
    isBackground: scope.isBackground,
    pipeline: scope.pipeline,
    inFunction: scope.inFunction,
    isFunction: name !== undefined && scope.functions.has(name),
    unknown: undefined,
    ownWords: undefined,
    given: input.kind === 'text' ? input.text.guesses : [],
    fedBy,
  };
  findings.invocations.push(invocation);
  for (let pipeline = scope.pipeline; pipeline !== undefined; pipeline = pipeline.parent) {
    pipeline.stages.at(-1)?.push(invocation);
  }
  return invocation;
}

/** Inside of a guess every open word is guessed as well. */
function settle(arg: Arg): readonly Arg[] {
  if (arg.value !== undefined || arg.guesses.length === 0) return [arg];
  return guessedWords([arg], 0).map((word) => literalArg(word));
}

/** The body with the arguments of this call; it was judged without them where it is defined. */
function callFunction({ functions }: Findings, { args }: Invocation, scope: Scope): void {
  const body = functions.get(args[0]?.value ?? '');
  const isKnown = args.length < 2 && !/\b(?:cd|pushd|popd)\b/.test(scope.source);
  if (body === undefined || isKnown || scope.calls >= MAX_CALLS) return;
  const inner = copyScope(scope, { isGuess: true, depth: scope.depth + 1, calls: scope.calls + 1 });
  setPositional(inner, args.slice(1));
  body(inner);
  scope.cwds = joinCwds(inner.cwds, scope.cwds);
}

/** Where a word is open, the command is looked at once more with what it may be. */
function guess(walk: Walk, { args, text, fedBy, isFunction }: Invocation, scope: Scope, input: Input): void {
  if (isFunction || args.every(({ value }) => value !== undefined)) return;
  const seen = new Set<string>();
  const count = Math.min(MAX_GUESSES, Math.max(1, ...args.map(({ guesses }) => guesses.length)));
  for (let variant = 0; variant < count; variant++) {
    const words = guessedWords(args, variant);
    const key = words.join('\0');
    if (words.length === 0 || seen.has(key)) continue;
    seen.add(key);
    walk.invoke(
      words.map((word) => literalArg(word)),
      text,
      copyScope(scope, { isGuess: true, depth: scope.depth + 1 }),
      input,
      fedBy,
    );
  }
}
