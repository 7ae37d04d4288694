/** `mcp-shell-server terminals` and `attach`: a person looks at what an agent does in a terminal, and types into it. */
import { isoTime } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { escapeText } from '../security/security.ts';
import { attachTo, listTerminals, type TerminalState, type Viewed } from '../terminals/attach.ts';
import type { CommandContext } from './context.ts';
import { showJson } from './json.ts';
import { createPaint } from './paint.ts';

export async function terminals(
  context: CommandContext,
  options: { readonly json?: boolean },
): Promise<void> {
  const states = await listTerminals(context.settings().stateDir);
  if (options.json === true) {
    context.output.write(showJson(states.map(toJson)));
    return;
  }
  const paint = createPaint(context);
  if (states.length === 0) {
    context.output.write('No terminal is open.\n');
    return;
  }
  for (const state of states) {
    const status = statusOf(state);
    const front = state.front.map(({ name }) => name).join(', ') || '-';
    const about = [
      `${state.dimensions.columns}x${state.dimensions.rows}`,
      state.shell,
      state.workingDirectory ?? '?',
    ];
    const viewers = state.viewers > 0 ? `, ${state.viewers} looking` : '';
    context.output.write(
      `${paint('strong', state.id)}  ${escapeText(state.sessionName)}  ${paint(status === 'active' ? 'good' : 'quiet', status)}  ${escapeText(front)}\n    ${escapeText(about.join('  '))}  of ${escapeText(state.owner)}, since ${isoTime(state.createdAtMs)}${viewers}\n`,
    );
  }
}

const statusOf = (state: TerminalState): string =>
  state.outcome !== undefined ? 'exited' : state.isIdle ? 'idle' : 'active';

function toJson(state: TerminalState) {
  return {
    terminal_id: state.id,
    session_name: state.sessionName,
    owner: state.owner,
    status: statusOf(state),
    shell_type: state.shell,
    dimensions: { width: state.dimensions.columns, height: state.dimensions.rows },
    process_id: state.processId,
    working_directory: state.workingDirectory,
    foreground_process: state.front,
    viewers: state.viewers,
    created_at: isoTime(state.createdAtMs),
  };
}

/** Ctrl-], as telnet has it: no shell or editor wants it much. */
const DETACH = 0x1d;
/**
 * The window's own screens are the terminal's: a program there that takes the other screen takes it here, and gives it
 * back. What the window showed is above.
 */
const enter = (rows: number): string => `${'\n'.repeat(rows)}\x1b[2J\x1b[H`;
/** Whatever the program had switched on: cursor keys, mouse, paste marks, a hidden cursor, colours, margins. */
const LEAVE =
  '\x1b[?1l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m\x1b>\x1b[?1049l\x1b[?6l\x1b[4l\x1b[r\x1b[999;1H\n';
/** What a terminal answers to questions of a program: the host has answered already. */
const ESC = '\x1b';
const REPLIES = new RegExp(
  [
    `${ESC}\\[[?>=]?[\\d;]*[cn]`,
    `${ESC}\\[\\d+;\\d+R`,
    `${ESC}\\[\\?[\\d;]*\\$y`,
    `${ESC}P[^${ESC}]*${ESC}\\\\`,
    `${ESC}\\]\\d+;[^\x07${ESC}]*(?:\x07|${ESC}\\\\)`,
  ].join('|'),
  'g',
);

export async function attach(context: CommandContext, wanted: string): Promise<void> {
  const { input, output, interrupted } = context;
  if (!input.isTTY || !output.isTTY) {
    throw new ShellServerError('PARAM_002', 'attach needs a terminal of its own.', {
      hint: 'Run it in one. `mcp-shell-server terminals --json` is for scripts.',
    });
  }
  const viewed = await attachTo(context.settings().stateDir, wanted);
  const { columns, rows } = viewed.dimensions;
  const isSmall = output.columns < columns || output.rows < rows;
  const why = await look(viewed, { input, output, interrupted });
  output.write(
    `${why === 'ended' ? `${viewed.state.id} has ended.` : `Detached from ${viewed.state.id}, which goes on.`}${isSmall ? ` It is ${columns}x${rows}, more than fits here (${output.columns}x${output.rows}).` : ''}\n`,
  );
}

async function look(
  viewed: Viewed,
  { input, output, interrupted }: Pick<CommandContext, 'input' | 'output' | 'interrupted'>,
): Promise<'ended' | 'detached'> {
  const title = `${viewed.state.sessionName} (Ctrl-] leaves it)`.replaceAll(/\p{Cc}/gu, '');
  output.write(`${enter(output.rows)}\x1b]2;${title}\x07${viewed.snapshot}`);
  viewed.onOutput((chunk) => void output.write(chunk));
  input.setRawMode(true);
  input.resume();
  const detached = new Promise<'detached'>((resolve) => {
    input.on('data', (chunk: Buffer) => {
      const at = chunk.indexOf(DETACH);
      const typed = Buffer.from(
        (at === -1 ? chunk : chunk.subarray(0, at)).toString('latin1').replaceAll(REPLIES, ''),
        'latin1',
      );
      if (typed.length > 0) viewed.type(typed);
      if (at !== -1) resolve('detached');
    });
    interrupted.addEventListener('abort', () => resolve('detached'), { once: true });
  });
  const why = await Promise.race([viewed.ended.then(() => 'ended' as const), detached]);
  input.setRawMode(false);
  input.pause();
  await viewed.detach();
  output.write(LEAVE);
  return why;
}
