/**
 * Programs that stand in arguments: what a sed script or an awk program would run or write. They are read as far as
 * that needs; what cannot be read counts as dangerous.
 */
import { OPEN_DEVICES } from './tables/path-rules.ts';

/** What a program does beside printing. */
export interface ProgramEffects {
  /** The construct that runs something, or that cannot be read. */
  readonly problem: string | undefined;
  /** Files that it writes, where they stand in it as they are. */
  readonly written: readonly string[];
}

export function readSed(script: string): ProgramEffects {
  const written: string[] = [];
  const problem = findSedProblem(script, written);
  return { problem, written: written.filter((path) => !OPEN_DEVICES.test(path)) };
}

/** A text that is read from left to right. */
function createScanner(script: string) {
  let at = 0;
  const rest = (): string => script.slice(at);
  /** Past what stands here and looks so; what that was. */
  const skip = (pattern: RegExp): string => {
    const [text = ''] = pattern.exec(rest()) ?? [];
    at += text.length;
    return text;
  };
  return {
    rest,
    skip,
    take: (): string => skip(/^[^]/),
    /** What is left of the line. */
    skipLine: (): string => skip(/^[^\n]*\n?/).replace(/\n$/, ''),
    /** Past a text that ends in an unescaped `mark`; false where it does not end. */
    skipTo(mark: string): boolean {
      for (let inClass = false; at < script.length; at++) {
        const character = script[at];
        if (character === '\\') at += 1;
        else if (character === '\n' && mark !== '\n') return false;
        else if (character === '[' && mark !== '[') inClass = script.indexOf(']', at + 2) !== -1;
        else if (character === ']') inClass = false;
        // A mark inside of a bracket ends the text all the same in some seds, so such a script is not read.
        else if (character === mark && inClass) return false;
        if (character === mark) {
          at += 1;
          return true;
        }
      }
      return false;
    },
  };
}

function findSedProblem(script: string, written: string[]): string | undefined {
  const { rest, skip, take, skipLine, skipTo } = createScanner(script);
  for (;;) {
    skip(/^[\s;{}]*/);
    if (rest().startsWith('#')) {
      skipLine();
      continue;
    }
    // Addresses: 1, $, /x/, \cxc, first~step, addr,+3, addr,~4; then perhaps a negation.
    for (;;) {
      const simple = skip(/^\s*(?:[\d$~+,!]|\s)+/);
      const mark = skip(/^(?:\/|\\[^])/).at(-1);
      if (mark !== undefined && !skipTo(mark)) return 'an address that cannot be read';
      if (mark !== undefined) skip(/^[IM]*/);
      else if (simple === '') break;
    }
    const command = take();
    if (command === '') return undefined;
    if ('=dDgGhHnNpPxFz{}'.includes(command)) continue;
    if ('qQlL'.includes(command)) skip(/^\s*\d*/);
    else if (':btT'.includes(command)) skip(/^[^;\n}]*/);
    else if ('aic'.includes(command)) {
      // The text goes on where a line ends in a backslash.
      skip(/^(?:[^\n\\]|\\[^]|\\$)*\n?/);
    } else if (command === 's' || command === 'y') {
      const mark = take();
      if (mark === '' || mark === '\\' || mark === '\n' || !skipTo(mark) || !skipTo(mark))
        return 'an s command that cannot be read';
      if (command === 's') skip(/^[gpIiMm\d]*/);
      if (rest().startsWith('e')) return 'the flag e of s';
      if (/^w[ \t]*[^\s]/.test(rest())) written.push(skipLine().slice(1).trimStart());
      else if (!/^\s*(?:[;}#\n]|$)/.test(rest())) return 'an s command that cannot be read';
    } else if ((command === 'w' || command === 'W') && /^[ \t]*[^\s]/.test(rest())) {
      written.push(skipLine().trimStart());
    } else if (command === 'v') skipLine();
    else return `the command ${command}`;
  }
}

export function readAwk(program: string): ProgramEffects {
  const texts: string[] = [];
  // Where texts cannot be told from the rest, a sign in one of them counts as well.
  const read = awkCode(program, texts);
  const code = read ?? program;
  const effects = (problem: string | undefined, written: readonly string[] = []): ProgramEffects => ({
    problem,
    written: written.filter((path) => !OPEN_DEVICES.test(path)),
  });
  if (/\bsystem\b/.test(code)) return effects('system()');
  if (/\bgetline\b/.test(code)) return effects('getline');
  if (code.includes('@')) return effects('@');
  // Output is redirected after print or printf alone, so comparisons and alternatives before them are harmless.
  const printing = code.search(/\bprintf?\b/);
  if (printing === -1) return effects(undefined);
  const after = code.slice(printing).replaceAll('||', '');
  if (after.includes('|')) return effects('print |');
  const written: string[] = [];
  const left = after.replaceAll(/>>?[ \t]*"(\d+)"[ \t]*(?=[;}\n]|$)/g, (whole, index: string) => {
    const text = texts[Number(index)] ?? '\\';
    if (read === undefined || text === '' || text.includes('\\')) return whole;
    written.push(text);
    return '';
  });
  return effects(left.includes('>') ? 'print >' : undefined, written);
}

/** Before these a `/` begins a pattern; behind a name, a number or a bracket it divides. */
const BEFORE_PATTERN = /[{};(,!~&|\n]\s*$/;
const BEFORE_DIVISION = /[\w)\]$"]\s*$/;
const KEYWORD = /\b(?:print|printf|return|in|do|else|delete|exit|case|length|getline)\s*$/;

/** Of a program that is read; longer ones are rare, and time grows with the square. */
const LONGEST_READ = 8000;
const BEFORE_LENGTH = 64;

/** The program with numbers for its texts, and without patterns; undefined where one of them has no certain end. */
function awkCode(program: string, texts: string[]): string | undefined {
  if (program.length > LONGEST_READ) return undefined;
  // As if a rule had ended before it.
  let code = ';';
  for (let at = 0; at < program.length; ) {
    const rest = program.slice(at);
    const sign = program[at] ?? '';
    if (sign === '#' || sign === '\\') return undefined;
    if (sign === '"') {
      const text = /^"(?:[^"\\\n]|\\[^\n])*"/.exec(rest)?.[0];
      if (text === undefined) return undefined;
      code += `"${texts.length}"`;
      texts.push(text.slice(1, -1));
      at += text.length;
    } else if (sign === '/') {
      const before = code.slice(-BEFORE_LENGTH);
      const isPattern = BEFORE_PATTERN.test(before);
      if (!isPattern && (!BEFORE_DIVISION.test(before) || KEYWORD.test(before))) return undefined;
      // Whether a `/` in brackets ends a pattern differs from one awk to the next.
      const pattern = isPattern ? /^\/(?:[^/\\\n[\]"]|\\[^\n"])*\//.exec(rest)?.[0] : sign;
      if (pattern === undefined) return undefined;
      code += isPattern ? '1' : sign;
      at += pattern.length;
    } else {
      code += sign;
      at += 1;
    }
  }
  return code;
}
