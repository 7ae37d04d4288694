/**
 * Interfaces that are compatible with clients of other shell servers, and with earlier versions of this one. They adapt
 * what the other modules offer, which know nothing of them.
 */
import type { Log } from '../base/log.ts';
import { once } from '../base/once.ts';
import type { Settings } from '../base/settings.ts';
import { createMask, type ExtraRules, extraPolicy } from '../security/security.ts';
import { TOOLS, type Tool } from '../tools/tools.ts';
import { earlierNameOf, earlierTools } from './earlier-names.ts';
import { createShell, shell } from './shell.ts';
import { shellAllowed } from './shell-allowed.ts';
import { shellExec } from './shell-exec.ts';
import { createShellToolLog } from './shell-tool-log.ts';

export { EARLIER_NAMES } from './earlier-names.ts';
export { METHODS, pickMethods } from './methods.ts';

/** The interfaces of other servers: simple, shell, and earlier names. */
export const COMPATIBLE_TOOLS: readonly Tool[] = [shellExec, shellAllowed, shell, ...earlierTools(TOOLS)];

export const COMPATIBLE_TOOLSETS: Readonly<Record<string, readonly string[]>> = {
  simple: [shellExec.name, shellAllowed.name],
  shell: [shell.name],
  // As in the earlier list: it has no shell_set_default_workdir.
  legacy: TOOLS.map(({ name }) => name)
    .filter((name) => name !== 'shell_set_default_workdir')
    .map((name) => earlierNameOf(name) ?? name),
};

/** Tools whose definitions depend on the settings. */
export const CONFIGURED_TOOLS: readonly string[] = [shell.name];

/** The first message that clients from before MCP wait for, whatever the toolset is. */
export const GREETING = {
  jsonrpc: '2.0',
  id: null,
  result: {
    protocolVersion: '2024-11-05',
    capabilities: {
      tools: [
        { name: 'shell_exec', description: 'Execute allowed shell commands' },
        { name: 'shell_allowed', description: 'List allowed commands' },
      ],
    },
  },
} as const;

export function createCompat({ shellTool, tools, environment }: Settings, log: Log) {
  const logCommand = createShellToolLog(log, shellTool.logsCommands, createMask(environment));
  const rules = once(
    (): ExtraRules => ({
      policy: extraPolicy(shellTool),
      allowedDirectories: shellTool.allowedDirectories,
      onRefused: logCommand,
    }),
  );
  return {
    /** A tool as these settings make it, beside the others that are offered. */
    configure(tool: Tool, offered: readonly Tool[]): Tool {
      if (tool.name === shell.name)
        return createShell(shellTool, { rules, logCommand, canRead: offered.some(isReader) });
      return tool.name === 'shell_execute' && tools.includes('legacy') ? inDetail(tool) : tool;
    },
    /** The rules that hold for the commands of one tool, besides those of its caller. */
    rulesOf: (tool: string | undefined): ExtraRules | undefined =>
      tool === shell.name ? rules() : undefined,
    /** What the operator should know about these rules; throws where they cannot be read. */
    warnings: (): readonly string[] => rules().policy?.warnings ?? [],
  };
}

/** Each of its names can be called where the other one is offered. */
const isReader = ({ name }: Tool): boolean =>
  name === 'read_execution_output' || name === earlierNameOf('read_execution_output');

/** Clients of the earlier tools expect every field. */
function inDetail(tool: Tool): Tool {
  return { ...tool, run: (input, call) => tool.run({ ...input, detail: true }, call) };
}
