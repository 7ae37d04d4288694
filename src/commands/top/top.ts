/** `mcp-shell-server top`: what runs now on a state directory, live, until a person has seen enough. */
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { isId, renameId } from '../../base/ids.ts';
import type { CommandContext } from '../context.ts';
import { print } from '../json.ts';
import { createPaint, type Paint, widthOf } from '../paint.ts';
import { createSource, type TopRow, type TopSource } from './rows.ts';
import { drawTop, type TopView } from './top-screen.ts';

export interface TopOptions {
  readonly once?: boolean;
  readonly json?: boolean;
  readonly end?: string;
}

const REFRESH_MS = 1000;
/** What ended longer ago is for `audit search`. */
const ENDED_MS = 600_000;

export async function top(context: CommandContext, options: TopOptions): Promise<void> {
  const source = createSource(context.settings());
  if (options.end !== undefined) return endOne(context, source, options.end);
  const isLive =
    options.once !== true && options.json !== true && context.output.isTTY && context.input.isTTY;
  if (isLive) return watch(context, source);
  const { rows, servers } = await source.look();
  print(context, options, { servers, rows }, () => {
    const all = viewOf(rows, { servers, showsEnded: true, chosen: undefined, message: '' });
    const size = { columns: widthOf(context.output), rows: all.rows.length + 6 };
    const lines = drawTop({ ...all, chosen: undefined }, size, createPaint(context));
    return `${lines.slice(0, 3 + Math.max(1, all.rows.length)).join('\n')}\n`;
  });
}

async function endOne(context: CommandContext, source: TopSource, asked: string): Promise<void> {
  const id = isId('term', asked) ? renameId(asked, 'exec') : asked;
  const { rows } = await source.look();
  const runs = rows.some((row) => row.id === id && row.canEnd);
  const said = runs ? await source.end(id) : `Nothing of that id runs: ${asked}.`;
  context.output.write(`${said}\n`);
  context.setExitCode(/was ended/.test(said) ? 0 : 1);
}

function viewOf(
  rows: readonly TopRow[],
  rest: Pick<TopView, 'servers' | 'showsEnded' | 'chosen' | 'message'>,
): TopView {
  const nowMs = Date.now();
  const running = rows.filter(({ canEnd }) => canEnd).sort((a, b) => b.startedAtMs - a.startedAtMs);
  const ended = rows
    .filter(({ canEnd, endedAtMs }) => !canEnd && nowMs - (endedAtMs ?? 0) < ENDED_MS)
    .sort((a, b) => (b.endedAtMs ?? 0) - (a.endedAtMs ?? 0));
  const shown = rest.showsEnded ? [...running, ...ended] : running;
  const chosen = shown.some(({ id }) => id === rest.chosen) ? rest.chosen : shown[0]?.id;
  return { ...rest, rows: shown, chosen, load: loadavg() };
}

/** What a person has done so far. */
interface State {
  chosen: string | undefined;
  showsEnded: boolean;
  message: string;
  /** The row that a yes would end. */
  asked: TopRow | undefined;
}

/** Draws what there is and what a person does with it, until they leave. */
async function createWatch(context: CommandContext, source: TopSource, leaving: AbortController) {
  const { output } = context;
  const paint = createPaint(context);
  const state: State = { chosen: undefined, showsEnded: true, message: '', asked: undefined };
  let view: TopView = viewOf([], { servers: 0, ...state });
  let seen = await source.look();

  function draw(): void {
    view = viewOf(seen.rows, { servers: seen.servers, ...state });
    state.chosen = view.chosen;
    paintScreen(output, view, paint);
  }

  async function refresh(): Promise<void> {
    seen = await source.look();
    if (!leaving.signal.aborted) draw();
  }

  async function end(row: TopRow): Promise<void> {
    state.message = `Ending ${row.id} …`;
    draw();
    state.message = await source.end(row.id);
    await refresh();
  }

  function move(by: number): void {
    const at = view.rows.findIndex(({ id }) => id === view.chosen);
    state.chosen = view.rows[Math.min(Math.max(at + by, 0), view.rows.length - 1)]?.id;
  }

  function answer(isYes: boolean): void {
    const row = state.asked;
    state.asked = undefined;
    state.message = '';
    if (isYes && row !== undefined) void end(row);
  }

  function press(key: string): void {
    if (state.asked !== undefined) answer(key === 'y' || key === 'Y');
    else {
      state.message = '';
      if (key === 'q' || key === '\u0003' || key === '\u0004') return leaving.abort();
      if (key === '\u001b[A' || key === '\u001bOA' || key === 'k') move(-1);
      if (key === '\u001b[B' || key === '\u001bOB' || key === 'j') move(1);
      if (key === '\u001b[5~') move(-10);
      if (key === '\u001b[6~') move(10);
      if (key === 'f') state.showsEnded = !state.showsEnded;
      if (key === 'x' || key === '\u001b[3~') ask();
    }
    draw();
  }

  function ask(): void {
    const row = view.rows.find(({ id }) => id === view.chosen);
    if (row === undefined) return;
    if (!row.canEnd) {
      state.message = 'It has ended already.';
      return;
    }
    state.asked = row;
    state.message = `End it${row.pid === undefined ? '' : ` (process ${row.pid})`} with everything it started? y/n`;
  }

  return { draw, refresh, press };
}

async function watch(context: CommandContext, source: TopSource): Promise<void> {
  const { input, output, interrupted } = context;
  const leaving = new AbortController();
  const { draw, refresh, press } = await createWatch(context, source, leaving);
  /** Several may come at once. */
  const onKeys = (chunk: Buffer): void => {
    // oxlint-disable-next-line no-control-regex
    for (const [key] of chunk.toString('utf8').matchAll(/\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|[\s\S]/g))
      press(key);
  };
  const timer = setInterval(() => void refresh(), REFRESH_MS);
  interrupted.addEventListener('abort', () => leaving.abort());
  output.write(ENTER);
  input.setRawMode(true);
  input.on('data', onKeys);
  output.on('resize', draw);
  draw();
  await once(leaving.signal, 'abort');
  clearInterval(timer);
  input.off('data', onKeys);
  input.setRawMode(false);
  input.pause();
  output.off('resize', draw);
  output.write(LEAVE);
}

/** The other screen, without a cursor; and back. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';

function paintScreen(output: NodeJS.WriteStream, view: TopView, paint: Paint): void {
  const lines = drawTop(view, { columns: output.columns, rows: output.rows }, paint);
  // In one write and without clearing first: nothing flickers.
  output.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`);
}
