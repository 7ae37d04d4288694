import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { createWorld, type World } from '../../test/support/world.ts';

const SHELLS = [
  { name: 'bash', shell: '/bin/bash', isMissing: needs('bash') },
  { name: 'zsh', shell: '/usr/bin/zsh', isMissing: needs('zsh') },
  { name: 'fish', shell: '/usr/bin/fish', isMissing: needs('fish') },
  { name: 'sh', shell: '/bin/sh', isMissing: false },
];

describe.each(SHELLS)('a session in $name', ({ name, shell, isMissing }) => {
  const setVariable = name === 'fish' ? 'set -gx GREETING "good day"' : 'export GREETING="good day"';

  test.skipIf(isMissing)(
    'carries directory and exported variables from one execution to the next',
    async () => {
      await using world = createWorld({ settings: { shell } });
      const sub = join(world.settings.defaultWorkdir, 'sub dir');
      mkdirSync(sub);
      const first = await world.run(`cd "sub dir"; ${setVariable}; echo $PWD`, { sessionId: 's' });
      expect(first.execution.sessionChange).toEqual({
        directory: sub,
        set: ['GREETING'],
        unset: [],
        notCarried: [],
      });
      const second = await world.run('pwd; echo "$GREETING"', { sessionId: 's' });
      expect(second.stdout).toBe(`${sub}\ngood day\n`);
      expect(second.execution.sessionChange).toEqual({ set: [], unset: [], notCarried: [] });
      const elsewhere = await world.run('pwd; echo "[$GREETING]"', { sessionId: 'other' });
      expect(elsewhere.stdout).toBe(`${world.settings.defaultWorkdir}\n[]\n`);
      const foreign = await world.run('pwd', { sessionId: 's', principal: 'another principal' });
      expect(foreign.stdout).toBe(`${world.settings.defaultWorkdir}\n`);
    },
  );

  test.skipIf(isMissing)('is left as it was by a command that fails, and keeps the exit code', async () => {
    await using world = createWorld({ settings: { shell } });
    const { outcome, stdout } = await world.run('echo hi; exit 9', { sessionId: 's' });
    expect({ exitCode: outcome.exitCode, stdout }).toEqual({ exitCode: 9, stdout: 'hi\n' });
  });
});

/** Whether a command in it finds it lost; its caller is answered, unless told otherwise. */
async function isLostIn(world: World, sessionId: string, { isAnswered = true } = {}): Promise<boolean> {
  const { execution } = await world.run('pwd', { sessionId });
  if (isAnswered) world.executions.answered(execution);
  return execution.isSessionLost;
}

