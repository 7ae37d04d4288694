/** One request about a terminal: it is typed into, waited for and read, in this order, each where it was asked for. */
import { echoedLines, encodeTyped } from '../input.ts';
import type { InputFacts, ReadRequest, SendRequest, TerminalSpec } from '../protocol.ts';
import type { Recording } from '../replay.ts';
import { createProgress } from './exchange-progress.ts';
import { read } from './exchange-reading.ts';
import { type Asker, type SendingTools, send } from './exchange-sending.ts';
import { readFacts } from './facts.ts';
import { type Observed, rememberBefore } from './settle.ts';

export type Exchange = ReturnType<typeof createExchange>;

/** For the shell to read its start-up files. */
const PROMPT_MS = 10_000;

export function createExchange(
  spec: TerminalSpec,
  observed: Observed,
  { pty, recording, hold }: Pick<SendingTools, 'pty' | 'hold'> & { readonly recording: Recording },
) {
  const progress = createProgress(observed);
  const facts = (): Promise<InputFacts> => readFacts(observed, spec);
  const tools = { pty, recording, hold, progress, facts };
  return {
    facts,
    send: (request: SendRequest, asker: Asker) => send(observed, request, asker, tools),
    read: (request: ReadRequest, signal: AbortSignal) => read(observed, request, signal, tools),
    /** Waits for the first prompt, and types the first command. */
    async begin(signal: AbortSignal): Promise<InputFacts | undefined> {
      const wait = { timeoutMs: PROMPT_MS, untilPrompt: true };
      // What is typed before the shell reads is shown twice, and by some shells thrown away.
      await progress.wait(rememberBefore(observed), wait, signal);
      progress.noteAnswered();
      const now = await facts();
      if (spec.command === undefined) return now;
      const typed = { kind: 'text', text: spec.command, isEntered: true } as const;
      const request = {
        id: spec.id,
        base64: encodeTyped(typed, now.modes).toString('base64'),
        echoedLines: echoedLines(typed),
        facts: now,
        decidedBy: { line: false, modes: false },
      };
      await send(observed, request, { signal, onTyped: () => undefined }, tools);
      return undefined;
    },
  };
}
