/** One simple command: its assignments, redirections and words. */
import type { Assignment, Command, HereDoc, Redirection as Redirect, Word } from 'unbash';
import { setOf } from '../list.ts';
import { type Arg, evaluateText, evaluateWord, listOf, literalArg, unknownArg } from './evaluate-word.ts';
import { inspectName, inspectQuoted, isPlainWord, recordArithmetic } from './evaluated.ts';
import { checkDepth, guessScope, type Input, type Scope, type Walk } from './findings.ts';
import {
  inspectArithmetic,
  inspectBody,
  inspectParts,
  inspectWord,
  isNumberWord,
  recordPath,
  sourceOf,
} from './inspect.ts';

/** Words that are grammar where a command begins; bash may read them so where the parser does not. */
const RESERVED = setOf(
  '! time coproc if then else elif fi case esac for select while until do done { } in function [[ ]]',
);

/** Commands after which `sh` keeps the variables that stand before them. */
const KEEPS = setOf('. : break continue eval exec exit export readonly return set shift times trap unset');

export function walkCommand(walk: Walk, node: Command, scope: Scope): void {
  const { findings } = walk;
  const before = findings.invocations.length;
  const text = sourceOf(node, scope);
  const isTemporary = node.name !== undefined && !KEEPS.has(node.name.value);
  for (const item of node.prefix)
    if (item.type === 'Assignment') {
      const isSettled = walkAssignment(walk, item, scope, isTemporary);
      if (isSettled && node.name === undefined && node.redirects.length === 0) scope.settled.add(item.name);
    }
  const input = walkRedirects(walk, node.redirects, scope) ?? scope.input;
  if (node.name === undefined) return;
  checkDescriptors(walk, [node.name, ...node.args], scope);

  if (RESERVED.has(node.name.text)) {
    walk.unknown(`"${node.name.text}" may be read as grammar here`, text, scope);
    const [first, last] = [node.args[0], node.args.at(-1)];
    if (first !== undefined && last !== undefined) {
      checkDepth(scope);
      walk.walkText(scope.source.slice(first.pos, last.end), guessScope(scope));
    }
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
  walk.invoke({ args, text, input, fedBy: [...findings.invocations.slice(before), ...feeding] }, scope);
}

/** Whether the variable then holds a word that stands there. */
function walkAssignment(walk: Walk, assignment: Assignment, scope: Scope, isTemporary: boolean): boolean {
  walkAssignmentArg(walk, assignment, scope);
  const { name, value, index, append, text } = assignment;
  if (index !== undefined) {
    inspectArithmetic(walk, undefined, index.text, scope);
    // `a[if 1]]=x` is the name of a command for bash.
    if (/[[\]\s]/.test(index.text))
      walk.unknown('an assignment that bash may read as a command', text, scope);
  }
  if (value.type === 'ArrayValue') {
    const elements = value.elements.flatMap((element) => elementValues(walk, element, scope));
    walk.assign({ name, value: unknownArg(text, elements, false), text, isArray: true }, scope);
    return false;
  }
  const result = evaluateText(value, walk.knowledge(scope));
  const isPlain = append !== true && index === undefined;
  const given = isPlain ? result : unknownArg(text, result.guesses, false);
  // Digits stay digits where others are added.
  const isNumber = index === undefined && isNumberWord(value);
  walk.assign({ name, value: given, text, isNumber, isTemporary, isArray: index !== undefined }, scope);
  return isPlain && (isNumber || isPlainWord(result.value));
}

/** What an element may hold; of an associative array the key may be read as well. */
function elementValues(walk: Walk, element: Word, scope: Scope): readonly string[] {
  const values = evaluateWord(element, walk.knowledge(scope)).flatMap(listOf);
  if (!element.text.startsWith('[')) return values;
  return values.flatMap((value) => {
    const [, key, rest] = /^\[([^]*?)\]\+?=([^]*)$/.exec(value) ?? [];
    return key === undefined || rest === undefined ? [value] : [rest, key];
  });
}

/** As an argument of `export` and the like it is a word to look into; the builtin does the assigning. */
function walkAssignmentArg(walk: Walk, { text, name, value, index }: Assignment, scope: Scope): Arg {
  if (index !== undefined) {
    inspectParts(walk, index, scope);
    inspectQuoted(walk, index.text, scope);
    recordArithmetic(walk, index.text, scope);
  }
  if (value.type === 'ArrayValue') {
    for (const element of value.elements) {
      inspectWord(walk, element, scope);
      const [, subscript] = /^\[([^]*)\]\+?=/.exec(element.text) ?? [];
      if (subscript !== undefined) recordArithmetic(walk, subscript, scope);
    }
    const elements = value.elements.flatMap((element) => elementValues(walk, element, scope));
    const guesses = elements.map((element) => `${name}=${element}`);
    return { ...unknownArg(text, guesses, false), start: `${name}=` };
  }
  inspectWord(walk, value, scope);
  const result = evaluateText(value, walk.knowledge(scope));
  const prefix = `${name}=`;
  // A value that nobody knows is still one of this name.
  const guesses = result.guesses.length === 0 ? [''] : result.guesses;
  return {
    ...result,
    text,
    value: result.value === undefined ? undefined : prefix + result.value,
    guesses: guesses.map((guessed) => prefix + guessed),
    start: prefix + result.start,
  };
}

/** `{a['x']}>f` names a variable for bash; the parser sees a word. */
function checkDescriptors(walk: Walk, words: Command['args'], scope: Scope): void {
  for (const { text, end } of words) {
    if (!/^\{[A-Za-z_]\w*\[[^]*\]\}$/.test(text) || !/[<>]/.test(scope.source[end] ?? '')) continue;
    walk.unknown('a word that bash may read in another way', text, scope);
    inspectName(walk, text, scope);
  }
}

/** Looks into redirections; answers what they put on the standard input, if they do. */
export function walkRedirects(walk: Walk, redirects: readonly Redirect[], scope: Scope): Input | undefined {
  let input: Input | undefined;
  for (const redirect of redirects) {
    const { descriptor } = redirect;
    // bash joins `2\` and `>x` on the next line to one redirection.
    if (/[\w}](?:\\\n)+$/.test(scope.source.slice(Math.max(0, redirect.pos - 40), redirect.pos)))
      walk.unknown('a redirection that begins on the line before', sourceOf(redirect, scope), scope);
    if (descriptor?.type === 'FileDescriptorVariable') {
      const [, name = '', subscript] = /^(\w+)(?:\[([^]*)\])?$/.exec(descriptor.name) ?? [];
      if (subscript !== undefined) recordArithmetic(walk, subscript, scope);
      walk.assign({ name, text: `{${descriptor.name}}`, isNumber: true }, scope);
    }
    const isInput =
      descriptor === undefined || (descriptor.type === 'FileDescriptor' && descriptor.value === 0);
    const given = walkRedirect(walk, redirect, scope);
    if (isInput && given !== undefined) input = given;
  }
  return input;
}

