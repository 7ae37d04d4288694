/**
 * Every tool and method that the server can offer: those of tools/, and those that are compatible with other servers. Only
 * this file imports compat/.
 */
import type { Log } from './base/log.ts';
import type { Settings } from './base/settings.ts';
import {
  COMPATIBLE_TOOLS,
  COMPATIBLE_TOOLSETS,
  CONFIGURED_TOOLS,
  createCompat,
  EARLIER_NAMES,
  GREETING,
  METHODS,
  pickMethods,
} from './compat/compat.ts';
import { type Catalogue, pickNamed } from './server/catalogue.ts';
import type { ToolDefinition } from './server/definitions.ts';
import { TOOLS, type Tool } from './tools/tools.ts';

export const ALL_TOOLS: readonly Tool[] = [...TOOLS, ...COMPATIBLE_TOOLS];

/** Names that --tools takes besides those of single tools. */
export const TOOLSETS: Readonly<Record<string, readonly string[]>> = {
  standard: TOOLS.map(({ name }) => name),
  ...COMPATIBLE_TOOLSETS,
  all: ALL_TOOLS.map(({ name }) => name),
};

export const pickTools = (names: readonly string[]): readonly Tool[] => pickNamed(ALL_TOOLS, TOOLSETS, names);

/** Names that can be called though they are not listed: the earlier ones of these tools, and those of today. */
function findAliases(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const listed = new Set(tools.map(({ name }) => name));
  const others = Object.entries(EARLIER_NAMES).flatMap(([earlier, today]) => {
    if (listed.has(earlier) === listed.has(today)) return [];
    return [listed.has(today) ? earlier : today];
  });
  return new Map(ALL_TOOLS.filter(({ name }) => others.includes(name)).map((tool) => [tool.name, tool]));
}

/** What a token for these toolsets and tools grants: with each come its earlier names and the methods beside it. */
export function grantedNames(names: readonly string[]): ReadonlySet<string> {
  const tools = pickTools(names);
  const granted = [...tools, ...pickMethods(tools)].map(({ name }) => name);
  return new Set([...granted, ...findAliases(tools).keys()]);
}

/** The tools as these settings make them. */
export function offerTools(settings: Settings, log: Log) {
  const { configure, rulesOf, warnings } = createCompat(settings, log);
  const tools = pickTools(settings.tools).map((tool, _, all) => configure(tool, all));
  const [aliases, methods, exact] = [findAliases(tools), pickMethods(tools), exactNames(tools)];
  return { tools, aliases, methods, exact, rulesOf, warnings };
}

/** The names of those whose answers are as another interface defines them. */
const exactNames = (tools: readonly Tool[]): readonly string[] =>
  tools.filter(({ isExact }) => isExact === true).map(({ name }) => name);

export async function defineTools(tools: readonly Tool[]): Promise<readonly ToolDefinition[]> {
  const { createDefinitions } = await import('./server/definitions.ts');
  return createDefinitions(tools);
}

/** For the build, and for the test that says whether the two agree. */
export async function createCatalogue(): Promise<Catalogue> {
  return {
    toolsets: TOOLSETS,
    definitions: await defineTools(ALL_TOOLS),
    configured: CONFIGURED_TOOLS,
    exact: exactNames(ALL_TOOLS),
    methods: Object.fromEntries(METHODS.map(({ method, beside }) => [method.name, beside])),
    greeting: GREETING,
  };
}
