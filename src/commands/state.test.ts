/** `state prune` on a full disk. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { canMountDisk } from '../../test/support/outputs.ts';
import { createWorld } from '../../test/support/world.ts';
import { succeeds } from '../base/attempt.ts';
import { systemClock } from '../base/clock.ts';
import type { Settings } from '../base/settings.ts';
import { createObserver } from '../executions/executions.ts';
import { AUDIT_RESERVE } from '../security/security.ts';
import type { CommandContext } from './context.ts';
import { pruneState } from './state.ts';

const cannotMount = lacks(!canMountDisk(), 'no disk can be mounted here');
let directory: string;
let state: string;

beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'state-'));
  state = join(directory, 'state');
  mkdirSync(state);
  if (!cannotMount) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', state]);
});
afterEach(() => {
  if (!cannotMount) execFileSync('umount', ['-l', state]);
  rmSync(directory, { recursive: true, force: true });
});

let fills = 0;
function fill(): void {
  while (statfsSync(state).bavail > 0)
    succeeds(() => writeFileSync(join(state, `fill-${fills++}`), Buffer.alloc(64 * 1024)));
}

async function prune(settings: Settings, keep: number): Promise<string> {
  let printed = '';
  const output = { write: (text: string) => (printed += text) };
  await pruneState({ settings: () => settings, output } as unknown as CommandContext, { keep });
  return printed;
}

const count = async (): Promise<number> =>
  (await createObserver({ stateDir: state, clock: systemClock }).look()).executions.length;

test.skipIf(cannotMount)('it is recorded again and again, and where it cannot be, that is said', async () => {
  const world = createWorld({ directory });
  for (let n = 0; n < 8; n++) await world.run(`echo ${n}`);
  const { settings } = world;
  await world[Symbol.asyncDispose]();
  for (const keep of [6, 5, 4]) {
    fill();
    expect(await prune(settings, keep)).toMatch(/^[12] executions? .* w(as|ere) removed/);
  }
  rmSync(join(state, AUDIT_RESERVE));
  fill();
  await expect(prune(settings, 1)).rejects.toMatchObject({
    code: 'SYSTEM_002',
    message: expect.stringMatching(
      /^3 executions with .* were removed, and the audit log has no line about it: ENOSPC/,
    ) as string,
    hint: expect.not.stringContaining('prune') as string,
  });
  expect(await count()).toBe(1);
});
