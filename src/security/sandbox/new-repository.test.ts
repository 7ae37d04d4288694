import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from '../../../test/setup/needs.ts';
import { obeyedInGit } from './new-repository.ts';
import { createHost, type Host } from './sandbox.fixture.ts';

const PLAIN = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n';

const obeyed = (host: Host): string[] =>
  obeyedInGit(join(host.workspace, '.git')).map((path) => path.slice(host.workspace.length + 1));

describe.skipIf(needs('git'))('what git itself made is nothing to speak of', () => {
  const git = (...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example.com', ...args], {
      stdio: 'ignore',
    });
  };

  test('by git init, with a name and a remote', () => {
    const host = createHost();
    git('init', '-q', host.workspace);
    git('-C', host.workspace, 'config', 'user.email', 'another@example.com');
    git('-C', host.workspace, 'remote', 'add', 'origin', 'https://example.com/x.git');
    expect(obeyed(host)).toEqual([]);
  });

  test('by git clone, with a branch that follows another', () => {
    const host = createHost();
    const source = join(host.root, 'source');
    git('init', '-q', source);
    git('-C', source, 'commit', '-q', '--allow-empty', '-m', 'first');
    git('clone', '-q', source, host.workspace);
    expect(obeyed(host)).toEqual([]);
  });
});

describe('what is in a new repository and obeyed', () => {
  test.for([
    ['a program that git starts', '[core]\n\tfsmonitor = ./evil\n'],
    ['the same in one line', '[core] fsmonitor = ./evil\n'],
    ['a key alone', '[core]\n\tfsmonitor\n'],
    ['in another case', '[CORE]\n\tFSMonitor=./evil\n'],
    ['after a line that seems to go on', '[core]\n\tbare = false\\\n\tbare = true\n'],
    ['an alias', '[alias]\n\tstatus = !./evil\n'],
    ['another file', '[include]\n\tpath = ../evil\n'],
    ['a program at the other end', '[remote "origin"]\n\tuploadpack = ./evil\n'],
    ['a section that is not understood', '[core "x"]\n\tbare = false\n'],
    ['a comment', `# [core]\n${PLAIN}`],
    ['too much to look at', `${PLAIN}${'\n'.repeat(300_000)}`],
  ] as const)('is a config with %s', ([, text]) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/config', PLAIN);
    expect(obeyed(host)).toEqual([]);
    host.write('home/project/.git/config', text);
    expect(obeyed(host)).toEqual(['.git/config']);
  });

  test('is a config that is no file', () => {
    const host = createHost();
    host.makeRepository('home/project');
    const config = join(host.workspace, '.git/config');
    rmSync(config);
    execFileSync('mkfifo', [config]);
    expect(obeyed(host)).toEqual(['.git/config']);
    rmSync(config);
    host.link('home/project/.git/config', '../evil');
    expect(obeyed(host)).toEqual(['.git/config']);
    rmSync(config);
    mkdirSync(config);
    expect(obeyed(host)).toEqual(['.git/config']);
  });

  test('is a hook that is no sample, hooks elsewhere, and what names another directory', () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/hooks/pre-commit');
    host.write('home/project/.git/commondir');
    expect(obeyed(host)).toEqual(['.git/commondir', '.git/hooks']);
    rmSync(join(host.workspace, '.git/hooks'), { recursive: true });
    rmSync(join(host.workspace, '.git/commondir'));
    expect(obeyed(host)).toEqual([]);
    host.link('home/project/.git/hooks', '../evil');
    expect(obeyed(host)).toEqual(['.git/hooks']);
  });

  test('is a git directory that lies elsewhere', () => {
    const host = createHost();
    host.write('home/project/.git', 'gitdir: ../evil\n');
    expect(obeyed(host)).toEqual(['.git']);
  });
});
