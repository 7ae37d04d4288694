/** Programs that are started without a shell: what is judged is what is run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createWorld, type Ran, type World } from '../../test/support/world.ts';
import type { SecuritySettings } from '../base/settings.ts';

async function inWorld<Result>(
  security: Partial<SecuritySettings>,
  use: (world: World) => Promise<Result>,
): Promise<Result> {
  await using world = createWorld({ settings: { security } });
  return await use(world);
}

const run = (world: World, argv: readonly string[]): Promise<Ran> => world.run(argv.join(' '), { argv });

const TABLE = { allowedArguments: { ls: ['-l', '-la'], git: ['status', '--version'], echo: [], cat: [] } };

describe('arguments stay arguments', () => {
  test.for([
    { argv: ['printf', '[%s]', 'a  b', '$HOME', '*', ';', '&&', '`id`', '$(id)', '\n', ''] },
    { argv: ['printf', '[%s]', '--', '-n', '"', "'", '\\', '| cat'] },
  ])('whatever a shell would make of them: $argv', async ({ argv }) => {
    const { stdout } = await inWorld({}, (world) => run(world, argv));
    expect(stdout).toBe(
      argv
        .slice(2)
        .map((word) => `[${word}]`)
        .join(''),
    );
  });

  test('a name that holds a command is a name', async () => {
    await expect(inWorld({}, (world) => run(world, ['echo hi; id']))).rejects.toMatchObject({
      code: 'EXECUTION_001',
      message: 'echo hi; id: command not found',
    });
  });
});

describe('under an allow-list', () => {
  test('the case of a command does not matter, that of an argument does', async () => {
    await inWorld(TABLE, async (world) => {
      expect((await run(world, ['ECHO', 'Hi'])).stdout).toBe('Hi\n');
      expect((await run(world, ['Git', '--version'])).stdout).toMatch(/^git version/);
      await expect(run(world, ['git', '--VERSION'])).rejects.toMatchObject({ code: 'SECURITY_003' });
    });
  });

  test('no argument at all is allowed where the first must be a listed one', async () => {
    await inWorld(TABLE, async (world) => {
      writeFileSync(join(world.directory, 'work/file'), '');
      expect((await run(world, ['ls'])).stdout).toBe('file\n');
    });
  });

  test('a name that is listed in capitals is run as it is listed', async () => {
    await inWorld({ allowedCommands: ['R'], mode: 'custom' }, async (world) => {
      await expect(run(world, ['R'])).rejects.toMatchObject({ message: 'R: command not found' });
    });
  });

  const hostile = [
    ['rm', '-rf', 'x'],
    ['RM', 'x'],
    ['git', 'push'],
    ['GIT', '-c', 'core.pager=id', 'status'],
    ['git', '-c', 'core.fsmonitor=id', 'status'],
    ['ls', '-R'],
    ['ls', '', '-la'],
    ['sh', '-c', 'ls'],
    ['env', 'ls'],
    ['./ls'],
    ['../../bin/ls'],
    ['/tmp/ls'],
    ['ls '],
    [' ls'],
    ['ls\n'],
    ['true'],
    ['exit'],
    ['cd', '/'],
  ];
  test.for(hostile)('%s is refused', async (argv) => {
    await inWorld(TABLE, async (world) => {
      mkdirSync(join(world.directory, 'work'), { recursive: true });
      writeFileSync(join(world.directory, 'work/ls'), '#!/bin/sh\necho trojan\n', { mode: 0o755 });
      await expect(run(world, argv)).rejects.toMatchObject({ code: 'SECURITY_003' });
    });
  });

  test('a shell command in capitals is judged like the program that it is on some systems', async () => {
    const table = { allowedArguments: { git: ['log'] }, allowWrites: false };
    await inWorld(table, async (world) => {
      for (const command of ['git log --output=x', 'GIT log --output=x', '/usr/bin/Git log --output=x'])
        await expect(world.run(command), command).rejects.toMatchObject({ code: 'SECURITY_003' });
    });
  });

  test('a PATH of the caller’s own is refused', async () => {
    await inWorld(TABLE, async (world) => {
      const request = { argv: ['ls'], environment: { PATH: '/tmp' } };
      await expect(world.run('ls', request)).rejects.toMatchObject({ code: 'SECURITY_003' });
    });
  });
});

test('what is destructive is refused without an allow-list too', async () => {
  for (const argv of [
    ['rm', '-rf', '/'],
    ['sudo', 'rm', '-rf', '/'],
    ['bash', '-c', 'rm -rf ~'],
  ])
    await expect(inWorld({}, (world) => run(world, argv))).rejects.toMatchObject({ code: 'SECURITY_001' });
});

test('an agreement to some arguments is none to the same text with others', async () => {
  await inWorld({ askCommands: ['printf'] }, async (world) => {
    const command = 'printf a b';
    const ask = (argv: readonly string[]): Promise<string> =>
      world.run(command, { argv }).then(
        () => 'ran',
        (error: { binding: string }) => error.binding,
      );
    const binding = await ask(['printf', 'a', 'b']);
    expect(binding).not.toBe(await ask(['printf', 'a b']));
    expect((await world.run(command, { argv: ['printf', 'a', 'b'], approval: binding })).stdout).toBe('a');
    await expect(world.run(command, { argv: ['printf', 'a b'], approval: binding })).rejects.toMatchObject({
      code: 'SECURITY_003',
    });
    await expect(world.run(command, { approval: binding })).rejects.toMatchObject({ code: 'SECURITY_003' });
  });
});

describe('a program that is not there', () => {
  test.for(['no-such-program', './no-such-program', '/no/such/program', '.', '/', '..'])(
    '%j',
    async (name) => {
      await expect(inWorld({}, (world) => run(world, [name]))).rejects.toMatchObject({
        code: 'EXECUTION_001',
        message: `${name}: command not found`,
      });
    },
  );

  test('is looked for where the caller says', async () => {
    await inWorld({}, async (world) => {
      const bin = join(world.directory, 'bin');
      mkdirSync(bin);
      writeFileSync(join(bin, 'mine'), '#!/bin/sh\necho mine\n', { mode: 0o755 });
      const { stdout } = await world.run('mine', { argv: ['mine'], environment: { PATH: `${bin}:/bin` } });
      expect(stdout).toBe('mine\n');
    });
  });
});
