import { existsSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { FORKER } from '../../test/support/root.ts';
import { bwrapOptions } from '../security/sandbox/bwrap.ts';
import type { BubblewrapSpec } from '../security/sandbox/profile.ts';
import { createHost, type Host, type HostChanges } from '../security/sandbox/sandbox.fixture.ts';
import { buildSeccompFilter } from '../security/sandbox/seccomp.ts';
import { createCgroups } from './cgroups/cgroups.ts';
import { createForker } from './forker.ts';
import type { Handoff } from './handoff-script.ts';
import { mostInstances } from './inotify.ts';
import { createPipes } from './pipes.ts';
import { buildSandbox } from './sandbox-build.ts';
import { NOT_SET_UP } from './sandbox-failures.ts';
import { endSandbox, exitOf, handOff } from './sandboxed.ts';

const BWRAP = '/usr/bin/bwrap';

function sandboxSpecOf(host: Host, changes: HostChanges = {}, seccomp?: Uint8Array): BubblewrapSpec {
  const profile = host.profile({ isRoot: process.getuid?.() === 0, ...changes });
  return {
    kind: 'bubblewrap',
    program: BWRAP,
    options: bwrapOptions(profile, {
      disablesUserns: false,
      hasSeccomp: seccomp !== undefined,
    }),
    seccomp: seccomp === undefined ? undefined : Buffer.from(seccomp).toString('base64'),
    pinned: profile.pinned,
    kept: profile.kept,
    watched: [],
  };
}

/** What is tested is that it gets there; what is in it has tests of its own. */
function filter(): Uint8Array {
  const built = buildSeccompFilter(process.arch, { allowsPtrace: false });
  if (built === undefined) throw new Error('there is no filter for this processor');
  return built;
}

function createBench(host: Host) {
  const spawner = createForker(FORKER);
  const pipes = createPipes(join(host.state, 'pipes'), spawner, 8);
  const cgroups = createCgroups();
  onTestFinished(async () => {
    await spawner.dispose();
    pipes.dispose();
    cgroups.dispose();
  });
  const tools = { pipes, cgroups, spawner, now: Date.now };
  const build = (sandboxSpec: BubblewrapSpec) =>
    buildSandbox({ sandboxSpec, limits: {}, marked: { MARK: host.root } }, tools);
  return {
    build,
    async run(sandboxSpec: BubblewrapSpec, script: string, environment: Record<string, string> = {}) {
      const sandbox = await build(sandboxSpec);
      const texts = { stdout: '', stderr: '' };
      const sinkOf = (stream: 'stdout' | 'stderr') => ({
        totalBytes: () => 0,
        problem: () => undefined,
        write: (chunk: Uint8Array) => void (texts[stream] += Buffer.from(chunk).toString()),
        close: () => undefined,
      });
      sandbox.capture.copyTo(
        new Map([
          ['stdout', sinkOf('stdout')],
          ['stderr', sinkOf('stderr')],
        ]),
      );
      const handoff: Handoff = {
        argv: ['/bin/bash', '-c', script],
        environment: { PATH: '/usr/bin:/bin', ...environment },
        directory: host.workspace,
        stdin: 'inherited',
        stderr: 'own',
        keepsState: false,
        maxProcesses: undefined,
      };
      await handOff(sandbox, handoff, undefined);
      const exit = await exitOf(sandbox);
      sandbox.capture.drain();
      sandbox.capture.close();
      sandbox.group?.remove();
      return { ...exit, ...texts };
    },
  };
}

const environmentOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .filter((entry) => entry !== '');

describe.skipIf(needs('bwrap'))('a sandbox with a shell that waits', () => {
  test('shows nothing of itself or of its command outside', async () => {
    const host = createHost();
    const { build } = createBench(host);
    const sandbox = await build(sandboxSpecOf(host));
    const { init, child } = sandbox;
    for (const { pid } of [child.identity, init]) {
      expect(environmentOf(pid).toSorted()).toEqual([`MARK=${host.root}`, 'PATH=/usr/bin:/bin']);
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('--ro-bind');
    }
    await endSandbox(sandbox);
  });

  test.skipIf(!existsSync('/usr/bin/perl'))(
    'has a part of the user’s inotify instances, and leaves the rest to others',
    async () => {
      const host = createHost();
      const { run } = createBench(host);
      const call = process.arch === 'arm64' ? 26 : 294;
      const script = `perl -e 'my $n = 0; $n++ while $n < 5000 && syscall(${call}, 0) >= 0; print "$n $!{EMFILE}"'`;
      const { stdout } = await run(sandboxSpecOf(host), script);
      const [got, code] = stdout.split(' ').map(Number);
      expect(code).toBeGreaterThan(0);
      expect(got).toBeLessThanOrEqual(mostInstances());
      expect(got).toBeGreaterThan(0);
    },
  );

  test('gives variables to the command as they are, whatever is in them, and no others', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const environment = {
      EMPTY: '',
      LINES: 'a\nb\n',
      OPTION: '--bind',
      EQUALS: 'a=b=c',
      QUOTES: `'"$(id)\``,
      LETTERS: 'äöü…',
      LONG: 'x'.repeat(100_000),
      LD_LIBRARY_PATH: host.workspace,
    };
    const { stdout } = await run(sandboxSpecOf(host), 'cat /proc/self/environ', environment);
    const found = Object.fromEntries(
      stdout
        .split('\0')
        .filter((entry) => entry !== '')
        .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    );
    // The rest is bash's own.
    const { PWD, SHLVL: _level, _: _last, ...rest } = found;
    expect(PWD).toBe(host.workspace);
    expect(rest).toEqual({ PATH: '/usr/bin:/bin', ...environment });
  });

  test('gives the command none of its own descriptors', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const { stdout } = await run(sandboxSpecOf(host, {}, filter()), 'exec ls -l /proc/self/fd');
    expect(stdout).not.toMatch(/ (?:[4-9]|\d\d) -> (?!\/proc)/);
  });

  test.for([
    ['exit 0', { code: 0, signal: null }],
    ['exit 3', { code: 3, signal: null }],
    ['exit 255', { code: 255, signal: null }],
    ['kill -TERM $$', { code: 143, signal: 'SIGTERM' }],
    ['kill -KILL $$', { code: 137, signal: 'SIGKILL' }],
    ['no-such-command', { code: 127, signal: null }],
  ] as const)('%s ends in %s', async ([script, exit]) => {
    const host = createHost();
    const { run } = createBench(host);
    expect(await run(sandboxSpecOf(host), script)).toMatchObject(exit);
  });

  test('has the filter in force', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const script = 'grep -E "^(Seccomp|NoNewPrivs):" /proc/self/status';
    const { stdout } = await run(sandboxSpecOf(host, {}, filter()), script);
    expect(stdout).toMatch(/NoNewPrivs:\t1\nSeccomp:\t2\n/);
  });

  test('says inside that it is one', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const { stdout } = await run(sandboxSpecOf(host), 'cat /run/.mcp-shell-sandbox && echo there');
    expect(stdout).toBe('there\n');
  });
});

