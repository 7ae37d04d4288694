/**
 * Background work of a server that was killed: it has lost its pipes and its owner, so it is ended and its record says so.
 */
import type { Log } from '../base/log.ts';
import { type FollowOptions, lostOutcome, treeOf } from './detached/launch-detached.ts';
import { durationOf, type ExecutionRecord, type Outcome, spanOf } from './record.ts';
import { terminateTree } from './terminate.ts';

interface AbandonedOptions extends FollowOptions {
  readonly bootId: string;
  readonly log: Log;
}

/** For a record without an outcome whose server is dead, and that nobody holds. */
export async function endAbandoned(record: ExecutionRecord, options: AbandonedOptions): Promise<Outcome> {
  const outcome = await endTree(record, options);
  await options.salvage?.(record, options.bundle);
  return outcome;
}

async function endTree(record: ExecutionRecord, { bootId, log, now }: AbandonedOptions): Promise<Outcome> {
  const boot = record.process?.bootId.split(' ')[0];
  const isSameBoot = boot === bootId.split(' ')[0];
  const lost = lostOutcome(now(), isSameBoot ? durationOf(spanOf(record), now()) : undefined);
  // After a reboot nothing of it can be alive; in another namespace its numbers are others'.
  if (boot !== undefined && !isSameBoot) return lost;
  const known = record.process?.bootId === bootId ? record.process : undefined;
  // A server that died before it wrote the pid left the marker; 0 is nobody's pid and every start is later.
  const tree = treeOf(known ?? { pid: 0, startTime: 0, marker: record.marker });
  const members = await tree.membersForCertain();
  const alive = members.length === 0 ? [] : await terminateTree(tree, { signal: 'SIGTERM' });
  // Named, not ended, as when it ends by itself: that they are of this tree is likely and not certain.
  const suspects = known === undefined || tree.isComplete ? [] : await tree.findSuspects(() => new Set());
  const survivors = [...alive, ...suspects].map(({ pid, name }) => ({ pid, name }));
  if (members.length === 0) return { ...lost, survivors };
  tree.release();
  log.warn('killed an execution that a dead server had left running', {
    execution: record.id,
    processes: members.map(({ pid }) => pid),
    survivors: survivors.map(({ pid }) => pid),
  });
  return { ...lost, survivors };
}
