import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createId } from '../base/ids.ts';
import { createInstance } from './instance.ts';

test('takes over what the dead had taken over themselves, however deep it lies', () => {
  const state = mkdtempSync(join(realpathSync(tmpdir()), 'instance-'));
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
  const dead = Array.from({ length: 4 }, () => createId('inst'));
  mkdirSync(join(state, 'run', ...dead), { recursive: true });
  writeFileSync(
    join(state, 'run', dead[0] ?? '', 'instance.json'),
    JSON.stringify({ pid: 0, startTime: 0, bootId: 'another' }),
  );
  const [one, other] = [createInstance(state), createInstance(state)];
  one.open();
  other.open();
  expect(one.takeOverDead()).toEqual(dead);
  expect(other.takeOverDead()).toEqual([]);
  // Until it is settled, nobody else takes any of them for lost.
  expect(dead.map(other.isInstanceAlive)).toEqual(dead.map(() => true));
  one.settle(dead);
  expect(dead.map(other.isInstanceAlive)).toEqual(dead.map(() => false));
  one.close(false);
  other.close(false);
});
