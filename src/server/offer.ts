/**
 * What a connection is offered before anything runs: the tools and what is said about them. Data and promises, so that
 * a handshake and a list are answered without loading what runs a call.
 */
import type { Settings } from '../base/settings.ts';
import { answersInText } from '../tools/known-clients.ts';
import type { ClientInfo } from '../tools/tool.ts';
import type { ToolDefinition } from './definitions.ts';
import type { Dispatch } from './dispatch.ts';

export interface Offer {
  readonly definitions: readonly ToolDefinition[];
  /** Both where absent. */
  readonly answers?: Settings['answers'];
  /** Tools whose answers are never text alone. */
  readonly exact?: readonly string[];
  /** The names of the methods beside MCP. */
  readonly methods: readonly string[];
  readonly info: { readonly version: string };
  /** What holds for the principal, in words, and which tools there are to speak of. */
  readonly instructions: (principal: string, tools: readonly string[]) => string | Promise<string>;
  /** What runs a call; loaded with the first one, and with what else the tool will need. */
  readonly dispatch: (tool?: string) => Dispatch | Promise<Dispatch>;
  /** Called when a client connects. */
  readonly onCaller: (principal: string) => void;
}

/** A tool that is answered with text alone has no output schema: a client would miss what it promises. */
export function listFor(
  client: ClientInfo,
  { definitions, answers = 'both', exact = [] }: Pick<Offer, 'definitions' | 'answers' | 'exact'>,
): readonly (Omit<ToolDefinition, 'outputSchema'> & Partial<ToolDefinition>)[] {
  return definitions.map((definition) => {
    if (!answersInText({ isExact: exact.includes(definition.name) }, client, answers)) return definition;
    const { outputSchema: _, ...rest } = definition;
    return rest;
  });
}

export { LOCAL_PRINCIPAL } from '../base/principals.ts';

/** How the server calls itself. */
export function serverInfoOf({ version }: Offer['info']): { name: string; title: string; version: string } {
  return { name: 'mcp-shell-server', title: 'Shell', version };
}
