/**
 * Programs that stand in arguments: what a sed script or an awk program would run or write. They are read as far as
 * that needs; what cannot be read counts as dangerous.
 */

/** The command that runs or writes, or undefined where the script only edits. */
export function findSedEffect(script: string): string | undefined {
  let at = 0;
  const rest = (): string => script.slice(at);
  /** Past what stands here and looks so; what that was. */
  const skip = (pattern: RegExp): string => {
    const [text = ''] = pattern.exec(rest()) ?? [];
    at += text.length;
    return text;
  };
  const skipLine = (): string => skip(/^[^\n]*\n?/);
  /** Past a text that ends in an unescaped `mark`; false where it does not end. */
  const skipTo = (mark: string): boolean => {
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
  };
  while (at < script.length) {
    skip(/^[\s;{}]*/);
    if (at >= script.length) return undefined;
    if (rest().startsWith('#')) {
      skipLine();
      continue;
    }
    // Addresses: 1, $, /x/, \cxc, first~step, addr,+3, addr,~4; then perhaps a negation.
    for (;;) {
      const simple = skip(/^\s*(?:[\d$~+,!]|\s)+/);
      const custom = /^\\(.)/s.exec(rest());
      if (script[at] === '/') {
        at += 1;
        if (!skipTo('/')) return 'an address that cannot be read';
      } else if (custom !== null) {
        at += 2;
        if (!skipTo(custom[1] ?? '')) return 'an address that cannot be read';
      } else if (simple === '') break;
      else continue;
      skip(/^[IM]*/);
    }
    const command = script[at];
    at += 1;
    if (command === undefined) return undefined;
    if ('=dDgGhHnNpPxFz{}'.includes(command)) continue;
    if ('qQlL'.includes(command)) skip(/^\s*\d*/);
    else if (':btT'.includes(command)) skip(/^[^;\n}]*/);
    else if ('aic'.includes(command)) {
      // The text goes on where a line ends in a backslash.
      skip(/^(?:[^\n\\]|\\[^]|\\$)*\n?/);
    } else if (command === 's' || command === 'y') {
      const mark = script[at];
      at += 1;
      if (mark === undefined || mark === '\\' || mark === '\n' || !skipTo(mark) || !skipTo(mark))
        return 'an s command that cannot be read';
      if (command === 's') skip(/^[gpIiMm\d]*/);
      if (/^[ew]/.test(rest())) return `the flag ${script[at]} of s`;
      if (!/^\s*(?:[;}#\n]|$)/.test(rest())) return 'an s command that cannot be read';
    } else if (command === 'v') skipLine();
    else return `the command ${command}`;
  }
  return undefined;
}

/** The construct that runs or writes, or undefined where the program only prints. */
export function findAwkEffect(program: string): string | undefined {
  // Where texts cannot be told from the rest, a sign in one of them counts as well.
  const code = awkCode(program) ?? program;
  if (/\bsystem\b/.test(code)) return 'system()';
  if (/\bgetline\b/.test(code)) return 'getline';
  if (code.includes('@')) return '@';
  // Output is redirected after print or printf alone, so comparisons and alternatives before them are harmless.
  const printing = code.search(/\bprintf?\b/);
  if (printing === -1) return undefined;
  const after = code.slice(printing).replaceAll('||', '');
  if (after.includes('>')) return 'print >';
  return after.includes('|') ? 'print |' : undefined;
}

/** Before these a `/` begins a pattern; behind a name, a number or a bracket it divides. */
const BEFORE_PATTERN = /[{};(,!~&|\n]\s*$/;
const BEFORE_DIVISION = /[\w)\]$"]\s*$/;
const KEYWORD = /\b(?:print|printf|return|in|do|else|delete|exit|case|length|getline)\s*$/;

/** Of a program that is read; longer ones are rare, and time grows with the square. */
const LONGEST_READ = 8000;
const BEFORE_LENGTH = 64;

/** The program with its texts and patterns emptied; undefined where one of them has no certain end. */
function awkCode(program: string): string | undefined {
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
      code += '""';
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
