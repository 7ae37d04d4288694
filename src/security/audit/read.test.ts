import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAudit } from './audit.ts';
import { followAudit, readAudit, readNewest } from './read.ts';

let directory: string;
let nowMs: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'audit-'));
  nowMs = Date.parse('2026-01-02T23:59:50Z');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = (instance: string, maxFileBytes = 1e9) =>
  createAudit({ directory, instance, clock: { now: () => (nowMs += 1000) }, maxFileBytes });

const end = (executionId: string) =>
  ({ event: 'end_requested', principal: 'p', requestId: 'r', executionId }) as const;

const idsOf = (lines: Iterable<{ fields: Readonly<Record<string, unknown>> }>): unknown[] =>
  [...lines].flatMap(({ fields }) => fields['executionId'] ?? []);

test('lines of several logs are read by time, over days and files', () => {
  const [a, b] = [open('inst_a', 800), open('inst_b')];
  for (let n = 0; n < 10; n++) (n % 2 === 0 ? a : b).write(end(String(n)));
  a.close();
  b.close();
  expect(readdirSync(directory).length).toBeGreaterThan(3);
  expect(idsOf(readAudit(directory)).length).toBe(10);
  expect(idsOf(readNewest(directory, 100))).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  expect(readNewest(directory, 4)).toEqual(readNewest(directory, 100).slice(-4));
  expect(readNewest(directory, 0)).toEqual([]);
  const midnight = Date.parse('2026-01-03T00:00:00Z');
  const before = idsOf(readAudit(directory, { untilMs: midnight - 1 })).length;
  const after = idsOf(readAudit(directory, { sinceMs: midnight })).length;
  expect([before > 0, after > 0, before + after]).toEqual([true, true, 10]);
});

test('following begins at the end, waits for the rest of a line, and finds new files', async () => {
  const a = open('inst_a');
  a.write(end('old'));
  const stop = new AbortController();
  const batches = followAudit(directory, 1, stop.signal);
  const first = batches.next();
  a.write(end('new'));
  const next = async () => idsOf((await batches.next()).value ?? []);
  expect(idsOf((await first).value ?? [])).toEqual(['new']);
  const b = open('inst_b');
  b.write(end('other'));
  expect(await next()).toEqual(['other']);
  const file = join(directory, readdirSync(directory).find((name) => name.includes('inst_b')) ?? '');
  b.write(end('halved'));
  const whole = readFileSync(file);
  truncateSync(file, whole.length - 20);
  const pending = next();
  await new Promise((resolve) => setTimeout(resolve, 50));
  appendFileSync(file, whole.subarray(-20));
  expect(await pending).toEqual(['halved']);
  stop.abort();
  expect(await batches.next()).toMatchObject({ done: true });
});
