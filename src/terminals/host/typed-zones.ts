/**
 * Where the shell shows what is typed at its prompts, from the end of each to where its command begins. What is typed
 * while a command runs is shown twice, by the kernel and again by the shell, and no output is a line that was typed.
 */
import type { IMarker } from '@xterm/headless';
import type { Screen } from './screen.ts';

/** More than one call types at; each costs a little with every line that leaves memory. */
const MAX_ZONES = 64;

interface Zone {
  readonly from: IMarker | undefined;
  readonly column: number;
  /** Undefined as long as it is typed. */
  to: IMarker | undefined;
}

export type TypedZones = ReturnType<typeof createTypedZones>;

export function createTypedZones(screen: Pick<Screen, 'terminal' | 'lineOfRow'>) {
  const { terminal } = screen;
  const zones: Zone[] = [];

  /** The line where a command begins. */
  function end(): void {
    const last = zones.at(-1);
    if (last !== undefined && last.to === undefined) last.to = terminal.registerMarker(0);
  }

  function forget(count: number): void {
    for (const { from, to } of zones.splice(0, count)) {
      from?.dispose();
      to?.dispose();
    }
  }

  return {
    end,
    /** The rows in which they were are gone. */
    forget: (): void => forget(zones.length),
    /** At the end of a prompt. Another one ends it as well: nothing was run. */
    begin(): void {
      end();
      const column = terminal.buffer.active.cursorX;
      zones.push({ from: terminal.registerMarker(0), column, to: undefined });
      forget(Math.max(0, zones.length - MAX_ZONES));
    },
    /** Those lines, of which the first has this number, without what was typed. */
    leaveOut(lines: readonly string[], first: number): string[] {
      const left = [...lines];
      for (const { from, column, to } of zones) {
        // What was typed has left memory.
        if (to?.isDisposed === true) continue;
        const begins = from === undefined || from.isDisposed ? undefined : screen.lineOfRow(from.line);
        const start = begins === undefined ? 0 : begins.line - first;
        const stop = to === undefined ? left.length : screen.lineOfRow(to.line).line - first;
        for (let at = Math.max(0, start); at < Math.min(stop, left.length); at++)
          left[at] = at === start ? (left[at] ?? '').slice(0, (begins?.column ?? 0) + column) : '';
      }
      return left;
    },
  };
}
