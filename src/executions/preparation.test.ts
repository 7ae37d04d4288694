import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { LIMITS } from '../base/limits.ts';
import type { BubblewrapSpec } from '../security/security.ts';
import { createPreparation, type PreparationOptions } from './preparation.ts';
import type { WantedSandbox } from './sandbox-pool.ts';

const SANDBOX_SPEC: BubblewrapSpec = {
  kind: 'bubblewrap',
  program: 'bwrap',
  options: [],
  seccomp: undefined,
  pinned: [],
  kept: [],
  watched: [],
};

function create(changes: Partial<PreparationOptions> = {}) {
  const events: string[] = [];
  const preparation = createPreparation({
    security: {
      async expectedSandbox(principal) {
        events.push(`look ${principal}`);
        await sleep(10);
        return { sandboxSpec: SANDBOX_SPEC, limits: { processes: principal.length } };
      },
    },
    pool: { prepare: ({ limits }: WantedSandbox) => void events.push(`sandbox ${limits.processes}`) },
    loginPath: {
      resolve() {
        events.push('path');
        return Promise.resolve('/bin');
      },
    },
    cgroups: { settled: () => Promise.resolve() },
    open: () => void events.push('open'),
    ...changes,
  });
  onTestFinished(preparation.dispose);
  return { events, preparation };
}

const moment = (): Promise<void> => sleep(LIMITS.anticipationMs + 100);

test('is made a moment after a client connected, once', async () => {
  const { events, preparation } = create();
  preparation.anticipate('ann');
  preparation.anticipate('ann');
  expect(events).toEqual([]);
  await moment();
  expect(events).toEqual(['open', 'look ann', 'path', 'sandbox 3']);
  await preparation.ready('ann');
  expect(events.slice(4)).toEqual(['path']);
});

test('is waited for by a command that comes before, and by all that come at once', async () => {
  const { events, preparation } = create();
  await Promise.all([preparation.ready('ann'), preparation.ready('ann'), preparation.ready('bo')]);
  expect(events.toSorted()).toEqual([
    'look ann',
    'look bo',
    'path',
    'path',
    'path',
    'sandbox 2',
    'sandbox 3',
  ]);
});

test('that fails is the command’s to tell', async () => {
  const { events, preparation } = create({
    security: { expectedSandbox: () => Promise.reject(new Error('no sandbox')) },
  });
  await preparation.ready('ann');
  expect(events).toEqual(['path']);
});

test('is not made where the state directory cannot be used', async () => {
  const { events, preparation } = create({
    open() {
      throw new Error('full');
    },
  });
  preparation.anticipate('ann');
  await moment();
  expect(events).toEqual([]);
});

test('is not made for a client that only asked what there is', async () => {
  const { events, preparation } = create();
  preparation.anticipate('ann');
  preparation.dispose();
  await moment();
  expect(events).toEqual([]);
});

test('waits for groups that systemd is asked for, and not for ever', async () => {
  const { events, preparation } = create({ cgroups: { settled: () => new Promise(() => undefined) } });
  await preparation.ready('ann');
  expect(events).toEqual(['look ann', 'path', 'sandbox 3']);
});
