import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAudit } from './audit.ts';
import { seal } from './chain.ts';
import { verifyAudit } from './verify.ts';

let directory: string;
let nowMs: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'audit-'));
  nowMs = Date.parse('2026-01-02T00:00:00Z');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface Writing {
  readonly lines?: number;
  readonly maxFileBytes?: number;
  readonly closes?: boolean;
}

/** The log of an instance: its opening, so many lines, and its end. */
function writeLog(instance: string, { lines = 5, maxFileBytes = 1e9, closes = true }: Writing = {}): void {
  const audit = createAudit({ directory, instance, clock: { now: () => (nowMs += 1000) }, maxFileBytes });
  for (let n = 0; n < lines; n++) {
    audit.write({
      event: 'execution_allowed',
      decision: 'allow',
      principal: 'local',
      requestId: `req_${n}`,
      executionId: `exec_${instance}_${n}`,
      command: `echo ${n} ��`,
      mode: 'foreground',
      directory: '/',
    });
  }
  if (closes) audit.close();
}

const filesOf = (instance: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.includes(instance))
    .toSorted();

/** Rewrites the lines of one file. */
function edit(instance: string, change: (lines: string[]) => string[], part = 0): string {
  const name = filesOf(instance)[part] ?? '';
  const lines = readFileSync(join(directory, name), 'utf8').trimEnd().split('\n');
  writeFileSync(join(directory, name), `${change(lines).join('\n')}\n`);
  return name;
}

/** What an attacker would do who knows how lines are sealed. */
function resealed(line: string, change: (fields: Record<string, unknown>) => object): string {
  const { hash: _, ...fields } = JSON.parse(line) as Record<string, unknown>;
  return seal(JSON.stringify(change(fields)))
    .line.toString()
    .trimEnd();
}

const problem = () => verifyAudit({ directory }).problems[0];

test('what was written verifies: over files, and over instances that know of each other', () => {
  writeLog('inst_a', { lines: 30, maxFileBytes: 3000 });
  writeLog('inst_b', { closes: false });
  writeLog('inst_c');
  expect(filesOf('inst_a').length).toBeGreaterThan(2);
  const { lines, heads, problems, torn } = verifyAudit({ directory });
  expect({ problems, torn }).toEqual({ problems: [], torn: [] });
  expect(lines).toBe(31 + filesOf('inst_a').length + 6 + 7);
  expect(heads.map(({ instance, isClosed }) => [instance, isClosed])).toEqual([
    ['inst_a', true],
    ['inst_b', false],
    ['inst_c', true],
  ]);
  expect(verifyAudit({ directory: join(directory, 'nowhere') })).toMatchObject({ lines: 0, problems: [] });
});

