import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { canMountDisk } from '../../test/support/outputs.ts';
import { auditLines, storedExecutions } from '../../test/support/stored.ts';
import { createWorld } from '../../test/support/world.ts';
import { verifyAudit } from '../security/security.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'audited-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the line of an end marks', () => {
  const cases: [string, string | undefined][] = [
    ['no-such-program --flag', 'command_not_found'],
    ['no-such-program; true', 'command_not_found'],
    ['nohup no-such-program', 'command_not_found'],
    ['env no-such-program; true', 'command_not_found'],
    ['echo "fish: Unknown command: x" >&2', 'command_not_found'],
    ['echo "npm error Unknown command: x" >&2; exit 1', undefined],
    ['echo "a.ts: the module b: not found" >&2; exit 1', undefined],
    ['./not-executable', 'permission_denied'],
    ['echo "cat: /etc/x: Permission denied" >&2; exit 1', 'permission_denied'],
    ['echo "it was not found by anybody"', undefined],
    ['exit 3', undefined],
    ['kill -9 $$', undefined],
  ];
  test.each(cases)('%s: %s', async (command, securityEvent) => {
    await using world = createWorld({ directory });
    writeFileSync(join(world.settings.defaultWorkdir, 'not-executable'), 'echo');
    await world.run(command, { sessionId: 's' });
    const [line] = auditLines(world.settings.stateDir, 'execution_ended');
    expect(line).toMatchObject({ command, client: 'test', principal: 'local', session: 's' });
    expect(line?.['securityEvent']).toBe(securityEvent);
  });
});

test('what was allowed and had no process has a line that says why', async () => {
  await using world = createWorld({ directory });
  mkdirSync(world.settings.stateDir);
  writeFileSync(join(world.settings.stateDir, 'executions'), 'in the way');
  await expect(world.start('true')).rejects.toThrow(/EEXIST|ENOTDIR/);
  expect(auditLines(world.settings.stateDir, 'execution_not_started')).toMatchObject([
    {
      executionId: auditLines(world.settings.stateDir, 'execution_allowed')[0]?.['executionId'],
      client: 'test',
    },
  ]);
});

test.skipIf(lacks(!canMountDisk(), 'no disk can be mounted here'))(
  'nothing is run that a full disk would leave unrecorded, and everything when there is room again',
  async () => {
    const stateDir = join(directory, 'small');
    mkdirSync(stateDir);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', stateDir]);
    try {
      await using world = createWorld({ directory, settings: { stateDir } });
      await world.run('true');
      const filler = join(stateDir, 'filler');
      fill(filler);
      // The line that allows it is longer than what is left of the last page.
      const touch = `touch ran # ${'x'.repeat(8192)}`;
      await expect(world.start(touch)).rejects.toMatchObject({ code: 'SYSTEM_002' });
      expect(world.security.audit.health()).toMatchObject({ problem: expect.stringContaining('ENOSPC') });
      expect(readdirSync(world.settings.defaultWorkdir)).toEqual([]);
      rmSync(filler);
      await world.run(touch);
      expect(readdirSync(world.settings.defaultWorkdir)).toEqual(['ran']);
      expect(world.security.audit.health()).toMatchObject({ lost: 1, problem: undefined });
      expect(auditLines(stateDir, 'entries_lost')).toMatchObject([{ count: 1 }]);
      const executions = (await storedExecutions(stateDir)).map(({ id }) => id);
      expect(verifyAudit({ directory: join(stateDir, 'audit'), executions })).toMatchObject({ problems: [] });
    } finally {
      execFileSync('umount', ['-l', stateDir]);
    }
  },
);

function fill(path: string): void {
  for (let bytes = 512 * 1024; bytes >= 4096; bytes -= 4096) {
    try {
      writeFileSync(path, Buffer.alloc(bytes));
      return;
    } catch {
      // Still too much.
    }
  }
}
