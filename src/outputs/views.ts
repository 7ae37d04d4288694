/** Ways to look at an output. */
export { type HeadAndTail, type HeadAndTailOptions, headAndTail } from './head-and-tail.ts';
export { type Lines, type LinesRequest, readLines } from './read-lines.ts';
export { type Range, type RangeRequest, readRange } from './read-range.ts';
export { type SearchRequest, type SearchResult, type SearchThread, searchLines } from './search.ts';
export { createSearchThread, type OwnedSearchThread } from './search-thread.ts';
export { asShown } from './shown-text.ts';
export { viewFrom } from './view-from.ts';
