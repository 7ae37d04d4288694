/** terminal_create: opens a real terminal with a shell in it. */
import { z } from 'zod';
import {
  describeTerminal,
  dimensionsInput,
  shellInput,
  terminalCaller,
  terminalFields,
  toDimensions,
} from './terminal-fields.ts';
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
    }),
  output: () => z.object(terminalFields()),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  async run(input, call) {
    const { state } = await call.modules.terminals.create(
      {
        sessionName: input.session_name,
        shellType: input.shell_type,
        dimensions: toDimensions(input.dimensions ?? { width: 120, height: 30 }),
        workingDirectory: input.working_directory,
        environment: input.environment_variables ?? {},
        autoSaves: input.auto_save_history,
        command: input.command,
      },
      terminalCaller(call),
    );
    const { columns, rows } = state.dimensions;
    const typed =
      input.command === undefined ? '' : ' The command was typed; terminal_get_output shows what it does.';
    return {
      data: describeTerminal(state),
      text: `Terminal ${state.id} (${state.sessionName}) is open: ${state.shell}, ${columns}x${rows}, process ${state.processId}.${typed} terminal_send_input types into it.`,
    };
  },
});
