/** How far each reader has seen the output of an execution, so that an answer shows what is new and no more. */
import type { StreamType } from '../outputs/types.ts';

export interface LastLook {
  /** Up to where it was shown. */
  readonly shown: ReadonlyMap<StreamType, number>;
  /** From where on it may hold something that the reader has not seen: earlier where an answer left out a part. */
  readonly unseen: ReadonlyMap<StreamType, number>;
}

export type LastLooks = ReturnType<typeof createLastLooks>;

/** Some hundred bytes each; who has not looked for so long sees the output from its beginning. */
const MAX_LOOKS = 5000;

const NOTHING: LastLook = { shown: new Map(), unseen: new Map() };

export function createLastLooks() {
  const looks = new Map<string, LastLook>();
  return {
    of: (reader: string, executionId: string) => looks.get(`${reader} ${executionId}`) ?? NOTHING,
    note(reader: string, executionId: string, look: LastLook): void {
      const key = `${reader} ${executionId}`;
      looks.delete(key);
      looks.set(key, look);
      const [oldest] = looks.keys();
      if (looks.size > MAX_LOOKS && oldest !== undefined) looks.delete(oldest);
    },
  };
}
