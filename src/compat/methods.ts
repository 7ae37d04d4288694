/**
 * The JSON-RPC methods beside MCP. They are described like tools and go the same way; what differs is how a
 * request names them and how an answer is encoded.
 */
import type { Tool } from '../tools/tool.ts';
import { allowedMethod } from './shell-allowed.ts';
import { execMethod } from './shell-exec.ts';

/** Tools that run commands: where an operator shows none of them, no method does. */
const RUNNING = ['shell_execute', 'shell_exec', 'shell'];

/** Each with the tools of which one must be there. */
export const METHODS: readonly { readonly method: Tool; readonly beside: readonly string[] }[] = [
  { method: execMethod, beside: RUNNING },
  { method: allowedMethod, beside: [...RUNNING, 'shell_allowed'] },
];

/** The methods that are open where these tools are. */
export function pickMethods(tools: readonly Tool[]): readonly Tool[] {
  const names = tools.map(({ name }) => name);
  return METHODS.filter(({ beside }) => beside.some((name) => names.includes(name))).map(
    ({ method }) => method,
  );
}
