import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sink } from '../outputs/types.ts';
import { startCapture } from './capture.ts';
import { createEnding, judge } from './ending.ts';
import { createPipes } from './pipes.ts';
import { findProcess } from './process-table.ts';
import { createTree } from './tree.ts';

test.for(['', '> /dev/null 2>&1'])(
  'without a cgroup, one that cleared its environment and left is named, not ended: sleep %s',
  async (redirection) => {
    const directory = mkdtempSync(join(realpathSync(tmpdir()), 'ending-'));
    const pipes = createPipes(directory, 4);
    const chunks: Buffer[] = [];
    const sink: Sink = {
      totalBytes: 0,
      problem: undefined,
      write: (chunk) => void chunks.push(Buffer.from(chunk)),
      close: () => undefined,
    };
    const capture = await startCapture(
      {
        argv: ['/bin/sh', '-c', `(env -i setsid sleep 300 ${redirection} &); sleep 0.3; echo bye; exit 2`],
        environment: { PATH: process.env['PATH'] ?? '', MCP_SHELL_EXECUTION: 'ending-test' },
        directory,
        inputData: undefined,
        sinks: new Map([['stdout', sink]]),
        wantsState: false,
      },
      pipes,
    );
    const marker = 'MCP_SHELL_EXECUTION=ending-test';
    const tree = createTree({ leader: capture.identity, marker, group: undefined });
    const outcome = await createEnding(capture, tree, { memoryLimitBytes: undefined, now: Date.now })
      .finished;
    expect(outcome).toMatchObject({
      status: 'failed',
      exitCode: 2,
      endedLeftovers: [],
      survivors: [{ name: 'sleep' }],
    });
    expect(Buffer.concat(chunks).toString()).toBe('bye\n');
    const [survivor] = outcome.survivors;
    expect(findProcess(survivor?.pid ?? 0)?.isZombie).toBe(false);
    process.kill(survivor?.pid ?? 0, 'SIGKILL');
    pipes.dispose();
    rmSync(directory, { recursive: true, force: true });
  },
);

test('exits, signals and causes are told apart', () => {
  expect(judge({ code: 0, signal: null }, undefined)).toEqual({
    status: 'completed',
    reason: 'exit',
    exitCode: 0,
  });
  expect(judge({ code: null, signal: 'SIGSEGV' }, undefined)).toEqual({
    status: 'failed',
    reason: 'signal',
    signal: 'SIGSEGV',
  });
  expect(judge({ code: 0, signal: null }, 'terminated')).toEqual({
    status: 'failed',
    reason: 'terminated',
    exitCode: 0,
  });
  expect(judge({ code: null, signal: 'SIGKILL' }, 'timeout')).toMatchObject({
    status: 'timeout',
    errorCode: 'EXECUTION_002',
  });
  expect(judge(undefined, 'memory_limit')).toMatchObject({
    reason: 'memory_limit',
    errorCode: 'EXECUTION_003',
  });
  expect(judge(undefined, 'server_shutdown')).toEqual({ status: 'failed', reason: 'server_shutdown' });
});
