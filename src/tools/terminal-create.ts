/** terminal_create: opens a real terminal with a shell in it. */
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import {
  describeTerminal,
  dimensionsInput,
  shellInput,
  terminalFields,
  toDimensions,
  waitSeconds,
} from './terminal-fields.ts';
import { lookAt, viewFields } from './terminal-get-output.ts';
import { defineTool } from './tool.ts';

export const terminalCreate = defineTool({
  name: 'terminal_create',
  title: 'Open a terminal',
  description:
    'Opens an interactive terminal (PTY) for programs that need one: REPLs, editors, prompts, ssh. It keeps its state between calls. For plain commands shell_execute is simpler.',
  input: () =>
    z.strictObject({
      session_name: z.string().min(1).max(200).optional(),
      shell_type: shellInput().optional(),
      dimensions: dimensionsInput().optional(),
      working_directory: z.string().min(1).optional(),
      environment_variables: z.record(z.string(), z.string()).optional(),
      auto_save_history: z.boolean().default(true).describe('Keep a transcript when it ends'),
      command: z.string().min(1).optional().describe('Typed into the shell at once'),
      timeout_seconds: waitSeconds().describe(
        'Wait (max 300) until command ends or wants input, and show it',
      ),
    }),
  output: () => z.object({ ...viewFields(), ...terminalFields() }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  async run(input, call) {
    const seconds = input.timeout_seconds;
    if (seconds !== undefined && input.command === undefined)
      throw new ShellServerError('PARAM_002', 'timeout_seconds has no effect without command.', {
        hint: 'Leave it out, or give the command to wait for.',
        details: { parameter: 'timeout_seconds' },
      });
    const { terminals } = call.modules;
    const { state } = await terminals.create(
      {
        sessionName: input.session_name,
        shellType: input.shell_type,
        dimensions: toDimensions(input.dimensions ?? { width: 120, height: 30 }),
        workingDirectory: input.working_directory,
        environment: input.environment_variables ?? {},
        autoSaves: input.auto_save_history,
        command: input.command,
      },
      call,
    );
    const { columns, rows } = state.dimensions;
    const isOpen = `Terminal ${state.id} (${state.sessionName}) is open: ${state.shell}, ${columns}x${rows}, process ${state.processId}.`;
    const data = describeTerminal(state);
    if (seconds === undefined) {
      const typed =
        input.command === undefined ? '' : ' The command was typed; terminal_get_output shows what it does.';
      return { data, text: `${isOpen}${typed} terminal_send_input types into it.` };
    }
    try {
      const look = await lookAt(state.id, seconds, call);
      const hasEnded = look.data.termination_reason !== undefined;
      const about = hasEnded ? `Terminal ${state.id} has ended.` : isOpen;
      return { data: { ...data, ...look.data }, text: `${look.text}\n${about}` };
    } catch (error) {
      // Its id would be lost. What went wrong with the look may keep it from being closed, and is worth more.
      await terminals.close(call.principal, state.id, undefined).catch(() => undefined);
      throw error;
    }
  },
});
