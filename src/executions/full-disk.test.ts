/** A server that starts on a disk that is full, or read-only: what is there can be read, and room be made. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createWorld, textOf, untilPrinted, type World } from '../../test/support/world.ts';
import { createAudit } from '../security/audit/audit.ts';
import { verifyAudit } from '../security/audit/verify.ts';
import type { Execution } from './executions.ts';

let directory: string;
let state: string;

beforeEach(() => {
  if (process.getuid?.() !== 0) return;
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'full-disk-'));
  state = join(directory, 'state');
  mkdirSync(state);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', state]);
});
afterEach(() => {
  if (process.getuid?.() !== 0) return;
  execFileSync('umount', ['-l', state]);
  rmSync(directory, { recursive: true, force: true });
});

const free = (): number => {
  const { bavail, bsize } = statfsSync(state);
  return bavail * bsize;
};

/** Another process takes all that is left. */
function fill(): void {
  try {
    for (let part = 0; free() > 0; part++)
      writeFileSync(join(state, `fill-${part}`), Buffer.alloc(64 * 1024));
  } catch {
    // The last part did not fit.
  }
  expect(free()).toBe(0);
}

const outputs = (world: World) => world.outputs.list('local', { limit: 100 }).outputs;
const entry = (tool: string) =>
  ({
    event: 'call',
    principal: 'local',
    requestId: 'req_test',
    tool,
    calledAs: tool,
    input: {},
    startedAtMs: 0,
    durationMs: 0,
    outcome: 'answered',
  }) as const;

