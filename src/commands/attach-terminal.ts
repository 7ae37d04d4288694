/**
 * `mcp-shell-server attach`: a person looks at what an agent does in a terminal, and types into it. The window shows the
 * terminal's bytes as they are, so that it must have room for all of it: where it has not, it says so and offers to resize.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ShellServerError } from '../base/errors.ts';
import { escapeText } from '../security/security.ts';
import { attachTo, type Screen, type Viewed } from '../terminals/attach.ts';
import type { CommandContext } from './context.ts';

/** Ctrl-], as telnet has it: no shell or editor wants it much. */
const DETACH = 0x1d;
/**
 * The window's own screens are the terminal's: a program there that takes the other screen takes it here, and gives it
 * back. What the window showed is above.
 */
const ENTER = '\x1b[2J\x1b[H';
/** Whatever the program had switched on: cursor keys, mouse, paste marks, a hidden cursor, colours, margins. */
const RESET =
  '\x1b[?1l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m\x1b>\x1b[?1049l\x1b[?6l\x1b[4l\x1b[r';
const LEAVE = `${RESET}\x1b[999;1H\n`;
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

/** What a person typed, without them. */
export function withoutReplies(typed: Buffer): Buffer {
  return Buffer.from(typed.toString('latin1').replaceAll(REPLIES, ''), 'latin1');
}

/** Long enough to be read, before the terminal takes the whole window. */
const HINT_MS = 1500;

export async function attach(context: CommandContext, wanted: string): Promise<void> {
  const { input, output, interrupted } = context;
  if (!input.isTTY || !output.isTTY) {
    throw new ShellServerError('PARAM_002', 'attach requires a terminal.', {
      hint: 'Run it in one. `mcp-shell-server terminals --json` is for scripts.',
    });
  }
  const viewed = await attachTo(context.settings().stateDir, wanted);
  const why = await look(viewed, { input, output, interrupted });
  const { id } = viewed.state;
  output.write(`${why === 'ended' ? `${id} has ended.` : `Detached from ${id}, which goes on.`}\n`);
}

async function look(
  viewed: Viewed,
  { input, output, interrupted }: Pick<CommandContext, 'input' | 'output' | 'interrupted'>,
): Promise<'ended' | 'detached'> {
  const window = createWindow(viewed, output);
  input.setRawMode(true);
  input.resume();
  const detached = new Promise<'detached'>((resolve) => {
    const leave = (): void => resolve('detached');
    input.on('data', (chunk: Buffer) => {
      if (!window.takesKeys()) return press(chunk, { viewed, output, leave });
      const at = chunk.indexOf(DETACH);
      const typed = withoutReplies(at === -1 ? chunk : chunk.subarray(0, at));
      if (typed.length > 0) viewed.type(typed);
      if (at !== -1) leave();
    });
    interrupted.addEventListener('abort', leave, { once: true });
  });
  const why = await Promise.race([viewed.ended.then(() => 'ended' as const), detached]);
  window.close();
  input.setRawMode(false);
  input.pause();
  await viewed.detach();
  return why;
}

/** Where the terminal is not shown, keys are for us. */
function press(
  chunk: Buffer,
  { viewed, output, leave }: { viewed: Viewed; output: NodeJS.WriteStream; leave(): void },
): void {
  for (const key of chunk.toString('latin1')) {
    if (key === 'r') viewed.resize({ columns: output.columns, rows: output.rows });
    if (['q', '\u0003', '\u0004', String.fromCharCode(DETACH)].includes(key)) return leave();
  }
}

function createWindow(viewed: Viewed, output: NodeJS.WriteStream) {
  const { id, sessionName } = viewed.state;
  const name = escapeText(sessionName);
  let screen = viewed.screen;
  let shows: 'hint' | 'terminal' | 'advice' = 'hint';

  const isSmall = ({ dimensions }: Screen): boolean =>
    output.columns < dimensions.columns || output.rows < dimensions.rows;

  function draw(): void {
    if (shows === 'terminal') output.write(RESET);
    if (isSmall(screen)) {
      shows = 'advice';
      output.write(`\x1b[2J\x1b[H${advice(screen).join('\r\n')}`);
      return;
    }
    output.write(`${shows === 'hint' ? '\n'.repeat(output.rows) : ''}${ENTER}${screen.snapshot}`);
    output.write(`\x1b]2;${name} (Ctrl-] leaves it)\x07`);
    shows = 'terminal';
  }

  function advice({ dimensions }: Screen): string[] {
    return [
      `The terminal is ${dimensions.columns}x${dimensions.rows},`,
      `and this window ${output.columns}x${output.rows}: it does not fit.`,
      `r       resize it to ${output.columns}x${output.rows}; its program is told`,
      'Ctrl-]  leave it as it is',
      'Or make this window larger.',
      '',
      `${id} (${name})`,
    ]
      .slice(0, output.rows)
      .map((line) => line.slice(0, output.columns));
  }

  viewed.onOutput((chunk) => {
    if (shows === 'terminal') output.write(chunk);
  });
  viewed.onScreen((next) => {
    screen = next;
    draw();
  });
  // Windows lay out anew what they showed before.
  const redraw = (): void => viewed.redraw();
  output.on('resize', redraw);
  if (isSmall(screen)) draw();
  else {
    output.write(`Attached to ${id} (${name}). Ctrl-] leaves it, and it goes on.\n`);
    void sleep(HINT_MS, undefined, { ref: false }).then(redraw);
  }
  return {
    takesKeys: (): boolean => shows !== 'advice',
    close(): void {
      output.off('resize', redraw);
      output.write(shows === 'terminal' ? LEAVE : '\r\n');
    },
  };
}
