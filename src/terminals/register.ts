/** Which terminals there are, whose they are and what they are called, and whether there is room for one more. */
import { ShellServerError } from '../base/errors.ts';
import type { Settings } from '../base/settings.ts';
import type { Entry, KnownEntry } from './open.ts';
import { createTyping } from './typing.ts';

export interface Register {
  readonly entries: Map<string, Entry>;
  /** Throws RESOURCE_002 where it is not there, or somebody else's. */
  find(principal: string, id: string): Entry;
  remember(known: KnownEntry): Entry;
  /** Those in which something still runs. */
  openOnes(): Entry[];
  /**
   * A place and a name for one that is being opened, until it is released. Throws RESOURCE_005 where there are too
   * many, and RESOURCE_004 where the name is taken.
   */
  reserve(principal: string, asked: string | undefined): Reservation;
}

export interface Reservation {
  readonly sessionName: string;
  release(): void;
}

export function createRegister({ maxTerminals, maxTerminalsTotal }: Settings['limits']): Register {
  const entries = new Map<string, Entry>();
  /** Those that have a name and no terminal yet. */
  const opening = new Set<{ readonly owner: string; readonly sessionName: string }>();
  let lastNumber = 0;

  const openOnes = (): Entry[] => [...entries.values()].filter(({ hasEnded }) => !hasEnded);

  function checkRoom(principal: string): void {
    const owners = [...openOnes(), ...opening].map(({ owner }) => owner);
    const isOwn = owners.filter((owner) => owner === principal).length >= maxTerminals;
    if (!isOwn && owners.length < maxTerminalsTotal) return;
    const limit = isOwn ? maxTerminals : maxTerminalsTotal;
    const whose = isOwn ? '' : ' of all callers together';
    throw new ShellServerError(
      'RESOURCE_005',
      `${limit} terminals${whose} are open, which is the most there may be.`,
      { hint: 'Close one with terminal_close; terminal_list shows them.', details: { limit } },
    );
  }

  function nameOf(principal: string, asked: string | undefined): string {
    const isTheirs = (each: { readonly owner: string }): boolean => each.owner === principal;
    const taken = new Map<string, string | undefined>();
    for (const { sessionName } of [...opening].filter(isTheirs)) taken.set(sessionName, undefined);
    for (const { sessionName, id } of openOnes().filter(isTheirs)) taken.set(sessionName, id);
    if (asked === undefined) {
      do lastNumber++;
      while (taken.has(`terminal-${lastNumber}`));
      return `terminal-${lastNumber}`;
    }
    if (!taken.has(asked)) return asked;
    const id = taken.get(asked);
    throw new ShellServerError(
      'RESOURCE_004',
      `The session name ${JSON.stringify(asked)} is taken by ${id ?? 'one that is being opened'}.`,
      {
        hint: 'Use that terminal, close it, or choose another name.',
        details: { ...(id !== undefined && { terminal_id: id }), session_name: asked },
      },
    );
  }

  return {
    entries,
    openOnes,
    find(principal, id) {
      const entry = entries.get(id);
      if (entry !== undefined && entry.owner === principal) return entry;
      const shown = JSON.stringify(id.slice(0, 64));
      throw new ShellServerError('RESOURCE_002', `There is no terminal ${shown}.`, {
        hint: 'terminal_list shows those that are open. What a closed one wrote is kept: list_execution_outputs with output_type "log".',
      });
    },
    remember(known) {
      const entry: Entry = {
        ...known,
        typing: createTyping(),
        hasEnded: false,
        facts: undefined,
        lastRead: new Map(),
      };
      entries.set(known.id, entry);
      return entry;
    },
    reserve(principal, asked) {
      checkRoom(principal);
      const reserved = { owner: principal, sessionName: nameOf(principal, asked) };
      opening.add(reserved);
      return { sessionName: reserved.sessionName, release: () => void opening.delete(reserved) };
    },
  };
}
