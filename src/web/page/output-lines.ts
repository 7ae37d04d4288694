/** Lines of an output, fetched in blocks when they are looked at, the newest blocks kept. */
import type { OutputAnswer } from '../wire.ts';
import { request } from './api.ts';

export type Lines = ReturnType<typeof createLines>;

const BLOCK = 500;
const MAX_BLOCKS = 40;

export function createLines(id: string, stream: string, onChange: () => void) {
  const blocks = new Map<number, readonly string[]>();
  const asked = new Set<number>();
  const leaving = new AbortController();
  let total = 0;
  let bytes = 0;
  let note = '';

  async function fetchBlock(index: number): Promise<void> {
    if (asked.has(index) || leaving.signal.aborted) return;
    asked.add(index);
    try {
      const query = new URLSearchParams({ stream, line: String(index * BLOCK + 1), count: String(BLOCK) });
      const answer = await request<OutputAnswer>(
        `api/executions/${id}/output?${query}`,
        undefined,
        leaving.signal,
      );
      const isSame = total === answer.totalLines && bytes === answer.totalBytes && blocks.has(index);
      ({ totalLines: total, totalBytes: bytes, note = '' } = answer);
      blocks.delete(index);
      blocks.set(index, answer.lines);
      for (const oldest of blocks.keys()) if (blocks.size > MAX_BLOCKS) blocks.delete(oldest);
      if (!isSame) onChange();
    } catch {
      // The list says when the connection is lost; the next look tries again.
    } finally {
      asked.delete(index);
    }
  }

  /** A block that was the last one may have grown. */
  function isWhole(index: number): boolean {
    const known = blocks.get(index)?.length ?? 0;
    return known >= Math.min(BLOCK, total - index * BLOCK);
  }

  return {
    total: () => total,
    bytes: () => bytes,
    note: () => note,
    /** From 0; undefined are those that are on the way. */
    range(from: number, to: number): readonly (string | undefined)[] {
      for (let index = Math.floor(from / BLOCK); index <= Math.floor((to - 1) / BLOCK); index++)
        if (!isWhole(index)) void fetchBlock(index);
      return Array.from({ length: Math.max(0, to - from) }, (_, at) => {
        const line = from + at;
        return blocks.get(Math.floor(line / BLOCK))?.[line % BLOCK];
      });
    },
    /** Looks whether there are more. */
    poll: () => fetchBlock(Math.max(0, Math.floor((total - 1) / BLOCK))),
    dispose: () => leaving.abort(),
  };
}
