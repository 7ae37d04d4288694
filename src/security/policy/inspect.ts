/**
 * Looks into words, arithmetic and tests for what runs inside them: substitutions, and texts that bash evaluates
 * although they look like data.
 */
import {
  type ArithmeticExpression,
  forEachChild,
  type HereDocBody,
  type ParameterExpansionPart,
  type ParsedScript,
  type SyntaxNode,
  type TestExpression,
  type Word,
} from 'unbash';
import { setOf } from '../list.ts';
import { evaluateText } from './evaluate-word.ts';
import { inspectName, recordArithmetic, recordIndirection } from './evaluated.ts';
import { checkDepth, copyScope, guessScope, type Redirection, type Scope, type Walk } from './findings.ts';

const NAME = /^[A-Za-z_]\w*$/;

export function sourceOf(node: { readonly pos: number; readonly end: number }, scope: Scope): string {
  return scope.source.slice(node.pos, node.end);
}

/** A word of a command, in which nothing but its parts may mean something to the shell. */
export function inspectWord(walk: Walk, word: Word, scope: Scope): void {
  const plain = word.parts?.flatMap((part) => (part.type === 'Literal' ? [part.text] : [])) ?? [word.text];
  // The parser takes `1>(rm x)` for text, where bash sees a process substitution.
  if (plain.some((text) => UNREAD.test(text.replace(/\\[^]/g, ''))))
    walk.unknown('a word that bash may read in another way', word.text, scope);
  inspectParts(walk, word, scope);
}

const UNREAD = /[\s<>()|&;`"']|\$[({['"\w@*#?!$-]|\{[^{}]*(?:,|\.\.)[^{}]*\}/;

/** A pattern or a here-document, where such signs are text. */
export function inspectParts(walk: Walk, word: Word | HereDocBody, scope: Scope): void {
  if (word.parts === undefined) return;
  for (const part of word.parts) inspectNode(walk, part, scope);
}

/**
 * The body of a here-document. A single quote in `${x:-'…'}` quotes nothing there, but the parser takes it for one and
 * does not look at what it holds.
 */
export function inspectBody(walk: Walk, body: HereDocBody, scope: Scope): void {
  inspectParts(walk, body, scope);
  const look = (node: SyntaxNode): void => {
    if (node.type === 'CommandExpansion') return;
    if ((node.type !== 'SingleQuoted' && node.type !== 'AnsiCQuoted') || !/[$`]/.test(node.text)) {
      forEachChild(node, look);
      return;
    }
    walk.unknown('quotes in a here-document that bash does not heed', node.text, scope);
    walk.walkText(`: "${node.value.replaceAll('"', '')}"`, guessScope(scope));
  };
  forEachChild(body, look);
}

function inspectNode(walk: Walk, node: SyntaxNode, scope: Scope): void {
  switch (node.type) {
    case 'CommandExpansion':
    case 'ArithmeticCommandExpansion':
      return enter(walk, node, '$( )', scope);
    case 'ProcessSubstitution':
      checkGlue(walk, node, scope);
      enter(walk, node, `${node.operator}( )`, scope);
      return;
    case 'ArithmeticExpansion':
      return inspectArithmetic(
        walk,
        node.expression,
        node.text.replace(/^\$(?:\(\(|\[)|(?:\)\)|\])$/g, ''),
        scope,
      );
    case 'ParameterExpansion':
      walk.spend(node.text.length);
      inspectParameter(walk, node, scope);
      forEachChild(node, (child) => inspectNode(walk, child, scope));
      return;
    default:
      forEachChild(node, (child) => inspectNode(walk, child, scope));
  }
}

function enter(
  walk: Walk,
  { script, text }: { readonly script: ParsedScript | undefined; readonly text: string },
  label: string,
  scope: Scope,
): void {
  walk.spend(text.length);
  checkDepth(scope);
  if (script === undefined) {
    walk.unknown('a substitution that cannot be read', text, scope);
    return;
  }
  if (!text.startsWith('`') && /<<(?!<)/.test(text.replaceAll('<<<', '')) && !isSingle(script)) {
    walk.unknown('bash may join commands behind a here-document in a substitution', text, scope);
  }
  walk.walkParsed(
    script,
    copyScope(scope, {
      source: script.source ?? scope.source,
      foundIn: [...scope.foundIn, label],
      depth: scope.depth + 1,
      isConditional: false,
    }),
  );
}

/**
 * bash 5.2 prints a substitution anew before it runs it, and loses a `;` behind a here-document: the next command becomes
 * arguments of the one before. `$(cat <<'EOF' …)` alone is read as it stands.
 */
function isSingle({ commands }: ParsedScript): boolean {
  const [only] = commands;
  if (only === undefined || commands.length !== 1) return false;
  const { command } = only;
  return (
    command.type === 'Command' ||
    (command.type === 'Pipeline' && command.commands.every(({ type }) => type === 'Command'))
  );
}

