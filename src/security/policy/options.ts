/** Options of programs, read as getopt does: clusters, attached values, long names and their abbreviations. */
import { type Arg, literalArg, wordOf } from './evaluate-word.ts';

export interface OptionSpec {
  /** A getopt string: `n:` takes a value, `e::` may have one attached. */
  readonly short: string;
  /** `chdir=` takes a value, `eof=?` may have one attached. */
  readonly long?: readonly string[];
  /** `-5` is an option as well. */
  readonly numbers?: boolean;
}

export interface Option {
  /** Without dashes. */
  readonly name: string;
  readonly value: Arg | undefined;
}

export interface Leading {
  readonly options: readonly Option[];
  readonly rest: readonly Arg[];
}

/** The options before the first operand; a problem where it cannot be told which words are options. */
export function readLeading(args: readonly Arg[], spec: OptionSpec): Leading | { readonly problem: string } {
  const options: Option[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    if (arg === undefined) break;
    const word = wordOf(arg);
    if (arg.value === undefined && (arg.isMany || word === '' || word.startsWith('-'))) {
      return { problem: `it cannot be told what ${arg.text} is` };
    }
    if (word === '--') return { options, rest: args.slice(at + 1) };
    if (word === '-' || !word.startsWith('-')) return { options, rest: args.slice(at) };
    const read = word.startsWith('--')
      ? readLong(word.slice(2), spec, args[at + 1])
      : readShort(word.slice(1), spec, args[at + 1]);
    if ('problem' in read) return { problem: `its option ${arg.text} is not known` };
    options.push(...read.options);
    if (read.usesNext) at += 1;
  }
  return { options, rest: [] };
}

type Read = { readonly options: Option[]; readonly usesNext: boolean } | { readonly problem: true };

function readLong(word: string, { long = [] }: OptionSpec, next: Arg | undefined): Read {
  const [name = '', ...values] = word.split('=');
  const attached = values.length > 0 ? values.join('=') : undefined;
  const exact = long.filter((known) => known.replace(/=\??$/, '') === name);
  const candidates = exact.length > 0 ? exact : long.filter((known) => known.startsWith(name));
  const [found] = candidates;
  if (found === undefined || candidates.length > 1) return { problem: true };
  const full = found.replace(/=\??$/, '');
  const usesNext = attached === undefined && found.endsWith('=');
  const value = attached === undefined ? undefined : literalArg(attached);
  return { options: [{ name: full, value: usesNext ? next : value }], usesNext };
}

function readShort(cluster: string, { short, numbers }: OptionSpec, next: Arg | undefined): Read {
  if (numbers === true && /^[-+]?\d+$/.test(cluster)) {
    return { options: [{ name: 'number', value: literalArg(cluster) }], usesNext: false };
  }
  const options: Option[] = [];
  for (let at = 0; at < cluster.length; at++) {
    const letter = cluster[at] ?? '';
    const place = letter === ':' ? -1 : short.indexOf(letter);
    if (place === -1) return { problem: true };
    const rest = cluster.slice(at + 1);
    if (short[place + 1] !== ':') options.push({ name: letter, value: undefined });
    else if (rest !== '')
      return { options: [...options, { name: letter, value: literalArg(rest) }], usesNext: false };
    else if (short[place + 2] === ':') options.push({ name: letter, value: undefined });
    else return { options: [...options, { name: letter, value: next }], usesNext: true };
  }
  return { options, usesNext: false };
}

/** Every option word of a command line taken apart, without knowing the program: for comparing spellings. */
export function looseOptions(word: string, singleDash = false): string[] {
  if (singleDash || word.startsWith('--')) return [word.split('=')[0] ?? word];
  return Array.from(word.slice(1), (letter) => `-${letter}`);
}

export function isOptionWord(word: string): boolean {
  return word.length > 1 && word.startsWith('-') && word !== '--';
}
