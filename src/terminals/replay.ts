/**
 * Recordings are replayed in a process of their own, which is killed where it takes too long: the process that asks
 * holds the terminals of all callers, or serves them.
 */
import { messageOf, ShellServerError } from '../base/errors.ts';
import { startOwnProgram } from '../executions/processes.ts';
import type { ReplaySpec } from './protocol.ts';
import { endTranscript, isShort, readOldLines, saveHistory } from './recording.ts';

/** 100 MiB take some seconds. */
export const REPLAY_MS = 30_000;

export interface Recording {
  readonly directory: string;
  /** What replays it. */
  readonly program: string;
  /** A short one needs no other: this process has drawn as much at once already. */
  readonly isHost?: boolean;
  readonly deadlineMs?: number;
}

/** Makes it readable; resolves to the reason where only a part of it could be. */
export async function saveRecording(recording: Recording, title: string): Promise<string | undefined> {
  const { directory } = recording;
  try {
    if (recording.isHost === true && isShort(directory)) await saveHistory(directory, title);
    else await replayApart(recording, { recording: directory, title });
    return undefined;
  } catch (error) {
    endTranscript(directory);
    return messageOf(error);
  }
}

/** Lines [from, to) of a terminal that is open; fewer where they were not kept. */
export async function readRecording(recording: Recording, from: number, to: number): Promise<string[]> {
  const { directory } = recording;
  if (recording.isHost === true && isShort(directory)) return readOldLines(directory, from, to);
  try {
    return (await replayApart(recording, { recording: directory, from, to })) as string[];
  } catch {
    const message = 'These lines have left memory, and could not be replayed in time.';
    throw new ShellServerError('EXECUTION_002', message, {
      hint: 'Read later lines, or close the terminal and read its recording: list_execution_outputs.',
    });
  }
}

function replayApart(recording: Recording, spec: ReplaySpec): Promise<unknown> {
  const { program: path, directory: cwd, deadlineMs = REPLAY_MS } = recording;
  const what = 'The replay of a terminal';
  return startOwnProgram({ path, spec, cwd, searchPath: '/usr/bin:/bin', what, deadlineMs }).reply;
}