describe.skipIf(process.getuid?.() !== 0)('a server that starts', () => {
  test('on a full disk reads and deletes, records that, and runs again when there is room', async () => {
    const before = createWorld({ directory });
    const big = await before.run('head -c 1500000 /dev/zero | tr "\\0" x');
    const small = await before.run('echo small');
    await before[Symbol.asyncDispose]();
    fill();
    await using world = createWorld({ directory });
    await expect(world.run('echo no')).rejects.toMatchObject({
      code: 'SYSTEM_002',
      hint: expect.stringContaining('state prune'),
    });
    const list = await world.executions.list('local');
    expect(list.map(({ id }) => id)).toEqual([big.execution.record.id, small.execution.record.id]);
    expect((await world.executions.get('local', small.execution.record.id)).record.outcome).toMatchObject({
      exitCode: 0,
    });
    expect(outputs(world)).toHaveLength(6);
    // What reads is answered and cannot be recorded; what makes room is recorded.
    expect(() => world.security.audit.write(entry('process_list'))).toThrow(
      'The audit log cannot be written',
    );
    for (const { execution } of [small, big]) {
      const id = execution.bundle.outputId('stdout') ?? '';
      expect(world.outputs.delete('local', [id])).toEqual({ deleted: [id], failed: [] });
      world.security.audit.write(entry('delete_execution_outputs'));
    }
    expect(free()).toBeGreaterThan(1_000_000);
    expect((await world.run('echo yes')).stdout).toBe('yes\n');
    const { problems, lost } = verifyAudit({ directory: join(state, 'audit') });
    expect({ problems, lost }).toEqual({ problems: [], lost: 1 });
  });

  test.each([
    ['off', 'foreground'],
    ['off', 'detached'],
    ['auto', 'foreground'],
    ['auto', 'detached'],
  ] as const)(
    'without a free inode says so (sandbox %s, %s), and runs again when there are some',
    async (sandbox, mode) => {
      await using world = createWorld({ directory, settings: { security: { sandbox } } });
      await world.executions.list('local');
      const inodes = statfsSync(state);
      const fillers = Array.from({ length: 200 }, (_, at) => join(state, `inode-${at}`));
      for (const path of fillers) writeFileSync(path, '');
      const used = inodes.files - inodes.ffree + fillers.length;
      execFileSync('mount', ['-o', `remount,nr_inodes=${used}`, state]);
      expect(statfsSync(state).ffree).toBe(0);
      const codes = new Set<unknown>();
      for (const path of fillers) {
        const run = await world.run('echo ran', { mode }).catch((error: unknown) => error);
        if ('stdout' in (run as object)) break;
        codes.add((run as { code: unknown }).code);
        rmSync(path);
      }
      for (const path of fillers) rmSync(path, { force: true });
      expect([...codes]).toEqual(expect.arrayContaining(['EXECUTION_004']));
      expect([...codes].filter((code) => code !== 'EXECUTION_004' && code !== 'SYSTEM_002')).toEqual([]);
      // A sandbox that was being prepared meanwhile may still fail.
      const ran = (): Promise<string> =>
        world.run('echo ran', { mode }).then(
          ({ stdout }) => stdout,
          ({ code }: { code: string }) => code,
        );
      await expect.poll(ran).toBe('ran\n');
    },
  );

  test('on a full disk knows what goes on, keeps what it writes, and can end it', async () => {
    const before = createWorld({ directory });
    const started = await before.start('echo begun; sleep 300', { mode: 'detached' });
    const { id } = started.record;
    await untilPrinted(started, 'begun');
    await before[Symbol.asyncDispose]();
    fill();
    await using world = createWorld({ directory });
    const found = (): Promise<Execution> => world.executions.get('local', id);
    const listed = async (): Promise<unknown> =>
      (await world.executions.list('local')).map((one) => one.status);
    expect(await listed()).toEqual(['running']);
    const execution = await found();
    expect(execution.record.outcome).toBeUndefined();
    const outputId = execution.bundle.outputId('stdout') ?? '';
    expect(world.outputs.delete('local', [outputId])).toMatchObject({ deleted: [] });
    expect(textOf(execution, 'stdout')).toBe('begun\n');
    expect(await execution.live?.request('SIGTERM', 'tree', 20_000)).toBe(true);
    expect(execution.record.outcome).toMatchObject({ exitCode: 143 });
    expect(execution.live).toBeUndefined();
    expect(await listed()).not.toContain('running');
  });

  test('on a read-only disk tells how what was left has ended', async () => {
    const before = createWorld({ directory });
    const started = await before.start('mkfifo go; echo begun; read -r < go; exit 3', { mode: 'detached' });
    await untilPrinted(started, 'begun');
    await before[Symbol.asyncDispose]();
    writeFileSync(join(before.settings.defaultWorkdir, 'go'), '\n');
    const { id } = started.record;
    await expect.poll(() => existsSync(join(state, 'executions', id, 'outcome.json'))).toBe(true);
    execFileSync('mount', ['-o', 'remount,ro', state]);
    await using world = createWorld({ directory });
    expect(await world.executions.list('local')).toMatchObject([{ status: 'failed', exitCode: 3 }]);
    expect((await world.executions.get('local', id)).record.outcome).toMatchObject({ exitCode: 3 });
  });

  test('on a read-only one reads, and says that nothing was deleted', async () => {
    const before = createWorld({ directory });
    const { execution } = await before.run('echo kept');
    await before[Symbol.asyncDispose]();
    execFileSync('mount', ['-o', 'remount,ro', state]);
    await using world = createWorld({ directory });
    expect(await world.executions.list('local')).toHaveLength(1);
    const id = execution.bundle.outputId('stdout') ?? '';
    expect(world.outputs.delete('local', [id])).toMatchObject({
      deleted: [],
      failed: [{ outputId: id, reason: expect.stringContaining('EROFS') }],
    });
    expect(outputs(world)).toHaveLength(3);
    await expect(world.run('echo no')).rejects.toMatchObject({ code: 'SYSTEM_002' });
  });

  test('where nothing is and nothing can be says so at once', async () => {
    execFileSync('mount', ['-o', 'remount,ro', state]);
    await using world = createWorld({ directory });
    await expect(world.executions.list('local')).rejects.toMatchObject({ code: 'SYSTEM_002' });
  });

  test.each(['process_list', 'read_execution_output', 'shell_execute'])(
    'does not give up its reserve for %s',
    async (tool) => {
      await using world = createWorld({ directory });
      await world.run('true');
      fill();
      const other = createAudit({
        directory: join(state, 'audit'),
        instance: 'inst_other',
        clock: { now: Date.now },
        reserve: join(state, 'audit-reserve'),
      });
      expect(() => other.write(entry(tool))).toThrow('ENOSPC');
      expect(() => other.write(entry('delete_execution_outputs'))).not.toThrow();
      other.close();
    },
  );
});
