/** shell_allowed and shell/allowed: which commands this caller may run. */
import * as z from 'zod';
import { type Answer, type Call, type DataOf, defineTool } from '../tools/tool.ts';

const definition = {
  input: () => z.strictObject({}),
  output: () => z.object({ allowedCommands: z.record(z.string(), z.array(z.string())) }),
  isExact: true,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
};

export const shellAllowed = defineTool({
  ...definition,
  name: 'shell_allowed',
  title: 'List allowed commands',
  description:
    'The commands that may be run, each with the first arguments it may have; an empty list is any argument, "*" any command.',
  run: async (_input, call) => answer(call),
});

/** The JSON-RPC method. */
export const allowedMethod = defineTool({
  ...definition,
  name: 'shell/allowed',
  title: 'List allowed commands',
  description: 'The commands that may be run.',
  run: async (_input, call) => answer(call),
});

function answer({ modules, principal }: Call): Answer<DataOf<typeof definition.output>> {
  const allowedCommands = modules.security.restrictions.of(principal).policy.allowedTable();
  const lines = Object.entries(allowedCommands).map(([name, args]) =>
    args.length === 0 ? `${name}: any arguments` : `${name}: ${args.join(', ')}`,
  );
  return { data: { allowedCommands }, text: lines.length === 0 ? 'Nothing is allowed.' : lines.join('\n') };
}
