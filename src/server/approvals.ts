/**
 * Questions to a person about a command that needs their agreement. They go through the client, as an elicitation
 * with nothing to fill in, and to the operator's programs (security/questions), whichever answers first. Only these
 * answers count: nothing in a tool's arguments can be one.
 *
 * A call that waits for the operator is answered before its client gives up; the same call made again waits on.
 *
 * Before 2026-07-28 the question is a request of ours within the call, which waits for it. Since then the call is
 * answered with the question, and the client calls again with the person's answer and the state that came with it.
 * That state has been in other hands: it is signed with a key of this process, holds for its time, for its principal,
 * for the same call, and for one answer.
 */
import { createHash } from 'node:crypto';
import type {
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';
import { messageOf, type ShellServerError } from '../base/errors.ts';
import { randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { isObject } from '../base/objects.ts';
import { once } from '../base/once.ts';
import type { OperatorAnswer, Questions, Subject } from '../security/questions/questions.ts';
import type { ApprovalNeeded } from '../security/security.ts';
import { fitQuestion } from '../tools/known-clients.ts';
import type { ClientInfo } from '../tools/tool.ts';
import { type MissingApproval, refusal } from './approval-refusals.ts';
import type { StartedCall } from './call-entry.ts';
import { AnswerTimeout } from './client-request.ts';
import { askToOpen, type Led, type PageLinks, type PageOpener, type PagePlace } from './page-links.ts';
import type { SealedState } from './sealed-state.ts';

export { AnswerTimeout } from './client-request.ts';

/** The answer to a call whose client is to ask the user and to call again. */
export type Question = InputRequiredResult;

/** How the client can ask the person who sits before it. */
export type Person =
  | {
      readonly way: 'request';
      /** Rejects with AnswerTimeout where nobody answered in time. An aborted signal withdraws the question. */
      ask(question: ElicitRequestFormParams, timeoutMs: number, signal: AbortSignal): Promise<unknown>;
    }
  | {
      readonly way: 'retry';
      readonly context: ServerContext;
      /** Present where it shows no form: it can only lead the person to the operator's page, which is there. */
      readonly page?: PagePlace;
    };

/** A call that may need a person. */
export interface AskingCall extends StartedCall {
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly person: Person | undefined;
  /** Leads the person at the client to the operator's page, where it can. */
  readonly opener: PageOpener | undefined;
}

export interface ApprovalEntry extends Omit<StartedCall, 'calledAs'> {
  readonly event: 'approval_asked' | 'approval_given' | 'approval_refused';
  readonly rule?: unknown;
  readonly command?: string;
  /** The call with the question, where the answer came with another. */
  readonly askedIn?: string;
  readonly approval?: MissingApproval;
  /** Where it was not the person at the client: the operator, or the approval that was remembered. */
  readonly by?: string;
  readonly remembered?: string;
}

export interface Approvals {
  /** What was agreed to, where the call brings an agreement with it; throws where it brings a no. */
  redeem(call: AskingCall): Promise<string | undefined>;
  /**
   * What was agreed to, or the question for the client to put; throws where the answer is no. `before`: how many
   * questions this call has put.
   */
  ask(needed: ApprovalNeeded, call: AskingCall, before: number): Promise<string | Question>;
}

/** The name of the question in a retry. */
const KEY = 'approval';

interface OpenQuestion {
  readonly needed: ApprovalNeeded;
  readonly askedIn: string;
  readonly principal: string;
  /** The person was led to the operator's page: only an answer there counts. */
  readonly isLink?: boolean;
}

export interface ApprovalOptions {
  /** How long a person has for an answer. */
  readonly seconds: number;
  readonly record: (entry: ApprovalEntry) => void;
  /** Where the operator can be asked as well. */
  readonly questions?: Questions | undefined;
  /** How long a call of this client may wait for the operator. */
  readonly patienceMs?: (client: ClientInfo) => number;
  /** Where a client can lead a person to the operator's page. */
  readonly links?: PageLinks | undefined;
}

export function createApprovals(options: ApprovalOptions): Approvals {
  const { questions } = options;
  const journal = createJournal(options);
  const retries = createRetries(options, journal);
  const operator = createOperator(options, journal, retries);

  /** The first answer counts: the user's, through the client, or the operator's. */
  async function askBoth(needed: ApprovalNeeded, call: AskingCall, person: Requested): Promise<string> {
    const answered = new AbortController();
    const signal = AbortSignal.any([call.signal, answered.signal]);
    const client = askWithin(needed, call, person, signal);
    const other = operator
      .ask(needed, call, options.seconds * 1000, signal)
      .then(({ answer }) => (answer === undefined ? client : needed.binding));
    try {
      return await Promise.race([client, other]);
    } finally {
      answered.abort(new Error('answered elsewhere'));
    }
  }

  async function askWithin(
    needed: ApprovalNeeded,
    call: AskingCall,
    person: Requested,
    signal = call.signal,
  ): Promise<string> {
    let reply: unknown;
    try {
      reply = await person.ask(formOf(needed, call.client), options.seconds * 1000, signal);
    } catch (error) {
      // The operator has answered meanwhile, which is on record.
      if (signal.aborted && !call.signal.aborted) throw error;
      if (call.signal.aborted) throw journal.refuse('withdrawn', call, { needed }, error);
      throw journal.refuse(error instanceof AnswerTimeout ? 'expired' : 'failed', call, { needed }, error);
    }
    journal.judge(reply, call, { needed });
    return needed.binding;
  }

  return {
    redeem: retries.redeem,
    async ask(needed, call, before) {
      const { person } = call;
      const standing = questions?.standing(needed.binding);
      if (standing !== undefined) {
        const by = `operator ${standing.by}`;
        journal.record('approval_given', call, { question: { needed }, by, remembered: standing.id });
        return needed.binding;
      }
      const isAttended = questions?.isAttended() === true;
      const hasForms = person !== undefined && !('page' in person);
      const canLead = options.links?.canLeadTo(pageOf(call)) === true;
      if (!hasForms && !isAttended && !canLead) throw journal.refuse('unavailable', call, { needed });
      if (before >= LIMITS.questionsPerCall) throw journal.refuse('changed', call, { needed });
      journal.record('approval_asked', call, { question: { needed } });
      if (!hasForms) return operator.askAlone(needed, call);
      if (person.way === 'request')
        return isAttended ? askBoth(needed, call, person) : askWithin(needed, call, person);
      // The operator sees the question too. Where the answer is there already, the client is not asked.
      if (isAttended && (await operator.ask(needed, call, 0, call.signal)).answer !== undefined)
        return needed.binding;
      return retries.handOut(needed, call, formOf(needed, call.client));
    },
  };
}

type Requested = Extract<Person, { way: 'request' }>;
type Journal = ReturnType<typeof createJournal>;
type Retries = ReturnType<typeof createRetries>;

/** What is on record of a question, and what follows from its answer. */
function createJournal(options: Pick<ApprovalOptions, 'record' | 'questions'>) {
  function record(
    event: ApprovalEntry['event'],
    { requestId, principal, client, tool }: AskingCall,
    about: Pick<ApprovalEntry, 'approval' | 'by' | 'remembered'> & {
      question?: Partial<OpenQuestion> | undefined;
    },
  ): void {
    const { question: { needed, askedIn } = {}, ...rest } = about;
    options.record({
      event,
      requestId,
      principal,
      client,
      tool,
      ...(needed !== undefined && { rule: needed.details?.['rule'], command: needed.command }),
      ...(askedIn !== undefined && { askedIn }),
      ...rest,
    });
  }

  function refuse(
    approval: MissingApproval,
    call: AskingCall,
    question?: Partial<OpenQuestion>,
    cause?: unknown,
  ): ShellServerError {
    record('approval_refused', call, { question, approval });
    return refusal(approval, question, { cause });
  }

  return {
    record,
    refuse,
    /** Yes is the question's own form, sent off as it is: it has nothing to fill in. */
    judge(reply: unknown, call: AskingCall, question: Partial<OpenQuestion>): void {
      const { action, content } = isObject(reply) ? reply : {};
      if (action === 'cancel') throw refuse('cancelled', call, question);
      if (action === 'decline') throw refuse('declined', call, question);
      if (action !== 'accept') throw refuse('failed', call, question);
      if (content !== undefined && !(isObject(content) && Object.keys(content).length === 0))
        throw refuse('declined', call, question);
      record('approval_given', call, { question });
    },
    /** What follows from an answer of the operator's: it is on record, and remembered on request. Throws for a no. */
    accept(answer: OperatorAnswer, needed: ApprovalNeeded, call: AskingCall): void {
      const by = `operator ${answer.by}`;
      if (answer.decision === 'deny') {
        record('approval_refused', call, { question: { needed }, approval: 'declined', by });
        throw refusal('declined', { needed }, { reason: answer.reason });
      }
      record('approval_given', call, { question: { needed }, by });
      options.questions?.grant(subjectOf(needed, call), answer);
    },
  };
}

/** Questions that a client takes with it, and brings back with their answers. */
function createRetries({ seconds, questions }: ApprovalOptions, { refuse, accept, judge }: Journal) {
  // Only clients of the 2026-07-28 revision need it, and it needs the SDK.
  const seal = once(async () => (await import('./sealed-state.ts')).createSeal(seconds));
  const open = new Map<string, OpenQuestion>();

  /** To open the page is no answer: the call waits for one. */
  function isStillOpen(reply: unknown): boolean {
    const action = isObject(reply) ? reply['action'] : undefined;
    return action === 'accept' || (action !== 'decline' && questions?.isAttended() === true);
  }

  async function unseal(sealed: string, call: AskingCall, context: ServerContext): Promise<SealedState> {
    try {
      return await (await seal()).open(sealed, context);
    } catch (error) {
      throw refuse(messageOf(error) === 'expired' ? 'expired' : 'invalid', call, undefined, error);
    }
  }

  return {
    async handOut(
      needed: ApprovalNeeded,
      call: AskingCall,
      asked: ElicitRequestFormParams | ElicitRequestURLParams,
    ): Promise<Question> {
      const { principal, requestId } = call;
      const nonce = randomText();
      const own = [...open].filter(([, question]) => question.principal === principal);
      const [oldest] = own;
      if (own.length >= LIMITS.openQuestions && oldest !== undefined) open.delete(oldest[0]);
      open.set(nonce, { needed, askedIn: requestId, principal, isLink: asked.mode === 'url' });
      const state = { nonce, principal, binding: needed.binding, call: digestOf(call) };
      return (await seal()).question(KEY, asked, state);
    },

    async redeem(call: AskingCall): Promise<string | undefined> {
      if (call.person?.way !== 'retry') return undefined;
      const { context } = call.person;
      const sealed = context.mcpReq.requestState<string>();
      const reply = context.mcpReq.inputResponses?.[KEY];
      // Half of an answer is none: where agreement is needed, it is asked for.
      if (sealed === undefined || reply === undefined) return undefined;
      const state = await unseal(sealed, call, context);
      // Before the question is closed: nobody can close another's.
      if (state.principal !== call.principal) throw refuse('invalid', call);
      const question = open.get(state.nonce);
      if (question === undefined) throw refuse('used', call);
      open.delete(state.nonce);
      // An answer to something else.
      if (state.call !== digestOf(call)) return undefined;
      if (question.isLink === true && isStillOpen(reply)) return undefined;
      // The operator may have answered while the client asked. A no counts, whichever of the two it comes from.
      const answer = questions?.settle(state.binding);
      const isDeclined = isObject(reply) && reply['action'] === 'decline';
      if (answer !== undefined && (answer.decision === 'deny' || !isDeclined))
        accept(answer, question.needed, call);
      else judge(reply, call, question);
      return state.binding;
    },
  };
}

/** Questions to the operator, to whose page a client may lead a person. */
function createOperator(options: ApprovalOptions, { refuse, accept }: Journal, { handOut }: Retries) {
  const { seconds, questions, links, patienceMs = () => LIMITS.maxWaitSeconds * 1000 } = options;
  /** Questions that a person was led to. */
  const led = new Set<string>();

  /** The operator's answer, where one is there to ask; undefined where there is none in time. */
  async function ask(needed: ApprovalNeeded, call: AskingCall, timeoutMs: number, signal: AbortSignal) {
    if (questions === undefined) throw new Error('Nobody can be asked.');
    const asked = await questions.ask(subjectOf(needed, call), { timeoutMs, signal });
    if (asked.answer !== undefined) accept(asked.answer, needed, call);
    return asked;
  }

  /** Once for each question. */
  function linkTo(id: string, { client }: AskingCall, page: PagePlace | undefined) {
    if (page === undefined || led.has(id)) return undefined;
    const message = `A command of ${client.name} needs approval on the operator's page of mcp-shell-server. Opening the page approves nothing.`;
    const link = links?.linkTo({ path: `q/${id}`, message }, page);
    if (link !== undefined) led.add(id);
    return link;
  }

  function leadTo(id: string, call: AskingCall): Led | undefined {
    const { opener } = call;
    const link = linkTo(id, call, opener?.page);
    if (opener === undefined || link === undefined) return undefined;
    const isAttended = (): boolean => questions?.isAttended() === true;
    return askToOpen(opener, link, { timeoutMs: seconds * 1000, isAttended });
  }

  return {
    ask,
    /** Only the operator can be asked: the client cannot ask anybody. It may lead a person to the operator's page. */
    async askAlone(needed: ApprovalNeeded, call: AskingCall): Promise<string | Question> {
      const first = await ask(needed, call, 0, call.signal);
      if (first.answer !== undefined) return needed.binding;
      const { person } = call;
      const link = person?.way === 'retry' ? linkTo(first.id, call, person.page) : undefined;
      if (link !== undefined) return handOut(needed, call, link);
      const lead = leadTo(first.id, call);
      try {
        const signal = lead === undefined ? call.signal : AbortSignal.any([call.signal, lead.refused]);
        const { id, answer } = await ask(needed, call, patienceMs(call.client), signal);
        if (answer !== undefined) return needed.binding;
        throw refusal('waiting', { needed }, { id });
      } catch (error) {
        if (call.signal.aborted) throw refuse('withdrawn', call, { needed }, error);
        if (lead?.refused.aborted === true)
          throw refuse(lead.refused.reason as MissingApproval, call, { needed });
        throw error;
      } finally {
        lead?.end();
      }
    },
  };
}

const pageOf = ({ person, opener }: AskingCall): PagePlace | undefined =>
  person?.way === 'retry' ? person.page : opener?.page;

function subjectOf(needed: ApprovalNeeded, { principal, client, tool }: AskingCall): Subject {
  const { binding, command, parts, directory, rule, question: text } = needed;
  return { binding, principal, client: client.name, tool, command, parts, directory, rule, text };
}

function formOf({ question }: ApprovalNeeded, client: ClientInfo): ElicitRequestFormParams {
  return {
    message: fitQuestion(question, client),
    // Accepting is the answer: a box to tick as well is one thing too many in the clients that were tried.
    requestedSchema: { type: 'object', properties: {} },
  };
}

/** The whole call as the client sent it, as far as it is not what asking is about. */
function digestOf({ tool, input }: AskingCall): string {
  return createHash('sha256')
    .update(JSON.stringify([tool, input ?? null]))
    .digest('hex');
}
