import { closeSync, mkdtempSync, readdirSync, readlinkSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FORKER } from '../../test/support/root.ts';
import { attempt } from '../base/attempt.ts';
import { createForker } from './forker.ts';
import { createPipes, linkOf } from './pipes.ts';
import { findProcess, listChildren } from './process-table.ts';
import { createSpawner, type Descriptor, type Spawner } from './spawner.ts';

function setUp(spawner: Spawner, batch = 8) {
  const parent = mkdtempSync(join(tmpdir(), 'pipes-'));
  const pipes = createPipes(join(parent, 'pipes'), spawner, batch);
  onTestFinished(async () => {
    pipes.dispose();
    await spawner.dispose();
    rmSync(parent, { recursive: true, force: true });
  });
  return { parent, pipes };
}

const run = (spawner: Spawner, script: string, ...descriptors: (Descriptor | undefined)[]) =>
  spawner.start({
    argv: ['/bin/sh', '-c', script],
    environment: {},
    directory: '/',
    descriptors,
    groups: [],
    mustJoin: false,
    limits: {},
  });

/** Undefined at the end, and also where nothing has come yet. */
function readFrom(fd: number): string | undefined {
  const buffer = Buffer.alloc(64);
  const bytes = attempt(() => readSync(fd, buffer));
  return bytes === undefined ? undefined : buffer.toString('utf8', 0, bytes);
}

const openIn = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? []);

test('are made anew where their directory was removed', async () => {
  const { parent, pipes } = setUp(createSpawner(FORKER));
  const first = await pipes.takeHandoff();
  rmSync(join(parent, 'pipes'), { recursive: true });
  const second = await pipes.takeHandoff();
  for (const { fd } of [first, second]) {
    writeSync(fd, 'through');
    expect(readFrom(fd)).toBe('through');
    closeSync(fd);
  }
});

test.for([
  ['with names', () => createSpawner(FORKER)],
  ['without names', () => createForker(FORKER)],
] as const)('%s: a program gets them, and they end with it', async ([, create]) => {
  const spawner = create();
  const { pipes } = setUp(spawner);
  const [handoff, output] = [await pipes.takeHandoff(), await pipes.take()];
  const child = await run(spawner, 'cat; echo again > /dev/stdout', handoff.end, output.end);
  writeSync(handoff.fd, 'said ');
  // It reads to the end, which comes only where nobody else can write.
  closeSync(handoff.fd);
  expect(await child.exited).toMatchObject({ code: 0 });
  expect([readFrom(output.readFd), readFrom(output.readFd)]).toEqual(['said again\n', '']);
  closeSync(output.readFd);
});

test('of the forker are nobody else’s once their program runs', async () => {
  const spawner = createForker(FORKER);
  const { parent, pipes } = setUp(spawner);
  const [first, second] = [await pipes.take(), await pipes.take()];
  expect(readdirSync(join(parent, 'pipes'))).toEqual([]);
  const links = [linkOf(first.readFd) ?? '', linkOf(second.readFd) ?? ''];
  const others = await run(spawner, 'exec sleep 300', undefined, first.end);
  const child = await run(spawner, 'exec sleep 300', undefined, second.end);
  const forker = findProcess(child.identity.pid)?.parentPid ?? 0;
  const held = [forker, others.identity.pid, child.identity.pid].map((pid) =>
    openIn(pid).filter((link) => links.includes(link)),
  );
  expect(held).toEqual([[], [links[0]], [links[1]]]);
  for (const { identity } of [others, child]) process.kill(identity.pid, 'SIGKILL');
  await Promise.all([others.exited, child.exited]);
  for (const { readFd } of [first, second]) closeSync(readFd);
});

test('that were taken and not used do not add up', async () => {
  const spawner = createForker(FORKER);
  const { pipes } = setUp(spawner, 64);
  for (let n = 0; n < 2000; n++) closeSync((await pipes.take()).readFd);
  const output = await pipes.take();
  const child = await run(spawner, 'echo still; sleep 0.2', undefined, output.end);
  const forker = findProcess(child.identity.pid)?.parentPid ?? 0;
  await child.exited;
  expect(readFrom(output.readFd)).toBe('still\n');
  closeSync(output.readFd);
  expect(openIn(forker).length).toBeLessThan(1100);
});

test('are taken as they were made: the forker closes the oldest first, and uses their numbers again', async () => {
  const { pipes } = setUp(createForker(FORKER));
  const taken = await Promise.all(Array.from({ length: 6 }, () => pipes.take()));
  const numbers = taken.map(({ end }) => Number(end.path.split('/').at(-1)));
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  for (const { readFd } of taken) closeSync(readFd);
});

test('are made anew where the forker was killed', async () => {
  const spawner = createForker(FORKER);
  const { pipes } = setUp(spawner);
  const before = await pipes.take();
  const below = (listChildren(process.pid) ?? []).flatMap((reaper) => listChildren(reaper) ?? []);
  const forker = below.find((pid) => openIn(pid).includes(linkOf(before.readFd) ?? '-'));
  closeSync(before.readFd);
  process.kill(forker ?? 0, 'SIGKILL');
  await expect.poll(() => attempt(() => openIn(forker ?? 0)) ?? []).toEqual([]);
  await expect
    .poll(async () => {
      const output = await pipes.take();
      const child = await run(spawner, 'echo new', undefined, output.end).catch(() => undefined);
      await child?.exited;
      const said = readFrom(output.readFd);
      closeSync(output.readFd);
      return said;
    })
    .toBe('new\n');
});
