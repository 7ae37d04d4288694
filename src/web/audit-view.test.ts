import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { removeTree } from '../base/files.ts';
import { createAudit } from '../security/security.ts';
import { createAuditView, createSeries } from './audit-view.ts';

const NOW = Date.parse('2026-11-15T10:00:00.000Z');
const HOUR = 3_600_000;

const line = (minutesAgo: number, fields: Record<string, unknown>) => ({
  instance: 'inst_1',
  seq: 1,
  text: '',
  time: new Date(NOW - minutesAgo * 60_000).toISOString(),
  fields,
});

test('counts what ended, failed and was denied, in spans of the same length', () => {
  const series = createSeries({ sinceMs: NOW - HOUR, untilMs: NOW });
  series.add(line(0.5, { event: 'execution_ended', status: 'completed', durationMs: 1500 }));
  series.add(line(0.6, { event: 'execution_ended', status: 'failed', durationMs: 500 }));
  series.add(line(59.5, { event: 'execution_denied', decision: 'deny' }));
  series.add(line(30, { event: 'execution_allowed', decision: 'allow' }));
  series.add(line(61, { event: 'execution_ended', status: 'failed' }));
  series.add(line(-1, { event: 'execution_ended', status: 'failed' }));
  const { times, ended, failed, denied, longest } = series.take();
  expect([times.length, times[1]]).toEqual([60, (times[0] ?? 0) + 60]);
  const places = (values: readonly number[]) =>
    values.flatMap((value, index) => (value === 0 ? [] : [[index, value]]));
  expect([ended, failed, denied, longest].map(places)).toEqual([[[59, 2]], [[59, 1]], [[0, 1]], [[59, 1.5]]]);
});

describe('the log', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'audit-view-'));
    const audit = createAudit({
      directory: join(directory, 'audit'),
      instance: 'inst_22222222222222222222222222',
      clock: { now: () => Date.now() },
    });
    const about = { principal: 'p', requestId: 'r', mode: 'foreground', directory: '/' };
    for (const [command, decision] of [
      ['git status', 'allow'],
      ['rm -rf /', 'deny'],
      ['git push', 'ask'],
    ] as const) {
      const event = decision === 'deny' ? 'execution_denied' : 'execution_allowed';
      audit.write({ event, decision, command, executionId: `exec of ${command}`, ...about });
    }
    audit.close();
  });
  afterEach(() => removeTree(directory));

  test.each([
    [{ text: 'GIT' }, ['git push', 'git status']],
    [{ decision: 'deny' }, ['rm -rf /']],
    [{ text: 'git', decision: 'ask' }, ['git push']],
    [{ event: 'execution_allowed' }, ['git push', 'git status']],
    [{ principal: 'nobody' }, []],
    [{ text: 'git', limit: 1 }, ['git push']],
  ])('is searched by %j, newest first', (filter, commands) => {
    const { lines } = createAuditView(directory).search(filter);
    expect(lines.map(({ fields }) => fields['command'])).toEqual(commands);
  });

  test('a time that is none is refused', () => {
    expect(() => createAuditView(directory).search({ since: 'yesterdayish' })).toThrow('yesterdayish');
  });

  test('is verified', () => {
    const view = createAuditView(directory);
    expect(view.verify([])).toMatchObject({ lines: 5, files: 1, problems: [] });
    expect(view.verify(['exec of nothing']).problems).toHaveLength(1);
  });
});
