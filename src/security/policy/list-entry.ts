/**
 * Entries of the lists: `rm -rf`, `git push`, `curl | sh`, `/regex/`. An entry that blocks meets every spelling of what it
 * says; one that allows meets only what begins exactly so.
 */
import { parse } from 'unbash';
import { compilePattern, type Pattern } from '../../base/pattern.ts';
import { setOf } from '../list.ts';
import { type Arg, wordOf } from './evaluate-word.ts';
import type { Invocation } from './findings.ts';
import { baseName } from './follow.ts';
import { isOptionWord, looseOptions } from './options.ts';
import { quoteWord } from './show-decision.ts';
import { SINGLE_DASH } from './tables/gadget-rules.ts';
import { COMPLETE_GLOBALS, GLOBAL_OPTIONS, HARMLESS_GLOBALS, SYNONYMS } from './tables/option-rules.ts';
import { SHELLS } from './tables/shell-names.ts';
import { isSubcommand, plainProgram, withoutGroup } from './tables/subcommands.ts';

export interface CompiledEntry {
  readonly source: string;
  /** The program's name, where the entry begins with one. */
  readonly name: string | undefined;
  readonly words: readonly string[];
  /** Whether this command is what the entry means, in any spelling. */
  blocks(invocation: Invocation, realName?: string): boolean;
  /** Whether this command begins as the entry says. `startDirectory` is where `./name` counts from. */
  allows(invocation: Invocation, startDirectory: string): boolean;
  /** Whether the entry itself speaks of this word, so that it is no surprise. */
  speaksOf(word: string): boolean;
  /** Of an entry that is no command: whether the text contains it. */
  meetsText(command: string): boolean;
}

/** Where programs of the system lie; the same name elsewhere is another program. */
const TRUSTED = setOf(
  '/bin /usr/bin /sbin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /run/current-system/sw/bin',
);

export function compileEntry(
  source: string,
  parameter: string,
): CompiledEntry | { readonly problem: string } {
  const text = source.trim();
  if (text === '') return { problem: 'is empty' };
  const regex = /^\/([^]+)\/([ims]*)$/.exec(text);
  if (regex !== null)
    return regexEntry(
      source,
      compilePattern(parameter, `${regex[2] === '' ? '' : `(?${regex[2]})`}${regex[1]}`),
      regex[1] ?? '',
    );
  const stages = readStages(text);
  if (stages === undefined) return textEntry(source, text);
  const [only] = stages;
  return stages.length === 1 && only !== undefined ? argvEntry(source, only) : pipelineEntry(source, stages);
}

/** The words of each stage; undefined where it is no plain command. */
function readStages(text: string): string[][] | undefined {
  // Most entries are plain words, among which `time` is a name and no grammar.
  if (/^[\w./@%+:=,~^-]+(?:[ \t]+[\w./@%+:=,~^-]+)*$/.test(text)) return [text.split(/[ \t]+/)];
  const script = parse(text);
  const [statement] = script.commands;
  if (script.errors !== undefined || script.commands.length !== 1 || statement === undefined)
    return undefined;
  const node = statement.command;
  const commands = node.type === 'Pipeline' ? node.commands : [node];
  if (statement.background === true || node.type === 'AndOr') return undefined;
  const stages = commands.map((command) => {
    if (
      command.type !== 'Command' ||
      command.name === undefined ||
      command.redirects.length > 0 ||
      command.prefix.length > 0
    )
      return undefined;
    const words = [command.name, ...command.args].map((word) =>
      word.type === 'Word' ? word.value : word.text,
    );
    // `npm run *` is how some write a beginning.
    return words.at(-1) === '*' && words.length > 1 ? words.slice(0, -1) : words;
  });
  return stages.every((stage) => stage !== undefined) ? stages : undefined;
}

function argvEntry(source: string, words: readonly string[]): CompiledEntry {
  const [name = '', ...rest] = words;
  return {
    source,
    name,
    words: rest,
    blocks: (invocation, realName) => blocksArgv(name, rest, invocation, realName),
    allows: (invocation, startDirectory) => allowsArgv(name, rest, invocation, startDirectory),
    speaksOf: (word) =>
      rest.some((own) => own === word || idsOf(name, own).includes(word) || own.split('=')[0] === word),
    meetsText: () => false,
  };
}

