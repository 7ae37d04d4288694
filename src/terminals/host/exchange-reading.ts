/** Reads a terminal: its screen, or as many lines as fit, of which the oldest are in its recording. */
import { countFitting } from '../../base/fit-lines.ts';
import { LIMITS } from '../../base/limits.ts';
import type { InputFacts, ReadRequest, ReadResult, Waited } from '../protocol.ts';
import { type Recording, readRecording } from '../replay.ts';
import { isAnswered, type Progress } from './exchange-progress.ts';
import { frontOf } from './facts.ts';
import { describeFront } from './foreground.ts';
import { beginningOf, type Observed, rememberBefore } from './settle.ts';

interface ReadingTools {
  readonly recording: Recording;
  readonly progress: Progress;
  facts(): Promise<InputFacts>;
}

export async function read(
  observed: Observed,
  request: ReadRequest,
  signal: AbortSignal,
  { recording, progress, facts }: ReadingTools,
): Promise<ReadResult> {
  const { screen } = observed;
  const { reader, wait } = request;
  const before = progress.of(reader);
  const waited = wait === undefined ? undefined : await progress.wait(before, wait, signal);
  if (waited !== undefined && isAnswered(waited)) progress.noteRead(reader, rememberBefore(observed));
  // At the prompt they are cheap.
  const now = waited !== undefined || observed.marks.state === 'prompt' ? await facts() : undefined;
  const about = describe(observed, waited, now, request.withFront);
  const fromLine = request.isNew === true ? beginningOf(observed, before, request.from) : request.from;
  // In the same moment as what is shown, or it would be waited for once more.
  if (waited === undefined)
    progress.noteRead(reader, {
      ...before,
      line: Math.max(beginningOf(observed, before), screen.cursorLine()),
      redraws: screen.redraws,
    });
  if (request.view === 'screen') {
    const lines = request.withAnsi ? screen.ansiView().split('\r\n') : screen.view().rows;
    return { ...about, lines, from: 0, missing: 0 };
  }
  return {
    ...about,
    ...(await readPage(observed, { ...request, from: fromLine }, about.totalLines, recording)),
  };
}

/** The last lines, as far as they are in memory: an answer shows no more, and the others can be asked for. */
export function readAfter(observed: Observed, waited: Waited, fromLine: number, now: InputFacts): ReadResult {
  const { screen } = observed;
  const about = describe(observed, waited, now, true);
  const most = waited.commandOutput === undefined ? LIMITS.terminalLinesMax : 1;
  const from = Math.max(fromLine, screen.firstLine(), about.totalLines - most);
  return { ...about, lines: screen.lines(from, about.totalLines), from, missing: 0 };
}

function describe(
  observed: Observed,
  waited: Waited | undefined,
  now: InputFacts | undefined,
  withFront: boolean,
) {
  const { cursor, title, isAlternate } = observed.screen.view();
  const totalLines = observed.screen.totalLines();
  const outcome = observed.outcome();
  return {
    cursor,
    title,
    isAlternate,
    totalLines,
    finalLines: outcome === undefined ? observed.screen.cursorLine() : totalLines,
    isSecretPrompt: now?.isSecretPrompt === true,
    front: withFront ? describeFront(frontOf(observed)) : [],
    waited,
    outcome,
    facts: now,
  };
}

type Page = Pick<ReadResult, 'lines' | 'from' | 'missing' | 'isLineCut'>;

async function readPage(
  { screen }: Observed,
  request: ReadRequest,
  total: number,
  recording: Recording,
): Promise<Page> {
  const from = Math.min(request.from ?? Math.max(0, total - request.count), total);
  const to = Math.min(total, from + request.count);
  const first = screen.firstLine();
  const untilOld = Math.min(to, first);
  const old = from < first ? await readRecording(recording, from, untilOld) : [];
  const missing = Math.max(0, untilOld - from - old.length);
  const start = Math.max(from, screen.firstLine());
  // More lines have left memory meanwhile.
  const isApart = from < first && start > untilOld;
  const hasHole = missing > 0 || isApart;
  // Pages have no holes: where there is one, a page ends before it, and the last lines begin after it.
  if (hasHole && request.from !== undefined) return fitPage({ lines: old, from, missing }, request);
  const recent = screen.lines(start, to, request.withAnsi);
  const page = hasHole ? { from: start, lines: recent } : { from, lines: [...old, ...recent] };
  return fitPage({ ...page, missing: 0 }, request);
}

/** The first of them that fit, or the last where those were asked for. */
function fitPage(page: Page, { from: asked, maxBytes }: ReadRequest): Page {
  const { lines, from } = page;
  const isFromEnd = asked === undefined;
  const count = countFitting(isFromEnd ? lines.toReversed() : lines, maxBytes);
  if (count === lines.length) return page;
  if (count === 0) {
    const line = lines.at(isFromEnd ? -1 : 0) ?? '';
    const cut = `${Buffer.from(line).subarray(0, maxBytes).toString('utf8')}[… the rest of a long line is left out]`;
    const at = isFromEnd ? from + lines.length - 1 : from;
    return { lines: [cut], from: at, missing: 0, isLineCut: true };
  }
  if (isFromEnd) return { lines: lines.slice(-count), from: from + lines.length - count, missing: 0 };
  return { lines: lines.slice(0, count), from, missing: 0 };
}