/** What it would put on the standard input. */
function walkRedirect(walk: Walk, redirect: Redirect, scope: Scope): Input | undefined {
  const before = walk.findings.invocations.length;
  const text = sourceOf(redirect, scope);
  if (redirect.type === 'HereDoc') {
    const body = walkHereDoc(walk, redirect, scope);
    return { kind: 'text', text: body, from: walk.findings.invocations.slice(before) };
  }
  const { target, operator } = redirect;
  if (target === undefined) return undefined;
  inspectWord(walk, target, scope);
  const path = evaluateText(target, walk.knowledge(scope));
  const from = walk.findings.invocations.slice(before);
  if (operator === '<<<') return { kind: 'text', text: path, from };
  const isCopy = (operator === '<&' || operator === '>&') && /^(?:\d+-?|-)$/.test(path.value ?? '');
  if (isCopy)
    return operator === '<&' && path.value !== '-' ? { kind: 'file', path: unknownArg(text) } : undefined;
  const isRead = operator === '<' || operator === '<&';
  recordPath(walk, { kind: isRead ? 'read' : 'write', target: path, text }, scope);
  if (!isRead && operator !== '<>') return undefined;
  return from.length > 0 ? { kind: 'pipe', from } : { kind: 'file', path };
}

/** Its text, as the command reads it. */
function walkHereDoc(walk: Walk, node: HereDoc, scope: Scope): Arg {
  const { body, delimiter, operator, closing } = node;
  const isQuoted = delimiter?.quoted === true;
  // Where its end is missing, or its word is an expansion, bash may look for the body elsewhere.
  if (closing === undefined || /[$`()<>\n]/.test(delimiter?.text ?? '$'))
    walk.unknown('a here-document whose end is not clear', sourceOf(node, scope), scope);
  if (!isQuoted) {
    walk.spend(body.text.length);
    inspectBody(walk, body, scope);
  }
  const text = operator === '<<-' ? body.text.replace(/^\t+/gm, '') : body.text;
  return isQuoted || !/[$`\\]/.test(text) ? literalArg(text) : unknownArg(text, [text], false);
}
