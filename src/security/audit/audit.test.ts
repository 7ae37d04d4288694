import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { canMountDisk } from '../../../test/support/outputs.ts';
import { succeeds } from '../../base/attempt.ts';
import { LIMITS } from '../../base/limits.ts';
import { MASK } from '../secrets.ts';
import { type AuditOptions, createAudit } from './audit.ts';
import type { AuditEntry } from './audit-entry.ts';
import { verifyAudit } from './verify.ts';

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'audit-')), 'audit');
});
afterEach(() => rmSync(join(directory, '..'), { recursive: true, force: true }));

const T0 = Date.parse('2026-01-02T03:04:05.678Z');

function entry(command: string, more: object = {}): AuditEntry {
  return {
    event: 'execution_allowed',
    decision: 'allow',
    principal: 'p',
    requestId: 'r',
    executionId: 'exec_1',
    command,
    mode: 'foreground',
    directory: '/',
    ...more,
  };
}

const open = (options: Partial<AuditOptions> = {}) =>
  createAudit({ directory, instance: 'inst_a', clock: { now: () => T0 }, ...options });

function read(): Record<string, unknown>[] {
  return readdirSync(directory)
    .toSorted()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('each line carries the hash of the one before, and nothing can forge a line', () => {
  const audit = open();
  audit.write(entry('echo\n{"event":"forged"}\r\n\u001b[2J\u2028'));
  audit.write(entry('x', { environment: { API_TOKEN: 'hidden', A: 'b' } }));
  audit.close();
  const lines = read();
  expect(lines).toMatchObject([
    { seq: 0, event: 'log_opened', instance: 'inst_a', part: 1, heads: [], previous: '0'.repeat(64) },
    { seq: 1, time: '2026-01-02T03:04:05.678Z', event: 'execution_allowed', previous: lines[0]?.['hash'] },
    { seq: 2, previous: lines[1]?.['hash'], environment: { API_TOKEN: MASK, A: 'b' } },
    { seq: 3, event: 'log_closed' },
  ]);
  for (const { hash, ...body } of lines) {
    expect(createHash('sha256').update(JSON.stringify(body)).digest('hex')).toBe(hash);
  }
});

test('a new day and a full file each begin a new one, and the chain goes on', () => {
  let nowMs = T0;
  const audit = open({ clock: { now: () => nowMs }, maxFileBytes: 2000 });
  for (let n = 0; n < 20; n++) audit.write(entry(`echo ${n}`));
  nowMs += 86_400_000;
  audit.write(entry('next day'));
  // A clock that is set back opens a file of its own.
  nowMs -= 86_400_000;
  audit.write(entry('the day before'));
  audit.close();
  const names = readdirSync(directory).toSorted();
  expect(names.length).toBeGreaterThan(4);
  expect(names.filter((name) => name.startsWith('2026-01-03-inst_a-'))).toHaveLength(1);
  for (const name of names) expect(readFileSync(join(directory, name)).length).toBeLessThan(2800);
  expect(verifyAudit({ directory })).toMatchObject({ files: names.length, problems: [] });
});

describe('a line is bounded', () => {
  const cases: [string, unknown][] = [
    ['a text', 'x'.repeat(30_000_000)],
    ['a list', Array.from({ length: 200_000 }, (_, n) => `word ${n}`)],
    ['an object', Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, n]))],
    ['long names', { [`k${'x'.repeat(5_000_000)}`]: 1, other: 2 }],
    ['many of them', Array.from({ length: 900 }, () => Array.from({ length: 900 }, () => [1, 'two']))],
    ['control characters', '\u0001'.repeat(5_000_000)],
  ];
  test.each(cases)('%s', (_, value) => {
    const audit = open();
    audit.write(entry('true', { asked: value }));
    audit.write(entry('after'));
    audit.close();
    const lines = read();
    expect(lines[1]).toMatchObject({ command: 'true', decision: 'allow', principal: 'p' });
    expect(JSON.stringify(lines[1]).length).toBeLessThan(6 * LIMITS.auditLineChars);
    expect(verifyAudit({ directory }).problems).toEqual([]);
  });

  test('and a secret is masked before it is cut', () => {
    const audit = open();
    const key = `AKIA${'Q'.repeat(16)}`;
    audit.write(entry(`${' '.repeat(LIMITS.auditTextChars - 10)}${key}${' '.repeat(1000)}`));
    audit.close();
    expect(JSON.stringify(read())).not.toContain('AKIA');
  });
});

