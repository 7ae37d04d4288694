/**
 * What a word of the command line becomes: its value where that is certain, guesses where it is not. Certain values
 * may allow a command; guesses can only help to refuse one.
 */
import type { ParameterExpansionPart, Script, Word, WordPart } from 'unbash';
import { expandBraces } from './braces.ts';

export interface Arg {
  /** As it was written. */
  readonly text: string;
  /** What the program gets; undefined where only the shell will know. */
  readonly value: string | undefined;
  /** Values that it may have; of a word that is certain, only that. */
  readonly guesses: readonly string[];
  /** What it certainly begins with. */
  readonly start: string;
  /** It may become no word at all, or several. */
  readonly isMany: boolean;
  readonly isGlob: boolean;
  /** What it may be as a path: like guesses, with OPEN in place of what nobody knows. */
  readonly readings: readonly string[];
}

/** What is known about the shell at this point of the command. */
export interface Knowledge {
  readonly home: string;
  /** The working directory, where it is certain. */
  readonly directory: string | undefined;
  /** Where the shell may be, and where it may have been before, as far as that is known. */
  readonly places: readonly string[];
  readonly previous: readonly string[];
  /** What a variable holds that the command does not set. */
  inherited(name: string): string;
  /** Name -> values that it was given so far. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** Names that the command gives a value anywhere. */
  readonly assigned: ReadonlySet<string>;
  /** Between double quotes. */
  readonly isQuoted?: boolean;
}

/** Variants of a command that are tried. */
export const MAX_GUESSES = 6;
/** Values of a variable that are followed, and paths that a word may be. */
const MAX_VALUES = 64;
const MAX_READINGS = 1024;
const MAX_GUESS_LENGTH = 4000;

/** Where there are more values than are followed, one of them is outside every directory. */
export function boundValues(values: readonly string[]): readonly string[] {
  const distinct = [...new Set(values)];
  return distinct.length <= MAX_VALUES ? distinct : [...distinct.slice(0, MAX_VALUES), UNDECIDED];
}

export function literalArg(value: string, text = value): Arg {
  return { text, value, guesses: [value], start: value, isMany: false, isGlob: false, readings: [value] };
}

/** A word that nothing is known about, such as what xargs adds. */
export function unknownArg(text: string, guesses: readonly string[] = [], isMany = true): Arg {
  return { text, value: undefined, guesses, start: '', isMany, isGlob: false, readings: guesses };
}

/** What is certain of a word: its value, or else what it begins with. */
export const wordOf = (arg: Arg | undefined): string => arg?.value ?? arg?.start ?? '';

/** Words as they were written. */
export const textOf = (args: readonly Arg[]): string => args.map(({ text }) => text).join(' ');

/** A word may become several: braces are expanded, where they can be. */
export function evaluateWord(word: Word, knowledge: Knowledge): Arg[] {
  const parts = word.parts;
  if (parts === undefined) return [plainArg(word.text, word.value, knowledge)];
  if (parts.some((part) => part.type === 'BraceExpansion')) {
    const words = expandBraces(word.text);
    if (words === undefined) return [unknownArg(word.text)];
    return words.map((text) => plainArg(text, text, knowledge));
  }
  return [combine(word.text, parts, knowledge)];
}

/** The value of a single word, for an assignment or a redirection, where nothing is split. */
export function evaluateText(word: Word, knowledge: Knowledge): Arg {
  const [first, ...more] = evaluateWord(word, knowledge);
  return first !== undefined && more.length === 0 ? { ...first, isMany: false } : unknownArg(word.text);
}

/** Arguments that look like assignments have their `~` expanded too. */
const ASSIGNED_TILDE = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=(?:[^]*:)?~/;

function plainArg(text: string, value: string, knowledge: Knowledge): Arg {
  if (ASSIGNED_TILDE.test(text)) return unknownArg(text, [value.replaceAll('~', knowledge.home)], false);
  if (!text.startsWith('~')) return literalArg(value, text);
  if (/^~(?=\/|$)/.test(text)) {
    if (!knowledge.assigned.has('HOME')) return literalArg(knowledge.home + value.slice(1), text);
    const homes = [...(knowledge.variables.get('HOME') ?? []), knowledge.home];
    const guesses = homes.map((directory) => directory + value.slice(1));
    return unknownArg(text, guesses, false);
  }
  const [prefix = '', who = ''] = /^~([^/]*)/.exec(text) ?? [];
  const guesses = homesOf(who, knowledge).map((directory) => directory + value.slice(prefix.length));
  // `~+1` and the like count in a stack that only the shell knows.
  return { ...unknownArg(text, guesses, false), readings: guesses.length === 0 ? [UNDECIDED] : guesses };
}

