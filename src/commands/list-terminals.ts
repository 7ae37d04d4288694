/** `mcp-shell-server terminals`: those that are open on a state directory. */
import { isoTime } from '../base/clock.ts';
import { escapeText } from '../security/security.ts';
import { listTerminals, type TerminalState } from '../terminals/attach.ts';
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