describe('a session', () => {
  test('that lost its state says so until an answer has, and only where something was lost', async () => {
    await using world = createWorld();
    const isLost = (sessionId: string, isAnswered = true): Promise<boolean> =>
      isLostIn(world, sessionId, { isAnswered });
    expect([await isLost('first'), await isLost('first')]).toEqual([false, false]);
    for (let count = 0; count < 500; count++) world.executions.sessions.get('local', `s${count}`);
    expect(await isLost('new')).toBe(false);
    expect(world.executions.sessions.has('local', 'first')).toBe(false);
    // What is refused tells nobody anything.
    await expect(world.run('rm -rf /', { sessionId: 'first' })).rejects.toMatchObject({
      code: 'SECURITY_001',
    });
    expect([await isLost('first', false), await isLost('first')]).toEqual([true, true]);
    expect([await isLost('first'), await isLost('new', false)]).toEqual([false, false]);
    const foreign = await world.run('pwd', { sessionId: 'new', principal: 'another principal' });
    expect(foreign.execution.isSessionLost).toBe(false);
  });

  test.each(['foreground', 'background', 'adaptive'] as const)(
    'of a server before this one is lost, which is said to a command in the %s',
    async (mode) => {
      const directory = mkdtempSync(join(realpathSync(tmpdir()), 'sessions-'));
      onTestFinished(() => rmSync(directory, { recursive: true }));
      const before = createWorld({ directory });
      await before.run('cd /; export A=1', { sessionId: 's' });
      await before[Symbol.asyncDispose]();
      await using world = createWorld({ directory });
      const first = await world.run('pwd', { sessionId: 's', mode });
      expect(first).toMatchObject({
        stdout: `${world.settings.defaultWorkdir}\n`,
        execution: { isSessionLost: true },
      });
      world.executions.answered(first.execution);
      expect((await world.run('pwd', { sessionId: 's', mode })).execution.isSessionLost).toBe(false);
    },
  );

  test('is known to be lost by its name alone, where its records are gone as well', async () => {
    const directory = mkdtempSync(join(realpathSync(tmpdir()), 'sessions-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const before = createWorld({ directory });
    mkdirSync(join(before.settings.defaultWorkdir, 'deep'));
    await before.run('cd deep', { sessionId: 'first' });
    await expect(before.run('rm -rf /', { sessionId: 'refused' })).rejects.toMatchObject({
      code: 'SECURITY_001',
    });
    await before[Symbol.asyncDispose]();
    rmSync(join(directory, 'state', 'executions'), { recursive: true });
    await using world = createWorld({ directory });
    const isLost = (sessionId: string): Promise<boolean> => isLostIn(world, sessionId);
    expect([await isLost('first'), await isLost('first')]).toEqual([true, false]);
    expect([await isLost('refused'), await isLost('new')]).toEqual([false, false]);
  });

  test('says that nothing was carried where the shell left no state', async () => {
    await using world = createWorld();
    for (const command of ['exec true', 'kill -9 $$', `trap 'true' EXIT; cd /`]) {
      const { execution } = await world.run(command, { sessionId: 's' });
      expect(execution.sessionChange).toBe('nothing');
    }
    expect((await world.run('pwd', { sessionId: 's' })).stdout).toBe(`${world.settings.defaultWorkdir}\n`);
  });

  test('carries what was unset, and leaves behind what no caller could send', async () => {
    await using world = createWorld({
      settings: { environment: { PATH: process.env['PATH'] ?? '', KEPT: 'x', GONE: 'y' } },
    });
    const { execution } = await world.run('unset GONE; f() { :; }; export -f f; export MCP_SHELL_X=1', {
      sessionId: 's',
    });
    expect(execution.sessionChange).toEqual({
      set: [],
      unset: ['GONE'],
      notCarried: expect.arrayContaining([
        'the variable MCP_SHELL_X',
        expect.stringContaining('BASH_FUNC_f'),
      ]),
    });
    expect((await world.run('echo "[$GONE][$KEPT]"', { sessionId: 's' })).stdout).toBe('[][x]\n');
  });

  test('does not leave the allowed directories', async () => {
    await using outer = createWorld();
    const allowed = realpathSync(outer.settings.defaultWorkdir);
    await using world = createWorld({
      settings: {
        defaultWorkdir: allowed,
        security: {
          allowedDirectories: [allowed],
          maxExecutionTimeSeconds: undefined,
          maxMemoryBytes: undefined,
        },
      },
    });
    // The policy takes it that the first of them succeeds.
    const { execution } = await world.run('cd missing; cd ..', { sessionId: 's' });
    expect(execution.sessionChange).toMatchObject({
      notCarried: [expect.stringContaining('the directory /')],
    });
    expect((await world.run('pwd', { sessionId: 's' })).stdout).toBe(`${allowed}\n`);
  });

  test.each([
    ['outside', 'SECURITY_002', 'is outside the allowed directories', 'apply_to_existing_sessions'],
    ['removed', 'PARAM_002', 'does not exist', 'nearest directory'],
  ])('whose directory is %s by now is named, and can be moved', async (how, code, problem, hint) => {
    await using world = createWorld();
    const work = world.settings.defaultWorkdir;
    for (const name of ['deep', 'narrow']) mkdirSync(join(work, name));
    await world.run('cd deep', { sessionId: 'first' });
    if (how === 'removed') rmSync(join(work, 'deep'), { recursive: true });
    else
      world.security.tighten(
        { principal: 'local', client: { name: 'test' }, requestId: 'req_test' },
        { allowedDirectories: [join(work, 'narrow')] },
      );
    await expect(world.run('pwd', { sessionId: 'first' })).rejects.toMatchObject({
      code,
      message: `The directory of session first, ${join(work, 'deep')}, ${problem}.`,
      hint: expect.stringContaining(hint),
    });
    // What the caller names is the caller's.
    await expect(
      world.run('pwd', { sessionId: 'first', workingDirectory: join(work, 'deep') }),
    ).rejects.toMatchObject({ code, message: `working_directory ${join(work, 'deep')} ${problem}.` });
    world.executions.sessions.setDefaultDirectory('local', join(work, 'narrow'), true);
    expect((await world.run('pwd', { sessionId: 'first' })).stdout).toBe(`${join(work, 'narrow')}\n`);
  });

  test('runs two calls one after the other', async () => {
    await using world = createWorld();
    const results = await Promise.all(
      Array.from({ length: 5 }, () =>
        world.run('export N=$((N + 1)); sleep 0.05; echo $N', { sessionId: 's' }),
      ),
    );
    expect(results.map(({ stdout }) => stdout.trim())).toEqual(['1', '2', '3', '4', '5']);
  });

  test('that is busy for longer than the caller can wait says so', async () => {
    await using world = createWorld();
    const slow = await world.start('sleep 30', { sessionId: 's' });
    await expect(world.start('true', { sessionId: 's', patienceMs: 200 })).rejects.toMatchObject({
      code: 'RESOURCE_005',
      message: expect.stringContaining('busy'),
    });
    await slow.live?.end('terminated');
    expect((await world.run('echo next', { sessionId: 's' })).stdout).toBe('next\n');
  });

  test('goes on without an execution whose caller was answered', async () => {
    await using world = createWorld();
    const slow = await world.start('cd /; sleep 30', { sessionId: 's', mode: 'adaptive' });
    world.executions.letGo(slow);
    expect((await world.run('pwd', { sessionId: 's' })).stdout).toBe(`${world.settings.defaultWorkdir}\n`);
  });

  test('that is waited for can be left, and the next one still waits its turn', async () => {
    await using world = createWorld();
    const again = world.run('sleep 0.3; export DONE=again', { sessionId: 's' });
    const impatient = new AbortController();
    const left = world.start('true', { sessionId: 's' }, impatient.signal);
    const last = world.run('echo $DONE', { sessionId: 's' });
    impatient.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await again;
    expect((await last).stdout).toBe('again\n');
  });
});

test('the default directory is the principal’s own, and existing sessions move on request', async () => {
  await using world = createWorld();
  const { sessions } = world.executions;
  await world.run('cd /', { sessionId: 'a' });
  await world.run('true', { sessionId: 'follows' });
  await world.run('cd /var', { sessionId: 'there' });
  expect(sessions.setDefaultDirectory('local', '/usr', false)).toEqual([]);
  expect((await world.run('pwd', { sessionId: 'a' })).stdout).toBe('/\n');
  expect((await world.run('pwd')).stdout).toBe('/usr\n');
  expect(sessions.setDefaultDirectory('local', '/var', true)).toEqual(['a']);
  expect(sessions.setDefaultDirectory('local', '/var', true)).toEqual([]);
  expect((await world.run('pwd', { sessionId: 'follows' })).stdout).toBe('/var\n');
  expect((await world.run('pwd', { sessionId: 'a' })).stdout).toBe('/var\n');
  expect(sessions.defaultDirectory('other')).toBe(world.settings.defaultWorkdir);
});
