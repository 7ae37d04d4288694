/**
 * Tells once when a program begins to wait for a password. Looked for only where the line at the cursor reads like such a
 * prompt and nothing more has come: asking the terminal for its mode takes a process.
 */
import type { TerminalSpec } from '../protocol.ts';
import { readFacts } from './facts.ts';
import type { Observed } from './settle.ts';

const QUIET_MS = 300;
const LIKELY = /pass(?:word|phrase|code)|\bPIN\b|secret|kennwort|mot de passe|contrase/i;

/** Until the function that is returned is called. */
export function watchForPasswordPrompt(
  observed: Observed,
  spec: TerminalSpec,
  onPrompt: () => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let toldAt = -1;

  function arm(): void {
    timer ??= setTimeout(() => void look(), QUIET_MS).unref();
  }

  async function look(): Promise<void> {
    timer = undefined;
    if (observed.outcome() !== undefined) return;
    if (performance.now() - observed.activity.lastDataAt < QUIET_MS / 2) return arm();
    const at = observed.activity.receivedBytes;
    const line = observed.screen.cursorLine();
    if (at === toldAt || !LIKELY.test(observed.screen.lines(line, line + 1)[0] ?? '')) return;
    const { isSecretPrompt } = await readFacts(observed, spec);
    if (!isSecretPrompt || observed.activity.receivedBytes !== at) return;
    toldAt = at;
    onPrompt();
  }

  const stop = observed.onChange(arm);
  return () => {
    stop();
    clearTimeout(timer);
  };
}
