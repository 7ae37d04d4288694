import { expect, test } from 'vitest';
import type { TopRow } from './rows.ts';
import { drawTop, type TopView } from './top-screen.ts';

const NOW = Date.parse('2026-11-15T10:00:00Z');

const row = (n: number, more: Partial<TopRow> = {}): TopRow => ({
  id: `exec_${n}`,
  state: 'running',
  tone: 'good',
  owner: 'local',
  pid: 1000 + n,
  startedAtMs: NOW - 65_000,
  endedAtMs: undefined,
  durationMs: 65_000,
  cpuPercent: 12.34,
  memoryBytes: 5 * 1024 * 1024,
  processes: 3,
  command: `command ${n}`,
  detail: `exec_${n}  background  /work`,
  canEnd: true,
  ...more,
});

const view = (rows: readonly TopRow[], more: Partial<TopView> = {}): TopView => ({
  rows,
  servers: 1,
  load: [1, 0.5, 0.25],
  chosen: undefined,
  showsEnded: true,
  message: '',
  ...more,
});

const plain = (_: unknown, text: string): string => text;
const draw = (what: TopView, columns = 80, rows = 24): string[] => drawTop(what, { columns, rows }, plain);

test('a picture has what runs, since when, and what it uses', () => {
  const ended = row(2, {
    state: 'failed',
    endedAtMs: NOW - 5000,
    durationMs: 60_000,
    cpuPercent: undefined,
    canEnd: false,
  });
  expect(draw(view([row(1), ended], { chosen: 'exec_1' }), 80, 8)).toEqual([
    `${'mcp-shell-server: 1 running, 1 server'.padEnd(61)}load 1.00 0.50 0.25`,
    '',
    '  STATE         TIME   CPU%   MEMORY  PROC      PID COMMAND',
    '> running       1:05   12.3    5 MiB     3     1001 command 1',
    '  failed        1:00           5 MiB     3     1002 command 2',
    '',
    'exec_1  background  /work',
    'q quit  ↑↓ choose  x end it  f hide what ended',
  ]);
  expect(draw(view([]), 80, 8)[3]).toBe('  Nothing runs.');
});

test.each([
  [80, 24],
  [40, 10],
  [60, 12],
  [200, 60],
  [80, 5],
])('it fits into %i by %i, whatever is in it', (columns, rows) => {
  const nasty = row(0, {
    command: `\u001b[2J\r\n\u0007${'日本語'.repeat(100)}`,
    owner: '\u001b]0;x\u0007',
    detail: 'x'.repeat(500),
    startedAtMs: 0,
    memoryBytes: 2 ** 60,
    cpuPercent: 123_456.7,
    pid: 4_194_304,
  });
  const many = [nasty, ...Array.from({ length: 100 }, (_, n) => row(n + 1))];
  for (const chosen of ['exec_0', 'exec_50', 'exec_100']) {
    const lines = draw(view(many, { chosen, message: 'm'.repeat(500) }), columns, rows);
    expect(lines.length).toBe(Math.max(rows, 6));
    expect(lines.some((line) => line.startsWith('> '))).toBe(true);
    for (const line of lines) {
      const wide = (line.match(/[\u3000-\u9fff]/g) ?? []).length;
      expect(line.length + wide).toBeLessThanOrEqual(columns);
      // oxlint-disable-next-line no-control-regex
      expect(line).not.toMatch(/[\u0000-\u001f]/);
    }
  }
});
