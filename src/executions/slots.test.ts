import { expect, it } from 'vitest';
import { createWorld } from '../../test/support/world.ts';
import { LIMITS } from '../base/limits.ts';

const LIMITED = {
  maxProcesses: 2,
  maxProcessesTotal: 3,
  maxTerminals: LIMITS.terminals,
  maxTerminalsTotal: LIMITS.terminalsTotal,
  terminalGraceMs: LIMITS.terminalGraceSeconds * 1000,
  maxOutputBytes: LIMITS.outputBytes,
  inlineOutputBytes: LIMITS.inlineOutputBytes,
  maxWaitSeconds: undefined,
  shellExecSeconds: LIMITS.timeoutSecondsDefault,
};

it('a principal has its own number of executions, and all together have one', async () => {
  await using world = createWorld({ settings: { limits: LIMITED } });
  const start = (principal: string) => world.start('sleep 1000', { principal, mode: 'background' });
  // At once, so that those that are only being started count too.
  const alices = await Promise.allSettled([start('alice'), start('alice'), start('alice')]);
  expect(alices.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  await expect(start('alice')).rejects.toMatchObject({
    code: 'RESOURCE_005',
    message: '2 executions are running, which is the limit.',
    details: { limit: 2, oldest_running: [expect.any(String), expect.any(String)] },
  });
  await start('bob');
  await expect(start('bob')).rejects.toMatchObject({
    code: 'RESOURCE_005',
    message: '3 executions of all callers together are running, which is the limit.',
    details: { limit: 3, oldest_running: [expect.any(String)] },
  });
  const [first] = alices;
  if (first?.status === 'fulfilled') await first.value.live?.end('terminated');
  await expect.poll(() => world.executions.count('executions')).toBe(2);
  await start('bob');
});
