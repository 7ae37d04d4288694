/** Holds a command against the table of gadgets. */
import { type Arg, wordOf } from './evaluate-word.ts';
import { baseName } from './follow.ts';
import { type ProgramEffects, readAwk, readSed } from './program-text.ts';
import { GADGETS, type Gadget, PATTERN_OPTIONS, SINGLE_DASH, VALUE_LETTERS } from './tables/gadget-rules.ts';
import { GLOBAL_OPTIONS } from './tables/option-rules.ts';

export interface GadgetFound {
  readonly program: string;
  /** The word that does it. */
  readonly trigger: string;
  readonly does: string;
  readonly hint: string | undefined;
  /** It cannot be told whether there is one. */
  readonly isUnknown: boolean;
}

const BY_PROGRAM = new Map<string, Gadget[]>();
for (const gadget of GADGETS) {
  for (const program of gadget.programs)
    BY_PROGRAM.set(program, [...(BY_PROGRAM.get(program) ?? []), gadget]);
}

/** `table`: the rows to hold it against, all of them by default. */
export function findGadgets(args: readonly Arg[], table?: readonly Gadget[]): GadgetFound[] {
  const typed = baseName(args[0]?.value ?? '');
  // Where the file system does not tell letters apart, GIT is git.
  const program = BY_PROGRAM.has(typed) ? typed : typed.toLowerCase();
  const gadgets = table?.filter(({ programs }) => programs.includes(program)) ?? BY_PROGRAM.get(program);
  if (gadgets === undefined) return [];
  const rest = args.slice(1);
  const open =
    openWord(rest, program) ??
    gadgets
      .flatMap(({ script }) => (script === undefined ? [] : scriptsOf(script, rest)))
      .find(({ value }) => value === undefined);
  const found = gadgets.flatMap((gadget) =>
    triggersOf(gadget, program, rest).map((trigger) => {
      const { does, hint } = gadget;
      return { program, trigger, does, hint, isUnknown: false };
    }),
  );
  if (open === undefined || found.length > 0) return found;
  const hint = open.isGlob
    ? `Write ./${open.text}, so that no file name can be an option.`
    : `Write the value itself, or put it behind "--".`;
  const does = 'could be an option that runs or writes something';
  return [{ program, trigger: open.text, does, hint, isUnknown: true }];
}

/** A word that may turn out to be an option. */
function openWord(args: readonly Arg[], program: string): Arg | undefined {
  const before = SINGLE_DASH.has(program) ? args : beforeEnd(args);
  return before.find(({ value, start }) => value === undefined && (start === '' || start.startsWith('-')));
}

/** Up to the `--` that ends options. Behind an option it may be the value of that one, and end nothing. */
function beforeEnd(args: readonly Arg[]): readonly Arg[] {
  const end = args.findIndex(
    ({ value }, index) => value === '--' && !/^-[^=]*$/.test(wordOf(args[index - 1])),
  );
  return end === -1 ? args : args.slice(0, end);
}

function triggersOf(gadget: Gadget, program: string, args: readonly Arg[]): string[] {
  const { subcommand, before, after } = subcommandOf(program, args);
  let words = args;
  if (gadget.subcommands !== undefined) {
    if (gadget.subcommands.includes('')) words = before;
    else if (subcommand === undefined || !gadget.subcommands.includes(subcommand)) return [];
    else if (gadget.always === true) return [subcommand];
    else words = after;
  }
  const optionWords = beforeEnd(withoutPatterns(words, program));
  const triggers = optionWords.flatMap((arg) => optionTrigger(gadget, program, arg));
  if (gadget.words !== undefined) {
    const { words: pattern } = gadget;
    triggers.push(...words.filter((arg) => pattern.test(wordOf(arg))).map(({ text }) => text));
  }
  const [first] = args;
  if (first !== undefined && gadget.first?.test(wordOf(first)) === true) triggers.push(first.text);
  if (gadget.maxOperands !== undefined) {
    const operands = operandsOf(program, args);
    if (operands.length > gadget.maxOperands) triggers.push(operands.at(-1)?.text ?? '');
  }
  if (gadget.reads !== undefined) triggers.push(...valueGiven(gadget.reads, words));
  if (gadget.script !== undefined) {
    const read = scriptsOf(gadget.script, args).map((script) => effectsOf(gadget.script, script));
    const isWriting = gadget.does === 'writes a file';
    const shown = (path: string): string => `${gadget.script === 'sed' ? 'w' : '>'} ${path}`;
    triggers.push(
      ...read.flatMap(({ problem, written }) => (isWriting ? written.map(shown) : (problem ?? []))),
    );
  }
  return triggers;
}

