/**
 * Leads the person at a client to the operator's page (elicitation in mode "url"). The link says where to look; it carries
 * neither a secret nor an approval, and opening it answers nothing: only an answer on the page counts.
 */
import type { ElicitRequestURLParams } from '@modelcontextprotocol/server';
import { randomText, renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { isObject } from '../base/objects.ts';
import type { Questions } from '../security/questions/questions.ts';

/** Where the person at a client finds the page: at an address, or wherever one is served on this machine. */
export type PagePlace = 'local' | URL;

export interface PageOpener {
  readonly page: PagePlace;
  /** The client's answer: whether the person agreed to open it. An aborted signal withdraws it. */
  open(link: ElicitRequestURLParams, timeoutMs: number, signal: AbortSignal): Promise<unknown>;
  /** It is no longer needed to open it. */
  complete(elicitationId: string): void;
}

/** A place on the page, and why a person should look at it. */
export interface PageView {
  readonly path: string;
  readonly message: string;
}

export type PageLinks = ReturnType<typeof createPageLinks>;

/** A person who is asked to open a link. */
export interface Led {
  /** Aborted where they will not, with the reason. */
  readonly refused: AbortSignal;
  /** Withdraws what is left of it. */
  end(): void;
}

/** To open the page is no answer; not to open it is a no, unless the operator has a page open. */
export function askToOpen(
  opener: PageOpener,
  link: ElicitRequestURLParams,
  { timeoutMs, isAttended }: { readonly timeoutMs: number; isAttended(): boolean },
): Led {
  const refused = new AbortController();
  const ended = new AbortController();
  const stop = (why: 'declined' | 'cancelled' | 'failed'): void => {
    if (why === 'declined' || !isAttended()) refused.abort(why);
  };
  opener.open(link, timeoutMs, ended.signal).then(
    (reply) => {
      const action = isObject(reply) ? reply['action'] : undefined;
      if (action !== 'accept') stop(action === 'decline' ? 'declined' : 'cancelled');
    },
    () => {
      if (!ended.signal.aborted) stop('failed');
    },
  );
  return {
    refused: refused.signal,
    end() {
      opener.complete(link.elicitationId);
      ended.abort(new Error('answered elsewhere'));
    },
  };
}

export function createPageLinks({ page, isAttended }: Pick<Questions, 'page' | 'isAttended'>) {
  const calls = new Set<{ readonly principal: string; readonly opener: PageOpener }>();
  /** Those that a person was led to and that are not done: nobody is asked twice. */
  const open = new Set<string>();
  /** By terminal that asks for a password. */
  const prompts = new Map<string, Led | undefined>();

  const addressOf = (place: PagePlace): string | undefined => (place === 'local' ? page() : place.href);

  /** A link to a place on the page; undefined where no page is served. */
  function linkTo({ path, message }: PageView, place: PagePlace): ElicitRequestURLParams | undefined {
    const address = addressOf(place);
    if (address === undefined) return undefined;
    return { mode: 'url', elicitationId: randomText(), url: `${address}#/${path}`, message };
  }

  /** The newest call of this principal whose client can be led to a page. */
  const callOf = (principal: string) =>
    [...calls].findLast((call) => call.principal === principal && addressOf(call.opener.page) !== undefined);

  /** Leads the person at a client of this principal there, where one can be, and not twice at once. */
  function lead(principal: string, view: PageView): Led | undefined {
    const call = callOf(principal);
    const key = `${principal} ${view.path}`;
    const link = call === undefined || open.has(key) ? undefined : linkTo(view, call.opener.page);
    if (call === undefined || link === undefined) return undefined;
    open.add(key);
    const led = askToOpen(call.opener, link, { timeoutMs: LIMITS.approvalSeconds * 1000, isAttended });
    return {
      refused: led.refused,
      end() {
        open.delete(key);
        led.end();
      },
    };
  }

  return {
    linkTo,
    canLeadTo: (place: PagePlace | undefined): boolean =>
      place !== undefined && addressOf(place) !== undefined,
    /** While a call is under way, its client can be led to the page. Returns what ends it. */
    during(principal: string, opener: PageOpener): () => void {
      const call = { principal, opener };
      calls.add(call);
      return () => void calls.delete(call);
    },
    canLead: (principal: string): boolean => callOf(principal) !== undefined,
    lead,
    /** Leads there from the answer of a call, where a terminal asks for a password; once for each prompt. */
    notePrompt(principal: string, data: unknown): void {
      const answer = isObject(data) ? data : {};
      const { terminal_id: id, secret_prompt: isPrompt } = answer;
      // Only an answer after a wait, or the last one, says that there is no prompt.
      const isKnown = 'wait_reason' in answer || 'closed_at' in answer;
      if (typeof id !== 'string' || !isKnown || (isPrompt === true && prompts.has(id))) return;
      prompts.get(id)?.end();
      prompts.delete(id);
      if (isPrompt === true)
        prompts.set(id, lead(principal, { path: `x/${renameId(id, 'exec')}`, message: PROMPT }));
    },
  };
}

const PROMPT =
  "A terminal asks for a password. Take it over on the operator's page of mcp-shell-server, and type the password only there.";