/** What follows a `~`: a user name, or the shell's own directories. */
function homesOf(who: string, { home, places, previous, assigned }: Knowledge): readonly string[] {
  if (assigned.has(who === '+' ? 'PWD' : who === '-' ? 'OLDPWD' : '')) return [];
  if (who === '+') return places;
  if (who === '-') return previous;
  if (!/^[\w.-]+$/.test(who)) return [];
  if (who === home.slice(home.lastIndexOf('/') + 1)) return [home];
  return [who === 'root' ? '/root' : `/home/${who}`];
}

/** In a reading: a text that only the shell will know. */
export const OPEN = '\0';

/** The reading of an unknown directory: no allowed directory contains everything. */
export const UNDECIDED = '/';

/** The reading of a text that may be any path, whatever stands before and behind it. */
export const ANYWHERE = `${'/..'.repeat(64)}${'/?'.repeat(16)}`;

/** What a variable may hold that is given this word: what an earlier command left may be any path. */
export const valuesOf = ({ guesses, readings }: Arg): readonly string[] => [
  ...guesses,
  ...readings.filter((reading) => reading.includes(ANYWHERE) && !guesses.includes(reading)),
];

/** The same for a list, in which the word may become several. */
export function listOf(arg: Arg): readonly string[] {
  const several = arg.isMany
    ? arg.readings.filter((reading) => reading !== '' && !reading.includes(OPEN))
    : [];
  return [...new Set([...valuesOf(arg), ...several])];
}

/** A part of a word. Where it has no readings of its own: its guesses, or nothing. */
type Piece = Pick<Arg, 'value' | 'guesses'> & Partial<Arg>;

function combine(text: string, parts: readonly WordPart[], knowledge: Knowledge): Arg {
  const pieces = parts.map((part, index) => pieceOf(part, index === 0, knowledge));
  const isKnown = pieces.every(({ value }) => value !== undefined);
  const value = isKnown ? pieces.map((piece) => piece.value).join('') : undefined;
  const firstOpen = pieces.findIndex((piece) => piece.value === undefined);
  const start = pieces
    .slice(0, firstOpen === -1 ? undefined : firstOpen + 1)
    .map((piece) => piece.value ?? piece.start ?? '')
    .join('');
  return {
    text,
    value,
    guesses: value === undefined ? joinGuesses(pieces) : [value],
    start,
    isMany: pieces.some((piece) => piece.isMany === true),
    isGlob: pieces.some((piece) => piece.isGlob === true),
    readings: value === undefined ? joinReadings(pieces.map(asReading)) : [value],
  };
}

function asReading({ readings, guesses }: Piece): Piece {
  return { value: undefined, guesses: readings ?? (guesses.length === 0 ? [OPEN] : guesses) };
}

function joinGuesses(pieces: readonly Piece[]): string[] {
  if (pieces.some(({ guesses }) => guesses.length === 0)) return [];
  const count = Math.min(MAX_GUESSES, Math.max(...pieces.map(({ guesses }) => guesses.length)));
  const guesses = Array.from({ length: count }, (_, n) =>
    pieces.map((piece) => piece.guesses[Math.min(n, piece.guesses.length - 1)]).join(''),
  );
  // `x="$x $x"` would double it each time.
  return guesses.filter((guess) => guess.length <= MAX_GUESS_LENGTH);
}

/** All that the pieces may be together: a path is inside only where each of them is. */
function joinReadings(pieces: readonly Piece[]): readonly string[] {
  let texts: readonly string[] = [''];
  for (const { guesses } of pieces) {
    texts = [...new Set(texts.flatMap((text) => guesses.map((guess) => text + guess)))];
    if (texts.length > MAX_READINGS || texts.some((text) => text.length > MAX_GUESS_LENGTH))
      return [UNDECIDED];
  }
  return texts;
}

function known(value: string): Piece {
  return { value, guesses: [value] };
}

