/** What came of a wait: which condition, for which execution, after how long, and the output that is new since. */
import * as z from 'zod';
import type { Condition, Execution, Verdict, WaitReport } from '../executions/executions.ts';
import { escapeText, maskBeginning } from '../security/security.ts';
import { describeDuration } from './describe.ts';
import type { AnswerOptions } from './execution-answer.ts';
import { describeExecution, type ExecutionData, executionFields } from './execution-answer.ts';
import type { LastLook } from './last-looks.ts';
import { type Answer, type Call, type DataOf, mapAnswer } from './tool.ts';
import { toWire } from './wait-input.ts';

const verdictFields = () =>
  z.object({
    execution_id: z.string(),
    condition: z.record(z.string(), z.unknown()),
    after_seconds: z.number().optional(),
    line: z.string().optional(),
    reason: z.string().optional(),
  });

/** Of an answer to a call that waited. */
export const waitFields = () => ({
  wait: z.object({
    result: z.enum(['met', 'impossible', 'timeout']),
    seconds: z.number(),
    met: z.array(verdictFields()).optional(),
    impossible: z.array(verdictFields()).optional(),
  }),
  executions: z.array(z.object(executionFields()).partial()),
});

export type WaitData = DataOf<typeof waitSchema>;
const waitSchema = () => z.object(waitFields());

/** By token and session: each has its own place in what it has seen. */
export const readerOf = ({ principal, reader, session, client }: Call): string =>
  JSON.stringify([principal, reader, session ?? client.name]);

/** Waits for the first of the conditions, or all of them, in each of the executions. */
export async function waitIn(
  targets: readonly { readonly execution: Execution; readonly conditions: readonly Condition[] }[],
  wait: { readonly mode: 'any' | 'all'; readonly timeoutMs: number },
  call: Call,
): Promise<WaitReport> {
  const { modules, principal, signal } = call;
  const { waitRules } = modules.security;
  const reader = readerOf(call);
  const report = await modules.executions.waits.wait({
    ...wait,
    targets: targets.map(({ execution, conditions }) => ({
      execution,
      conditions,
      from: modules.lastLooks.of(reader, execution.record.id).unseen,
      refresh: () => modules.executions.get(principal, execution.record.id),
    })),
    files: {
      hostPathOf: (path) => waitRules.hostPathOf(path, principal),
      mayRead: (path) => waitRules.mayRead(path, principal),
    },
    thread: modules.searchThread,
    signal,
  });
  // What matched is not waited for again.
  for (const [id, ends] of report.matched) {
    const { shown, unseen } = modules.lastLooks.of(reader, id);
    modules.lastLooks.note(reader, id, { shown, unseen: new Map([...unseen, ...ends]) });
  }
  return report;
}

/** An answer about an execution that notes what of its output the caller has seen. */
export async function describeSeen(
  execution: Execution,
  options: AnswerOptions,
  call: Call,
  onlyNew: boolean,
): Promise<Answer<ExecutionData>> {
  const { lastLooks } = call.modules;
  const reader = readerOf(call);
  const { id } = execution.record;
  const before = lastLooks.of(reader, id);
  const shown = new Map(before.shown);
  const unseen = new Map(before.unseen);
  const answer = await describeExecution(execution, {
    ...options,
    ...(onlyNew && { since: before.shown }),
    onShown(type, to, unseenFrom) {
      shown.set(type, to);
      // Also where the answer is shortened, of which only the last counts.
      unseen.set(type, Math.max(before.unseen.get(type) ?? 0, unseenFrom));
    },
  });
  const look: LastLook = { shown, unseen };
  lastLooks.note(reader, id, look);
  return answer;
}

export function waitDataOf(report: WaitReport): NonNullable<WaitData['wait']> {
  const pick = (kind: 'met' | 'never') =>
    report.verdicts.filter(({ sighting }) => sighting.kind === kind).map(verdictOf);
  const met = pick('met');
  const impossible = pick('never');
  return {
    result: report.result === 'aborted' ? 'timeout' : report.result,
    seconds: inSeconds(report.waitedMs),
    ...(met.length > 0 && { met }),
    ...(impossible.length > 0 && { impossible }),
  };
}