/** `git>()-shell` is one word for bash, the name of a program; the parser sees three. */
function checkGlue(
  walk: Walk,
  node: { readonly pos: number; readonly end: number; readonly text: string },
  scope: Scope,
): void {
  const before = scope.source[node.pos - 1] ?? ' ';
  const after = scope.source[node.end] ?? ' ';
  if (/[\s;&|(]/.test(before) && /[\s;&|)]/.test(after)) return;
  const isValue =
    before === '=' &&
    /(?:^|[\s;&|(])[A-Za-z_]\w*=$/.test(scope.source.slice(0, node.pos)) &&
    /[\s;&|)]/.test(after);
  if (!isValue) walk.unknown('a process substitution that is part of a word', node.text, scope);
}

function inspectParameter(walk: Walk, node: ParameterExpansionPart, scope: Scope): void {
  const { operation, index, parameter, prefix, text } = node;
  if (operation?.type === 'Transform' && operation.operand.value.includes('P')) {
    walk.unknown('bash evaluates the value of a variable as a prompt', text, scope);
  }
  if (operation?.type === 'Unknown') walk.unknown('an expansion that cannot be read', text, scope);
  if (operation?.type === 'Default' && operation.operator.endsWith('=')) {
    const value = evaluateText(operation.operand, walk.knowledge(scope));
    walk.assign({ name: parameter, value, text }, scope);
  }
  const isIndex = index !== undefined && index.text !== '@' && index.text !== '*';
  if (isIndex) recordArithmetic(walk, index.text, scope);
  if (operation?.type === 'Slice') {
    recordArithmetic(walk, operation.offset.text, scope);
    if (operation.length !== undefined) recordArithmetic(walk, operation.length.text, scope);
  }
  if (prefix === '!' && operation?.type !== 'Names' && !(index !== undefined && !isIndex))
    recordIndirection(walk, parameter, scope);
}

/**
 * Where quotes do not balance, bash reads `((` as two subshells after all, which the parser does not; so arithmetic
 * with quotes, lines or semicolons is unknown.
 */
export function inspectArithmetic(
  walk: Walk,
  expression: ArithmeticExpression | undefined,
  text: string,
  scope: Scope,
): void {
  walk.spend(text.length);
  if (/['"\\\n;]/.test(text)) walk.unknown('arithmetic that bash may read as a command', text, scope);
  if (expression !== undefined) inspectNode(walk, expression, scope);
  else if (/\$\(|`|[<>]\(/.test(text))
    walk.unknown('a substitution in arithmetic that cannot be read', text, scope);
  recordArithmetic(walk, text, scope);
  for (const [, name] of text.matchAll(/\b([A-Za-z_]\w*)(?:\[[^\][]*\])?\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)/g)) {
    if (name !== undefined) walk.assign({ name, text, isNumber: true }, scope);
  }
}

const ARITHMETIC_TESTS = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge']);

const FILE_TESTS = setOf('-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S');

/** The shell itself looks at a file or a directory. */
export function recordRead(walk: Walk, word: Word, scope: Scope): void {
  const target = evaluateText(word, walk.knowledge(scope));
  recordPath(walk, { kind: 'read', target, text: word.text }, scope);
}

export function recordPath(
  { findings }: Walk,
  use: Pick<Redirection, 'kind' | 'target' | 'text'>,
  { cwds, isGuess }: Scope,
): void {
  findings.redirections.push({ ...use, cwds, isGuess });
}

export function inspectTest(walk: Walk, expression: TestExpression, scope: Scope): void {
  switch (expression.type) {
    case 'TestUnary': {
      const { operator, operand } = expression;
      inspectParts(walk, operand, scope);
      if (FILE_TESTS.has(operator)) recordRead(walk, operand, scope);
      if (
        (operator === '-v' || operator === '-R') &&
        !NAME.test(evaluateText(operand, walk.knowledge(scope)).value ?? '')
      ) {
        walk.unknown(`bash evaluates what follows ${operator}`, sourceOf(expression, scope), scope);
        if (operand.text.includes('[')) inspectName(walk, operand.text, scope);
        else recordArithmetic(walk, operand.text, scope);
      }
      return;
    }
    case 'TestBinary':
      for (const side of [expression.left, expression.right]) {
        inspectParts(walk, side, scope);
        if (/^-(?:nt|ot|ef)$/.test(expression.operator)) recordRead(walk, side, scope);
        if (!ARITHMETIC_TESTS.has(expression.operator)) continue;
        recordArithmetic(walk, `${side.text} ${side.value}`, scope);
      }
      return;
    case 'TestLogical':
      for (const operand of expression.operands) inspectTest(walk, operand, scope);
      return;
    case 'TestNot':
      return inspectTest(walk, expression.operand, scope);
    case 'TestGroup':
      inspectTest(walk, expression.expression, scope);
  }
}

/** A value that can only be a number, whatever happens. */
export function isNumberWord(word: Word): boolean {
  if (word.parts === undefined) return /^(?:-?\d+)?$/.test(word.value);
  const isNumber = (part: SyntaxNode): boolean => {
    if (part.type === 'DoubleQuoted') return part.parts.length === 1 && part.parts.every(isNumber);
    if (part.type === 'SimpleExpansion')
      return /^\$(?:[#?$!]|RANDOM|SECONDS|LINENO|EPOCHSECONDS|UID|EUID|PPID)$/.test(part.text);
    return part.type === 'ArithmeticExpansion' || (part.type === 'ParameterExpansion' && part.prefix === '#');
  };
  return word.parts.length === 1 && word.parts.every(isNumber);
}
