/** What a walk through a command gathers, and the state of the shell that it follows. */
import type { ParsedScript } from 'unbash';
import type { Arg, Knowledge } from './evaluate-word.ts';
import type { JudgeContext, UnknownView } from './policy-types.ts';

/** Where in the text a command stands, and how the shell comes there. */
export interface Place {
  readonly foundIn: readonly string[];
  readonly cwds: Cwds;
  /** Made from guesses: it may refuse, never allow. */
  readonly isGuess: boolean;
  readonly isBackground: boolean;
  readonly pipeline: Pipeline | undefined;
  readonly inFunction: string | undefined;
}

/** One program or builtin that would run. */
export interface Invocation extends Place {
  /** The name first. */
  readonly args: readonly Arg[];
  readonly text: string;
  /** A function of this command, whose body was found where it is defined. */
  isFunction: boolean;
  unknown: string | undefined;
  /** Of a wrapper: how many words are its own; the others are judged as the command that it runs. */
  ownWords: number | undefined;
  /** What may stand on its input, where that is written out. */
  readonly given: readonly string[];
  /** Commands whose output it reads as its arguments or its input. */
  readonly fedBy: readonly Invocation[];
}

export interface Pipeline {
  readonly stages: Invocation[][];
  /** The one that it is a stage of. */
  readonly parent: Pipeline | undefined;
}

export interface Redirection {
  readonly kind: 'read' | 'write';
  readonly target: Arg;
  readonly text: string;
  readonly cwds: Cwds;
  readonly isGuess: boolean;
}

export interface Assigned {
  readonly name: string;
  /** Undefined: from outside, such as `read`. */
  readonly value?: Arg | undefined;
  readonly isNumber?: boolean;
  /** Words that are no options, as far as each is known. */
  readonly isPlain?: boolean;
  readonly isArray?: boolean;
  /** By a builtin that reads `(…)` as the elements of an array, if the name is one. */
  readonly mayBeList?: boolean;
  /** For one command alone, before whose name it stands. */
  readonly isTemporary?: boolean;
  readonly text: string;
}

/** Text that bash evaluates as arithmetic, in which a variable's value can hold a command. */
export interface Arithmetic {
  readonly names: readonly string[];
  /** Of these, what no statement before it is certain to have set. */
  readonly unsettled: readonly string[];
  /** Something other than a variable of this name decides what is evaluated, */
  readonly isOpen: boolean;
  /** or what a program prints. */
  readonly isSubstituted: boolean;
  /** It is evaluated only if it turns out to be an option. */
  readonly isWord?: boolean;
  /** And its value is one word, whatever stands in it. */
  readonly isQuoted?: boolean;
  readonly text: string;
}

export interface Findings {
  readonly invocations: Invocation[];
  readonly pipelines: Pipeline[];
  readonly redirections: Redirection[];
  readonly assignments: Assigned[];
  readonly arithmetic: Arithmetic[];
  readonly unknowns: UnknownView[];
  /** Variables with the integer attribute. */
  readonly integers: Set<string>;
  /** Name -> looks at its body once more, with these arguments. */
  readonly functions: Map<string, (scope: Scope) => void>;
  tooComplex: string | undefined;
}

/**
 * Where the shell may be: real paths, the likeliest first; null where nobody knows. After `cd a;` there are two, since
 * `cd` may fail.
 */
export type Cwds = readonly (string | null)[];

/** A text in which the shell may go elsewhere. */
export const MOVES = /\b(?:cd|pushd|popd)\b/;

/** More than this many possibilities are as good as none. */
const MAX_CWDS = 8;

export function joinCwds(likely: Cwds, other: Cwds): Cwds {
  const joined = [...new Set([...likely, ...other])];
  return joined.length > MAX_CWDS ? [likely[0] ?? null, null] : joined;
}

/** The shell's own state at one point; a subshell gets a copy. */
export interface Scope extends Place {
  cwds: Cwds;
  readonly source: string;
  readonly variables: Map<string, readonly string[]>;
  /** Functions that are certain to be defined here. */
  readonly functions: Set<string>;
  /** Variables that hold what a statement of this command gave them, whatever earlier ones of the shell did. */
  readonly settled: Set<string>;
  readonly isConditional: boolean;
  /** What commands read that have no redirection of their own. */
  readonly input: Input;
  readonly depth: number;
  readonly calls: number;
}

export function copyScope(scope: Scope, changes: Partial<Scope> = {}): Scope {
  return {
    ...scope,
    variables: new Map(scope.variables),
    functions: new Set(scope.functions),
    settled: new Set(scope.settled),
    ...changes,
  };
}

/** What is set in there may not be set afterwards. */
export function forgetting({ settled }: Scope, run: () => void): void {
  const before = new Set(settled);
  run();
  for (const name of settled) if (!before.has(name)) settled.delete(name);
}

/** Of what another reading of the text would run. */
export function guessScope(scope: Scope): Scope {
  return copyScope(scope, { isGuess: true, depth: scope.depth + 1 });
}

/** What stands on the standard input of a command. */
export type Input =
  | { readonly kind: 'inherited' }
  | { readonly kind: 'pipe'; readonly from: readonly Invocation[] }
  | { readonly kind: 'text'; readonly text: Arg; readonly from: readonly Invocation[] }
  | { readonly kind: 'file'; readonly path: Arg };

export const NO_INPUT: Input = { kind: 'inherited' };

/** A command with the name first, and what it reads. */
export interface FoundCommand {
  readonly args: readonly Arg[];
  /** Where it stands nowhere as it is: its words. */
  readonly text?: string;
  readonly input?: Input;
  readonly fedBy?: readonly Invocation[];
}

/** A command that is looked into: for what the shell or the program makes of its arguments. */
export interface Call {
  readonly walk: Walk;
  readonly invocation: Invocation;
  /** Without the name. */
  readonly args: readonly Arg[];
  readonly scope: Scope;
  readonly input: Input;
}

/** What the parts of the walk need from each other. */
export interface Walk {
  readonly context: JudgeContext;
  readonly findings: Findings;
  knowledge(scope: Scope): Knowledge;
  /** Adds a command, and looks at what it would run in turn. */
  invoke(command: FoundCommand, scope: Scope): void;
  /** Looks at a text that a shell would run. */
  walkText(text: string, scope: Scope): void;
  walkParsed(script: ParsedScript, scope: Scope): void;
  assign(assigned: Assigned, scope: Scope): void;
  unknown(reason: string, part: string, scope: Scope): void;
  /** The shell changes to this directory. */
  enter(target: Arg, scope: Scope): void;
  /** The shell goes to a directory in which it was before: `cd -`, `popd`. */
  goBack(scope: Scope): void;
  /** Throws where the command asks for more work than a decision is worth. */
  spend(units: number): void;
}

export class TooComplex extends Error {}

/** Of substitutions, wrappers and shells inside each other; people write three. */
const MAX_DEPTH = 24;

export function checkDepth({ depth }: Scope): void {
  if (depth > MAX_DEPTH) throw new TooComplex('it is nested too deeply to be judged');
}
