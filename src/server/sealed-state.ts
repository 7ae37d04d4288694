/**
 * What goes to a client of the 2026-07-28 revision with a question, and comes back with its answer: signed with a key of
 * this process, and only for so long.
 */
import { randomBytes } from 'node:crypto';
import {
  createRequestStateCodec,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server';

export interface SealedState {
  readonly nonce: string;
  readonly principal: string;
  readonly binding: string;
  readonly call: string;
}

export function createSeal(seconds: number) {
  const codec = createRequestStateCodec<SealedState>({ key: randomBytes(32), ttlSeconds: seconds });
  return {
    /** The answer to a call whose client is to ask the user, under this name, and to call again. */
    question: async (
      name: string,
      asked: ElicitRequestFormParams | ElicitRequestURLParams,
      state: SealedState,
    ): Promise<InputRequiredResult> =>
      inputRequired({
        inputRequests: {
          [name]:
            asked.mode === 'url'
              ? inputRequired.elicitUrl({ message: asked.message, url: asked.url })
              : inputRequired.elicit(asked),
        },
        requestState: await codec.mint(state),
      }),
    /** Rejects where it is not ours, or is too old. */
    open: (sealed: string, context: ServerContext): Promise<SealedState> => codec.verify(sealed, context),
  };
}
