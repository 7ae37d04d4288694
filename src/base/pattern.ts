/**
 * Regular expressions that a caller sends. RE2 syntax in linear time: no pattern can hang the server, however it
 * is nested. What RE2 lacks (lookaround, backreferences) is refused with a reason.
 */
import { RE2JS } from 're2js';
import { messageOf, ShellServerError } from './errors.ts';
import { LIMITS } from './limits.ts';
import { type Program, programOf } from './program.ts';

export interface Pattern {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
  /** Where the first match begins, as an index into the text; undefined where there is none. */
  find(text: string): number | undefined;
  /** The text to look for, where the pattern has no operators; undefined where it has. */
  readonly literal: string | undefined;
  /** What it was compiled to; undefined for a literal. */
  program(): Program | undefined;
  /** The longest text to test at once, in characters: linear time is still the text's length times the pattern's. */
  readonly textLength: number;
}

/** `parameterName` is what the caller called it on the wire; it is named in the error. */
export function compilePattern(parameterName: string, source: string): Pattern {
  if (source.length > LIMITS.patternLength) {
    throw invalid(
      parameterName,
      `is ${source.length} characters long; at most ${LIMITS.patternLength} are allowed`,
    );
  }
  const literal = literalOf(source);
  if (literal !== undefined) {
    return {
      test: (text) => text.includes(literal),
      find: (text) => {
        const index = text.indexOf(literal);
        return index === -1 ? undefined : index;
      },
      literal,
      program: () => undefined,
      textLength: Number.POSITIVE_INFINITY,
    };
  }
  const compiled = compile(parameterName, source);
  return {
    test: (text) => compiled.test(text),
    find: (text) => {
      const matcher = compiled.matcher(text);
      return matcher.find() ? matcher.start() : undefined;
    },
    literal: undefined,
    program: () => programOf(compiled),
    textLength: Math.floor(LIMITS.patternSteps / compiled.programSize()),
  };
}

/** For testing thousands of short texts in one call: a pattern that is slow on each is given up, and said so. */
export function createFilter(parameterName: string, source: string | undefined): (text: string) => boolean {
  if (source === undefined) return () => true;
  const pattern = compilePattern(parameterName, source);
  const deadline = performance.now() + LIMITS.filterMs;
  return (text) => {
    if (performance.now() > deadline) throw invalid(parameterName, 'takes too long; use a simpler one');
    return pattern.test(text);
  };
}

function compile(parameterName: string, source: string): RE2JS {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    const reason = messageOf(error).replace('error parsing regexp: ', '');
    throw invalid(parameterName, `is not a valid regular expression: ${reason}`, error);
  }
  if (compiled.programSize() > LIMITS.patternInstructions) {
    throw invalid(parameterName, 'repeats too much: it would be too slow on long text');
  }
  return compiled;
}

/** `foo\.bar` is what people write to find `foo.bar`, and plain text is found some ten times faster. */
function literalOf(source: string): string | undefined {
  if (!/^(?:[^\\^$.|?*+()[\]{}]|\\[!-/:-@[-`{-~])*$/.test(source)) return undefined;
  return source.replace(/\\(.)/g, '$1');
}

function invalid(parameterName: string, problem: string, cause?: unknown): ShellServerError {
  return new ShellServerError('PARAM_002', `${parameterName} ${problem}.`, {
    hint: 'Use RE2 syntax: no lookaround and no backreferences; (?i) at the start ignores case; \\ escapes a character.',
    details: { parameter: parameterName },
    cause,
  });
}
