/** What a decision about input depends on: who would read it. Asked anew each time, and last of all before typing. */
import type { InputFacts } from '../protocol.ts';
import { directoryOf, isShellInFront, readActivity } from './front.ts';
import { asksForSecret } from './secret-prompt.ts';
import type { Observed } from './settle.ts';

export async function readFacts(observed: Observed, rules: string): Promise<InputFacts> {
  const { marks, program, screen } = observed;
  screen.catchUp();
  const isAtPrompt = marks.state === 'prompt';
  const isShell = !observed.hasEnded() && isShellInFront(program);
  // The shell at its prompt reads for itself: nothing more has to be asked, and asking takes a process.
  const isKnown = observed.hasEnded() || (isAtPrompt && isShell);
  const mode = isKnown ? undefined : await observed.lineMode();
  // Lines for a program that does not read them wait in the kernel for the shell.
  const isTypedAhead =
    mode?.isByLine === true && !screen.isAlternate && readActivity(program)?.activity !== 'reading';
  return {
    isForShell: isShell || isTypedAhead,
    isSecretPrompt: !isAtPrompt && asksForSecret(mode),
    finished: marks.finished,
    workingDirectory: directoryOf(program.shell),
    promptLine: marks.promptLine(),
    rules,
  };
}

/** A line at the prompt only counts where the decision was made by it. */
export function areSame(expected: InputFacts, now: InputFacts): boolean {
  const names = ['isForShell', 'isSecretPrompt', 'finished', 'workingDirectory'] as const;
  if (names.some((name) => expected[name] !== now[name])) return false;
  return expected.promptLine === undefined || expected.promptLine === now.promptLine;
}
