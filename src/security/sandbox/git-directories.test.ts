import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findGitDirectories } from './git-directories.ts';
import { createHost, type Host } from './sandbox.fixture.ts';

function makeMain(host: Host, path = 'home/main'): string {
  host.makeRepository(path);
  host.makeDirectory(`${path}/.git/objects`);
  return join(host.root, path, '.git');
}

/** As `git worktree add` leaves it. */
function makeWorktree(host: Host): string {
  const git = makeMain(host);
  host.write('home/project/.git', `gitdir: ${git}/worktrees/project\n`);
  host.write('home/main/.git/worktrees/project/gitdir', `${host.workspace}/.git\n`);
  host.write('home/main/.git/worktrees/project/commondir', '../..\n');
  return git;
}

describe('the git directory of a workspace', () => {
  test('that is inside is none that lies elsewhere', () => {
    const host = createHost();
    makeMain(host, 'home/project');
    expect(findGitDirectories([host.workspace])).toEqual([]);
  });

  test('is that of the main repository, for a worktree', () => {
    const host = createHost();
    const git = makeWorktree(host);
    expect(findGitDirectories([host.workspace])).toEqual([git]);
  });

  test('is that of the repository around it', () => {
    const host = createHost();
    const git = makeMain(host, 'home');
    const deep = host.makeDirectory('home/project/packages/one');
    expect(findGitDirectories([deep])).toEqual([git]);
    expect(findGitDirectories([deep, host.workspace])).toEqual([git]);
  });

  test('is none where there is no repository, or what is called .git is none', () => {
    const host = createHost();
    const deep = host.makeDirectory('home/project/deep');
    host.makeDirectory('home/project/.git');
    expect(findGitDirectories([deep])).toEqual([]);
    host.write('home/project/.git/HEAD');
    expect(findGitDirectories([deep])).toEqual([]);
  });

  test('is found with relative paths, as newer versions of git write them', () => {
    const host = createHost();
    const git = makeMain(host);
    host.write('home/project/.git', 'gitdir: ../main/.git/worktrees/project\n');
    host.write('home/main/.git/worktrees/project/gitdir', '../../../../project/.git\n');
    host.write('home/main/.git/worktrees/project/commondir', '../..\n');
    expect(findGitDirectories([host.workspace])).toEqual([git]);
  });
});

describe('a file called .git that a command wrote', () => {
  test('does not open a repository that knows nothing of it', () => {
    const host = createHost();
    const victim = makeMain(host, 'home/victim');
    host.write('home/project/.git', `gitdir: ${victim}\n`);
    expect(findGitDirectories([host.workspace])).toEqual([]);
  });

  test('does not open one through a directory of its own that says it does', () => {
    const host = createHost();
    const victim = makeMain(host, 'home/victim');
    host.write('home/project/.git', 'gitdir: fake\n');
    host.write('home/project/fake/gitdir', `${host.workspace}/.git\n`);
    host.write('home/project/fake/commondir', `${victim}\n`);
    expect(findGitDirectories([host.workspace])).toEqual([]);
  });

  test.for([
    '',
    'nonsense',
    'gitdir:',
    'gitdir: ',
    'gitdir: /gone',
    'gitdir: .',
    'gitdir: /',
    'gitdir: .git',
  ])('may say "%s"', (text) => {
    const host = createHost();
    host.write('home/project/.git', text);
    expect(findGitDirectories([host.workspace])).toEqual([]);
  });

  test('may be a link, which is not followed', () => {
    const host = createHost();
    const victim = makeMain(host, 'home/victim');
    host.link('home/project/.git', victim);
    expect(findGitDirectories([host.workspace])).toEqual([]);
  });
});
