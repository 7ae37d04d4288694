/** The end of a terminal, and what is kept of it: its outcome, and its transcript where that is wanted. */
import { type Launched, leaveOutcome, type Outcome } from '../../executions/processes.ts';
import type { TerminalSpec } from '../protocol.ts';
import { discardHistory } from '../recording.ts';
import { type Recording, saveRecording } from '../replay.ts';

interface LifeTools {
  readonly ending: Launched['ending'];
  readonly recording: Recording;
  /** After its last process: resolves when everything it wrote is recorded. */
  finishOutput(): Promise<void>;
  onEnd(): void;
}

export type Life = ReturnType<typeof createLife>;

export function createLife(spec: TerminalSpec, { ending, recording, finishOutput, onEnd }: LifeTools) {
  let savesHistory = spec.autoSaves;
  let isSaved = false;
  let outcome: Outcome | undefined;

  /** Nothing of it where it cannot be written. */
  async function save(): Promise<void> {
    isSaved = await saveRecording(recording, spec.sessionName).then(
      () => true,
      () => false,
    );
  }

  const end = (cause: 'terminated' | 'server_shutdown'): void => void ending.end(cause);

  const finished = (async (): Promise<Outcome> => {
    const ended = await ending.finished;
    await finishOutput();
    if (savesHistory) await save();
    outcome = leaveOutcome(spec.directory, ended);
    onEnd();
    return outcome;
  })();

  return {
    outcome: () => outcome,
    end,
    /** Resolves when everything of it is gone, and its transcript and its outcome are on disk. */
    finished,
    /** Ends it, and says what is kept of it where that is not what was said before. */
    async close(saves = savesHistory): Promise<void> {
      savesHistory = saves;
      if (outcome === undefined) end('terminated');
      await finished;
      if (saves && !isSaved) await save();
      if (saves || !isSaved) return;
      discardHistory(spec.directory);
      isSaved = false;
    },
    /** Whether there is a transcript. */
    isSaved: () => isSaved,
  };
}