function pipelineEntry(source: string, stages: readonly (readonly string[])[]): CompiledEntry {
  const entries = stages.map((words) => argvEntry(source, words));
  // `curl | sh` means every shell, and those builtins that read a text as one would.
  const isShell = stages.map(([name = '', ...rest]) => rest.length === 0 && Object.hasOwn(SHELLS, name));
  const meetsStage = (invocation: Invocation, index: number): boolean => {
    if (entries[index]?.blocks(invocation) === true) return true;
    const own = baseName(invocation.args[0]?.value ?? '');
    return (
      isShell[index] === true &&
      (Object.hasOwn(SHELLS, own) || own === 'eval' || own === 'source' || own === '.')
    );
  };
  const meets = (invocation: Invocation, index: number, seen: Set<Invocation>): boolean => {
    if (meetsStage(invocation, index)) {
      if (index === 0) return true;
      const earlier = new Set<Invocation>();
      if (invocation.fedBy.some((feeding) => meets(feeding, index - 1, earlier))) return true;
    }
    if (index === entries.length - 1 || seen.has(invocation)) return false;
    // Something may stand between: `curl | tee file | sh`.
    seen.add(invocation);
    return invocation.fedBy.some((feeding) => meets(feeding, index, seen));
  };
  return {
    source,
    name: undefined,
    words: [],
    blocks: (invocation) => meets(invocation, entries.length - 1, new Set()),
    allows: (invocation, startDirectory) => {
      const own = invocation.pipeline?.stages;
      if (own === undefined || own.length !== entries.length) return false;
      return own.every((stage, index) => stage.every((each) => entries[index]?.allows(each, startDirectory)));
    },
    speaksOf: (word) => entries.some((entry) => entry.speaksOf(word)),
    meetsText: () => false,
  };
}

function regexEntry(source: string, pattern: Pattern, body: string): CompiledEntry {
  return {
    source,
    name: leadingName(body),
    words: [],
    // Time grows with the text, so of a very long command only the beginning is held against a pattern that blocks.
    blocks: (invocation, realName) =>
      shownForms(invocation, realName).some((text) => pattern.test(text.slice(0, pattern.textLength))),
    allows: ({ args, isGuess }) => {
      if (isGuess || args[0]?.value === undefined) return false;
      const text = normalText(args);
      return text.length <= pattern.textLength && pattern.test(text);
    },
    speaksOf: (word) => body.includes(word),
    meetsText: () => false,
  };
}