function pieceOf(part: WordPart, isFirst: boolean, knowledge: Knowledge): Piece {
  switch (part.type) {
    case 'Literal':
      if (!isFirst || !/^~|=/.test(part.text)) return known(part.value);
      // A quote in the name of the user keeps the `~` as it is.
      if (part.text.startsWith('~') && !part.text.includes('/'))
        return { value: undefined, guesses: [part.value, knowledge.home] };
      return plainArg(part.text, part.value, knowledge);
    case 'SingleQuoted':
      return known(part.value);
    case 'AnsiCQuoted':
      // bash keeps a backslash before a line's end, the parser does not.
      return part.text.includes('\\\n') ? { value: undefined, guesses: [part.value] } : known(part.value);
    case 'DoubleQuoted': {
      const inner = combine(part.text, part.parts, { ...knowledge, isQuoted: true });
      // "$@" becomes several words even in quotes, and quotes inside of quotes open them again.
      const isMany =
        /\$(?:@|\{@|\{\w+\[@\])/.test(part.text) || /"/.test(part.text.slice(1, -1).replace(/\\[^]/g, ''));
      const { value, guesses, start, readings } = inner;
      return { value, guesses, start, isMany, readings };
    }
    case 'LocaleString':
      // A catalogue may translate it.
      return { value: undefined, guesses: combine(part.text, part.parts, knowledge).guesses, isMany: true };
    case 'Glob':
    case 'ExtendedGlob':
      return { value: undefined, guesses: [part.text], isMany: true, isGlob: true };
    case 'SimpleExpansion':
      return splitPiece(variablePiece(part.text.slice(1), knowledge), knowledge);
    case 'ParameterExpansion':
      return splitPiece(parameterPiece(part, knowledge), knowledge);
    case 'CommandExpansion':
      return { value: undefined, guesses: echoed(part.script, knowledge), isMany: true };
    case 'ProcessSubstitution':
      // An empty one is no word at all.
      return { value: undefined, guesses: ['/dev/fd/63'], isMany: part.script?.commands.length === 0 };
    case 'ArithmeticExpansion':
    case 'BraceExpansion':
      return { value: undefined, guesses: [], isMany: true };
  }
}

/** Without quotes a value is split where IFS says; what it becomes is read part by part. */
function splitPiece(piece: Piece, { assigned, variables, isQuoted }: Knowledge): Piece {
  if (isQuoted === true || !assigned.has('IFS')) return piece;
  const given = variables.get('IFS');
  const separators = new Set(given?.join(''));
  const { readings = piece.guesses } = piece;
  const parts = readings.flatMap((reading) => {
    if (!reading.includes('/')) return [reading];
    if (given === undefined) return [UNDECIDED];
    const words = splitAt(reading, separators);
    return words.length === 1 ? words : [reading, ...words];
  });
  return { ...piece, readings: parts };
}

export function splitAt(text: string, separators: ReadonlySet<string>): string[] {
  const words = [''];
  for (const character of text) {
    if (separators.has(character)) words.push('');
    else words[words.length - 1] += character;
  }
  return words;
}

function variablePiece(name: string, knowledge: Knowledge): Piece {
  const isPlain = (value: string): boolean => /^[\w./@%+:,-]+$/.test(value);
  if (name === 'HOME' && !knowledge.assigned.has('HOME') && isPlain(knowledge.home))
    return known(knowledge.home);
  if (name === 'PWD' && !knowledge.assigned.has('PWD') && knowledge.directory !== undefined) {
    if (isPlain(knowledge.directory)) return known(knowledge.directory);
  }
  const given = knowledge.variables.get(name) ?? [];
  if (name === 'HOME') return { value: undefined, guesses: [...given, knowledge.home], isMany: true };
  if (name === 'IFS') return { value: undefined, guesses: [' '], isMany: true };
  if (name === 'PPID' || (name === '0' && given.length === 0))
    return { value: undefined, guesses: [`$${name}`], isMany: true };
  // Where all of them are one word after the other, each alone is a path and no command.
  const guesses = name === '@' || name === '*' ? given.slice(0, 1) : given;
  return { value: undefined, guesses, isMany: true, readings: readingsOf(name, knowledge) };
}

/** `"$@"`, which a `for` without a list goes through. */
export function positionalArg(knowledge: Knowledge): Arg {
  const { guesses } = variablePiece('@', knowledge);
  return { ...unknownArg('"$@"', guesses), readings: readingsOf('@', knowledge) };
}

/** Variables that the shell itself sets to a text of the command: the last argument, what a pattern or an option met. */
export const SET_BY_SHELL = /^(?:_|OPTARG|BASH_(?:REMATCH|ARGV0?|COMMAND|EXECUTION_STRING))$/;

/** What a variable may hold where a path is read: what it was given, else what the server gives it, else nothing. */
function readingsOf(name: string, knowledge: Knowledge): readonly string[] {
  const given = knowledge.variables.get(name) ?? [];
  if (SET_BY_SHELL.test(name)) return [UNDECIDED];
  if (name === 'PWD' && !knowledge.assigned.has('PWD')) return orUndecided(knowledge.places);
  if (given.length > 0) return given;
  if (name === 'OLDPWD' && knowledge.previous.length > 0) return knowledge.previous;
  return [knowledge.assigned.has(name) ? OPEN : knowledge.inherited(name)];
}

const orUndecided = (values: readonly string[]): readonly string[] =>
  values.length === 0 ? [UNDECIDED] : values;

function parameterPiece(part: ParameterExpansionPart, knowledge: Knowledge): Piece {
  const { prefix, index, operation, parameter } = part;
  const isPart = prefix !== undefined || index !== undefined;
  if (isPart || (operation !== undefined && operation.type !== 'Default')) {
    const isElement = prefix === undefined && operation === undefined;
    const guesses = isElement ? elements(parameter, index?.text, knowledge) : [];
    return { value: undefined, guesses, isMany: true, readings: partReadings(part, knowledge) };
  }
  const plain = variablePiece(parameter, knowledge);
  if (operation === undefined) return plain;
  const other = asReading(evaluateText(operation.operand, knowledge)).guesses;
  const guesses = boundValues([...other, ...plain.guesses]);
  return { value: undefined, guesses, isMany: true, readings: [...other, ...asReading(plain).guesses] };
}

/** `${a[0]}`, and `${a[@]}`, which is all of them in a row. */
function elements(name: string, index: string | undefined, { variables }: Knowledge): readonly string[] {
  const values = variables.get(name) ?? [];
  const isAll = index === '@' || index === '*';
  return isAll && values.length > 0 ? [values.join(' ')] : values;
}

/** `${x%.ts}`, `${a[0]}`, `${!x}`: what is left of a value as a path. */
function partReadings(
  { prefix, parameter, operation, index, text }: ParameterExpansionPart,
  knowledge: Knowledge,
): string[] {
  if (prefix === '#') return [OPEN];
  // `${!#}` is the last argument.
  const values = readingsOf(prefix === '!' && parameter === '#' ? '@' : parameter, knowledge);
  const isKeys = index?.text === '@' || index?.text === '*';
  if (prefix === '!' && parameter !== '#' && !isKeys)
    return values.flatMap((name) => readingsOf(name, knowledge));
  if (operation === undefined) return [...values];
  const isCase = /[\^,@]/.test(text.slice(2 + parameter.length)[0] ?? '');
  return values.map((value) => {
    if (value === ANYWHERE) return value;
    if (isCase || !value.includes('/')) return value;
    const isDown = !value.startsWith('/') && !/(?:^|\/)\.\.(?:\/|$)/.test(value);
    const removed = text.slice(2 + parameter.length, -1);
    // The name alone, and the beginning of a path that stays below: everything else could come out anywhere.
    if (removed === '##*/') return OPEN;
    return isDown && removed.startsWith('%') ? value : UNDECIDED;
  });
}

/** What `$(echo rm)` gives: the one trick for which no program has to be run. */
function echoed(script: Script | undefined, knowledge: Knowledge): string[] {
  const only = script?.commands.length === 1 ? script.commands[0]?.command : undefined;
  if (only?.type !== 'Command' || (only.name?.value !== 'echo' && only.name?.value !== 'printf')) return [];
  const words = only.args.map((arg) =>
    arg.type === 'Word' ? evaluateText(arg, knowledge).guesses[0] : undefined,
  );
  if (words.some((word) => word === undefined)) return [];
  const shown = words.filter((word) => word !== '-n' && word !== '-e' && word !== '%s');
  return [shown.join(' ')];
}

/** A guess with blanks in it, of a word that is not quoted, is split as the shell would. */
export function guessedWords(args: readonly Arg[], variant: number): string[] {
  const words: string[] = [];
  for (const arg of args) {
    const guess = arg.guesses[Math.min(variant, arg.guesses.length - 1)];
    if (guess === undefined) {
      if (arg.isMany) continue;
      words.push('');
    } else if (arg.isMany && !arg.isGlob)
      words.push(...guess.split(/[ \t\n]+/).filter((word) => word !== ''));
    else words.push(guess);
  }
  return words;
}
