/** What hosts report of their terminals, and the ends of those. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { renameId } from '../base/ids.ts';
import { type Execution, type ExecutionRecord, OPERATOR } from '../executions/executions.ts';
import type { Host } from './hosts.ts';
import type { OpeningOptions } from './open-terminal.ts';
import type { HostEvent } from './protocol.ts';
import { type Entry, forgetTyped, type Register } from './register.ts';

/** For the end of an execution to be on disk after its host reported it. */
const CONCLUDE_MS = 10_000;

interface HostEventsOptions extends Pick<OpeningOptions, 'settings' | 'security' | 'executions'> {
  /** Finishes what a host that is gone has left of a terminal. */
  salvage(record: ExecutionRecord, directory: string): Promise<void>;
}

export function createHostEvents(
  { settings, security, executions, salvage }: HostEventsOptions,
  { entries }: Register,
) {
  const conclude = createConclude(executions);

  /** False where its end is on disk already. */
  function end(entry: Entry, isGone: boolean): boolean {
    entry.hasEnded = true;
    if (isGone) entries.delete(entry.id);
    return executions.checkEnd(renameId(entry.id, 'exec'));
  }

  const directoryOf = ({ id }: Entry): string => join(settings.stateDir, 'executions', renameId(id, 'exec'));

  /** Nothing of it was to be kept. */
  function discard(entry: Entry): void {
    rmSync(directoryOf(entry), { recursive: true, force: true });
  }

  /** Of one that goes on for its execution, its recording is kept when that is followed to its end. */
  async function finish(entry: Entry): Promise<void> {
    const { record } = await conclude(entry);
    if (record.outcome !== undefined) await salvage(record, directoryOf(entry));
  }

  function onGone(entry: Entry, isSaved: boolean): void {
    const isRunning = end(entry, true);
    if (isSaved) return;
    if (!isRunning) return discard(entry);
    void conclude(entry).then(
      () => discard(entry),
      () => undefined,
    );
  }

  function onEvent(event: HostEvent): void {
    if (event.event === 'output' || event.event === 'screen') return;
    const entry = entries.get(event.id);
    if (entry === undefined) return;
    if (event.event === 'ended') {
      end(entry, false);
      return;
    }
    if (event.event === 'password_prompt') {
      void executions.get(entry.owner, renameId(entry.id, 'exec')).then(
        ({ record }) => executions.news.passwordPrompt(record),
        () => undefined,
      );
      return;
    }
    if (event.event === 'gone') return onGone(entry, event.isSaved);
    // A person has looked, and perhaps typed.
    forgetTyped(entry);
    entry.facts = undefined;
    if (event.event === 'held' || event.event === 'released') entry.isHeld = event.event === 'held';
    security.audit.write({ event: `terminal_${event.event}`, terminalId: event.id, ...OPERATOR });
  }

  function onClose(host: Host): void {
    for (const entry of [...entries.values()].filter((each) => each.host === host)) {
      end(entry, true);
      finish(entry).catch(() => undefined);
    }
  }

  return { onEvent, onClose, conclude };
}

/** Its host has reported the end and written its outcome. */
const createConclude =
  (executions: HostEventsOptions['executions']) =>
  async ({ id, owner }: Entry): Promise<Execution> => {
    const executionId = renameId(id, 'exec');
    executions.checkEnd(executionId);
    return executions.waitFor(owner, executionId, CONCLUDE_MS, new AbortController().signal);
  };
