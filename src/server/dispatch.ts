/**
 * Every call of every tool, whichever transport it came by: find the tool, parse its input, run it, encode what it
 * returned, write the audit entry. Tools return plain data or throw; what a client sees is decided here and once. The
 * methods beside MCP go the same way, and are encoded as JSON-RPC: the data alone, or an error.
 *
 * An unknown tool is a protocol error and is thrown. Everything else that goes wrong on purpose is a result with
 * `isError`, so that a model can read it and do better. A cancelled call is thrown on: nobody waits for its answer.
 * What needs a person's agreement is asked for (approvals.ts) between two runs of the tool, of which the first has
 * let go of everything by then.
 */

import { type Clock, ticks } from '../base/clock.ts';
import { type ErrorCode, messageOf, type ShellServerError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import type { News } from '../executions/executions.ts';
import { ApprovalNeeded } from '../security/security.ts';
import { answersInText } from '../tools/known-clients.ts';
import type { Modules } from '../tools/modules.ts';
import type { Answer, ClientInfo, Tool } from '../tools/tool.ts';
import { fitAnswer } from './answer-size.ts';
import {
  type ApprovalEntry,
  type ApprovalOptions,
  createApprovals,
  type Person,
  type Question,
} from './approvals.ts';
import { recordedInput } from './audit-lines.ts';
import type { CallEntry, StartedCall } from './call-entry.ts';
import { MethodError, toMethodError, UnknownToolError } from './call-errors.ts';
import { withNews } from './client-news.ts';
import {
  encodeAnswer,
  encodeError,
  type TextResult,
  type ToolResult,
  textAlone,
  toShellServerError,
} from './encode.ts';
import { allows, checkGrant, type Grant } from './grants.ts';
import type { Outbox } from './http/outbox.ts';
import { METHOD_NOT_FOUND } from './json-rpc.ts';
import type { PageOpener } from './page-links.ts';
import { createInputParser, type InputParser } from './parse-input.ts';
import { clip } from './quote.ts';
import { createTurns } from './read-queue.ts';
import { partOf } from './shares.ts';
import { suggest } from './suggest.ts';

export type { CallEntry } from './call-entry.ts';

export interface DispatchOptions {
  /** The tools of the toolset, in the order of the catalogue. */
  readonly tools: readonly Tool[];
  /** Earlier names that can be called though they are not listed. */
  readonly aliases?: ReadonlyMap<string, Tool>;
  /** JSON-RPC methods beside MCP. */
  readonly methods?: readonly Tool[];
  readonly modules: Modules;
  /** What answers tell besides what was asked for. */
  readonly news?: News;
  readonly log: Log;
  readonly clock: Clock;
  /** Called with every call when it has ended; returns why it could not be recorded. What it throws becomes the answer. */
  readonly audit?: (entry: CallEntry) => string | undefined;
  /** Called with every question to a person and its answer, before anything follows from it; may refuse by throwing. */
  readonly onApproval?: (entry: ApprovalEntry) => void;
  /** Where the operator can be asked, and how long a call may wait for that. */
  readonly approvals?: Partial<Pick<ApprovalOptions, 'seconds' | 'questions' | 'patienceMs' | 'links'>>;
  /** What clients are answered with; both where absent. */
  readonly answers?: Settings['answers'];
}

export interface CallContext {
  readonly principal: string;
  /** What the caller's token leaves of the toolset. */
  readonly grant: Grant;
  readonly client: ClientInfo;
  /** Ours, not JSON-RPC's, whose ids are only unique within a connection. Made here where absent. */
  readonly requestId?: string;
  readonly signal: AbortSignal;
  /** Of HTTP, in the revisions that have one. */
  readonly session?: string | undefined;
  readonly progress?: ((message: string) => void) | undefined;
  /** Where the transport knows what of the caller's answers is not out yet. */
  readonly outbox?: Outbox | undefined;
  /** Absent where the client cannot ask anybody. */
  readonly person?: Person | undefined;
  /** Absent where the client cannot lead anybody to the operator's page while a call is under way. */
  readonly opener?: PageOpener | undefined;
}

export type Dispatch = ReturnType<typeof createDispatch>;

interface Entry {
  readonly tool: Tool;
  readonly parse: InputParser;
}

export function createDispatch(options: DispatchOptions) {
  const { clock } = options;
  const names = options.tools.map((tool) => tool.name);
  const entries = new Map<string, Entry>();
  for (const [name, tool] of options.aliases ?? []) entries.set(name, prepare(tool));
  for (const tool of options.tools) entries.set(tool.name, prepare(tool));
  const methods = new Map((options.methods ?? []).map((method) => [method.name, prepare(method)]));
  const journal = createJournal(options);
  const perform = createPerformer(options, journal);

  return {
    async call(
      name: string,
      args: unknown,
      context: CallContext,
    ): Promise<ToolResult | TextResult | Question> {
      const entry = entries.get(name);
      if (entry === undefined) {
        journal.begin({ tool: UNKNOWN_TOOL, calledAs: clip(name), args: {} }, context).audit('failed');
        throw new UnknownToolError(name, suggest(name, names));
      }
      const news = entry.tool.isExact === true ? undefined : options.news;
      const reader = readerOf(context);
      news?.open(context.principal, reader);
      const result = await perform({ ...entry, calledAs: name, args }, context);
      if ('resultType' in result) return result;
      const encoded =
        'error' in result ? encodeError(result.error, result.requestId, clock.now()) : encodeAnswer(result);
      const told =
        news === undefined ? encoded : withNews(encoded, news, { principal: context.principal, reader });
      return answersInText(entry.tool, context.client, options.answers ?? 'both') ? textAlone(told) : told;
    },
    /** The names of the methods. */
    methods: [...methods.keys()],
    /** Throws AUTH_003 where none of these opens a tool or method. */
    checkGranted: (name: string, grants: readonly Grant[]): void =>
      checkAnyGrant(name, (entries.get(name) ?? methods.get(name))?.tool, grants),
    /** Why the caller's token does not open what a request asks for, where it does not; on record then. */
    denialOf(
      method: string,
      params: unknown,
      context: Pick<CallContext, 'principal' | 'grant' | 'requestId'>,
    ): ShellServerError | undefined {
      const { name = '', arguments: args } = (params ?? {}) as { name?: string; arguments?: unknown };
      const isCall = method === 'tools/call';
      const entry = isCall ? entries.get(name) : methods.get(method);
      if (entry === undefined) return undefined;
      const calledAs = isCall ? name : method;
      try {
        checkGrant(context.grant, { name: calledAs, annotations: entry.tool.annotations });
        return undefined;
      } catch (thrown) {
        const called = { tool: entry.tool, calledAs, args: isCall ? args : params };
        return journal.failed(thrown, journal.begin(called, { ...context, client: NOBODY })).error;
      }
    },
    /** Throws MethodError. */
    async invoke(method: string, params: unknown, context: CallContext): Promise<Record<string, unknown>> {
      const entry = methods.get(method);
      if (entry === undefined) throw new MethodError(METHOD_NOT_FOUND, 'Method not found');
      const result = await perform({ ...entry, calledAs: method, args: params }, context);
      if ('resultType' in result) throw new Error(`${method} cannot be asked again`);
      if ('error' in result) throw toMethodError(result.error);
      return result.data as Record<string, unknown>;
    },
  };
}

function checkAnyGrant(name: string, tool: Tool | undefined, grants: readonly Grant[]): void {
  const [first] = grants;
  if (tool === undefined || first === undefined) return;
  const named = { name, annotations: tool.annotations };
  if (!grants.some((grant) => allows(grant, named))) checkGrant(first, named);
}

/** A tool with what it was called with. */
interface Called {
  readonly tool: Pick<Tool, 'name' | 'recorded' | 'tellsUnrecorded'>;
  readonly calledAs: string;
  readonly args: unknown;
}

/** What the log and the audit log say about calls. */
function createJournal({ log, clock, audit }: DispatchOptions) {
  return {
    begin({ tool, calledAs, args }: Called, context: Omit<CallContext, 'signal'>): Begun {
      const { principal, client, requestId = createId('req') } = context;
      const started: StartedCall = { requestId, principal, client, tool: tool.name, calledAs };
      const startedAtMs = clock.now();
      const startedTicks = ticks();
      log.debug('request', { ...logged(started), client: client.name });
      return {
        started,
        audit: (outcome, code) =>
          audit?.({
            ...started,
            input: recordedInput(args, tool),
            startedAtMs,
            durationMs: ticks() - startedTicks,
            outcome,
            ...(code !== undefined && { code }),
          }),
      };
    },

    failed(thrown: unknown, begun: Begun) {
      const { started } = begun;
      let error = toShellServerError(thrown);
      if (error.code === 'SYSTEM_001') {
        log.error('a tool failed unexpectedly', { ...logged(started), error: fullText(thrown) });
      } else {
        log.debug('a call was answered with an error', { ...logged(started), code: error.code });
      }
      try {
        begun.audit('failed', error.code);
      } catch (auditError) {
        error = toShellServerError(auditError);
        log.error('the audit entry of a call could not be written', {
          ...logged(started),
          error: fullText(auditError),
        });
      }
      return { error, requestId: started.requestId };
    },
  };
}

/** Runs a call and writes the audit entry: an answer, a question, or what is to be said about a failure. */
function createPerformer(options: DispatchOptions, journal: Journal) {
  const run = createRunner(options);
  const { links } = options.approvals ?? {};
  return async (
    called: Called & Entry,
    context: CallContext,
  ): Promise<Answer<unknown> | Question | Failed> => {
    const begun = journal.begin(called, context);
    const { principal, opener } = context;
    const leave = opener && links?.during(principal, opener);
    try {
      const answer = await run(called, begun.started, context);
      if ('resultType' in answer) {
        begun.audit('asked');
        return answer;
      }
      if (opener !== undefined) links?.notePrompt(principal, answer.data);
      const problem = begun.audit('answered');
      return problem !== undefined && called.tool.tellsUnrecorded === true
        ? addAuditProblem(answer, problem)
        : answer;
    } catch (thrown) {
      if (context.signal.aborted) {
        begun.audit('cancelled');
        throw thrown;
      }
      return journal.failed(thrown, begun);
    } finally {
      leave?.();
    }
  };
}

function createRunner({ modules, ...options }: DispatchOptions) {
  const turns = createTurns();
  const approvals = createApprovals({
    seconds: LIMITS.approvalSeconds,
    ...options.approvals,
    record: (entry) => options.onApproval?.(entry),
  });
  return async (
    { tool, parse, args }: Called & Entry,
    started: StartedCall,
    { signal, session, progress, person, opener, grant, outbox }: CallContext,
  ): Promise<Answer<unknown> | Question> => {
    signal.throwIfAborted();
    checkGrant(grant, { name: started.calledAs, annotations: tool.annotations });
    const input = parse(args);
    const { principal, client, requestId } = started;
    const asked = { ...started, input: args, signal, person, opener };
    const { token: reader, isReadOnly } = grant;
    const call = { principal, reader, isReadOnly, session, client, requestId, signal, progress, modules };
    let approval = await approvals.redeem(asked);
    const work = async (): Promise<Answer<unknown>> => {
      await outbox?.room(signal);
      const answer = await fitAnswer(await tool.run(input, { ...call, approval }));
      outbox?.add(sizeOf(answer));
      return answer;
    };
    for (let questions = 0; ; questions++) {
      try {
        return await (tool.takesTurns === true
          ? turns.take(partOf({ principal, grant }), signal, work)
          : work());
      } catch (thrown) {
        if (!(thrown instanceof ApprovalNeeded)) throw thrown;
        const agreed = await approvals.ask(thrown, asked, questions);
        if (typeof agreed !== 'string') return agreed;
        approval = agreed;
      }
    }
  };
}

/** Each token in each session is told everything once. */
const readerOf = ({ grant, session, client }: CallContext): string =>
  JSON.stringify([grant.token, session ?? client.name]);

type Journal = ReturnType<typeof createJournal>;
type Failed = ReturnType<Journal['failed']>;

/** A call, and how its end is recorded. */
interface Begun {
  readonly started: StartedCall;
  readonly audit: (outcome: CallEntry['outcome'], code?: ErrorCode) => string | undefined;
}

/** In records and metrics one name for all that there is not; which parameters are secret is unknown, so none is recorded. */
const UNKNOWN_TOOL = { name: 'unknown', recorded: [] };

/** What a client calls itself is not known before its request is taken. */
const NOBODY: ClientInfo = { name: '', version: '' };

function prepare(tool: Tool): Entry {
  return { tool, parse: createInputParser(tool) };
}

const addAuditProblem = (answer: Answer<unknown>, problem: string): Answer<unknown> => ({
  ...answer,
  data: { ...(answer.data as object), audit_problem: problem },
  text: `${answer.text}\nThis is not recorded. ${problem}`,
});

/** About: what is large in an answer is in both of its views. */
function sizeOf({ text, more = [] }: Answer<unknown>): number {
  return 2 * more.reduce((sum, { length }) => sum + length, text.length);
}

function logged({ requestId, principal, tool }: StartedCall): Record<string, string> {
  return { request_id: requestId, principal, tool };
}

/** The stack and what caused it; only for the log. */
function fullText(thrown: unknown): string {
  if (!(thrown instanceof Error)) return messageOf(thrown);
  const own = thrown.stack ?? thrown.message;
  return thrown.cause === undefined ? own : `${own}\ncaused by: ${fullText(thrown.cause)}`;
}

export { approvalLine, callLine, deniedRequestLine } from './audit-lines.ts';
export { createPageLinks } from './page-links.ts';
export type { ApprovalEntry, ToolResult };
