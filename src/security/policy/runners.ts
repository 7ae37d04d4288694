/**
 * Commands that package managers and interpreters start by name: `npx npm publish`, `python3 -m pip install`. They are
 * guesses, since such a program decides what it finds under the name: they can only refuse.
 */
import { literalArg, wordOf } from './evaluate-word.ts';
import { type Call, guessScope } from './findings.ts';
import { isOptionWord } from './options.ts';
import { isSubcommand, RUNNERS } from './tables/subcommands.ts';

const PYTHON = /^(?:python|pypy)[\d.]*$|^py$/;

export function guessRunner(call: Call, base: string): void {
  if (PYTHON.test(base)) guessModule(call);
  else if (Object.hasOwn(RUNNERS, base)) guessCommand(call, base, RUNNERS[base] ?? []);
}

function run({ walk, args, scope }: Call, name: string, at: number): void {
  walk.invoke({ args: [literalArg(name), ...args.slice(at + 1)] }, guessScope(scope));
}

/** The module that `-m` names, behind nothing but options. */
function guessModule(call: Call): void {
  const words = call.args.map(wordOf);
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const attached = /^-[bBdEhiIOPqsSuvVx]*m([^]*)$/.exec(word)?.[1];
    if (attached === '') return run(call, words[at + 1] ?? '', at + 1);
    if (attached !== undefined) return run(call, attached, at);
    if (!isOptionWord(word)) return;
    if (word === '-W' || word === '-X') at += 1;
  }
}

/** The first operand, and those before it that may be values of options. */
function guessCommand(call: Call, base: string, subcommands: readonly string[]): void {
  const { walk, args, scope } = call;
  const words = args.map(wordOf);
  let isFound = subcommands.length === 0;
  for (const [at, word] of words.entries()) {
    const [, text] = /^--call=([^]*)$/.exec(word) ?? [];
    const isText = words[at - 1] === '-c' || words[at - 1] === '--call';
    if (isText || text !== undefined) walk.walkText(text ?? word, guessScope(scope));
    if (isOptionWord(word) || word === '--') continue;
    const isLast = !isOptionWord(words[at - 1] ?? '');
    if (isFound) {
      run(call, word.replace(/(?<=.)@[^]*$/, ''), at);
      if (isLast) return;
    } else if (subcommands.some((each) => isSubcommand(base, each, word))) isFound = true;
    else if (isLast) return;
  }
}
