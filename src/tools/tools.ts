/** The catalogue: every tool, in the order in which tools/list shows them, and the sets that --tools picks from. */
import { deleteExecutionOutputs } from './delete-execution-outputs.ts';
import { EARLIER_NAMES, earlierNameOf, earlierTools } from './earlier-names.ts';
import { listExecutionOutputs } from './list-execution-outputs.ts';
import { monitoringGetStats } from './monitoring-get-stats.ts';
import { processGetExecution } from './process-get-execution.ts';
import { processList } from './process-list.ts';
import { processMonitor } from './process-monitor.ts';
import { processTerminate } from './process-terminate.ts';
import { readExecutionOutput } from './read-execution-output.ts';
import { securitySetRestrictions } from './security-set-restrictions.ts';
import { shell } from './shell.ts';
import { shellAllowed } from './shell-allowed.ts';
import { shellExec } from './shell-exec.ts';
import { shellExecute } from './shell-execute.ts';
import { shellSetDefaultWorkdir } from './shell-set-default-workdir.ts';
import { terminalClose } from './terminal-close.ts';
import { terminalCreate } from './terminal-create.ts';
import { terminalGetInfo } from './terminal-get-info.ts';
import { terminalGetOutput } from './terminal-get-output.ts';
import { terminalList } from './terminal-list.ts';
import { terminalResize } from './terminal-resize.ts';
import { terminalSendInput } from './terminal-send-input.ts';
import type { Tool } from './tool.ts';

export { patienceMs } from './known-clients.ts';
export { createLastLooks } from './last-looks.ts';
export { METHODS, pickMethods } from './methods.ts';
export type { Modules } from './modules.ts';
export type { Answer, Call, ClientInfo, Tool } from './tool.ts';

export const TOOLS: readonly Tool[] = [
  shellExecute,
  processGetExecution,
  processList,
  processTerminate,
  processMonitor,
  listExecutionOutputs,
  readExecutionOutput,
  deleteExecutionOutputs,
  terminalCreate,
  terminalList,
  terminalGetInfo,
  terminalSendInput,
  terminalGetOutput,
  terminalResize,
  terminalClose,
  shellSetDefaultWorkdir,
  securitySetRestrictions,
  monitoringGetStats,
];

/** The interfaces of other servers: simple, shell, and earlier names. */
export const COMPATIBLE_TOOLS: readonly Tool[] = [shellExec, shellAllowed, shell, ...earlierTools(TOOLS)];

export const ALL_TOOLS: readonly Tool[] = [...TOOLS, ...COMPATIBLE_TOOLS];
const STANDARD = TOOLS.map((tool) => tool.name);

/** Names that --tools takes besides those of single tools. */
export const TOOLSETS: Readonly<Record<string, readonly string[]>> = {
  standard: STANDARD,
  simple: ['shell_exec', 'shell_allowed'],
  shell: ['shell'],
  // As in the earlier list: it has no shell_set_default_workdir.
  legacy: STANDARD.filter((name) => name !== 'shell_set_default_workdir').map(
    (name) => earlierNameOf(name) ?? name,
  ),
  all: ALL_TOOLS.map((tool) => tool.name),
};

/** Every name that --tools takes, with the tools that it stands for. */
export const TOOL_NAMES: Readonly<Record<string, readonly string[]>> = {
  ...TOOLSETS,
  ...Object.fromEntries(ALL_TOOLS.map(({ name }) => [name, [name]])),
};

/** The tools that the names stand for, each once, in the order of the catalogue. */
export function pickTools(names: readonly string[]): Tool[] {
  const wanted = new Set(names.flatMap((name) => TOOLSETS[name] ?? [name]));
  return ALL_TOOLS.filter((tool) => wanted.has(tool.name));
}

/** Names that can be called though they are not listed: the earlier ones of these tools, and those of today. */
export function findAliases(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const listed = new Set(tools.map(({ name }) => name));
  const others = Object.entries(EARLIER_NAMES).flatMap(([earlier, today]) => {
    if (listed.has(earlier) === listed.has(today)) return [];
    return [listed.has(today) ? earlier : today];
  });
  return new Map(ALL_TOOLS.filter(({ name }) => others.includes(name)).map((tool) => [tool.name, tool]));
}
