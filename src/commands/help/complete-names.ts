/** What completion scripts ask for while a person types: names that only the state directory knows. */
import { systemClock } from '../../base/clock.ts';
import { createObserver } from '../../executions/executions.ts';
import { listTokens } from '../../security/tokens/tokens.ts';
import { listTerminals } from '../../terminals/attach.ts';

export const NAME_KINDS = ['tokens', 'terminals', 'executions'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** More than anybody reads. */
const MAX_NAMES = 200;

export async function listNames(kind: NameKind, stateDir: string): Promise<string[]> {
  const names = await FIND[kind](stateDir);
  // One word each, in which no shell finds anything to do.
  return [...new Set(names)].filter((name) => /^[\w.@:-]+$/.test(name)).slice(0, MAX_NAMES);
}

const FIND: Readonly<Record<NameKind, (stateDir: string) => Promise<string[]>>> = {
  tokens: async (stateDir) => listTokens(stateDir).map(({ name }) => name),
  terminals: async (stateDir) =>
    (await listTerminals(stateDir))
      .filter(({ outcome }) => outcome === undefined)
      .flatMap(({ id, sessionName }) => [sessionName, id]),
  executions: async (stateDir) =>
    (await createObserver({ stateDir, clock: systemClock }).look()).executions.map(({ id }) => id),
};
