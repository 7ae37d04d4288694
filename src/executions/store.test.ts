import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { createId } from '../base/ids.ts';
import { silentLog } from '../base/log.ts';
import type { StoredContent } from '../outputs/types.ts';
import type { ExecutionRecord, Outcome } from './record.ts';
import { createStore, type Store } from './store.ts';

function createDirectory(): string {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Servers that have not been closed. */
const alive = new Set<string>();

function open(directory: string, instance: string | undefined = createId('inst')): Store {
  const store = createStore({
    directory,
    log: silentLog,
    ...(instance !== '' && { instance }),
    isInstanceAlive: (id) => alive.has(id),
  });
  if (instance !== '') alive.add(instance);
  onTestFinished(store.close);
  return store;
}

const look = (store: Store, seen: string[] = [], gone: string[] = []): Promise<void> =>
  store.scan(
    ({ id }) => void seen.push(id),
    (id) => void gone.push(id),
  );

let made = 0;
function recordOf(changes: Partial<ExecutionRecord> = {}): ExecutionRecord {
  return {
    format: 1,
    id: createId('exec'),
    owner: 'ann',
    instance: 'inst_x',
    command: `echo ${made}`,
    mode: 'foreground',
    directory: '/work',
    defaultDirectory: '/work',
    environment: { A: 'b' },
    streams: ['stdout', 'stderr'],
    createdAtMs: 1_000_000 + ++made,
    marker: `MARK=${made}`,
    ...changes,
  };
}

const ended = (record: ExecutionRecord, changes: Partial<Outcome> = {}): ExecutionRecord => ({
  ...record,
  outcome: {
    status: 'completed',
    reason: 'exit',
    exitCode: 0,
    endedAtMs: record.createdAtMs + 5,
    survivors: [],
    endedLeftovers: [],
    ...changes,
  },
});

const content = (stdout: string | Buffer, stderr: string | Buffer = ''): StoredContent => ({
  streams: new Map([
    ['stdout', Buffer.from(stdout as string)],
    ['stderr', Buffer.from(stderr as string)],
  ]),
  arrival: [
    [0, Buffer.from(stdout as string).length],
    [1, Buffer.from(stderr as string).length],
  ],
});

const filesIn = (directory: string): string[] =>
  readdirSync(join(directory, 'journal')).filter((name) => name.endsWith('.log'));

describe('what was stored', () => {
  test('is there for the same server, another one at the same time, and the next one', async () => {
    const directory = createDirectory();
    const [one, other] = [open(directory), open(directory)];
    const first = recordOf({ command: 'x'.repeat(50_000), sessionId: 's' });
    const second = recordOf({ owner: 'bob' });
    one.begin(first);
    other.begin(second);
    const seen: string[] = [];
    await look(other, seen);
    expect(seen).toEqual([first.id]);
    expect(other.summaries().map(({ id, status }) => [id, status])).toEqual([
      [first.id, 'running'],
      [second.id, 'running'],
    ]);
    const known = { ...first, process: { pid: 5, startTime: 6, bootId: 'b', marker: first.marker } };
    one.note(known);
    one.conclude(ended(known, { exitCode: 3, status: 'failed' }), content('out', 'err'));
    await look(other, seen);
    const after = open(directory);
    await look(after);
    for (const store of [one, other, after]) {
      expect(store.find('ann', first.id)).toEqual(ended(known, { exitCode: 3, status: 'failed' }));
      expect(store.find('bob', first.id)).toBeUndefined();
      expect(store.storageOf(first.id)?.load()).toEqual(content('out', 'err'));
      expect(store.storageOf(second.id)).toBeUndefined();
      expect(store.summary(first.id)).toMatchObject({ exitCode: 3, pid: 5, sessionId: 's' });
      expect(store.summary(first.id)?.command).toHaveLength(300);
    }
  });

  test('is concluded by another server than the one that began it, whichever file is read first', async () => {
    for (let round = 0; round < 8; round++) {
      const directory = createDirectory();
      const record = recordOf();
      open(directory).begin(record);
      const next = open(directory);
      await look(next);
      next.conclude(ended({ ...record, instance: 'inst_y' }), undefined);
      const last = open(directory);
      await look(last);
      expect(last.summary(record.id)).toMatchObject({ status: 'completed', endedAtMs: expect.any(Number) });
    }
  });

  test.for<[name: string, bytes: Buffer]>([
    ['text', Buffer.from('Grüße\t\n"quoted" \\ 🌍')],
    ['no text', Buffer.from([0, 255, 254, 10, 128])],
    ['control characters', Buffer.alloc(16_000, 1)],
    ['nothing', Buffer.alloc(0)],
  ])('is exactly what it was: %s', async ([, bytes]) => {
    const directory = createDirectory();
    const store = open(directory);
    const record = recordOf();
    store.begin(record);
    store.conclude(ended(record), content(bytes));
    const after = open(directory);
    await look(after);
    expect(after.storageOf(record.id)?.load()?.streams.get('stdout')).toEqual(bytes);
  });

  test('is what was written before a server was killed in the middle of a line', async () => {
    const directory = createDirectory();
    const store = open(directory);
    const record = recordOf();
    store.begin(record);
    const [file = ''] = filesIn(directory);
    const path = join(directory, 'journal', file);
    const whole = readFileSync(path);
    const half = recordOf();
    store.begin(half);
    const end = whole.indexOf(0);
    execFileSync(
      'dd',
      ['if=/dev/zero', `of=${path}`, 'bs=1', `seek=${end + 40}`, 'count=100000', 'conv=notrunc'],
      {
        stdio: 'ignore',
      },
    );
    const after = open(directory);
    await look(after);
    expect(after.summaries().map(({ id }) => id)).toEqual([record.id]);
  });
});

describe('what is removed', () => {
  test('is gone from the disk, here and for others', async () => {
    const directory = createDirectory();
    const [one, other] = [open(directory), open(directory)];
    const secret = recordOf({ command: 'echo hunter22' });
    const kept = recordOf();
    for (const record of [secret, kept]) {
      one.begin(record);
      one.conclude(ended(record), content(`${record.command}\n`));
    }
    await look(other);
    one.remove([secret.id]);
    const gone: string[] = [];
    await look(other, [], gone);
    expect(other.summaries().map(({ id }) => id)).toEqual([kept.id]);
    expect(other.storageOf(kept.id)?.load()).toEqual(content(`${kept.command}\n`));
    expect(gone).toContain(secret.id);
    expect(one.find('ann', secret.id)).toBeUndefined();
    expect(readFileSync(join(directory, 'journal', filesIn(directory)[0] ?? ''), 'utf8')).not.toContain(
      'hunter22',
    );
  });

  test('takes a file with it of which nothing is left', async () => {
    const directory = createDirectory();
    const id = createId('inst');
    const one = open(directory, id);
    const record = recordOf();
    one.begin(record);
    one.conclude(ended(record), content(''));
    one.close();
    alive.delete(id);
    const next = open(directory);
    await look(next);
    next.remove([record.id]);
    expect(filesIn(directory)).toEqual([]);
  });

  test('leaves the file of a server that goes on writing it', async () => {
    const directory = createDirectory();
    const one = open(directory);
    const [first, second] = [recordOf(), recordOf()];
    one.begin(first);
    one.conclude(ended(first), content(''));
    const operator = open(directory, '');
    await look(operator);
    operator.remove([first.id]);
    one.begin(second);
    await look(one);
    one.conclude(ended(second), content('kept'));
    const after = open(directory);
    await look(after);
    expect(after.summaries().map(({ id, status }) => [id, status])).toEqual([[second.id, 'completed']]);
    expect(after.storageOf(second.id)?.load()).toEqual(content('kept'));
  });

  test('loses no end that comes while everything is read anew', async () => {
    const directory = createDirectory();
    const others = Array.from({ length: 5 }, () => open(directory));
    for (const other of others) {
      const record = recordOf();
      other.begin(record);
      other.conclude(ended(record), content(''));
    }
    const one = open(directory);
    const [gone, running] = [recordOf(), recordOf()];
    for (const record of [gone, running]) one.begin(record);
    one.conclude(ended(gone), content(''));
    await look(one);
    const operator = open(directory, '');
    await look(operator);
    operator.remove([gone.id]);
    const looking = look(one);
    one.conclude(ended(running), content('kept'));
    await looking;
    const after = open(directory);
    await look(after);
    expect(after.summary(running.id)).toMatchObject({ status: 'completed' });
    expect(one.summary(running.id)).toMatchObject({ status: 'completed' });
  });

  test('is one stream of an output, and the others stay', async () => {
    const directory = createDirectory();
    const store = open(directory);
    const record = recordOf();
    store.begin(record);
    store.conclude(ended(record), content('hunter22', 'kept'));
    store.storageOf(record.id)?.forget('stdout');
    const after = open(directory);
    await look(after);
    for (const each of [store, after]) {
      expect([...(each.storageOf(record.id)?.sizes ?? [])]).toEqual([['stderr', 4]]);
      expect(each.storageOf(record.id)?.load()?.streams.get('stderr')?.toString()).toBe('kept');
      expect(each.find('ann', record.id)).toEqual(ended(record));
    }
    expect(readFileSync(join(directory, 'journal', filesIn(directory)[0] ?? ''), 'utf8')).not.toContain(
      'hunter22',
    );
  });

  test.each([
    [['stdout', 'stderr'], []],
    [
      ['combined'],
      [
        ['stdout', 3],
        ['stderr', 3],
        ['combined', 0],
      ],
    ],
    [
      ['combined', 'stdout'],
      [
        ['stderr', 3],
        ['combined', 0],
      ],
    ],
    [
      ['stdout', 'combined'],
      [
        ['stderr', 3],
        ['combined', 0],
      ],
    ],
  ] as const)('is %j of an output, one after the other, and stays so', async (types, left) => {
    for (const [stdout, stderr] of [
      ['out', 'err'],
      ['', ''],
    ] as const) {
      const directory = createDirectory();
      const store = open(directory);
      const record = recordOf();
      store.begin(record);
      const arrival = stdout === '' ? { arrival: [] } : {};
      store.conclude(ended(record), { ...content(stdout, stderr), ...arrival });
      const storage = store.storageOf(record.id);
      for (const type of types) storage?.forget(type);
      const after = open(directory);
      await look(after);
      const sizes = left.map(([type, size]) => [type, Math.min(size, stdout.length)]);
      for (const each of [store, after]) expect([...(each.storageOf(record.id)?.sizes ?? [])]).toEqual(sizes);
    }
  });

  test('is what was begun and never ran', async () => {
    const directory = createDirectory();
    const store = open(directory);
    const record = recordOf();
    store.begin(record);
    store.abandon(record.id);
    expect(store.summaries()).toEqual([]);
    const after = open(directory);
    await look(after);
    expect(after.summaries()).toEqual([]);
  });
});

test('files are of a few MiB, and as long as what is in them once they are closed', async () => {
  const directory = createDirectory();
  const store = open(directory);
  const records = Array.from({ length: 60 }, () => recordOf({ command: 'y'.repeat(100_000) }));
  for (const record of records) {
    store.begin(record);
    store.conclude(ended(record), content(''));
  }
  store.close();
  const files = filesIn(directory);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    const path = join(directory, 'journal', file);
    expect(statSync(path).size).toBeLessThan(5 * 1024 * 1024);
    expect(readFileSync(path).includes(0)).toBe(false);
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
  }
  const after = open(directory);
  await look(after);
  expect(after.summaries()).toHaveLength(60);
});

test('who only looks writes nothing', async () => {
  const directory = createDirectory();
  const watcher = open(directory, '');
  await look(watcher);
  expect(existsSync(join(directory, 'journal'))).toBe(false);
});

describe.skipIf(lacks(process.getuid?.() !== 0, 'only root mounts a small disk'))('a full disk', () => {
  test('refuses what would begin, and takes the end of everything that was begun', async () => {
    const directory = createDirectory();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', directory]);
    onTestFinished(() => void execFileSync('umount', ['-l', directory]));
    const store = open(directory);
    const begun: ExecutionRecord[] = [];
    expect(() => {
      for (;;) {
        const record = recordOf();
        store.begin(record);
        begun.push(record);
      }
    }).toThrow(/ENOSPC/);
    expect(begun.length).toBeGreaterThan(10);
    for (const record of begun) store.conclude(ended(record), content(Buffer.alloc(16_000, 1)));
    const after = open(directory, '');
    await look(after);
    expect(after.summaries().filter(({ status }) => status === 'completed')).toHaveLength(begun.length);
    expect(after.summaries()).toHaveLength(begun.length);
  });
});
