/** process_terminate: ends an execution, or sends it a signal. */
import * as z from 'zod';
import { type EndSignal, type Execution, type Live, pidOf, waitForEnd } from '../executions/executions.ts';
import { listProcesses, survivorsOf } from './describe.ts';
import { findTarget } from './find-target.ts';
import { defineTool } from './tool.ts';

/** After that the answer comes, ended or not. */
const WAIT_MS = 5000;

const inputSchema = () =>
  z.strictObject({
    process_id: z.number().int().min(1).max(4_194_304).optional(),
    execution_id: z.string().optional(),
    signal: z.enum(['TERM', 'KILL', 'INT', 'HUP', 'USR1', 'USR2']).default('TERM'),
    force: z.boolean().default(false).describe('KILL what does not end'),
  });

export const processTerminate = defineTool({
  name: 'process_terminate',
  title: 'End an execution',
  description:
    'Ends an execution with everything it started (TERM, INT, KILL), or signals its own process (HUP, USR1, USR2). Waits up to 5 s.',
  input: inputSchema,
  output: () =>
    z.object({
      success: z.boolean(),
      execution_id: z.string(),
      process_id: z.number(),
      signal_sent: z.string(),
      exit_code: z.number(),
      status: z.string(),
      termination_reason: z.string(),
      survivors: z.array(z.object({ process_id: z.number(), name: z.string() })),
      message: z.string(),
    }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  async run(input, call) {
    const execution = await findTarget(input, call);
    const { live, record } = execution;
    if (live === undefined) {
      const message =
        record.outcome === undefined
          ? `${record.id} is run by another server on this state directory, and only that one can end it; no signal was sent.`
          : `${record.id} had ended already (${record.outcome.status}); no signal was sent.`;
      return { data: { ...describe(execution), success: false, message }, text: message };
    }
    const signal = `SIG${input.signal}` as const;
    const toTree = signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGKILL';
    const isKill = signal === 'SIGKILL';
    let hasEnded = isKill ? false : await live.request(signal, toTree ? 'tree' : 'leader', WAIT_MS);
    const goesOn = isKill || (input.force && toTree && !hasEnded);
    if (goesOn) hasEnded = await endWithin(live, 'SIGKILL', call.signal);
    const sent = goesOn ? 'KILL' : input.signal;
    const message = describeEnd(execution, sent, hasEnded, toTree);
    // A signal that a program may handle did its work by arriving.
    const success = hasEnded || !toTree;
    return { data: { ...describe(execution), success, signal_sent: sent, message }, text: message };
  },
});

/** The ladder has its own bounds; this one is for an end that another process reports. */
async function endWithin(live: Live, signal: EndSignal, caller: AbortSignal): Promise<boolean> {
  const end = live.end('terminated', signal);
  const waited = await waitForEnd(live, { patienceMs: WAIT_MS }, caller);
  caller.throwIfAborted();
  if (waited.kind === 'ended') await end;
  return waited.kind === 'ended';
}

function describe({ record }: Execution) {
  return {
    execution_id: record.id,
    process_id: pidOf(record.process),
    exit_code: record.outcome?.exitCode,
    status: record.outcome?.status ?? 'running',
    termination_reason: record.outcome?.reason,
    survivors: survivorsOf(record.outcome),
  };
}

function describeEnd({ record }: Execution, signal: string, hasEnded: boolean, toTree: boolean): string {
  const { outcome } = record;
  const isHungUp = record.terminal !== undefined && signal === 'TERM';
  const why = isHungUp ? ', with HUP because interactive shells ignore TERM' : '';
  const sent = `${signal} was sent to ${toTree ? 'the whole tree of' : 'the process of'} ${record.id}${why}.`;
  if (!hasEnded) {
    return toTree
      ? `${sent} It has not ended within 5 s; force: true goes on to KILL.`
      : `${sent} It goes on running.`;
  }
  const how =
    outcome?.signal === undefined
      ? `with exit code ${outcome?.exitCode ?? 'unknown'}`
      : `by ${outcome.signal}`;
  const left =
    outcome === undefined || outcome.survivors.length === 0
      ? ''
      : ` Could not be ended: ${listProcesses(outcome.survivors)}.`;
  return `${sent} It ended ${how}.${left}`;
}
