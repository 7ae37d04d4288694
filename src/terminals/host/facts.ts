/** What a decision about input depends on: who would read it. Asked anew each time, and last of all before typing. */
import type { InputFacts, TerminalSpec } from '../protocol.ts';
import { directoryOf, type FrontProcess, isShellInFront, lookAtFront, readActivity } from './foreground.ts';
import { findInnerShell, isOtherShell, isPasswordProgram } from './readers.ts';
import { asksForSecret } from './secret-prompt.ts';
import type { Observed } from './settle.ts';

export async function readFacts(
  observed: Observed,
  { rules, permit, isListed }: Pick<TerminalSpec, 'rules' | 'permit' | 'isListed'>,
): Promise<InputFacts> {
  const { marks, program, screen } = observed;
  screen.catchUp();
  const isAtPrompt = marks.state === 'prompt';
  const hasEnded = observed.outcome() !== undefined;
  const isShell = !hasEnded && isShellInFront(program);
  // The shell at its prompt reads for itself. Asking takes a process, so it has to be worth it.
  const isEditing = isAtPrompt && isShell && marks.editing !== 'other';
  const isKnown = hasEnded || (isEditing && !isListed);
  const mode = isKnown ? undefined : await observed.lineMode();
  const front = isKnown || isShell ? undefined : readActivity(program);
  const activity = front?.activity;
  const innerShell = findInnerShell(front?.readers ?? []);
  // What a program does not read waits in the kernel for the shell.
  const isTypedAhead =
    !isKnown && !isShell && !screen.isAlternate && activity !== 'reading' && activity !== 'listening';
  // A shell that waits for a command wants that, with echo or without.
  const wantsSecret = (): boolean =>
    isShell
      ? marks.prompts > 0 && !marks.isIdle && !isOtherShell(program)
      : activity !== 'busy' && innerShell === undefined;
  return {
    isForShell: isShell || isTypedAhead,
    isShellInFront: isShell,
    isSecretPrompt: asksForSecret(mode) && wantsSecret(),
    prompts: marks.prompts,
    expandsHistory: marks.expandsHistory,
    editing: marks.editing,
    innerShell: innerShell?.name,
    isPartlyRead: isShell && marks.state === 'running' && mode?.isByLine === false,
    isPasswordProgram: isPasswordProgram(front?.readers ?? []),
    workingDirectory: innerShell?.directory ?? directoryOf(program.shell),
    promptLine: marks.promptLine(),
    beforeCursor: marks.beforeCursor(),
    isFreshPrompt: isShell && marks.isFresh && (isEditing || mode?.echoes !== false),
    lineKeys: mode?.isByLine === true ? mode.keys : undefined,
    editorKeys: mode?.isByLine === false ? mode.keys : undefined,
    modes: screen.modes(),
    byPerson: observed.activity.byPerson,
    rules,
    variables: permit.given,
  };
}

/** None where nothing runs any more, or the kernel does not tell. */
export const frontOf = (observed: Observed, isThorough = false): FrontProcess[] =>
  observed.outcome() !== undefined ? [] : lookAtFront(observed.program, isThorough);

/** The line at the prompt and the modes only count where the decision was made by them. */
export function areSame(
  expected: InputFacts,
  now: InputFacts,
  decidedBy: { readonly line: boolean; readonly modes: boolean },
): boolean {
  if (SAME.some((name) => expected[name] !== now[name])) return false;
  if (decidedBy.line && LINE.some((name) => expected[name] !== now[name])) return false;
  return !decidedBy.modes || MODES.every((name) => expected.modes[name] === now.modes[name]);
}

const SAME = [
  'isForShell',
  'isSecretPrompt',
  'innerShell',
  'isPartlyRead',
  'isPasswordProgram',
  'prompts',
  'lineKeys',
  'editorKeys',
  'workingDirectory',
  'byPerson',
] as const;
const LINE = ['promptLine', 'beforeCursor'] as const;
const MODES = ['applicationCursor', 'bracketedPaste', 'isAlternate'] as const;