/** The program that a pattern begins with: `npm` of `^npm (test|run)`, `python` of `^python3? `. */
function leadingName(body: string): string | undefined {
  const [, name = '', quantifier] = /^\^?(?:\((?:\?:)?)?([\w.-]+)([*?{])?/.exec(body) ?? [];
  return (quantifier === undefined ? name : name.slice(0, -1)) || undefined;
}

/** Something that lists of others hold, such as a fork bomb: found where it stands as it is. */
function textEntry(source: string, text: string): CompiledEntry {
  const squeeze = (value: string): string => value.replace(/\s+/g, ' ');
  return {
    source,
    name: undefined,
    words: [],
    blocks: () => false,
    allows: () => false,
    speaksOf: () => false,
    meetsText: (command) => squeeze(command).includes(squeeze(text)),
  };
}

/** The command as one line: the name without its directory where that is a system's, words quoted where they need it. */
export function normalText(args: readonly Arg[]): string {
  return args
    .map((arg, index) => {
      if (arg.value === undefined) return arg.text;
      return quoteWord(index === 0 ? (trustedName(arg.value) ?? arg.value) : arg.value);
    })
    .join(' ');
}

function shownForms({ args }: Invocation, realName: string | undefined): string[] {
  const name = args[0]?.value ?? '';
  const rest = args.slice(1).map((arg) => (arg.value === undefined ? arg.text : quoteWord(arg.value)));
  const names = new Set([name, baseName(name), realName ?? name]);
  return [...names].map((form) => [form, ...rest].join(' '));
}

/** The plain name of a program of the system; undefined for one that lies elsewhere. */
export function trustedName(name: string): string | undefined {
  if (!name.includes('/')) return name;
  return TRUSTED.has(name.slice(0, name.lastIndexOf('/')).replace(/\/+/g, '/')) ? baseName(name) : undefined;
}

/** What an option word means for this program, spelling aside. */
function idsOf(program: string, word: string): string[] {
  if (!isOptionWord(word)) return [];
  const groups = SYNONYMS[program] ?? [];
  const idOf = (option: string): string => groups.find((group) => group.includes(option))?.at(-1) ?? option;
  const whole = groups.find((group) => group.includes(word));
  if (whole !== undefined) return [whole.at(-1) ?? word];
  return looseOptions(word, SINGLE_DASH.has(program) || program === 'kill').map((option) => {
    if (!option.startsWith('--')) return idOf(option);
    const full = groups.find((group) => option.length > 3 && (group.at(-1) ?? '').startsWith(option));
    return full?.at(-1) ?? idOf(option);
  });
}

function blocksArgv(
  name: string,
  entryWords: readonly string[],
  { args }: Invocation,
  realName: string | undefined,
): boolean {
  const own = args[0]?.value;
  if (own === undefined) return false;
  const program = plainProgram(baseName(name).toLowerCase());
  const names = [baseName(own), realName ?? own, own].map((each) => plainProgram(each.toLowerCase()));
  if (!names.includes(program) && !names.includes(name.toLowerCase())) return false;
  const words = signalWords(args.slice(1).map(wordOf));
  const end = words.indexOf('--');
  const options = new Set(
    (end === -1 ? words : words.slice(0, end)).flatMap((word) => [word, ...idsOf(program, word)]),
  );
  const wanted = signalWords(entryWords);
  const isThere = wanted
    .filter(isOptionWord)
    .every((word) => options.has(word) || idsOf(program, word).every((id) => options.has(id)));
  const operands = withoutGroup(
    program,
    wanted.filter((word) => !isOptionWord(word) && word !== '--'),
  );
  return (
    isThere && [words, ...aliasesOf(program, words)].some((each) => meetsOperands(program, operands, each))
  );
}

/** `git -c alias.x=push x` is a push. */
function aliasesOf(program: string, words: readonly string[]): string[][] {
  if (program !== 'git') return [];
  return words.flatMap((word) => {
    const [, text = ''] = /^(?:-c)?alias\.[^=]*=([^]*)$/.exec(word) ?? [];
    return text === '' ? [] : [text.replace(/^!\s*git\s/, '').split(/\s+/)];
  });
}

/** `kill -s KILL` is `kill -KILL`. */
function signalWords(words: readonly string[]): string[] {
  return words.flatMap((word, index) => {
    if (words[index - 1] === '-s' && /^(?:SIG)?[A-Z]+$|^\d+$/.test(word)) return [`-${word}`];
    return [word];
  });
}

/** Whether the word behind this one may be its value. Options that no table has may take one, unless the table is complete. */
function takesNext(program: string, word: string): boolean {
  if (!isOptionWord(word) || word.includes('=')) return false;
  if (GLOBAL_OPTIONS[program]?.includes(word) === true) return true;
  return !COMPLETE_GLOBALS.has(program) && HARMLESS_GLOBALS[program]?.includes(word) !== true;
}

/** The entry's operands in this order, with nothing but options and what may be their values before and between them. */
function meetsOperands(program: string, wanted: readonly string[], words: readonly string[]): boolean {
  if (wanted.length === 0) return true;
  const operands: { word: string; mayBeValue: boolean; followsOption: boolean }[] = [];
  words.forEach((word, index) => {
    if (isOptionWord(word) || word === '--') return;
    const before = words[index - 1] ?? '';
    operands.push({
      word,
      // `cargo +nightly publish`
      mayBeValue: word.startsWith('+') || takesNext(program, before),
      // Tables have the options before the first subcommand alone.
      followsOption: isOptionWord(before) && !before.includes('='),
    });
  });
  const failed = new Set<string>();
  const meets = (at: number, from: number): boolean => {
    if (at === wanted.length) return true;
    const key = `${at} ${from}`;
    const given = operands[from];
    if (given === undefined || failed.has(key)) return false;
    const isMet = (word: string): boolean =>
      at === 0 ? isSubcommand(program, wanted[0] ?? '', word) : wanted[at] === word;
    const isMetInGroup = (): boolean => {
      // `docker container -l error rm`: which of the next words is the second.
      for (let next = from + 1; next < operands.length; next++) {
        const [word] = withoutGroup(program, [given.word, operands[next]?.word ?? '']);
        if (word !== given.word && isMet(word ?? '') && meets(at + 1, next + 1)) return true;
        if (operands[next]?.followsOption !== true) return false;
      }
      return false;
    };
    if (isMet(given.word) && meets(at + 1, from + 1)) return true;
    if (at === 0 && isMetInGroup()) return true;
    const mayBeSkipped = at === 0 ? given.mayBeValue : given.followsOption;
    if (mayBeSkipped && meets(at, from + 1)) return true;
    failed.add(key);
    return false;
  };
  return meets(0, 0);
}

function allowsArgv(
  name: string,
  entryWords: readonly string[],
  { args, cwds, isGuess }: Invocation,
  startDirectory: string,
): boolean {
  const own = args[0]?.value;
  if (own === undefined || isGuess) return false;
  const isRelative = name.includes('/') && !name.startsWith('/');
  if (name.includes('/') ? own !== name : trustedName(own) !== name) return false;
  if (isRelative && (cwds.length !== 1 || cwds[0] !== startDirectory)) return false;

  let at = 1;
  const isPlain = entryWords[0] !== undefined && !isOptionWord(entryWords[0]);
  if (isPlain) at = skipGlobals(name, args);
  let wanted: string[] = [];
  for (let index = 0; index <= entryWords.length; index++) {
    const word = entryWords[index];
    if (word !== undefined && isOptionWord(word)) {
      wanted.push(...idsOf(name, word));
      continue;
    }
    const isLast = word === undefined;
    while (wanted.length > 0) {
      const given = args[at]?.value;
      if (given === undefined || !isOptionWord(given)) return false;
      const ids = idsOf(name, given);
      const left = wanted.filter((id) => !ids.includes(id));
      if (
        left.length === wanted.length ||
        !(ids.every((id) => wanted.includes(id)) || (isLast && left.length === 0))
      )
        return false;
      wanted = left;
      at += 1;
    }
    if (isLast) return true;
    if (args[at]?.value !== word) return false;
    at += 1;
  }
  return true;
}

function skipGlobals(name: string, args: readonly Arg[]): number {
  const harmless = HARMLESS_GLOBALS[name] ?? [];
  let at = 1;
  for (;;) {
    const word = args[at]?.value?.split('=')[0];
    if (word === undefined || !harmless.includes(word)) return at;
    at += GLOBAL_OPTIONS[name]?.includes(args[at]?.value ?? '') === true ? 2 : 1;
  }
}
