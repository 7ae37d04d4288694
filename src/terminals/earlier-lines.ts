/** Lines that were entered at a shell, and of which it is not known that they have ended. */
import { isWholeText } from '../security/security.ts';
import type { InputFacts } from './protocol.ts';

/** A shell that does not say when a command has ended would otherwise be asked about all there ever were. */
export const MAX_LINES = 2000;

const ETX = 0x03;
/** Ctrl-C, Ctrl-D, Ctrl-Z and Ctrl-\ leave nothing behind for the shell. */
export const QUIET = new Set([ETX, 0x04, 0x1a, 0x1c]);

/** The shell, as it is at the moment. */
interface Shell extends Pick<InputFacts, 'prompts' | 'isFreshPrompt' | 'isShellInFront'> {
  readonly isStrict?: boolean;
}

export const SETS_HISTORY = /\bset\b|\bsetopt\b|\bemulate\b|histexpand/i;

export function createEarlierLines() {
  /** They have ended when the shell has shown a prompt for each. */
  let lines: readonly string[] = [];
  let openUntil = 0;
  /** How many there were when the last was entered. */
  let enteredAt = 0;
  let isDropped = false;
  /**
   * Under a list, what is printed does not end a line that goes on by the shell's grammar, or switch history expansion off:
   * who knows the number of the shell's marks can print them.
   */
  let goesOn = false;
  let mayHaveHistory = false;

  const open = ({ prompts }: Shell): readonly string[] => (goesOn || prompts < openUntil ? lines : []);

  return {
    open,
    /** A key since then may have dropped some of them, which a shell need not say. */
    isDropped: () => isDropped,
    /** Whether a line with `!` in it may become another, whatever the shell says. */
    mayHaveHistory: () => mayHaveHistory,
    /** They seem to have ended, and may as well still be on their way. */
    isUnsettled: (shell: Shell): boolean =>
      open(shell).length > 0 && shell.prompts > enteredAt && shell.isFreshPrompt,
    /** Nothing has come for a while: if there is a prompt, they have. */
    settle(shell: Shell): void {
      if (!shell.isFreshPrompt || goesOn) return;
      lines = [];
      openUntil = shell.prompts;
    },
    noteKeys(bytes: Uint8Array, shell: Shell): void {
      isDropped = open(shell).length > 0 && (isDropped || bytes.some((byte) => QUIET.has(byte)));
      // The shell cannot have been told to ignore it.
      if (bytes.includes(ETX)) goesOn = false;
    },
    enter(entered: readonly string[], shell: Shell): void {
      const { prompts, isShellInFront, isStrict = false } = shell;
      lines = [...open(shell), ...entered].slice(-MAX_LINES);
      openUntil = Math.max(openUntil, prompts + (isShellInFront ? 0 : 1)) + countLines(entered);
      enteredAt = prompts;
      if (!isStrict) return;
      const commands = lines.join('\n');
      goesOn = !isWholeText(commands);
      mayHaveHistory ||= SETS_HISTORY.test(commands);
    },
    forget(): void {
      lines = [];
      goesOn = false;
    },
  };
}

const countLines = (entered: readonly string[]): number => entered.join('\n').split('\n').length;
