/** The execution that a caller names by its id or by the process id of its command. */
import { ShellServerError } from '../base/errors.ts';
import type { Execution } from '../executions/executions.ts';
import type { Call } from './tool.ts';

interface Target {
  readonly process_id?: number | undefined;
  readonly execution_id?: string | undefined;
}

export function findTarget(target: Target, call: Call): Promise<Execution> {
  const { process_id: pid, execution_id: id } = target;
  if (pid !== undefined && id !== undefined) {
    throw new ShellServerError('PARAM_002', 'process_id and execution_id were both given.', {
      hint: 'Give one of them.',
    });
  }
  if (id !== undefined) return call.modules.executions.get(call.principal, id);
  if (pid !== undefined) return call.modules.executions.getByPid(call.principal, pid);
  throw new ShellServerError('PARAM_001', 'process_id or execution_id is missing.', {
    hint: 'process_list shows both.',
    details: { name: 'InvalidParameters' },
  });
}
