/** Types into a terminal, where the program that reads it is still the one that the input was meant for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ShellServerError } from '../../base/errors.ts';
import { type InputFacts, NOTHING_SENT, type SendRequest, type SendResult } from '../protocol.ts';
import { isAnswered, type Progress } from './exchange-progress.ts';
import { readAfter } from './exchange-reading.ts';
import { areSame, frontOf } from './facts.ts';
import { describeFront } from './foreground.ts';
import { type GuardTarget, passesGuard, readGuard } from './guard.ts';
import type { Hold } from './hold.ts';
import type { Pty } from './pty.ts';
import { beginningOf, type Observed, rememberBefore } from './settle.ts';

const WRITE_MS = 1000;
/** Typed at a program that does not read; what comes after that is refused. */
const MAX_PENDING_BYTES = 1024 * 1024;

export interface SendingTools {
  readonly pty: Pick<Pty, 'write' | 'pendingBytes'>;
  readonly hold: Pick<Hold, 'isHeld'>;
  readonly progress: Progress;
  facts(): Promise<InputFacts>;
}

/** Who asked. */
export interface Asker {
  readonly signal: AbortSignal;
  /** Called as soon as it is typed, before others hear anything of the terminal. */
  onTyped(): void;
}

export async function send(
  observed: Observed,
  request: SendRequest,
  { signal, onTyped }: Asker,
  tools: SendingTools,
): Promise<SendResult> {
  const { screen, activity } = observed;
  const { pty, hold, progress, facts } = tools;
  const guard = request.guard === undefined ? undefined : checkGuard(request.guard);
  const { isSecretPrompt: isSecret } = request.facts;
  const bytes = Buffer.from(request.base64, 'base64');
  // A secret is not echoed, and neither is its line end.
  const before = rememberBefore(observed, isSecret ? 0 : request.echoedLines, progress.lastTyped());
  const fromLine = screen.cursorLine();
  const refuse = (why: SendResult['why'], about: Partial<SendResult> = {}): SendResult => ({
    ...NOTHING_SENT,
    why,
    ...about,
  });
  const outcome = observed.outcome();
  if (outcome !== undefined) return refuse('ended', { outcome });
  if (hold.isHeld()) return refuse('held');
  if (pty.pendingBytes > MAX_PENDING_BYTES) throw notReading(observed);
  const now = await facts();
  if (!areSame(request.facts, now, request.decidedBy)) return refuse('changed', { facts: now });
  // While this looked, a person has typed, or nobody waits for it any more.
  if (activity.byPerson !== now.byPerson || signal.aborted) return refuse('changed');
  // Last of all, since nothing keeps the foreground process in its place. Afterwards it may be another one.
  const isAsked = guard !== undefined || request.wait === undefined;
  const reader = isAsked ? frontOf(observed, guard !== undefined) : [];
  const front = describeFront(reader);
  if (guard !== undefined && !passesGuard(guard, reader, observed.program.shell))
    return refuse('guard', { front, facts: now });
  const fromText = isSecret ? (screen.lines(fromLine, fromLine + 1)[0] ?? '') : '';
  screen.head.begin();
  const writing = pty.write(bytes);
  onTyped();
  // A program that does not read must not keep the answer: what it has not taken, it gets when it does.
  const isWritten = await Promise.race([writing, sleep(WRITE_MS, false, { ref: false })]);
  progress.noteTyped(before);
  const sent = { sent: isWritten ? 'all' : 'part', bytes: bytes.length, front, fromText } as const;
  if (request.wait === undefined) return { ...sent, fromLine };
  const waited = await progress.wait(before, request.wait, signal);
  if (isAnswered(waited)) progress.noteAnswered();
  const afterwards = await facts();
  const line = Math.min(beginningOf(observed, before), screen.totalLines());
  const after = readAfter(observed, waited, line, afterwards);
  return {
    ...sent,
    waited,
    fromLine: line,
    after,
    // It begins where the cursor was, and the answer after the echo.
    head: screen.head.lines()?.slice(Math.max(0, line - fromLine)),
    screen: after.isAlternate || waited.isRedrawn ? screen.view().rows : undefined,
    outcome: after.outcome,
    facts: afterwards,
  };
}

function checkGuard(text: string): GuardTarget {
  const guard = readGuard(text);
  if (guard !== undefined) return guard;
  const shown = JSON.stringify(text.slice(0, 80));
  throw new ShellServerError('PARAM_002', `send_to is not a valid program: ${shown}.`, {
    hint: 'Use a program’s name, its path, "pid:N", "sessionleader:" or "*".',
    details: { parameter: 'send_to' },
  });
}

function notReading(observed: Observed): ShellServerError {
  const who = frontOf(observed)[0]?.name ?? 'the foreground process';
  return new ShellServerError('RESOURCE_005', `Nothing was sent: ${who} has not read the earlier input.`, {
    hint: 'Wait until it does, or interrupt it with keys ["ctrl+c"], which the terminal itself handles unless the program disabled that.',
    details: { limit: MAX_PENDING_BYTES },
  });
}
