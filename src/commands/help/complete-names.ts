/** What completion scripts ask for while a person types: names that only the state directory knows. */
import { systemClock } from '../../base/clock.ts';
import { createObserver } from '../../executions/executions.ts';
import { listTokens } from '../../security/tokens/tokens.ts';
import { listTerminals } from '../../terminals/attach.ts';

export type NameKind = keyof typeof FIND;

/** More than anybody reads. */
const MAX_NAMES = 200;

export async function listNames(kind: NameKind, stateDir: string): Promise<string[]> {
  const names = await FIND[kind](stateDir);
  // One word each, in which no shell finds anything to do.
  return [...new Set(names)].filter((name) => /^[\w.@:-]+$/.test(name)).slice(0, MAX_NAMES);
}

const FIND = {
  tokens: async (stateDir: string) => listTokens(stateDir).map(({ name }) => name),
  terminals: async (stateDir: string) =>
    (await listTerminals(stateDir))
      .filter(({ outcome }) => outcome === undefined)
      .flatMap(({ id, sessionName }) => [sessionName, id]),
  executions: async (stateDir: string) =>
    (await createObserver({ stateDir, clock: systemClock }).look()).executions.map(({ id }) => id),
};