describe('the first line is named that was', () => {
  const changed = (line: string): string => line.replace('echo', 'ECHO');
  const copy = (line: string): string => resealed(line, (fields) => ({ ...fields, command: 'forged' }));
  const cases: [string, (lines: string[]) => string[], string, number][] = [
    ['changed in one byte', (l) => l.with(3, changed(l[3] ?? '')), 'changed', 4],
    ['changed in its time', (l) => l.with(2, (l[2] ?? '').replace('T00:', 'T01:')), 'changed', 3],
    ['changed in its hash', (l) => l.with(2, (l[2] ?? '').replace(/.{4}"}$/, '0000"}')), 'changed', 3],
    ['changed, with its hash made anew', (l) => l.with(3, copy(l[3] ?? '')), 'changed', 4],
    ['changed to what is no line', (l) => l.with(3, 'not a line'), 'changed', 4],
    ['emptied', (l) => l.with(3, ''), 'changed', 4],
    ['joined with the next', (l) => l.toSpliced(3, 2, `${l[3]}${l[4]}`), 'changed', 4],
    ['removed', (l) => l.toSpliced(3, 1), 'removed', 4],
    ['removed with others', (l) => l.toSpliced(2, 3), 'removed', 3],
    ['removed at the beginning', (l) => l.slice(1), 'removed', 1],
    ['inserted, made up', (l) => l.toSpliced(3, 0, '{"event":"forged"}'), 'inserted', 4],
    ['inserted, with a hash of its own', (l) => l.toSpliced(3, 0, copy(l[3] ?? '')), 'inserted', 4],
    ['inserted a second time', (l) => l.toSpliced(5, 0, l[2] ?? ''), 'inserted', 6],
    ['moved', (l) => l.with(3, l[4] ?? '').with(4, l[3] ?? ''), 'inserted', 4],
    [
      'inserted after the end',
      (l) => [
        ...l,
        resealed(l.at(-1) ?? '', (fields) => ({
          ...fields,
          seq: l.length,
          event: 'call',
          previous: /"hash":"(\w+)"/.exec(l.at(-1) ?? '')?.[1],
        })),
      ],
      'inserted',
      8,
    ],
  ];
  test.each(cases)('%s', (_, change, kind, line) => {
    writeLog('inst_a');
    writeLog('inst_b');
    const file = edit('inst_a', change);
    expect(problem()).toMatchObject({ kind, instance: 'inst_a', file, line });
    expect(problem()?.text).toContain(`${file}:${line}`);
  });

  test('changed to another byte that reads the same', () => {
    writeLog('inst_a');
    const file = filesOf('inst_a')[0] ?? '';
    const bytes = readFileSync(join(directory, file));
    const at = bytes.indexOf('\ufffd');
    writeFileSync(
      join(directory, file),
      Buffer.concat([bytes.subarray(0, at), Buffer.of(0xff), bytes.subarray(at + 3)]),
    );
    expect(problem()).toMatchObject({ kind: 'changed', line: 2 });
  });

  test('removed at the seam of two files, with a whole file, and with the first', () => {
    writeLog('inst_a', { lines: 30, maxFileBytes: 3000 });
    const [first = '', second = '', third = ''] = filesOf('inst_a');
    const whole = readFileSync(join(directory, first), 'utf8');
    edit('inst_a', (lines) => lines.slice(0, -1));
    expect(problem()).toMatchObject({ kind: 'removed', file: second, line: 1 });
    writeFileSync(join(directory, first), whole);
    expect(problem()).toBeUndefined();
    renameSync(join(directory, second), join(directory, 'elsewhere'));
    expect(problem()).toMatchObject({ kind: 'removed', file: third, line: 1 });
    renameSync(join(directory, 'elsewhere'), join(directory, second));
    rmSync(join(directory, first));
    expect(problem()).toMatchObject({
      kind: 'removed',
      file: second,
      line: 1,
      text: expect.stringMatching(/lines 0 to/),
    });
  });

  test('in the earlier of two logs', () => {
    writeLog('inst_a');
    writeLog('inst_b');
    edit('inst_b', (lines) => lines.toSpliced(2, 1));
    edit('inst_a', (lines) => lines.toSpliced(4, 1));
    expect(verifyAudit({ directory }).problems.map(({ instance, line }) => [instance, line])).toEqual([
      ['inst_a', 5],
      ['inst_b', 3],
    ]);
  });
});

describe('who was opened later is a witness', () => {
  test('that a log is gone', () => {
    writeLog('inst_a');
    writeLog('inst_b');
    rmSync(join(directory, filesOf('inst_a')[0] ?? ''));
    expect(problem()).toMatchObject({
      kind: 'removed',
      instance: 'inst_a',
      text: expect.stringContaining('inst_b'),
    });
  });

  test('that the end of one is gone, and not that of one which was written on', () => {
    writeLog('inst_a');
    writeLog('inst_b');
    edit('inst_a', (lines) => lines.slice(0, -2));
    expect(problem()).toMatchObject({ kind: 'removed', instance: 'inst_a', seq: 5 });
    // Nobody came after inst_b.
    edit('inst_a', (lines) => lines);
  });

  test('that one was written anew from its first line on', () => {
    writeLog('inst_a');
    writeLog('inst_b');
    rmSync(join(directory, filesOf('inst_a')[0] ?? ''));
    writeLog('inst_a');
    expect(problem()).toMatchObject({
      kind: 'changed',
      instance: 'inst_a',
      text: expect.stringContaining('inst_b'),
    });
  });

  test('and a file cannot be taken for that of another instance', () => {
    writeLog('inst_a');
    const name = filesOf('inst_a')[0] ?? '';
    renameSync(join(directory, name), join(directory, name.replace('inst_a', 'inst_b')));
    expect(problem()).toMatchObject({ kind: 'changed', instance: 'inst_b', line: 1 });
  });

  test('of nothing that came after: an end that nobody saw may be gone', () => {
    writeLog('inst_a');
    edit('inst_a', (lines) => lines.slice(0, -2));
    expect(verifyAudit({ directory })).toMatchObject({ problems: [], heads: [{ isClosed: false }] });
  });
});

test('a hash that was noted elsewhere must be there, and a record needs its line', () => {
  writeLog('inst_a');
  const [{ hash } = { hash: '' }] = verifyAudit({ directory }).heads;
  const executions = ['exec_inst_a_0', 'exec_inst_a_4'];
  expect(verifyAudit({ directory, anchors: [hash], executions }).problems).toEqual([]);
  edit('inst_a', (lines) => lines.slice(0, -2));
  expect(verifyAudit({ directory, anchors: [hash], executions }).problems).toMatchObject([
    { kind: 'removed', text: expect.stringContaining(hash) },
    { kind: 'removed', text: expect.stringContaining('exec_inst_a_4') },
  ]);
});

test('half a line at the end of a file is what a kill leaves, and no problem', () => {
  writeLog('inst_a', { closes: false });
  const name = filesOf('inst_a')[0] ?? '';
  for (const cut of [1, 2, 80, 200]) {
    writeLog(`inst_b${cut}`, { closes: false });
    const other = filesOf(`inst_b${cut}`)[0] ?? '';
    truncateSync(join(directory, other), readFileSync(join(directory, other)).length - cut);
  }
  appendFileSync(join(directory, name), '{"seq":6,"ti');
  const { problems, torn } = verifyAudit({ directory });
  // Where only the line end is missing, the line is there.
  expect({ problems, torn: torn.length }).toEqual({ problems: [], torn: 4 });
});

test('no single byte can be changed, taken away or added before the last line', () => {
  writeLog('inst_a', { lines: 6 });
  const path = join(directory, filesOf('inst_a')[0] ?? '');
  const whole = readFileSync(path);
  const end = whole.lastIndexOf(10, -2);
  let state = 20_261_115;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  for (let n = 0; n < 600; n++) {
    const at = random(end);
    const byte = (whole[at] ?? 0) ^ (1 + random(255));
    const rest = whole.subarray(at + (n % 3 === 2 ? 0 : 1));
    const middle = n % 3 === 1 ? Buffer.alloc(0) : Buffer.of(byte);
    writeFileSync(path, Buffer.concat([whole.subarray(0, at), middle, rest]));
    expect(problem(), `byte ${at}, way ${n % 3}`).toBeDefined();
  }
  writeFileSync(path, whole);
  expect(problem()).toBeUndefined();
});
