/** The program of the thread that searches: it receives a pattern and a block, and answers which lines match. */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../base/errors.ts';
import { compilePattern } from '../base/pattern.ts';
import { getLineEncoding } from './lines.ts';
import { createMatchLines, type Hits, loadBlock, type MatchLines } from './match-lines.ts';
import type { ThreadRequest } from './search.ts';
import type { ThreadAnswer, ThreadMessage } from './search-thread.ts';

/** Of patterns in use: a search sends the same one with each block, and others take turns with it. */
const MAX_MATCHERS = 8;
const matchers = new Map<string, MatchLines>();

parentPort?.on('message', ({ id, request }: ThreadMessage) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
  parentPort?.postMessage(answer(id, request));
});

function answer(id: number, request: ThreadRequest): ThreadAnswer {
  try {
    return { id, hits: match(request) };
  } catch (error) {
    return { id, problem: messageOf(error) };
  }
}

function match({ pattern, encoding, block, turn }: ThreadRequest): Hits {
  const key = JSON.stringify([pattern, encoding]);
  const matchLines =
    matchers.get(key) ?? createMatchLines(compilePattern('pattern', pattern), getLineEncoding(encoding));
  // Used last, so that it is the last to go.
  matchers.delete(key);
  matchers.set(key, matchLines);
  const [oldest] = matchers.keys();
  if (matchers.size > MAX_MATCHERS && oldest !== undefined) matchers.delete(oldest);
  return matchLines(loadBlock(block), turn);
}