describe.skipIf(needs('bwrap'))('a sandbox that cannot be set up', () => {
  test.for([
    [
      'a source that is gone',
      ['--ro-bind', '/no/such/source', '/x'],
      "Can't find source path /no/such/source",
    ],
    ['a word that is no option', ['--no-such-option'], 'Unknown option --no-such-option'],
  ] as const)('says why: %s', async ([, options, words]) => {
    const host = createHost();
    const { build } = createBench(host);
    const sandboxSpec = sandboxSpecOf(host);
    const failing = build({ ...sandboxSpec, options: [...options, ...sandboxSpec.options] });
    await expect(failing).rejects.toThrow(words);
    // By this a terminal is opened once more, whose host knows no classes of errors.
    await expect(failing).rejects.toMatchObject({ details: { sandbox: NOT_SET_UP } });
  });

  test('is one whose program cannot be started', async () => {
    const host = createHost();
    const { build } = createBench(host);
    await expect(build({ ...sandboxSpecOf(host), program: '/no/such/bwrap' })).rejects.toThrow(
      /there is no program/,
    );
  });
});

describe.skipIf(needs('bwrap'))('mounts that are compared', () => {
  test('are as they should be where nobody meddled', async () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/.ssh/id');
    const sandboxSpec = sandboxSpecOf(host, { ownPaths: [host.state] });
    expect(sandboxSpec.pinned.length).toBeGreaterThan(3);
    const { run } = createBench(host);
    expect(await run(sandboxSpec, 'true')).toMatchObject({ code: 0 });
  });

  test.for(['.git/hooks', '.git'])('show that %s was exchanged for a link', async (name) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/evil/config');
    host.makeDirectory('home/project/evil/hooks');
    const sandboxSpec = sandboxSpecOf(host, { ownPaths: [host.state] });
    const path = join(host.workspace, name);
    renameSync(path, join(host.workspace, 'away'));
    // Relative, since bwrap cannot follow others.
    symlinkSync(name === '.git' ? 'evil' : '../evil/hooks', path);
    const { run } = createBench(host);
    await expect(run(sandboxSpec, 'echo ran > here')).rejects.toMatchObject({
      code: 'SECURITY_003',
      details: { path },
      message: `Nothing was run: ${path} was changed by another command while the sandbox was set up.`,
    });
    expect(existsSync(join(host.workspace, 'here'))).toBe(false);
  });

  test('show that a directory on the way to the server’s own was exchanged', async () => {
    const host = createHost();
    const state = host.makeDirectory('home/project/a/state');
    host.makeDirectory('home/project/b/state');
    const sandboxSpec = sandboxSpecOf(host, { ownPaths: [state, host.state] });
    renameSync(join(host.workspace, 'a'), join(host.workspace, 'away'));
    symlinkSync('b', join(host.workspace, 'a'));
    const { run } = createBench(host);
    await expect(run(sandboxSpec, 'true')).rejects.toMatchObject({ code: 'SECURITY_003' });
  });
});
