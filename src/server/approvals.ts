/**
 * Questions to a person about a command that needs their agreement. They go through the client, as an elicitation
 * with nothing to fill in, and only the client's answer to that counts: nothing in a tool's arguments can be one.
 *
 * Before 2026-07-28 the question is a request of ours within the call, which waits for it. Since then the call is
 * answered with the question, and the client calls again with the person's answer and the state that came with it.
 * That state has been in other hands: it is signed with a key of this process, holds for its time, for its principal,
 * for the same call, and for one answer.
 */
import { createHash } from 'node:crypto';
import type {
  ElicitRequestFormParams,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { once } from '../base/once.ts';
import type { ApprovalNeeded } from '../security/security.ts';
import type { ClientInfo } from '../tools/tool.ts';
import { AnswerTimeout } from './client-request.ts';
import { isObject } from './json-rpc.ts';
import type { SealedState } from './sealed-state.ts';

export { AnswerTimeout } from './client-request.ts';

/** The answer to a call whose client is to ask somebody and to call again. */
export type Question = InputRequiredResult;

/** How the client can ask the person who sits before it. */
export type Person =
  | {
      readonly way: 'request';
      /** Rejects with AnswerTimeout where nobody answered in time. */
      ask(question: ElicitRequestFormParams, timeoutMs: number): Promise<unknown>;
    }
  | { readonly way: 'retry'; readonly context: ServerContext };

/** A call that may need a person. */
export interface AskingCall {
  readonly requestId: string;
  readonly principal: string;
  readonly client: ClientInfo;
  readonly tool: string;
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly person: Person | undefined;
}

/** Why nobody agreed. */
export type Refusal = keyof typeof REFUSALS;

export interface ApprovalEntry {
  readonly event: 'approval_asked' | 'approval_given' | 'approval_refused';
  readonly requestId: string;
  readonly principal: string;
  readonly client: ClientInfo;
  readonly tool: string;
  readonly rule?: unknown;
  readonly command?: string;
  /** The call with the question, where the answer came with another. */
  readonly askedIn?: string;
  readonly approval?: Refusal;
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

const NOBODY = 'Clients without a person before them answer so by themselves.';
const HINT = 'Do without it, or ask the person to run it.';

const REFUSALS = {
  declined: ['the answer was no', `Do without it, or ask the person what they want instead. ${NOBODY}`],
  cancelled: ['the question was closed without an answer', `${HINT} ${NOBODY}`],
  expired: ['nobody answered in time', `${HINT} Calling again asks again.`],
  unavailable: ['this client cannot ask one (it has no elicitation)', HINT],
  failed: ['this client could not ask one', HINT],
  invalid: [
    'the answer belongs to no question of this server',
    'Call again without requestState to be asked anew.',
  ],
  used: ['the question is no longer open', 'An agreement is for one run. Calling again asks again.'],
  changed: ['what was agreed to had changed by then', 'Call again when nothing else works in its session.'],
  withdrawn: ['the call was cancelled', HINT],
} as const satisfies Record<string, readonly [reason: string, hint: string]>;

/** The name of the question in a retry. */
const KEY = 'approval';

interface OpenQuestion {
  readonly needed: ApprovalNeeded;
  readonly askedIn: string;
  readonly principal: string;
}

export function createApprovals(options: {
  readonly seconds: number;
  readonly record: (entry: ApprovalEntry) => void;
}): Approvals {
  const { seconds } = options;
  // Only clients of the 2026-07-28 revision need it, and it needs the SDK.
  const seal = once(async () => (await import('./sealed-state.ts')).createSeal(seconds));
  const open = new Map<string, OpenQuestion>();

  function record(
    event: ApprovalEntry['event'],
    { requestId, principal, client, tool }: AskingCall,
    about: { question?: Partial<OpenQuestion> | undefined; approval?: Refusal },
  ): void {
    const { needed, askedIn } = about.question ?? {};
    options.record({
      event,
      requestId,
      principal,
      client,
      tool,
      ...(needed !== undefined && { rule: needed.details?.['rule'], command: needed.command }),
      ...(askedIn !== undefined && { askedIn }),
      ...(about.approval !== undefined && { approval: about.approval }),
    });
  }

  function refuse(
    approval: Refusal,
    call: AskingCall,
    question?: Partial<OpenQuestion>,
    cause?: unknown,
  ): ShellServerError {
    record('approval_refused', call, { question, approval });
    const [reason, hint] = REFUSALS[approval];
    return new ShellServerError('SECURITY_003', `Not run: it needs a person’s agreement, and ${reason}.`, {
      hint,
      details: { ...question?.needed?.details, approval },
      cause,
    });
  }

  /** Yes is the question's own form, sent off as it is: it has nothing to fill in. */
  function judge(reply: unknown, call: AskingCall, question: Partial<OpenQuestion>): void {
    const { action, content } = isObject(reply) ? reply : {};
    if (action === 'cancel') throw refuse('cancelled', call, question);
    if (action === 'decline') throw refuse('declined', call, question);
    if (action !== 'accept') throw refuse('failed', call, question);
    if (content !== undefined && !(isObject(content) && Object.keys(content).length === 0))
      throw refuse('declined', call, question);
    record('approval_given', call, { question });
  }

  async function askWithin(
    needed: ApprovalNeeded,
    call: AskingCall,
    person: Extract<Person, { way: 'request' }>,
  ): Promise<string> {
    let reply: unknown;
    try {
      reply = await person.ask(formOf(needed), seconds * 1000);
    } catch (error) {
      if (call.signal.aborted) throw refuse('withdrawn', call, { needed }, error);
      throw refuse(error instanceof AnswerTimeout ? 'expired' : 'failed', call, { needed }, error);
    }
    judge(reply, call, { needed });
    return needed.binding;
  }

  async function handOut(needed: ApprovalNeeded, call: AskingCall): Promise<Question> {
    const nonce = randomText();
    const own = [...open].filter(([, question]) => question.principal === call.principal);
    const [oldest] = own;
    if (own.length >= LIMITS.openQuestions && oldest !== undefined) open.delete(oldest[0]);
    open.set(nonce, { needed, askedIn: call.requestId, principal: call.principal });
    const state = { nonce, principal: call.principal, binding: needed.binding, call: digestOf(call) };
    return (await seal()).question(KEY, formOf(needed), state);
  }

  return {
    async redeem(call) {
      if (call.person?.way !== 'retry') return undefined;
      const { context } = call.person;
      const sealed = context.mcpReq.requestState<string>();
      const reply = context.mcpReq.inputResponses?.[KEY];
      // Half of an answer is none: where agreement is needed, it is asked for.
      if (sealed === undefined || reply === undefined) return undefined;
      let state: SealedState;
      try {
        state = await (await seal()).open(sealed, context);
      } catch (error) {
        throw refuse(messageOf(error) === 'expired' ? 'expired' : 'invalid', call, undefined, error);
      }
      // Before the question is closed: nobody can close another's.
      if (state.principal !== call.principal) throw refuse('invalid', call);
      const question = open.get(state.nonce);
      if (question === undefined) throw refuse('used', call);
      open.delete(state.nonce);
      // An answer to something else.
      if (state.call !== digestOf(call)) return undefined;
      judge(reply, call, question);
      return state.binding;
    },

    async ask(needed, call, before) {
      const { person } = call;
      if (person === undefined) throw refuse('unavailable', call, { needed });
      if (before >= LIMITS.questionsPerCall) throw refuse('changed', call, { needed });
      record('approval_asked', call, { question: { needed } });
      return person.way === 'request' ? askWithin(needed, call, person) : handOut(needed, call);
    },
  };
}

/** Whether a client with these capabilities can show a form. One that names no way at all is from before there were two. */
export function canAsk(capabilities: unknown): boolean {
  const { elicitation } = (capabilities ?? {}) as { elicitation?: unknown };
  if (elicitation === null || typeof elicitation !== 'object') return false;
  return 'form' in elicitation || !('url' in elicitation);
}

function formOf({ question }: ApprovalNeeded): ElicitRequestFormParams {
  return {
    message: question,
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