/** Where the subcommand of a program begins: `git -C dir push` is a push. */
export function subcommandOf(program: string, args: readonly Arg[]) {
  const values = GLOBAL_OPTIONS[program] ?? [];
  for (let at = 0; at < args.length; at++) {
    const word = wordOf(args[at]);
    if (!word.startsWith('-'))
      return { subcommand: args[at]?.value, before: args.slice(0, at), after: args.slice(at + 1) };
    if (values.includes(word)) at += 1;
  }
  return { subcommand: undefined, before: args, after: [] };
}

/** What stands behind `-e` is a pattern, whatever it looks like; what stands behind that is none. */
function withoutPatterns(words: readonly Arg[], program: string): Arg[] {
  const giving = PATTERN_OPTIONS[program] ?? [];
  const left: Arg[] = [];
  for (let at = 0; at < words.length; at++) {
    const arg = words[at];
    if (arg !== undefined) left.push(arg);
    if (giving.includes(arg?.value ?? '')) at += 1;
  }
  return left;
}

/** `name value` of `git config`, whose options all stand before its operands. */
function valueGiven(reads: readonly string[], words: readonly Arg[]): string[] {
  let at = 0;
  for (; wordOf(words[at]).startsWith('-'); at++) {
    const word = words[at]?.value ?? '';
    if (reads.includes(word)) return [];
    if (word === '--type' || word === '--default') at += 1;
  }
  const second = words[at + 1];
  return second === undefined || reads.includes(words[at]?.value ?? '') ? [] : [second.text];
}

function optionTrigger({ options = [] }: Gadget, program: string, arg: Arg): string[] {
  const word = wordOf(arg);
  if (!word.startsWith('-') || word === '-') return [];
  if (word.startsWith('--')) {
    const name = word.split('=')[0] ?? word;
    // GNU programs take any beginning of a long option that is not another one's.
    const isKnown =
      name.length > 2 &&
      options.some((option) => option === name || (option.startsWith('--') && option.startsWith(name)));
    return isKnown ? [options.find((option) => option.startsWith(name)) ?? name] : [];
  }
  if (SINGLE_DASH.has(program)) return options.filter((option) => option === word);
  const whole = options.find((option) => option.length > 2 && !option.startsWith('--') && option === word);
  if (whole !== undefined) return [whole];
  const takesValue = VALUE_LETTERS[program] ?? '';
  for (const letter of word.slice(1)) {
    if (options.includes(`-${letter}`)) return [`-${letter}`];
    if (takesValue.includes(letter)) return [];
  }
  return [];
}

function operandsOf(program: string, args: readonly Arg[]): Arg[] {
  const takesValue = VALUE_LETTERS[program] ?? '';
  const operands: Arg[] = [];
  let isOpen = true;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    const word = wordOf(arg);
    if (isOpen && word === '--') isOpen = false;
    else if (isOpen && word.length > 1 && word.startsWith('-')) {
      if (word.length === 2 && takesValue.includes(word[1] ?? '')) at += 1;
    } else if (arg !== undefined) operands.push(arg);
  }
  return operands;
}

/** The scripts of sed and awk: what `-e` gives, else the first operand. */
function scriptsOf(language: 'sed' | 'awk', args: readonly Arg[]): Arg[] {
  const scripts: Arg[] = [];
  const letters = language === 'sed' ? 'efl' : 'Ffv';
  let first: Arg | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    const word = wordOf(arg);
    const long = /^--(?:exp\w*|source|so\w*)=?([^]*)$/.exec(word);
    if (arg === undefined) break;
    if (word === '--') {
      first ??= args[at + 1];
      break;
    }
    const given = (value: string): Arg => ({ ...arg, value: arg.value === undefined ? undefined : value });
    if (long !== null)
      scripts.push(word.includes('=') ? given(word.slice(word.indexOf('=') + 1)) : (args[++at] ?? arg));
    else if (word.startsWith('--')) continue;
    else if (word.startsWith('-') && word !== '-') {
      const place = Array.from(word).findIndex((letter, index) => index > 0 && letters.includes(letter));
      if (place === -1) continue;
      const attached = word.slice(place + 1);
      if (language === 'sed' && word[place] === 'e')
        scripts.push(attached === '' ? (args[at + 1] ?? arg) : given(attached));
      if (attached === '') at += 1;
    } else first ??= arg;
  }
  if (scripts.length === 0 && first !== undefined) scripts.push(first);
  return scripts;
}

function effectsOf(language: Gadget['script'], { value }: Arg): ProgramEffects {
  if (value === undefined) return { problem: undefined, written: [] };
  return language === 'sed' ? readSed(value) : readAwk(value);
}

/** Files that a script of sed or awk writes. */
export function writtenByScript(program: string, args: readonly Arg[]): readonly string[] {
  const language = BY_PROGRAM.get(program)?.find(({ script }) => script !== undefined)?.script;
  if (language === undefined) return [];
  return scriptsOf(language, args).flatMap((script) => effectsOf(language, script).written);
}
