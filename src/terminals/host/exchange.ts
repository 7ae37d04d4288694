/** One request about a terminal: it is typed into, waited for and read, in this order, each where it was asked for. */
import { ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { echoedLines, encodeTyped } from '../input.ts';
import type {
  FrontInfo,
  InputFacts,
  ReadRequest,
  ReadResult,
  SendRequest,
  SendResult,
  TerminalSpec,
  Waited,
  WaitSpec,
} from '../protocol.ts';
import { type Recording, readRecording } from '../replay.ts';
import { areSame, readFacts } from './facts.ts';
import { type Front, lookAtFront } from './foreground.ts';
import { type GuardTarget, passesGuard, readGuard } from './guard.ts';
import type { Hold } from './hold.ts';
import type { Pty } from './pty.ts';
import { type Before, type Observed, rememberBefore, settle } from './settle.ts';

export interface Exchange {
  /** Waits for the first prompt, and types the first command. */
  begin(signal: AbortSignal): Promise<InputFacts | undefined>;
  facts(): Promise<InputFacts>;
  send(request: SendRequest, signal: AbortSignal): Promise<SendResult>;
  read(request: ReadRequest, signal: AbortSignal): Promise<ReadResult>;
}

/** For the shell to read its start-up files. */
const PROMPT_MS = 10_000;
const WRITE_MS = 1000;
/** Typed at a program that does not read; what comes after that is refused. */
const MAX_PENDING_BYTES = 1024 * 1024;

interface ExchangeTools {
  readonly pty: Pick<Pty, 'write' | 'pendingBytes'>;
  readonly recording: Recording;
  readonly hold: Pick<Hold, 'isHeld'>;
}

export function createExchange(
  spec: TerminalSpec,
  observed: Observed,
  { pty, recording, hold }: ExchangeTools,
): Exchange {
  const { screen, program } = observed;
  /** What came before this, was answered: a later wait misses nothing that came in between. */
  let answered: Before | undefined;
  /** The same for readers that have read since something was typed last. */
  const readBy = new Map<string, Before>();

  const facts = (): Promise<InputFacts> => readFacts(observed, spec.rules);
  const front = (isThorough = false): Front | undefined =>
    observed.hasEnded() ? undefined : lookAtFront(program, isThorough);

  const waitSince = (before: Before, wait: WaitSpec, signal: AbortSignal): Promise<Waited> =>
    settle(observed, wait, { ...before, at: performance.now() }, signal);

  /** Who goes on waiting waits for the same thing. */
  const isAnswered = ({ reason }: Waited): boolean => reason !== 'timeout_still_running';

  async function send(request: SendRequest, signal: AbortSignal): Promise<SendResult> {
    const guard = request.guard === undefined ? undefined : checkGuard(request.guard);
    const { isSecretPrompt: isSecret } = request.facts;
    const bytes = Buffer.from(request.base64, 'base64');
    // A secret is not echoed, and neither is its line end.
    const before = rememberBefore(observed, isSecret ? 0 : request.echoedLines);
    const fromLine = screen.cursorLine();
    const nothing = { waited: undefined, after: undefined, screen: undefined, facts: undefined };
    const refuse = (why: SendResult['why'], about: Partial<SendResult> = {}): SendResult => ({
      ...nothing,
      sent: 'nothing',
      why,
      front: [],
      bytes: 0,
      fromLine,
      fromText: '',
      ...about,
    });
    if (observed.hasEnded()) return refuse('ended', { outcome: observed.outcome() });
    if (hold.isHeld()) return refuse('held');
    if (pty.pendingBytes > MAX_PENDING_BYTES) throw notReading(front());
    const now = await facts();
    if (!areSame(request.facts, now, request.decidedBy)) return refuse('changed', { facts: now });
    // Last of all, since nothing keeps the foreground process in its place. Afterwards it may be another one.
    const isAsked = guard !== undefined || request.wait === undefined;
    const reader = isAsked ? front(guard !== undefined) : undefined;
    const receivers = describeFront(reader);
    if (guard !== undefined && !passesGuard(guard, reader, program.shell))
      return refuse('guard', { front: receivers, facts: now });
    const fromText = isSecret ? (screen.lines(fromLine, fromLine + 1)[0] ?? '') : '';
    screen.head.begin();
    const writing = pty.write(bytes);
    // A program that does not read must not keep the answer: what it has not taken, it gets when it does.
    const isWritten = await inTime(writing, WRITE_MS);
    answered = before;
    readBy.clear();
    const sent = { sent: isWritten ? 'all' : 'part', why: undefined, bytes: bytes.length, fromText } as const;
    if (request.wait === undefined) return { ...nothing, ...sent, front: receivers, fromLine };
    const waited = await waitSince(before, request.wait, signal);
    if (isAnswered(waited)) answered = rememberBefore(observed);
    const after = await facts();
    const line = Math.min(before.line, screen.totalLines());
    const view = readAfter(waited, line, after);
    const isDrawn = view.isAlternate || waited.isRedrawn;
    return {
      ...sent,
      front: receivers,
      waited,
      fromLine: line,
      after: view,
      // It begins where the cursor was, and the answer after the echo.
      head: screen.head.lines()?.slice(Math.max(0, line - fromLine)),
      screen: isDrawn ? screen.view().rows : undefined,
      outcome: view.outcome,
      facts: view.facts,
    };
  }

  /** The last lines, as far as they are in memory: an answer shows no more, and the others can be asked for. */
  function readAfter(waited: Waited, fromLine: number, now: InputFacts): ReadResult {
    const about = describe(waited, now, true);
    const most = waited.commandOutput === undefined ? LIMITS.terminalLinesMax : 1;
    const from = Math.max(fromLine, screen.firstLine(), about.totalLines - most);
    return { ...about, lines: screen.lines(from, about.totalLines), from, missing: 0 };
  }

  function describe(waited: Waited | undefined, now: InputFacts | undefined, withFront: boolean) {
    const { cursor, title, isAlternate } = screen.view();
    return {
      cursor,
      title,
      isAlternate,
      totalLines: screen.totalLines(),
      isSecretPrompt: now?.isSecretPrompt === true,
      front: withFront ? describeFront(front()) : [],
      waited,
      outcome: observed.outcome(),
      facts: now,
    };
  }

  async function read(request: ReadRequest, signal: AbortSignal): Promise<ReadResult> {
    const { reader, wait } = request;
    const before = readBy.get(reader) ?? answered ?? rememberBefore(observed);
    const waited = wait === undefined ? undefined : await waitSince(before, wait, signal);
    if (waited !== undefined && isAnswered(waited)) readBy.set(reader, rememberBefore(observed));
    // At the prompt they are cheap.
    const now = waited !== undefined || observed.marks.state === 'prompt' ? await facts() : undefined;
    const about = describe(waited, now, request.withFront);
    // In the same moment as what is shown, or it would be waited for once more.
    if (waited === undefined)
      readBy.set(reader, { ...before, line: Math.max(before.line, screen.cursorLine()) });
    if (request.view === 'screen') {
      const lines = request.withAnsi ? screen.ansiView().split('\r\n') : screen.view().rows;
      return { ...about, lines, from: 0, missing: 0 };
    }
    const total = about.totalLines;
    const from = Math.min(request.from ?? Math.max(0, total - request.count), total);
    const to = Math.min(total, from + request.count);
    const first = screen.firstLine();
    const untilOld = Math.min(to, first);
    const old = from < first ? await readRecording(recording, from, untilOld) : [];
    const missing = Math.max(0, untilOld - from - old.length);
    // Pages have no holes: where the log has one, a page ends before it, and the last lines begin after it.
    if (missing > 0 && request.from !== undefined)
      return { ...about, ...fitPage(old, { from, missing }, request) };
    const start = Math.max(from, screen.firstLine());
    const recent = screen.lines(start, to, request.withAnsi);
    const page = missing > 0 ? { from: start, lines: recent } : { from, lines: [...old, ...recent] };
    return { ...about, ...fitPage(page.lines, { from: page.from, missing: 0 }, request) };
  }

  return {
    facts,
    send,
    read,
    async begin(signal) {
      const wait = { pattern: undefined, idleMs: undefined, timeoutMs: PROMPT_MS, untilPrompt: true };
      // What is typed before the shell reads is shown twice, and by some shells thrown away.
      await waitSince(rememberBefore(observed), wait, signal);
      answered = rememberBefore(observed);
      const now = await facts();
      if (spec.command === undefined) return now;
      const typed = { kind: 'text', text: spec.command, isEntered: true } as const;
      const request = {
        id: spec.id,
        base64: encodeTyped(typed, now.modes).toString('base64'),
        echoedLines: echoedLines(typed),
        guard: undefined,
        facts: now,
        decidedBy: { line: false, modes: false },
        wait: undefined,
      };
      await send(request, signal);
      return undefined;
    },
  };
}

/** The first of them that fit, or the last where those were asked for. */
function fitPage(
  lines: readonly string[],
  { from, missing }: { readonly from: number; readonly missing: number },
  { from: asked, maxBytes }: ReadRequest,
): Pick<ReadResult, 'lines' | 'from' | 'missing'> {
  const isFromEnd = asked === undefined;
  let left = maxBytes;
  let count = 0;
  for (; count < lines.length; count++) {
    left -= Buffer.byteLength(lines.at(isFromEnd ? -1 - count : count) ?? '') + 1;
    if (left < 0) break;
  }
  if (count === lines.length) return { lines, from, missing };
  if (count === 0) {
    const line = lines.at(isFromEnd ? -1 : 0) ?? '';
    const cut = `${Buffer.from(line).subarray(0, maxBytes).toString('utf8')}[… the rest of a long line is left out]`;
    return { lines: [cut], from: isFromEnd ? from + lines.length - 1 : from, missing: 0 };
  }
  if (isFromEnd) return { lines: lines.slice(-count), from: from + lines.length - count, missing: 0 };
  return { lines: lines.slice(0, count), from, missing: 0 };
}

function checkGuard(text: string): GuardTarget {
  const guard = readGuard(text);
  if (guard !== undefined) return guard;
  throw new ShellServerError(
    'PARAM_002',
    `send_to is not a valid program: ${JSON.stringify(text.slice(0, 80))}.`,
    {
      hint: 'Use a program’s name, its path, "pid:N", "sessionleader:" or "*".',
      details: { parameter: 'send_to' },
    },
  );
}

function notReading(now: Front | undefined): ShellServerError {
  const who = now?.processes[0]?.name ?? 'the foreground process';
  return new ShellServerError('RESOURCE_005', `Nothing was sent: ${who} has not read the earlier input.`, {
    hint: 'Wait until it does, or interrupt it with keys ["ctrl+c"], which the terminal itself handles unless the program disabled that.',
    details: { limit: MAX_PENDING_BYTES },
  });
}

/** False where it takes longer. */
async function inTime(writing: Promise<boolean>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  return Promise.race([writing, late]).finally(() => clearTimeout(timer));
}

export function describeFront(front: Front | undefined): FrontInfo[] {
  return (front?.processes ?? []).map(({ pid, name, path }) => ({ pid, name, path }));
}
