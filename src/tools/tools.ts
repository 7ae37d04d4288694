/** The standard toolset, in the order in which tools/list shows it. */
import { deleteExecutionOutputs } from './delete-execution-outputs.ts';
import { listExecutionOutputs } from './list-execution-outputs.ts';
import { monitoringGetStats } from './monitoring-get-stats.ts';
import { processGetExecution } from './process-get-execution.ts';
import { processList } from './process-list.ts';
import { processMonitor } from './process-monitor.ts';
import { processTerminate } from './process-terminate.ts';
import { readExecutionOutput } from './read-execution-output.ts';
import { securitySetRestrictions } from './security-set-restrictions.ts';
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

export { deleteExecutionOutputs, deleteOutputs } from './delete-execution-outputs.ts';
export { patienceMs } from './known-clients.ts';
export { createLastLooks } from './last-looks.ts';
export { listExecutionOutputs, listInput, listOutputs } from './list-execution-outputs.ts';
export type { Modules } from './modules.ts';
export { readExecutionOutput, readFields, readInput, readOutput } from './read-execution-output.ts';
export { reportProgress } from './report-progress.ts';
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
