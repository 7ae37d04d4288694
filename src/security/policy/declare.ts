/** `declare`, `export` and their like: what they give a variable, and what they make of it for the rest of the command. */
import { type Arg, literalArg, UNDECIDED, unknownArg, wordOf } from './evaluate-word.ts';
import { inspectName, inspectQuoted, recordArithmetic, recordUnknown } from './evaluated.ts';
import type { Assigned, Call } from './findings.ts';
import { setUnknown } from './follow.ts';
import { recordPath } from './inspect.ts';

const NAME = /^[A-Za-z_]\w*$/;

export function declare(call: Call): void {
  const { walk, args, scope } = call;
  const name = call.invocation.args[0]?.value ?? '';
  let letters = '';
  for (const arg of args) {
    const word = wordOf(arg);
    if (/^[-+]\w/.test(word)) {
      letters += word;
      if (/^-\w*n/.test(word) && name !== 'export' && name !== 'readonly') refersToOthers(call);
      if (/^-\w*f/.test(word) && name === 'export') changesReading(call);
      continue;
    }
    const equals = word.indexOf('=');
    const target = (equals === -1 ? word : word.slice(0, equals)).replace(/\+$/, '');
    if (!NAME.test(target)) {
      if (word !== '--') unclear(call);
      inspectName(walk, word, scope);
      continue;
    }
    // `export A` gives no value, and `export A=$x` has its name in the known beginning.
    if (arg.value === undefined && equals === -1) unclear(call);
    const value = equals === -1 ? undefined : valueBehind(arg, equals);
    const isInteger = letters.includes('i');
    if (isInteger) makeInteger(call, target, value);
    const isNumber = value?.value !== undefined && (isInteger || /^-?\d+$/.test(value.value));
    // A later line could not set it any more, although it looks so.
    if (walk.context.isContinued === true && !isNumber && (name === 'readonly' || letters.includes('r')))
      recordUnknown(walk, call.invocation.text, scope);
    const isArray = /[aA]/.test(letters);
    if (value !== undefined) giveValue(call, { name: target, value, text: arg.text, isNumber, isArray });
    else if (isArray) walk.assign({ name: target, text: arg.text, isNumber: true, isArray }, scope);
  }
}

function valueBehind(arg: Arg, equals: number): Arg {
  if (arg.value !== undefined) return literalArg(arg.value.slice(equals + 1));
  const guesses = arg.guesses.map((guess) => guess.slice(equals + 1));
  const { text, start, readings } = arg;
  return { ...unknownArg(text, guesses, false), start: start.slice(equals + 1), readings };
}

/** A text in brackets is read as the elements of an array, where the name is one. `export` and `readonly` alone do not. */
function giveValue({ walk, invocation, scope }: Call, given: Assigned & { readonly value: Arg }): void {
  const { value, text, isArray } = given;
  const isSource = /^\w+\+?=\(/.test(text);
  const isReader = /^(?:declare|typeset|local)$/.test(invocation.args[0]?.value ?? '') || isArray === true;
  const start = value.value ?? (value.start || '(');
  const mayBeList = isReader && !isSource && start.startsWith('(');
  if (mayBeList) for (const guess of value.guesses) inspectQuoted(walk, guess, scope);
  walk.assign({ ...given, isArray: isArray === true || isSource, mayBeList }, scope);
}

/** What it is given from here on is evaluated, in a terminal by later lines as well. */
function makeInteger({ walk, invocation, scope }: Call, name: string, given: Arg | undefined): void {
  walk.findings.integers.add(name);
  const isOpen = given !== undefined && given.value === undefined;
  if (isOpen || walk.context.isContinued === true) recordUnknown(walk, invocation.text, scope);
  recordArithmetic(walk, `${name} ${given?.value ?? ''}`, scope);
}

export function unclear(call: Call): void {
  setUnknown(call, 'bash evaluates a name that is only known when it runs');
}

/** From here on one name may stand for another, so that no variable's value is known. */
function refersToOthers(call: Call): void {
  const { text } = call.invocation;
  unclear(call);
  const target = { ...unknownArg(text), readings: [UNDECIDED] };
  recordPath(call.walk, { kind: 'read', target, text }, call.scope);
}

export function changesReading(call: Call): void {
  setUnknown(call, 'this changes how the shell reads what follows');
}
