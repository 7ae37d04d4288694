/**
 * Where in an output the lines are that a pattern matches. Each block is read while the one before it is still being
 * matched, in another thread where there is one.
 */
import { LIMITS } from '../base/limits.ts';
import { type BlockOptions, type LineBlock, lineBlocks, type PlacedBlock } from './line-blocks.ts';
import type { Hits, Turn } from './match-lines.ts';
import type { Pace } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface Match {
  readonly lineStart: number;
  /** About where in the line the match is, for a line that is too long to be shown whole. */
  readonly focus: number;
}

export interface Search extends BlockOptions {
  readonly source: ByteSource;
  readonly maxMatches: number;
  match(block: LineBlock, turn: Turn): Hits | Promise<Hits>;
  /** Milliseconds until it gives up. */
  timeLeft(): number;
  readonly pace: Pace;
}

/** `stoppedAt`: where the time ran out, or the last match was found; undefined where all was searched. */
export async function findMatches(
  search: Search,
): Promise<{ matches: readonly Match[]; stoppedAt: number | undefined }> {
  const blocks = lineBlocks(search.source, search);
  const matches: Match[] = [];
  /** The line that the current block begins with or in, and whether it has matched in an earlier piece. */
  let line = { start: search.from, isMatched: false };

  function turnOn(block: PlacedBlock, from: Turn['from']): Hits | Promise<Hits> {
    const milliseconds = Math.max(0, Math.min(LIMITS.scanTurnMs, search.timeLeft()));
    return search.match(block, { from, maxHits: search.maxMatches - matches.length, milliseconds });
  }

  function begin(): { block: PlacedBlock; hits: Promise<Hits> } | undefined {
    const block = blocks.next().value;
    if (block === undefined) return undefined;
    const hits = Promise.resolve(turnOn(block, undefined));
    // It may never be waited for, where the search ends with the block before it.
    hits.catch(() => undefined);
    return { block, hits };
  }

  function add(block: PlacedBlock, { hits }: Hits): void {
    for (const { lineStart, focus } of hits) {
      const isContinued = lineStart === 0 && !block.startsLine;
      if (isContinued && line.isMatched) continue;
      if (matches.length === search.maxMatches) return;
      matches.push({
        lineStart: isContinued ? line.start : block.offset + lineStart,
        focus: block.offset + focus,
      });
      if (!block.endsLine) line.isMatched = true;
    }
  }

  await search.pace();
  for (let current = begin(); current !== undefined; ) {
    const { block } = current;
    const following = search.buffers.length > 1 ? begin() : undefined;
    if (block.startsLine) line = { start: block.offset, isMatched: false };
    for (let hits = await current.hits; ; hits = await turnOn(block, hits.next)) {
      add(block, hits);
      if (matches.length === search.maxMatches) return { matches, stoppedAt: matches.at(-1)?.lineStart };
      await search.pace();
      if (hits.next === undefined) break;
      if (search.timeLeft() < 0) return { matches, stoppedAt: block.offset + hits.next.offset };
    }
    current = following ?? begin();
    if (current !== undefined && search.timeLeft() < 0) return { matches, stoppedAt: current.block.offset };
  }
  return { matches, stoppedAt: undefined };
}
