/**
 * The tools as data, which the build writes beside the program: their definitions cost a schema library and every tool's
 * own file to make, and are the same at each start.
 */
import type { ToolDefinition } from './definitions.ts';

export interface Catalogue {
  /** Names that --tools takes besides those of single tools, with the tools that each stands for. */
  readonly toolsets: Readonly<Record<string, readonly string[]>>;
  /** Every tool, in the order in which tools/list shows them, as it is where no setting says otherwise. */
  readonly definitions: readonly ToolDefinition[];
  /** Tools that say something of themselves which depends on the settings. */
  readonly configured: readonly string[];
  /** Tools whose answers are as another interface defines them. */
  readonly exact: readonly string[];
  /** The methods beside MCP, each with the tools of which one must be there for it. */
  readonly methods: Readonly<Record<string, readonly string[]>>;
  /** The first message that clients from before MCP wait for. */
  readonly greeting: unknown;
}

/** Every name that --tools takes, with the tools that it stands for. */
export function toolNamesIn({
  toolsets,
  definitions,
}: Catalogue): Readonly<Record<string, readonly string[]>> {
  return { ...toolsets, ...Object.fromEntries(definitions.map(({ name }) => [name, [name]])) };
}

/** The tools that the names stand for, each once, in the order of the catalogue. */
export function pickNamed<Named extends { readonly name: string }>(
  all: readonly Named[],
  toolsets: Catalogue['toolsets'],
  names: readonly string[],
): readonly Named[] {
  const wanted = new Set(names.flatMap((name) => toolsets[name] ?? [name]));
  return all.filter(({ name }) => wanted.has(name));
}

/** The methods that are open where these tools are. */
export function pickMethodNames({ methods }: Catalogue, tools: readonly ToolDefinition[]): readonly string[] {
  const there = new Set(tools.map(({ name }) => name));
  return Object.keys(methods).filter((method) => methods[method]?.some((name) => there.has(name)));
}
