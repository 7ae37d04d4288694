/** Ways to look at an output. */

export { compareLines, compareResults } from './extract/compare.ts';
export { EXTRACTS, type Extract, extractFailure, extractResults } from './extract/extract.ts';
export { atPointer } from './extract/extract-json.ts';
export { readText } from './extract/read-text.ts';
export { countResults, renderItems, summarize } from './extract/render.ts';
export type { Results } from './extract/results.ts';
export { type HeadAndTail, type HeadAndTailOptions, headAndTail } from './head-and-tail.ts';
export { type Lines, type LinesRequest, readLines } from './read-lines.ts';
export { type Range, type RangeRequest, readRange } from './read-range.ts';
export { type SearchRequest, type SearchResult, type SearchThread, searchLines } from './search.ts';
export { createSearchThread, type OwnedSearchThread } from './search-thread.ts';
export { asShown, matchesAsShown } from './shown-text.ts';
export { useSource } from './use-source.ts';
export { viewFrom } from './view-from.ts';
