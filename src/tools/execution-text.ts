/** The text of an answer about an execution, for clients that show a model nothing else. */
import type { HeadAndTail } from '../outputs/outputs.ts';
import type { StreamType } from '../outputs/types.ts';
import { describeDuration } from './describe.ts';
import type { ExecutionData } from './execution-fields.ts';

export const isOnlyStderrCut = (shown: ReadonlyMap<StreamType, HeadAndTail>): boolean =>
  [...shown].filter(([, { truncated }]) => truncated).every(([type]) => type === 'stderr') &&
  shown.get('stderr')?.truncated === true;

/** Ids of outputs are named where there is more to read than the text shows, or will be, or where they were asked for. */
export function idsToName(
  data: ExecutionData,
  shown: ReadonlyMap<StreamType, HeadAndTail>,
  { detail }: { readonly detail: boolean },
): string[] {
  const isMore = [...shown.values()].some(({ truncated, invalidBytes }) => truncated || invalidBytes > 0);
  if (!isMore && !detail && data.status !== 'running') return [];
  const ids = [
    data.output_id === undefined ? '' : `output_id ${data.output_id}`,
    data.stderr === undefined || data.stderr === '' ? '' : `stderr_output_id ${data.stderr_output_id}`,
  ].filter((id) => id !== '');
  return isOnlyStderrCut(shown) ? ids.toReversed() : ids;
}

/** The output first, then one line on how it went, then what is worth knowing. */
export function renderText(data: ExecutionData, message: string, ids: readonly string[]): string {
  const parts: string[] = [];
  if (data.stdout !== undefined && data.stdout !== '') parts.push(withNewline(data.stdout));
  if (data.stderr !== undefined && data.stderr !== '') parts.push(`[stderr]\n${withNewline(data.stderr)}`);
  const how =
    data.signal !== undefined
      ? `ended by ${data.signal}`
      : data.exit_code !== undefined
        ? `exit code ${data.exit_code}`
        : `execution_id ${data.execution_id}`;
  const status = [data.status, how, describeDuration(data.execution_time_ms ?? 0), ...ids].join(', ');
  return `${parts.join('')}[${status}]${message === '' ? '' : `\n${message}`}`;
}

const withNewline = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);
