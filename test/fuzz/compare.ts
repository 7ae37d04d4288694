/** Holds what bash ran against what the policy found. */
import type { Invocation } from '../../src/security/policy/findings.ts';
import { createPolicy, type JudgeContext } from '../../src/security/policy/policy.ts';
import { findCommands } from '../../src/security/policy/walk.ts';
import { runScripts } from './oracle.ts';
import { createRandom, makeScript } from './scripts.ts';

export interface Outcome {
  /** Texts that were made, of which most are refused before they run. */
  readonly made: number;
  /** Texts that the policy allowed and bash was given. */
  readonly allowed: number;
  /** Commands that bash tried to run. */
  readonly ran: number;
  /** Those of them that the policy had not found. */
  readonly missed: readonly string[];
}

const CONTEXT: JudgeContext = { directory: '/tmp', home: '/tmp' };
/** Everything is allowed that can be decided: what is left to find are commands that were overlooked. */
const POLICY = createPolicy({ mode: 'custom', allowedCommands: ['/^/'] });

/** Makes texts until the policy has allowed so many, and lets bash run those. */
export async function compare(seed: number, count: number): Promise<Outcome> {
  const random = createRandom(seed);
  const scripts: string[] = [];
  let made = 0;
  for (; scripts.length < count; made++) {
    const script = makeScript(random);
    if (POLICY.judge(script, CONTEXT).decision === 'allow') scripts.push(script);
  }
  const records = await runScripts(scripts);
  const missed: string[] = [];
  for (const [index, ran] of groupBy(records)) {
    const text = scripts[index] ?? '';
    const found = findCommands(text, CONTEXT).invocations.filter(({ isGuess }) => !isGuess);
    for (const { argv } of ran) {
      if (!found.some((invocation) => covers(invocation, argv)))
        missed.push(`${JSON.stringify(text)} ran ${JSON.stringify(argv)}`);
    }
  }
  return { made, allowed: scripts.length, ran: records.length, missed };
}

function groupBy(
  records: readonly { readonly script: number; readonly argv: readonly string[] }[],
): Map<number, { script: number; argv: readonly string[] }[]> {
  const groups = new Map<number, { script: number; argv: readonly string[] }[]>();
  for (const record of records) groups.set(record.script, [...(groups.get(record.script) ?? []), record]);
  return groups;
}

/** The name is exact; a word that is open stands for one, or for any number where it may be split. */
export function covers({ args, isFunction }: Invocation, argv: readonly string[]): boolean {
  if (isFunction) return false;
  const meets = (arg: number, word: number): boolean => {
    const own = args[arg];
    if (own === undefined) return word === argv.length;
    if (own.value !== undefined) return own.value === argv[word] && meets(arg + 1, word + 1);
    if (word < argv.length && !(argv[word] ?? '').startsWith(own.isMany ? '' : own.start)) return false;
    if (!own.isMany) return word < argv.length && meets(arg + 1, word + 1);
    return Array.from({ length: argv.length - word + 1 }, (_, skip) => skip).some((skip) =>
      meets(arg + 1, word + skip),
    );
  };
  return args[0]?.value !== undefined && meets(0, 0);
}
