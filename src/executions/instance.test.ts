import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
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

/** A server in another pid namespace of the same boot, whose file was touched so long ago by the time of day. */
function foreign(state: string, ageMs: number): { id: string; touch: (ageMs: number) => void } {
  const id = createId('inst');
  const file = join(state, 'run', id, 'instance.json');
  mkdirSync(join(state, 'run', id), { recursive: true });
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  writeFileSync(file, JSON.stringify({ pid: 1, startTime: 1, bootId: `${boot} pid:[1]` }));
  const touch = (age: number): void => utimesSync(file, new Date(), new Date(Date.now() - age));
  touch(ageMs);
  expect(Math.abs(Date.now() - statSync(file).mtimeMs - ageMs)).toBeLessThan(1000);
  return { id, touch };
}

const HOUR_MS = 3_600_000;

test.each<[string, number, number]>([
  ['was touched just now', 0, 120_001],
  ['looks old, since the machine slept or the clock was set', 8 * HOUR_MS, 45_001],
  ['is from the future, since the clock was set back', -8 * HOUR_MS, 120_001],
])('a server in another namespace whose file %s is dead once it stays so', (_, ageMs, untilMs) => {
  const state = mkdtempSync(join(realpathSync(tmpdir()), 'instance-'));
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
  let nowMs = 1000;
  const instance = createInstance(state, createId('inst'), () => nowMs);
  const { id, touch } = foreign(state, ageMs);
  const isAliveAt = (ms: number): boolean => {
    nowMs = 1000 + ms;
    return instance.isInstanceAlive(id);
  };
  expect([isAliveAt(0), isAliveAt(untilMs - 2), isAliveAt(untilMs)]).toEqual([true, true, false]);
  touch(ageMs + 5000);
  expect([isAliveAt(untilMs), isAliveAt(2 * untilMs)]).toEqual([true, false]);
});
