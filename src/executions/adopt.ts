/**
 * What earlier servers left. A detached execution and a terminal are followed again; background work of a server that was
 * killed has lost its pipes and its owner, so it is ended and its record says so.
 */
import type { Log } from '../base/log.ts';
import { adoptHeld, type FollowOptions, lostOutcome, treeOf } from './detached/launch-detached.ts';
import { readOutcome } from './detached/wrapper-protocol.ts';
import type { Live } from './live.ts';
import type { ExecutionRecord, Outcome } from './record.ts';
import { terminateTree } from './terminate.ts';

export type Adoption =
  | { readonly kind: 'running'; readonly live: Live }
  | { readonly kind: 'ended'; readonly outcome: Promise<Outcome> };

export interface AdoptOptions extends FollowOptions {
  readonly bootId: string;
  readonly log: Log;
}

/** For a record without an outcome whose server is dead. */
export function adopt(record: ExecutionRecord, options: AdoptOptions): Adoption {
  const left = readOutcome(options.bundle);
  if (left !== undefined) return { kind: 'ended', outcome: Promise.resolve(left) };
  const live = adoptHeld(record, options.bootId, options);
  if (live !== undefined) return { kind: 'running', live };
  const ended = endAbandoned(record, options).then(async (outcome) => {
    await options.salvage?.(record, options.bundle);
    return outcome;
  });
  return { kind: 'ended', outcome: ended };
}

async function endAbandoned(record: ExecutionRecord, { bootId, log, now }: AdoptOptions): Promise<Outcome> {
  const lost = lostOutcome(now());
  // After a reboot nothing of it can be alive; in another namespace its numbers are others'.
  if (record.process !== undefined && record.process.bootId.split(' ')[0] !== bootId.split(' ')[0])
    return lost;
  const known = record.process?.bootId === bootId ? record.process : undefined;
  // A server that died before it wrote the pid left the marker; 0 is nobody's pid and every start is later.
  const tree = treeOf(known ?? { pid: 0, startTime: 0, marker: record.marker });
  const members = await tree.membersForCertain();
  const alive = members.length === 0 ? [] : await terminateTree(tree, { signal: 'SIGTERM' });
  // Named, not ended, as when it ends by itself: that they are of this tree is likely and not certain.
  const suspects = known === undefined || tree.isComplete ? [] : await tree.findSuspects(new Set());
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