test('what cannot be written is refused, and reported when it can be written again', () => {
  mkdirSync(join(directory, '..'), { recursive: true });
  writeFileSync(directory, 'in the way');
  const audit = open();
  for (let n = 0; n < 3; n++) {
    expect(() => audit.write(entry('never'))).toThrow(expect.objectContaining({ code: 'SYSTEM_002' }));
  }
  expect(audit.health()).toMatchObject({ lines: 0, lost: 3, problem: expect.stringContaining('EEXIST') });
  rmSync(directory);
  audit.write(entry('now'));
  audit.close();
  expect(read()).toMatchObject([
    { event: 'log_opened' },
    { event: 'entries_lost', count: 3 },
    { event: 'execution_allowed', command: 'now' },
    { event: 'log_closed' },
  ]);
  expect(audit.health()).toMatchObject({ lost: 3, problem: undefined, lastWrittenAtMs: T0 });
  expect(verifyAudit({ directory })).toMatchObject({ lost: 3, problems: [] });
});

test('a line that comes after the end is written, and the log ends once more', () => {
  const audit = open();
  audit.write(entry('a'));
  audit.close();
  audit.write(entry('late'));
  expect(read().map(({ event }) => event)).toEqual([
    'log_opened',
    'execution_allowed',
    'log_closed',
    'log_opened',
    'execution_allowed',
    'log_closed',
  ]);
  expect(verifyAudit({ directory })).toMatchObject({ problems: [], heads: [{ isClosed: true }] });
});

test('with fsync the same lines are written', () => {
  const audit = open({ syncs: true });
  audit.write(entry('a'));
  audit.close();
  expect(verifyAudit({ directory })).toMatchObject({ lines: 3, problems: [] });
});

test.skipIf(lacks(!canMountDisk(), 'no disk can be mounted here'))(
  'a disk that is full takes no half of a line, and the chain goes on when there is room',
  () => {
    mkdirSync(directory, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory]);
    try {
      const audit = open();
      audit.write(entry('before'));
      // Whole pages are what a file system runs out of, so that a long line is cut in its middle.
      expect(() => audit.write(entry('x'.repeat(100_000)))).toThrow(/ENOSPC/);
      writeFileSync(join(directory, 'filler'), 'x'.repeat(52 * 1024));
      const long = entry('y'.repeat(3000));
      expect(() => {
        for (let n = 0; n < 10; n++) audit.write(long);
      }).toThrow(/ENOSPC/);
      expect(verifyAudit({ directory })).toMatchObject({ problems: [], torn: [] });
      rmSync(join(directory, 'filler'));
      audit.write(entry('after'));
      audit.close();
      const { problems, lost } = verifyAudit({ directory });
      expect({ problems, lost }).toEqual({ problems: [], lost: 2 });
    } finally {
      execFileSync('umount', ['-l', directory]);
    }
  },
);

test.skipIf(lacks(!canMountDisk(), 'no disk can be mounted here'))(
  'the reserve lasts for the lines of several servers about what makes room, and for no others',
  () => {
    const disk = join(directory, '..');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
    try {
      const reserve = join(disk, 'audit-reserve');
      const collected: AuditEntry = {
        event: 'outputs_collected',
        principal: 'p',
        requestId: 'r',
        executionIds: ['exec_1'],
      };
      const openNext = (n: number) => open({ instance: `inst_${'abcdefghijkl'[n]}`, reserve });
      const first = openNext(0);
      first.write(entry('before'));
      first.close();
      for (let n = 1; n < 8; n++) {
        expect(succeeds(() => writeFileSync(join(disk, `filler-${n}`), 'x'.repeat(256 * 1024)))).toBe(false);
        const audit = openNext(n);
        expect(() => audit.write(entry('command'))).toThrow(/ENOSPC/);
        audit.write(collected);
      }
      rmSync(join(disk, 'filler-1'));
      const last = openNext(8);
      last.write(entry('after'));
      expect(statSync(reserve).size).toBe(64 * 1024);
      last.close();
      expect(read().filter(({ event }) => event === 'outputs_collected')).toHaveLength(7);
      expect(verifyAudit({ directory })).toMatchObject({ problems: [], torn: [] });
    } finally {
      execFileSync('umount', ['-l', disk]);
    }
  },
);
