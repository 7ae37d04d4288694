/** `mcp-shell-server terminals`: those that are open on a state directory. */
import { isoTime } from '../base/clock.ts';
import { escapeText } from '../security/security.ts';
import { listTerminals, type TerminalState } from '../terminals/attach.ts';
import type { CommandContext } from './context.ts';
import { print } from './json.ts';
import { createPaint, type Paint } from './paint.ts';

export async function terminals(
  context: CommandContext,
  options: { readonly json?: boolean },
): Promise<void> {
  const states = await listTerminals(context.settings().stateDir);
  print(context, options, states.map(toJson), () =>
    states.length === 0
      ? 'No terminal is open.\n'
      : states.map((state) => describe(state, createPaint(context))).join(''),
  );
}

function describe(state: TerminalState, paint: Paint): string {
  const status = statusOf(state);
  const front = state.front.map(({ name }) => name).join(', ') || '-';
  const size = `${state.dimensions.columns}x${state.dimensions.rows}`;
  const about = [size, state.shell, state.workingDirectory ?? '?'].join('  ');
  const viewers = state.viewers > 0 ? `, ${state.viewers} looking` : '';
  return `${paint('strong', state.id)}  ${escapeText(state.sessionName)}  ${paint(status === 'active' ? 'good' : 'quiet', status)}  ${escapeText(front)}\n    ${escapeText(about)}  of ${escapeText(state.owner)}, since ${isoTime(state.createdAtMs)}${viewers}\n`;
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
