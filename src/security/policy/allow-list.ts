/** The allow-list: entries, and the table of first arguments. */
import type { Invocation } from './findings.ts';
import { type CompiledEntry, trustedName } from './list-entry.ts';
import type { Judgement } from './policy-types.ts';
import { NEUTRAL } from './tables/reading.ts';

export interface Permission {
  readonly entry: string;
  speaksOf(word: string): boolean;
}

type ListDenial = NonNullable<Judgement['refused']>;

export type AllowList = ReturnType<typeof createAllowList>;

export function createAllowList(
  entries: readonly CompiledEntry[],
  table: Readonly<Record<string, readonly string[]>>,
) {
  const rows = new Map(Object.entries(table).map(([name, list]) => [name.toLowerCase(), list]));
  return {
    isEmpty: entries.length === 0 && rows.size === 0,
    /** Some of what it holds, for a hint. */
    samples: [...entries.map(({ source }) => source), ...rows.keys()],
    find(invocation: Invocation, startDirectory: string): Permission | ListDenial {
      const entry = entries.find((each) => each.allows(invocation, startDirectory));
      if (entry !== undefined) return { entry: entry.source, speaksOf: entry.speaksOf };
      return findRow(rows, invocation);
    },
  };
}

function findRow(
  rows: ReadonlyMap<string, readonly string[]>,
  { args }: Invocation,
): Permission | ListDenial {
  const typed = args[0]?.value ?? args[0]?.text ?? '';
  const name = (trustedName(typed) ?? typed).toLowerCase();
  const row = rows.get(name);
  if (row === undefined) return { command: typed };
  const first = args[1];
  if (row.length > 0 && first !== undefined && !row.includes(first.value ?? ''))
    return { command: name, argument: first.value ?? first.text };
  return {
    entry: first === undefined || row.length === 0 ? name : `${name} ${first.value}`,
    speaksOf: (word) => row.includes(word),
  };
}

/** A builtin that only steers the shell itself. */
export function isNeutral({ args, isGuess }: Invocation): boolean {
  return isGuess || NEUTRAL.has(args[0]?.value ?? '');
}

export function isDenial(answer: Permission | ListDenial): answer is ListDenial {
  return 'command' in answer;
}
