/** process_get_execution: how an execution is doing, or how it ended. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { EXECUTION_MODES, type Execution } from '../executions/executions.ts';
import type { StreamType } from '../outputs/types.ts';
import { useSource } from '../outputs/views.ts';
import { escapeText, maskBeginning } from '../security/security.ts';
import { describeBytes, toMegabytes } from './describe.ts';
import { answerOptions, executionFields } from './execution-answer.ts';
import { patienceMs } from './known-clients.ts';
import { type Answer, type Call, type DataOf, defineTool, mapAnswer } from './tool.ts';
import { describeMany, describeSeen, waitDataOf, waitFields, waitIn, waitWords } from './wait-answer.ts';
import { checkConditions, parseConditions } from './wait-input.ts';

/** The caller knows its command; a hundred kilobytes of it at each look would be a waste. */
const COMMAND_CHARS = 4000;

const inputSchema = () =>
  z.strictObject({
    execution_id: z.string().optional(),
    execution_ids: z.array(z.string()).optional(),
    wait_seconds: z.number().min(0).max(300).optional(),
    wait_for: z.array(z.looseObject({})).optional().describe('As in shell_execute'),
    wait_mode: z.enum(['any', 'all']).default('any'),
    fold: z.boolean().default(true),
  });

type WaitInput = z.output<ReturnType<typeof inputSchema>>;

const outputSchema = () =>
  z.object({
    ...executionFields(),
    ...waitFields(),
    command: z.string(),
    execution_mode: z.enum(EXECUTION_MODES),
    session_id: z.string(),
    environment_variables: z.record(z.string(), z.string()),
    memory_usage_mb: z.number(),
    peak_memory_mb: z.number(),
    cpu_seconds: z.number(),
    cpu_usage_percent: z.number(),
    process_count: z.number(),
    started_at: z.string(),
    stdout_size: z.number(),
    stderr_size: z.number(),
  });

export const processGetExecution = defineTool({
  name: 'process_get_execution',
  title: 'Look at an execution',
  description:
    'State, exit code, last output and resource usage of executions. Instead of polling, wait_seconds (max 300) waits for the end, or for wait_for; then only new output is shown.',
  input: inputSchema,
  output: outputSchema,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const ids = idsOf(input);
    const [id] = ids;
    if (input.execution_ids !== undefined || input.wait_for !== undefined || id === undefined)
      return waitAndDescribe(ids, input, call);
    const { executions } = call.modules;
    const waitMs = Math.min((input.wait_seconds ?? 0) * 1000, patienceOf(call));
    const execution = await executions.waitFor(call.principal, id, waitMs, call.signal);
    call.signal.throwIfAborted();
    return describeOne(execution, call, { folds: input.fold, onlyNew: false });
  },
});

const patienceOf = ({ client, modules }: Call): number =>
  patienceMs(client, modules.settings.limits.maxWaitSeconds);

const MAX_EXECUTIONS = 50;

function idsOf({ execution_id: id, execution_ids: more = [] }: WaitInput): string[] {
  const ids = [...new Set([...(id === undefined ? [] : [id]), ...more])];
  if (ids.length === 0)
    throw new ShellServerError('PARAM_001', 'execution_id or execution_ids is missing.', {
      hint: 'process_list shows the executions.',
      details: { name: 'InvalidParameters' },
    });
  if (ids.length > MAX_EXECUTIONS)
    throw new ShellServerError('PARAM_002', `${ids.length} executions were named.`, {
      hint: `Name at most ${MAX_EXECUTIONS} in one call.`,
      details: { parameter: 'execution_ids' },
    });
  return ids;
}

async function waitAndDescribe(
  ids: readonly string[],
  input: WaitInput,
  call: Call,
): Promise<Answer<DataOf<typeof outputSchema>>> {
  const { executions } = call.modules;
  const targets = await Promise.all(
    ids.map(async (id) => {
      const execution = await executions.get(call.principal, id);
      const given = input.wait_for ?? [{ exit: true }];
      const conditions = parseConditions(given, execution.record.directory, call);
      checkConditions(conditions, execution, call);
      return { execution, conditions };
    }),
  );
  const [first] = targets;
  // Who names conditions wants to wait; who names executions alone may want to look.
  const seconds = input.wait_seconds ?? (input.wait_for === undefined ? 0 : Number.POSITIVE_INFINITY);
  const timeoutMs = Math.min(seconds * 1000, patienceOf(call));
  const report = await waitIn(targets, { mode: input.wait_mode, timeoutMs }, call);
  call.signal.throwIfAborted();
  const wait = waitDataOf(report);
  const isMany = input.execution_ids !== undefined;
  const about = { many: isMany, again: 'The same call' };
  const words =
    timeoutMs === 0 && report.result === 'timeout' ? '' : waitWords(report, first?.conditions ?? [], about);
  if (!isMany && first !== undefined) {
    const one = await describeOne(first.execution, call, { folds: input.fold, onlyNew: true });
    return mapAnswer(one, ({ data, text }) => ({ data: { ...data, wait }, text: joinLines(text, words) }));
  }
  const all = targets.map(({ execution }) => execution);
  const options = answerOptions(call, { detail: true, folds: input.fold });
  return mapAnswer(await describeMany(all, options, call), ({ data, text }) => ({
    data: { executions: data, wait },
    text: joinLines(text, words),
  }));
}

const joinLines = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');

async function describeOne(
  execution: Execution,
  call: Call,
  { folds, onlyNew }: { readonly folds: boolean; readonly onlyNew: boolean },
) {
  const { record } = execution;
  const { outcome } = record;
  const usage = execution.usage();
  const command = maskBeginning(record.command, COMMAND_CHARS);
  const options = answerOptions(call, { detail: true, folds });
  const answer = await describeSeen(execution, options, call, onlyNew);
  const more = {
    command,
    execution_mode: record.mode,
    session_id: record.sessionId,
    environment_variables: record.environment,
    memory_usage_mb: usage && toMegabytes(usage.memoryBytes),
    cpu_usage_percent: usage?.cpuPercent,
    peak_memory_mb: outcome?.peakMemoryBytes && toMegabytes(outcome.peakMemoryBytes),
    cpu_seconds: outcome?.cpuSeconds,
    process_count: outcome?.processes ?? usage?.processes,
    started_at: isoTime(record.createdAtMs),
    stdout_size: await sizeOf(execution, 'stdout', 'combined', 'log'),
    stderr_size: await sizeOf(execution, 'stderr'),
  };
  const using =
    usage === undefined
      ? ''
      : ` It uses ${describeBytes(usage.memoryBytes)} of memory and ${usage.cpuPercent} % of a processor in ${usage.processes} processes.`;
  return mapAnswer(answer, ({ data, text }) => ({
    data: { ...data, ...more },
    // Who waits knows what for.
    text: `${text}${using}${onlyNew ? '' : `\nCommand: ${showLines(command.slice(0, 1000))}`}`,
  }));
}

/** Of the first of these streams that it has. */
async function sizeOf({ bundle, record }: Execution, ...types: StreamType[]): Promise<number | undefined> {
  const type = types.find((each) => record.streams.includes(each));
  return type && useSource(bundle.source(type), (source) => source.size());
}

/** Its lines stay lines; nothing else of it that a terminal would obey does. */
const showLines = (text: string): string => text.split('\n').map(escapeText).join('\n');
