/** One simple command: its assignments, redirections and words. */
import type { Assignment, Command, Redirection as Redirect } from 'unbash';
import { type Arg, evaluateText, evaluateWord, literalArg, unknownArg } from './evaluate-word.ts';
import { checkDepth, copyScope, type Input, type Scope, type Walk } from './findings.ts';
import { inspectArithmetic, inspectBody, inspectParts, inspectWord, isNumberWord } from './inspect.ts';

/** Words that are grammar where a command begins; bash may read them so where the parser does not. */
const RESERVED = new Set(
  '! time coproc if then else elif fi case esac for select while until do done { } in function [[ ]]'.split(
    ' ',
  ),
);

export function walkCommand(walk: Walk, node: Command, scope: Scope): void {
  const { findings } = walk;
  const before = findings.invocations.length;
  const text = scope.source.slice(node.pos, node.end);
  for (const item of node.prefix) if (item.type === 'Assignment') walkAssignment(walk, item, scope);
  const input = walkRedirects(walk, node.redirects, scope) ?? scope.input;
  if (node.name === undefined) return;

  if (RESERVED.has(node.name.text)) {
    walk.unknown(`"${node.name.text}" may be read as grammar here`, text, scope);
    const [first, last] = [node.args[0], node.args.at(-1)];
    if (first !== undefined && last !== undefined)
      walk.walkText(scope.source.slice(first.pos, last.end), guessScope(scope));
  }
  inspectWord(walk, node.name, scope);
  const args = evaluateWord(node.name, walk.knowledge(scope));
  for (const arg of node.args) {
    if (arg.type === 'Word') {
      inspectWord(walk, arg, scope);
      args.push(...evaluateWord(arg, walk.knowledge(scope)));
    } else args.push(walkAssignmentArg(walk, arg, scope));
  }
  const feeding = 'from' in input ? input.from : [];
  walk.invoke(args, text, scope, input, [...findings.invocations.slice(before), ...feeding]);
}

/** Of what another reading of the text would run. */
function guessScope(scope: Scope): Scope {
  checkDepth(scope);
  return copyScope(scope, { isGuess: true, depth: scope.depth + 1 });
}

function walkAssignment(walk: Walk, assignment: Assignment, scope: Scope): void {
  walkAssignmentArg(walk, assignment, scope);
  const { name, value, index, append, text } = assignment;
  if (index !== undefined) {
    inspectArithmetic(walk, undefined, index.text, scope);
    // `a[if 1]]=x` is the name of a command for bash.
    if (/[[\]\s]/.test(index.text))
      walk.unknown('an assignment that bash may read as a command', text, scope);
  }
  if (value.type === 'ArrayValue') {
    const elements = value.elements.flatMap(
      (element) => evaluateText(element, walk.knowledge(scope)).guesses,
    );
    walk.assign(name, unknownArg(text, elements, false), text, scope);
    return;
  }
  const result = evaluateText(value, walk.knowledge(scope));
  const isPlain = append !== true && index === undefined;
  walk.assign(
    name,
    isPlain ? result : unknownArg(text, result.guesses, false),
    text,
    scope,
    isPlain && isNumberWord(value),
  );
}

/** As an argument of `export` and the like it is a word to look into; the builtin does the assigning. */
function walkAssignmentArg(walk: Walk, { text, name, value, index }: Assignment, scope: Scope): Arg {
  if (index !== undefined) inspectParts(walk, index, scope);
  if (value.type === 'ArrayValue') {
    for (const element of value.elements) inspectWord(walk, element, scope);
    return { ...unknownArg(text, [], false), start: `${name}=` };
  }
  inspectWord(walk, value, scope);
  const result = evaluateText(value, walk.knowledge(scope));
  const prefix = `${name}=`;
  return {
    ...result,
    text,
    value: result.value === undefined ? undefined : prefix + result.value,
    guesses: result.guesses.map((guessed) => prefix + guessed),
    start: prefix + result.start,
  };
}

/** Looks into redirections; answers what they put on the standard input, if they do. */
export function walkRedirects(walk: Walk, redirects: readonly Redirect[], scope: Scope): Input | undefined {
  let input: Input | undefined;
  for (const redirect of redirects) {
    const before = walk.findings.invocations.length;
    // bash joins `2\` and `>x` on the next line to one redirection.
    if (/[\w}](?:\\\n)+$/.test(scope.source.slice(Math.max(0, redirect.pos - 40), redirect.pos))) {
      walk.unknown(
        'a redirection that begins on the line before',
        scope.source.slice(redirect.pos, redirect.end),
        scope,
      );
    }
    const isInput =
      redirect.descriptor === undefined ||
      (redirect.descriptor.type === 'FileDescriptor' && redirect.descriptor.value === 0);
    if (redirect.descriptor?.type === 'FileDescriptorVariable') {
      walk.assign(redirect.descriptor.name, undefined, `{${redirect.descriptor.name}}`, scope, true);
    }
    if (redirect.type === 'HereDoc') {
      const { body, delimiter, operator, closing } = redirect;
      // Where its end is missing, or its word is an expansion, bash may look for the body elsewhere.
      if (closing === undefined || /[$`()<>\n]/.test(delimiter?.text ?? '$')) {
        walk.unknown(
          'a here-document whose end is not clear',
          scope.source.slice(redirect.pos, redirect.end),
          scope,
        );
      }
      if (delimiter?.quoted !== true) {
        walk.spend(body.text.length);
        inspectBody(walk, body, scope);
      }
      const from = walk.findings.invocations.slice(before);
      if (isInput)
        input = {
          kind: 'text',
          text: hereDocText(body.text, delimiter?.quoted === true, operator === '<<-'),
          from,
        };
      continue;
    }
    const { target } = redirect;
    if (target === undefined) continue;
    inspectWord(walk, target, scope);
    const value = evaluateText(target, walk.knowledge(scope));
    const from = walk.findings.invocations.slice(before);
    if (redirect.type === 'HereString') {
      if (isInput) input = { kind: 'text', text: value, from };
      continue;
    }
    const text = scope.source.slice(redirect.pos, redirect.end);
    const operator = redirect.operator;
    const isCopy = (operator === '<&' || operator === '>&') && /^(?:\d+-?|-)$/.test(value.value ?? '');
    if (isCopy) {
      if (isInput && operator === '<&' && value.value !== '-')
        input = { kind: 'file', path: unknownArg(text) };
      continue;
    }
    const isRead = operator === '<' || operator === '<&';
    const { cwds, isGuess } = scope;
    walk.findings.redirections.push({ kind: isRead ? 'read' : 'write', target: value, text, cwds, isGuess });
    if (isInput && (isRead || operator === '<>')) {
      input = from.length > 0 ? { kind: 'pipe', from } : { kind: 'file', path: value };
    }
  }
  return input;
}

function hereDocText(body: string, isQuoted: boolean, isIndented: boolean): Arg {
  const text = isIndented ? body.replace(/^\t+/gm, '') : body;
  if (isQuoted || !/[$`\\]/.test(text)) return literalArg(text);
  return unknownArg(text, [text], false);
}
