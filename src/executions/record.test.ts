import { expect, test } from 'vitest';
import { parseRecord } from './record.ts';

test.each([true, false])('reads isSandboxed by its name in version 0.1: %s', (isWalled) => {
  const process = { pid: 1, startTime: 2, bootId: 'b', marker: 'm' };
  const record = {
    format: 1,
    id: 'exec_a',
    owner: 'local',
    instance: 'inst_a',
    command: 'true',
    mode: 'foreground',
    directory: '/',
    defaultDirectory: '/',
    environment: {},
    streams: [],
    createdAtMs: 0,
    marker: 'm',
  };
  expect(parseRecord({ ...record, process: { ...process, isWalled } })).toEqual({
    ...record,
    process: { ...process, isSandboxed: isWalled },
  });
});
