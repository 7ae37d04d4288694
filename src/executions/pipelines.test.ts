import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { createWorld, type World } from '../../test/support/world.ts';

const HIDDEN = [
  { command: '(exit 3)', exitCode: 3 },
  { command: 'tail -1', exitCode: 0 },
];

describe.each([
  { name: 'bash', shell: '/bin/bash', isMissing: needs('bash') },
  { name: 'zsh', shell: '/usr/bin/zsh', isMissing: needs('zsh') },
])('a pipeline in $name', ({ shell, isMissing }) => {
  let world: World;
  beforeAll(() => {
    world = createWorld({ settings: { shell } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test
    .skipIf(isMissing)
    .each([
      {},
      { mode: 'background' as const },
      { mode: 'adaptive' as const },
      { mergeStderr: true },
      { captureStderr: false },
      { sessionId: 's' },
      { inputData: 'x' },
    ])('with a failed stage is reported with %o', async (request) => {
    const { outcome } = await world.run('(exit 3) | tail -1', request);
    expect(outcome).toMatchObject({ status: 'completed', exitCode: 0, pipeline: HIDDEN });
  });

  test
    .skipIf(isMissing)
    .each([
      'true | cat',
      'yes | head -1',
      'false | false',
      'set -o pipefail; false | true',
      'echo "false | true"',
      'false | true; true',
    ])('is not reported after %j', async (command) => {
    const { outcome } = await world.run(command);
    expect(outcome).not.toHaveProperty('pipeline');
  });

  test.skipIf(isMissing)('of a session leaves it as any other command does', async () => {
    const { execution, outcome } = await world.run('export A=b; cd /; false | true', { sessionId: 't' });
    expect(outcome.pipeline).toHaveLength(2);
    expect(execution.sessionChange).toMatchObject({ directory: '/', set: ['A'] });
    expect((await world.run('echo $A $PWD | cat', { sessionId: 't' })).stdout).toBe('b /\n');
  });

  test.skipIf(isMissing)('ends as soon as its reader does', async () => {
    const { outcome, stdout } = await world.run('yes | head -1; seq 1000000 | grep -m1 5');
    expect([outcome.exitCode, stdout]).toEqual([0, 'y\n5\n']);
  });
});

test('a stage is shown with its secrets masked, and cut', async () => {
  await using world = createWorld();
  const { outcome } = await world.run(
    `sh -c 'exit 2' --password=hunter2hunter2 ${'long '.repeat(100)} | cat`,
  );
  const [stage] = outcome.pipeline ?? [];
  expect(stage?.exitCode).toBe(2);
  expect(stage?.command).not.toContain('hunter2');
  expect(stage?.command).toHaveLength(120);
});

test('what is started without a shell, or detached, runs as it is', async () => {
  await using world = createWorld();
  const detached = await world.run('false | true', { mode: 'detached' });
  expect(detached.outcome).not.toHaveProperty('pipeline');
});

test.skipIf(needs('bwrap'))('a pipeline in a sandbox is reported as well', async () => {
  await using world = createWorld({ settings: { security: { sandbox: 'required' } } });
  for (const sessionId of [undefined, 's'])
    expect((await world.run('(exit 3) | tail -1', { sessionId })).outcome.pipeline).toEqual(HIDDEN);
});
