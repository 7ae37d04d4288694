/** The text of an output for those that look for results in it: as a terminal shows it, and no more than can be looked through. */
import { createPace } from '../scan.ts';
import { asShown } from '../shown-text.ts';
import type { ByteSource } from '../types.ts';

/** What is read of a longer output: its beginning and its end, where summaries are; and how much is left out between. */
export async function readText(
  source: ByteSource,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<{ text: string; leftOutBytes: number }> {
  const pace = createPace(signal);
  const size = source.size();
  if (size <= maxBytes && source.gaps().length === 0)
    return { text: asShown(source.read(0, size).toString('utf8')), leftOutBytes: 0 };
  const half = Math.floor(maxBytes / 2);
  const head = source.read(0, Math.min(half, source.gaps()[0]?.from ?? half));
  await pace();
  const from = Math.max(head.length, size - half, source.gaps().at(-1)?.to ?? 0);
  const tail = source.read(from, size - from);
  const begin = head.subarray(0, head.lastIndexOf(10) + 1);
  const end = tail.subarray(tail.indexOf(10) + 1);
  return {
    text: `${asShown(begin.toString('utf8'))}${asShown(end.toString('utf8'))}`,
    leftOutBytes: size - begin.length - end.length,
  };
}