function verdictOf({ executionId, condition, sighting, afterMs }: Verdict) {
  return {
    execution_id: executionId,
    condition: toWire(condition),
    ...(sighting.kind === 'met'
      ? {
          after_seconds: inSeconds(afterMs),
          ...(sighting.line !== undefined && { line: sighting.line }),
        }
      : { reason: sighting.why }),
  };
}

const inSeconds = (ms: number): number => Math.round(ms / 100) / 10;

/** Lines for the end of an answer; several executions are told apart by their ids. `again` is the call that waits on. */
export function waitWords(
  report: WaitReport,
  conditions: readonly Condition[],
  { many, again }: { readonly many: boolean; readonly again: string },
): string {
  const lines = report.verdicts.slice(0, MAX_LINES).map(({ executionId, condition, sighting, afterMs }) => {
    const whose = many ? `${executionId}: ` : '';
    if (sighting.kind === 'never')
      return `${whose}${nameOf(condition)} did not happen, and no longer can: ${sighting.why}.`;
    const line = sighting.line === undefined ? '' : `: ${escapeText(sighting.line)}`;
    return `${whose}${nameOf(condition)} after ${describeDuration(afterMs)}${line}`;
  });
  if (report.result === 'timeout') {
    const open = conditions.map(nameOf).join(', ');
    lines.push(`Waited ${describeDuration(report.waitedMs)} for ${open}, in vain so far. ${again} waits on.`);
  }
  const more = report.verdicts.length - MAX_LINES;
  return lines.join('\n') + (more > 0 ? `\nand ${more} more` : '');
}

const MAX_LINES = 50;

function nameOf(condition: Condition): string {
  switch (condition.kind) {
    case 'exit':
      return 'exit';
    case 'output':
      return `output ${JSON.stringify(condition.source)}`;
    case 'quiet':
      return `quiet for ${condition.ms / 1000} s`;
    case 'port':
      return `port ${condition.port}`;
    case 'url':
      return condition.target.url.href;
    case 'file':
      return `file ${escapeText(condition.path)}`;
  }
}

const COMMAND_CHARS = 100;
/** Of one among many: how it is doing, and nothing that says nothing. */
const FIELDS = [
  'execution_id',
  'status',
  'exit_code',
  'signal',
  'termination_reason',
  'error_code',
  'output_truncated',
  'output_id',
  'execution_time_ms',
  'stderr',
  'stdout',
] as const satisfies readonly (keyof ExecutionData)[];

/** Several executions in one answer, which share its room. */
export async function describeMany(
  executions: readonly Execution[],
  options: AnswerOptions,
  call: Call,
): Promise<Answer<ExecutionData[]>> {
  const inlineBytes = Math.floor(options.inlineBytes / Math.max(1, executions.length));
  const all: Answer<ExecutionData>[] = [];
  for (const execution of executions) {
    const one = await describeSeen(execution, { ...options, inlineBytes }, call, true);
    const command = escapeText(maskBeginning(execution.record.command, COMMAND_CHARS));
    all.push(
      mapAnswer(one, ({ data, text }) => ({
        data: Object.fromEntries(
          FIELDS.flatMap((name) => (isSaying(data, name) ? [[name, data[name]]] : [])),
        ),
        text: `${execution.record.id}: ${command}\n${text}`,
      })),
    );
  }
  return joinAnswers(all);
}

const joinAnswers = (all: readonly Answer<ExecutionData>[]): Answer<ExecutionData[]> => ({
  data: all.map(({ data }) => data),
  text: all.map(({ text }) => text).join('\n\n'),
  shorter: async (share) =>
    joinAnswers(await Promise.all(all.map(async (one) => (await one.shorter?.(share)) ?? one))),
});

function isSaying(data: ExecutionData, name: (typeof FIELDS)[number]): boolean {
  const value = data[name];
  return value !== undefined && value !== '' && value !== false && value !== 'exit';
}
