/** Which terminals there are, whose they are and what they are called. */
import { ShellServerError } from '../base/errors.ts';
import { isId, renameId } from '../base/ids.ts';
import type { Host } from './hosts.ts';
import { createPassing, type Passing } from './passing.ts';
import type { InputFacts } from './protocol.ts';
import { createTyping, type Typing } from './typing.ts';

/** A terminal that can be read, as the server knows it. */
export interface Entry {
  readonly id: string;
  readonly owner: string;
  readonly sessionName: string;
  readonly host: Host;
  readonly typing: Typing;
  readonly passing: Passing;
  /** What was entered at its shell and may not have ended; undefined where that is not certain. */
  entered: string | undefined;
  hasEnded: boolean;
  /** Resolves when the call that types has typed. */
  turn: Promise<void>;
  /** A person has taken it over, as the host told last. */
  isHeld: boolean;
  /** As the host reported them last; undefined where something may have changed since. */
  facts: InputFacts | undefined;
  /** The last line that each reader was given, as it was then: it may have grown since. */
  readonly lastRead: Map<string, { readonly line: number; readonly text: string | undefined }>;
}

/** What stands on its line is not known: a person has typed, or perhaps a call that was given up. */
export function forgetTyped(entry: Entry): void {
  entry.typing.forget();
  entry.passing.forget();
  entry.entered = undefined;
}

export type Register = ReturnType<typeof createRegister>;

export function createRegister() {
  const entries = new Map<string, Entry>();
  /** Those that have a name and no terminal yet. */
  const opening = new Set<{ readonly owner: string; readonly sessionName: string }>();
  let lastNumber = 0;

  function nameOf(principal: string, asked: string | undefined): string {
    const isTheirs = (each: { readonly owner: string }): boolean => each.owner === principal;
    const taken = new Map<string, string | undefined>();
    for (const { sessionName } of [...opening].filter(isTheirs)) taken.set(sessionName, undefined);
    for (const { sessionName, id, hasEnded } of [...entries.values()].filter(isTheirs))
      if (!hasEnded) taken.set(sessionName, id);
    if (asked === undefined) {
      do lastNumber++;
      while (taken.has(`terminal-${lastNumber}`));
      return `terminal-${lastNumber}`;
    }
    if (!taken.has(asked)) return asked;
    const id = taken.get(asked);
    const message = `The session name ${JSON.stringify(asked)} is used by ${id ?? 'a terminal that is being opened'}.`;
    throw new ShellServerError('RESOURCE_004', message, {
      hint: 'Use that terminal, close it, or choose another name.',
      details: { ...(id !== undefined && { terminal_id: id }), session_name: asked },
    });
  }

  return {
    entries,
    /** Throws RESOURCE_002 where it does not exist, or belongs to another principal. */
    find(principal: string, id: string): Entry {
      const entry = entries.get(id);
      if (entry !== undefined && entry.owner === principal) return entry;
      const ended = isId('term', id)
        ? ` How one ended: process_get_execution with execution_id "${renameId(id, 'exec')}".`
        : '';
      throw new ShellServerError('RESOURCE_002', `There is no terminal ${JSON.stringify(id.slice(0, 64))}.`, {
        hint: `terminal_list shows open terminals. Transcripts of closed ones: list_execution_outputs with output_type "log".${ended}`,
      });
    },
    remember(known: Pick<Entry, 'id' | 'owner' | 'sessionName' | 'host'>): Entry {
      const entry: Entry = {
        ...known,
        typing: createTyping(),
        passing: createPassing(),
        entered: undefined,
        hasEnded: false,
        turn: Promise.resolve(),
        isHeld: false,
        facts: undefined,
        lastRead: new Map(),
      };
      entries.set(known.id, entry);
      return entry;
    },
    /** A name for one that is being opened, until it is released. Throws RESOURCE_004 where it is taken. */
    reserve(principal: string, asked: string | undefined) {
      const reserved = { owner: principal, sessionName: nameOf(principal, asked) };
      opening.add(reserved);
      return { sessionName: reserved.sessionName, release: (): void => void opening.delete(reserved) };
    },
  };
}
