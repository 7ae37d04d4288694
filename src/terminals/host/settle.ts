/**
 * When to answer: the moment a person would say that there is something to look at. What the shell says counts first;
 * then what the kernel says of the foreground processes (they read the terminal, or sleep, use no processor time and are quiet);
 * silence alone is only trusted where the kernel tells nothing.
 */
import type { Pattern } from '../../base/pattern.ts';
import type { Outcome } from '../../executions/processes.ts';
import type { Waited, WaitReason, WaitSpec } from '../protocol.ts';
import { type FrontActivity, isShellInFront, type Program, readActivity } from './foreground.ts';
import type { Marks } from './marks.ts';
import type { Activity } from './output.ts';
import type { Screen } from './screen.ts';
import type { LineMode } from './secret-prompt.ts';

export interface Observed {
  readonly screen: Screen;
  readonly marks: Marks;
  readonly program: Program;
  /** As it is at the moment. */
  readonly activity: Activity;
  /** Undefined until it has ended. */
  outcome(): Outcome | undefined;
  lineMode(): Promise<LineMode | undefined>;
  /** Called when output was parsed, and whether it changed what the shell says of itself, or the terminal has ended. */
  onChange(listener: (isMark: boolean) => void): () => void;
}

/** As things were before the input. */
export type Before = ReturnType<typeof rememberBefore>;

/** `echoed` is how many lines what is typed will take up, `typed` what was typed last: it may not be echoed yet. */
export function rememberBefore(
  { screen, marks, activity }: Observed,
  echoed = 0,
  typed?: { readonly at: number; readonly redraws: number; readonly line: number },
) {
  screen.catchUp();
  const cursor = screen.cursorLine();
  const isAwaited =
    typed !== undefined && typed.redraws === screen.redraws && performance.now() - typed.at < ECHO_MS;
  return {
    at: performance.now(),
    receivedBytes: activity.receivedBytes,
    finished: marks.finished,
    begun: marks.begun,
    redraws: screen.redraws,
    /** The first line that is not the echo of what is typed. */
    line: (isAwaited ? Math.max(cursor, typed.line) : cursor) + echoed,
  };
}

/** For the echo of what was typed. */
const ECHO_MS = 1000;
/** New output is searched for the pattern no more often than this. */
const SEARCH_MS = 5;
/** Two looks that far apart tell whether anything was done; a program that goes on for long is looked at less often. */
const SAMPLE_MS = 40;
const LATE_SAMPLE_MS = 200;
const QUIET_MS = 80;
/**
 * A shell that waits while a command of its own runs: either the command is its own `read`, or what was printed last and
 * the prompt are still on their way through the kernel, which takes its time on a busy machine.
 */
const LATE_MARK_MS = 600;
/** Where the kernel does not say what a sleeping process waits for. */
const SILENT_MS = 300;
/** For the first sign of life, where nothing is echoed. */
const FIRST_BYTE_MS = 400;
/** After a command has ended without what was waited for: something in the background may still print it. */
const LATE_MATCH_MS = 1000;
/** Of what is new; enough for a screen in every size. */
const PATTERN_LINES = 500;

export async function settle(
  observed: Observed,
  spec: WaitSpec,
  before: Before,
  signal: AbortSignal,
): Promise<Waited> {
  const pattern = spec.pattern === undefined ? undefined : await compileLines(spec.pattern);
  const deadline = performance.now() + spec.timeoutMs;
  const isOpen = pattern === undefined && spec.idleMs === undefined;
  const front = createFrontWatch(observed);
  let doneAt: number | undefined;
  const answer = (reason: WaitReason, matched?: string): Waited =>
    describeWait(observed, before, reason, matched);

  for (;;) {
    signal.throwIfAborted();
    observed.screen.catchUp();
    const matched = pattern === undefined ? undefined : findMatch(observed, pattern, before);
    if (matched !== undefined) return answer('matched', matched);
    if (observed.outcome() !== undefined) return answer('exited');
    const now = performance.now();
    const { marks } = observed;
    if (spec.untilPrompt === true && marks.state === 'prompt') return answer('command_done');
    if (marks.finished > before.finished && marks.state !== 'running') doneAt ??= now;
    if (doneAt !== undefined && (isOpen || now - doneAt > LATE_MATCH_MS) && spec.idleMs === undefined)
      return answer('command_done');
    const quietSince = Math.max(observed.activity.lastDataAt, before.at);
    if (spec.idleMs !== undefined && now - quietSince >= spec.idleMs)
      return answer(doneAt === undefined ? 'quiet' : 'command_done');
    const looksAt = isOpen ? looksFrom(observed, before, quietSince) : Number.POSITIVE_INFINITY;
    if (now >= looksAt) {
      const reason = await front.judge(now, now - quietSince);
      if (reason !== undefined) return answer(reason);
    } else {
      front.forget();
    }
    if (now >= deadline) return answer('timeout_still_running');
    const next = Math.min(
      deadline,
      now >= looksAt ? now + front.sampleMs : looksAt,
      doneAt === undefined ? Number.POSITIVE_INFINITY : doneAt + LATE_MATCH_MS + 1,
      spec.idleMs === undefined ? Number.POSITIVE_INFINITY : quietSince + spec.idleMs,
    );
    await untilChange(observed, next - now, pattern !== undefined, signal);
  }
}

