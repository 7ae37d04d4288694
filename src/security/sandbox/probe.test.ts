import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { succeeds } from '../../base/attempt.ts';
import { fixFor, installCommand, probeSandbox, type RunHelper } from './probe.ts';
import type { SandboxSpec } from './profile.ts';
import { createHost } from './sandbox.fixture.ts';

const SANDBOX_SPEC: SandboxSpec = { kind: 'seatbelt', program: '/none', profile: '' };
const HOST = { places: ['/', '/usr'], triesNetwork: true };
const SHUT = ['write', 'kernel', 'processes', 'privileges', 'network']
  .map((name) => `${name} shut\n`)
  .join('');
const ALL_SHUT = { write: true, kernel: true, processes: true, privileges: true, network: true };

type Call = Parameters<RunHelper>[0];

/** Answers as a shell inside would. */
function answering(
  stdout: string,
  { code = 0, stderr = '' }: { code?: number | null; stderr?: string } = {},
) {
  const calls: Call[] = [];
  const run: RunHelper = async (call) => {
    calls.push(call);
    return { code, stdout, stderr };
  };
  return { run, calls };
}

describe('a sandbox', () => {
  test('holds where every attempt was stopped', async () => {
    const { run, calls } = answering(SHUT);
    expect(await probeSandbox(SANDBOX_SPEC, run, HOST)).toEqual({ holds: true, checks: ALL_SHUT });
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({
      sandboxSpec: SANDBOX_SPEC,
      environment: { NETWORK_TRIED: '1' },
    });
    expect(calls[0]?.argv.slice(0, 2)).toEqual(['/bin/sh', '-c']);
    expect(calls[0]?.argv.slice(-2)).toEqual(HOST.places);
  });

  test.for(['kernel', 'processes', 'privileges', 'network'])(
    'does not hold where %s is open',
    async (name) => {
      const { run } = answering(SHUT.replace(`${name} shut`, `${name} open`));
      expect(await probeSandbox(SANDBOX_SPEC, run, HOST)).toEqual({
        holds: false,
        checks: { ...ALL_SHUT, [name]: false },
        problem: `a command could escape it: ${name}`,
        isIncomplete: false,
      });
    },
  );

  test('names everything that is open', async () => {
    const { run } = answering(
      SHUT.replace('kernel shut', 'kernel open').replace('network shut', 'network open'),
    );
    const { problem } = await probeSandbox(SANDBOX_SPEC, run, HOST);
    expect(problem).toBe('a command could escape it: kernel, network');
  });

  test('that could not be set up does not hold, in bwrap’s own words', async () => {
    const { run } = answering('', {
      code: 1,
      stderr: 'warning\nbwrap: setting up uid map: Permission denied\n',
    });
    expect(await probeSandbox(SANDBOX_SPEC, run, HOST)).toMatchObject({
      holds: false,
      problem: 'bwrap: setting up uid map: Permission denied',
    });
  });

  test.for([
    ['ended without a word', '', 0, 'it ended with exit code 0'],
    ['said a part only', 'write shut\nkernel shut\n', 0, 'it ended with exit code 0'],
    ['was killed', SHUT, null, 'it ended with exit code null'],
    ['ended with a failure', SHUT, 3, 'it ended with exit code 3'],
  ] as const)('does not hold where the attempt %s', async ([, stdout, code, problem]) => {
    const { run } = answering(stdout, { code });
    expect(await probeSandbox(SANDBOX_SPEC, run, HOST)).toMatchObject({
      holds: false,
      problem,
      isIncomplete: true,
    });
  });

  test('does not hold where nothing could be run at all', async () => {
    const run: RunHelper = () => Promise.reject(new Error('spawn ENOENT'));
    expect(await probeSandbox(SANDBOX_SPEC, run, HOST)).toEqual({
      holds: false,
      checks: { write: false },
      problem: 'Error: spawn ENOENT',
      isIncomplete: true,
    });
  });

  test('does not hold where a file came out of it, whatever was said inside; the file is removed', async () => {
    const host = createHost();
    const run: RunHelper = async ({ argv, environment = {} }) => {
      writeFileSync(join(argv.at(-1) ?? '', environment['NAME_TRIED'] ?? ''), '');
      return { code: 0, stdout: SHUT, stderr: '' };
    };
    expect(await probeSandbox(SANDBOX_SPEC, run, { places: ['/', host.home], triesNetwork: true })).toEqual({
      holds: false,
      checks: { ...ALL_SHUT, write: false },
      problem: 'a command could escape it: write',
      isIncomplete: false,
    });
    expect(readdirSync(host.home)).toEqual(['project']);
  });

  test('holds where writing worked inside but nothing came out', async () => {
    const { run } = answering(SHUT.replace('write shut', 'write open'));
    expect(await probeSandbox(SANDBOX_SPEC, run, HOST)).toEqual({ holds: true, checks: ALL_SHUT });
  });

  test('says nothing of a network that it need not keep away', async () => {
    const { network: _, ...others } = ALL_SHUT;
    const { run } = answering(SHUT.replace('network shut', 'network open'));
    expect(await probeSandbox(SANDBOX_SPEC, run, { ...HOST, triesNetwork: false })).toEqual({
      holds: true,
      checks: others,
    });
  });

  // What every Linux has outside a sandbox.
  test.skipIf(process.platform !== 'linux').for(['/bin/sh', '/bin/bash'])(
    'does not hold where there is none, by what %s finds',
    async (shell) => {
      const host = createHost();
      const run: RunHelper = async ({ argv: [, ...args], environment }) => {
        const { status, stdout, stderr } = spawnSync(shell, args, { env: environment, encoding: 'utf8' });
        return { code: status, stdout, stderr };
      };
      const { checks } = await probeSandbox(SANDBOX_SPEC, run, { places: [host.home], triesNetwork: true });
      const isKept = (path: string): boolean => !succeeds(() => accessSync(path, constants.W_OK));
      expect(checks).toEqual({
        write: false,
        kernel: isKept('/proc/sys/kernel/core_pattern') && isKept('/proc/sysrq-trigger'),
        processes: false,
        privileges: false,
        network: !/^ *(?!lo:)\S+:/m.test(readFileSync('/proc/net/dev', 'utf8')),
      });
      expect(readdirSync(host.home)).toEqual(['project']);
    },
  );

  test('is tried with another name each time', async () => {
    const { run, calls } = answering(SHUT);
    await probeSandbox(SANDBOX_SPEC, run, HOST);
    await probeSandbox(SANDBOX_SPEC, run, HOST);
    const names = calls.map(({ environment }) => environment?.['NAME_TRIED']);
    expect(new Set(names).size).toBe(2);
    expect(names.filter((name) => existsSync(`/usr/${name}`) || existsSync(`/etc/${name}`))).toEqual([]);
  });
});

test('what to do about it is a sentence, whatever the machine', () => {
  expect(fixFor('some problem')).toMatch(/^[A-Z].*\.$|some problem/);
  expect(installCommand('bubblewrap')).toMatch(/\bbubblewrap$/);
});
