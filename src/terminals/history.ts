/** What stays of a terminal: its transcript and its recording, as outputs, and a line in the audit log. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Instance } from '../executions/executions.ts';
import { endByMarker, lostOutcome, type Outcome } from '../executions/processes.ts';
import type { Bundle, Outputs } from '../outputs/types.ts';
import type { Security } from '../security/security.ts';
import { listRecords, readOutcomeIn, type TerminalRecord } from './records.ts';

export interface History {
  /** It has ended, and its host has saved what was to be saved. */
  conclude(terminal: Known, outcome: Outcome, isSaved: boolean): void;
  /** Its host is gone: what it left running is ended, and what it had written is saved. */
  recover(id: string): Promise<void>;
  /** The outputs of a terminal that is closed. */
  outputIds(id: string): readonly string[];
  discard(id: string): void;
  /** Looks at the disk once: what earlier servers left is known from then on. `open` are those that go on. */
  look(open: ReadonlySet<string>): Promise<void>;
}

interface Known {
  readonly id: string;
  readonly owner: string;
  readonly sessionName: string;
  readonly createdAtMs: number;
}

export function createHistory(options: {
  readonly parent: string;
  readonly outputs: Outputs;
  readonly security: Pick<Security, 'audit'>;
  readonly instance: Pick<Instance, 'isInstanceAlive'>;
  readonly clock: Clock;
  readonly log: Log;
}): History {
  const { parent, outputs, security, clock, log } = options;
  const bundles = new Map<string, Bundle>();
  let hasLooked = false;

  function keep({ id, owner, sessionName, createdAtMs }: Known, endedAtMs: number): readonly string[] {
    const bundle = outputs.adoptBundle({
      id,
      owner,
      name: sessionName,
      createdAtMs,
      endedAtMs,
      parent,
      streams: ['log', 'cast'],
      isRunning: () => false,
    });
    bundles.set(id, bundle);
    return outputIds(id);
  }

  function outputIds(id: string): readonly string[] {
    const bundle = bundles.get(id);
    return [bundle?.outputId('log'), bundle?.outputId('cast')].filter((each) => each !== undefined);
  }

  function discard(id: string): void {
    rmSync(join(parent, id), { recursive: true, force: true });
  }

  function conclude(terminal: Known, outcome: Outcome, isSaved: boolean): void {
    const kept = isSaved ? keep(terminal, outcome.endedAtMs) : [];
    if (!isSaved) discard(terminal.id);
    try {
      security.audit.write({
        event: 'terminal_ended',
        requestId: 'ended',
        terminalId: terminal.id,
        principal: terminal.owner,
        session: terminal.sessionName,
        reason: outcome.reason,
        exitCode: outcome.exitCode,
        signal: outcome.signal,
        survivors: outcome.survivors.map(({ pid }) => pid),
        unprotected: outcome.unprotected,
        durationMs: outcome.endedAtMs - terminal.createdAtMs,
        outputs: kept,
      });
    } catch (error) {
      log.error('the audit log cannot be written', { terminal: terminal.id, error: messageOf(error) });
    }
  }

  async function save(record: TerminalRecord, directory: string): Promise<void> {
    const known = readOutcomeIn(directory);
    const survivors = known === undefined ? await endByMarker(record.marker) : [];
    const outcome = known ?? { ...lostOutcome(clock.now()), survivors };
    // The emulator is only needed here where a host was killed.
    const { saveHistory } = await import('./recording.ts');
    const isSaved =
      record.autoSaves &&
      (await saveHistory(directory, record.sessionName).then(
        () => true,
        () => false,
      ));
    conclude(record, outcome, isSaved);
  }

  return {
    conclude,
    outputIds,
    discard,
    async recover(id) {
      const found = listRecords(parent).find(({ record }) => record.id === id);
      if (found !== undefined) await save(found.record, found.directory);
    },
    async look(open) {
      if (hasLooked) return;
      hasLooked = true;
      for (const { record, directory } of listRecords(parent)) {
        if (open.has(record.id)) continue;
        const outcome = readOutcomeIn(directory);
        const hasTranscript = outcome !== undefined && keep(record, outcome.endedAtMs).length > 0;
        if (hasTranscript || options.instance.isInstanceAlive(record.instance)) continue;
        await save(record, directory);
      }
    },
  };
}