function describeWait(
  { marks, screen }: Observed,
  before: Before,
  reason: WaitReason,
  matched: string | undefined,
): Waited {
  const { lastCommand, isIdle } = marks;
  const ended = lastCommand === undefined ? 0 : lastCommand.number - before.finished;
  // Of several lines in one input, a later one may be what matched, and still run.
  const isDone = lastCommand !== undefined && ended > 0 && (reason !== 'matched' || isIdle);
  // What began earlier has written more than came of this input; what came of several commands is no one's.
  const isWhole = isDone && lastCommand.begun > before.begun && ended === 1;
  return {
    reason,
    matched,
    exitCode: isDone ? lastCommand.exitCode : undefined,
    commandOutput: isWhole ? lastCommand.output : undefined,
    isCommandOutputCut: isDone && lastCommand.isCut,
    untilLine: isDone ? lastCommand.lastLine : undefined,
    isRedrawn: !isDone && screen.redraws > before.redraws,
    waitedMs: Math.round(performance.now() - before.at),
  };
}

/** Two looks at the foreground processes that find the same tell what those wait for. */
function createFrontWatch(observed: Observed) {
  let earlier: (FrontActivity & { readonly at: number }) | undefined;
  let sampleMs = SAMPLE_MS;
  return {
    /** Until the next look. */
    get sampleMs() {
      return sampleMs;
    },
    forget(): void {
      earlier = undefined;
      sampleMs = SAMPLE_MS;
    },
    /** What they are doing, where nothing has come for a while; undefined while unknown. */
    async judge(now: number, quietMs: number): Promise<WaitReason | undefined> {
      const activity = readActivity(observed.program);
      const isSame =
        earlier !== undefined &&
        activity !== undefined &&
        activity.groupId === earlier.groupId &&
        activity.cpuTicks === earlier.cpuTicks &&
        activity.activity === earlier.activity;
      if (!isSame) earlier = activity === undefined ? undefined : { ...activity, at: now };
      sampleMs = Math.min(sampleMs * 1.5, LATE_SAMPLE_MS);
      if (!isSame || earlier === undefined || now - earlier.at < SAMPLE_MS) return undefined;
      return judge(observed, earlier.activity, quietMs);
    },
  };
}

/** When it is time to look at the programs: it has been quiet, and something came back or has had the time to. */
function looksFrom({ activity }: Observed, before: Before, quietSince: number): number {
  const hasBegun = activity.receivedBytes > before.receivedBytes;
  return Math.max(quietSince + QUIET_MS, hasBegun ? 0 : before.at + FIRST_BYTE_MS);
}

/** Resolves after so long, when the shell says something, and soon after new output if that is waited for. */
function untilChange(
  observed: Observed,
  ms: number,
  isForOutput: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      stop();
      signal.removeEventListener('abort', done);
      resolve();
    };
    // What was written meanwhile is read first: after a stop of this process, timers come before it.
    let timer = setTimeout(() => setImmediate(done), Math.max(1, ms));
    let isSoon = false;
    const stop = observed.onChange((isMark) => {
      if (isMark) return done();
      if (!isForOutput || isSoon) return;
      isSoon = true;
      clearTimeout(timer);
      timer = setTimeout(done, SEARCH_MS);
    });
    signal.addEventListener('abort', done, { once: true });
  });
}

async function judge(
  { lineMode, marks, program }: Observed,
  activity: FrontActivity['activity'],
  quietMs: number,
): Promise<WaitReason | undefined> {
  if (quietMs < LATE_MARK_MS && marks.state === 'running' && isShellInFront(program)) return undefined;
  switch (activity) {
    case 'reading':
      return 'awaiting_input';
    case 'listening':
      // A server has its terminal as it found it; a program that wants single keys is there for a person.
      return (await lineMode())?.isByLine === false
        ? 'awaiting_input'
        : quietMs >= SILENT_MS
          ? 'quiet'
          : undefined;
    case 'asleep':
      return quietMs >= SILENT_MS ? 'quiet' : undefined;
    case 'busy':
      return undefined;
  }
}

/** Each line has a beginning and an end. */
async function compileLines(source: string): Promise<Pattern> {
  // Few calls have one, and it would be loaded for every first terminal.
  const { compilePattern } = await import('../../base/pattern.ts');
  const pattern = compilePattern('wait_for', source);
  return pattern.literal === undefined ? compilePattern('wait_for', `(?m)${source}`) : pattern;
}

/** Where what came since then begins: a program that went back to the top of the screen wrote over what was there. */
export function beginningOf(
  { screen }: Pick<Observed, 'screen'>,
  before: Before,
  line: number = before.line,
): number {
  return screen.redraws > before.redraws ? Math.min(line, screen.topLine()) : line;
}

function findMatch(observed: Observed, pattern: Pattern, before: Before): string | undefined {
  const { screen, marks } = observed;
  const fromLine = beginningOf(observed, before);
  const view = screen.view();
  const total = screen.totalLines();
  const first = Math.max(fromLine, screen.firstLine(), total - PATTERN_LINES);
  const lines = view.isAlternate ? view.rows : marks.withoutTyped(screen.lines(first, total), first);
  const text = lines.join('\n').slice(-pattern.textLength);
  const at = pattern.find(text);
  return at === undefined ? undefined : lineAt(text, at);
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf('\n', at);
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, end === -1 ? undefined : end);
}
