import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findAppeared, watchedPaths } from './appeared.ts';
import type { WatchedPath } from './profile.ts';
import { PROTECTED_IN_WORKSPACE } from './protected-paths.ts';
import { createHost, type Host } from './sandbox.fixture.ts';

interface Watching {
  readonly writable?: readonly string[];
  readonly repositories?: readonly string[];
  readonly opened?: readonly string[];
}

function watch(host: Host, options: Watching = {}): WatchedPath[] {
  const { writable = [host.workspace], repositories = [], opened = [] } = options;
  const git = host.git({ roots: writable, repositories });
  return watchedPaths({ writable, git, homedir: host.home, opened });
}

const namesIn = (paths: readonly string[], host: Host): string[] =>
  paths.map((path) => path.slice(host.home.length + 1));
const watchedIn = (host: Host, options?: Watching): string[] =>
  namesIn(
    watch(host, options)
      .filter(({ repository }) => repository === undefined)
      .map(({ path }) => path),
    host,
  );
const appeared = (watched: readonly WatchedPath[], host: Host): string[] =>
  namesIn(findAppeared(watched), host);

const gitIn =
  (host: Host) =>
  (...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], {
      cwd: host.workspace,
      stdio: 'ignore',
    });
  };

describe('what is watched', () => {
  test('is what is not there yet and would be obeyed', () => {
    const host = createHost();
    host.write('home/project/.mcp.json');
    host.makeRepository('home/project');
    expect(watchedIn(host)).toEqual(
      [
        '.git/config.worktree',
        '.git/commondir',
        '.git/info/attributes',
        ...PROTECTED_IN_WORKSPACE.filter((name) => name !== '.mcp.json'),
        '',
      ].map((name) => join('project', name)),
    );
  });

  test('is what repositories inside lack', () => {
    const host = createHost();
    const inner = host.makeRepository('home/project/inner');
    rmSync(join(inner, '.git/hooks'), { recursive: true });
    expect(watchedIn(host, { repositories: [inner] })).toContain('project/inner/.git/hooks');
  });

  test('is what submodules lack, as in the repository itself', () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/modules/sub/HEAD');
    host.write('home/project/.git/modules/sub/config');
    expect(watchedIn(host)).toContain('project/.git/modules/sub/hooks');
  });

  test('is of git only whether there is a repository, where there is none', () => {
    expect(watchedIn(createHost()).filter((name) => name.includes('.git'))).toEqual(['project/.git']);
  });

  test('is what shells obey where the home directory can be written to, and nothing of it elsewhere', () => {
    const host = createHost();
    host.write('home/.bashrc');
    expect(watchedIn(host).filter((name) => !name.startsWith('project'))).toEqual([]);
    const names = watchedIn(host, { writable: [host.home] });
    expect(names).toEqual(expect.arrayContaining(['bin', '.config/systemd']));
    expect(names).not.toContain('.bashrc');
  });

  test.for([
    '.profile',
    '.zshenv',
    '.zshrc.zwc',
    '.p10k.zsh.zwc',
    '.bashrc.d',
    '.ssh',
    '.config',
    '.anything',
    'bin',
    'tools/bin',
    'new.code-workspace',
  ])('names %s where it appears in a home directory that can be written to', (name) => {
    const host = createHost();
    host.write('home/.bashrc');
    const watched = watchedPaths({
      writable: [host.home],
      git: host.git({ roots: [host.home] }),
      homedir: host.home,
      besidesDots: [join(host.home, 'tools/bin')],
      opened: [],
    });
    for (const other of ['notes', '.cache/x', '.npm/x', '.lesshst', '.python_history'])
      host.write(`home/${other}`);
    expect(appeared(watched, host)).toEqual([]);
    host.write(`home/${name}`);
    expect(appeared(watched, host)).toEqual([name]);
  });

  test('is where a link leads', () => {
    const host = createHost();
    host.write('home/dotfiles/bashrc');
    host.link('home/.bashrc', 'dotfiles/bashrc');
    // Whether the directory around it is remembered depends on how long ago it changed.
    expect(watch(host, { writable: [host.home] })).toContainEqual(
      expect.objectContaining({ path: join(host.home, '.bashrc'), link: 'dotfiles/bashrc' }),
    );
  });

  test('is not what the operator opened', () => {
    const host = createHost();
    const names = watchedIn(host, { opened: [join(host.workspace, '.vscode')] });
    expect(names.filter((name) => name.includes('.vscode'))).toEqual([]);
    expect(names).toContain('project/.mcp.json');
  });

  test('has each path once', () => {
    const host = createHost();
    host.makeRepository('home/project');
    const names = watchedIn(host, { repositories: [host.workspace] });
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('what appeared', () => {
  test('is named, and left where it is', () => {
    const host = createHost();
    const watched = watch(host);
    host.write('home/project/.mcp.json');
    host.write('home/project/.vscode/tasks.json');
    host.write('home/project/.vscode/snippets.json');
    expect(appeared(watched, host)).toEqual(['project/.mcp.json', 'project/.vscode/tasks.json']);
    expect(appeared(watched, host)).toEqual(['project/.mcp.json', 'project/.vscode/tasks.json']);
  });

  test('is nothing where nothing of the kind was created', () => {
    const host = createHost();
    const watched = watch(host);
    host.write('home/project/src/.mcp.json');
    host.write('home/project/package.json');
    expect(appeared(watched, host)).toEqual([]);
  });

  test('may be a link, one to nowhere, or one to itself', () => {
    const host = createHost();
    host.makeRepository('home/project');
    rmSync(join(host.workspace, '.git/hooks'), { recursive: true });
    const watched = watch(host);
    host.write('home/project/evil/pre-commit');
    host.link('home/project/.git/hooks', '../evil');
    host.link('home/project/.mcp.json', 'nowhere');
    host.link('home/project/.envrc', '.envrc');
    expect(appeared(watched, host).toSorted()).toEqual([
      'project/.envrc',
      'project/.git/hooks',
      'project/.mcp.json',
    ]);
  });

  test('may lie behind a directory that is a link', () => {
    const host = createHost();
    const watched = watch(host);
    host.write('home/project/evil/settings.json');
    host.link('home/project/.claude', 'evil');
    expect(appeared(watched, host)).toEqual(['project/.claude/settings.json']);
  });

  test('may be in place of a link; the link as it was is not', () => {
    const host = createHost();
    host.write('home/dotfiles/bashrc');
    const bash = host.link('home/.bashrc', 'dotfiles/bashrc');
    const zsh = host.link('home/.zshrc', 'dotfiles/zshrc');
    const watched = watch(host, { writable: [host.home] });
    expect(appeared(watched, host)).toEqual([]);
    rmSync(bash);
    writeFileSync(bash, 'evil');
    rmSync(zsh);
    symlinkSync('dotfiles/evil', zsh);
    expect(appeared(watched, host)).toEqual(['.bashrc', '.zshrc']);
  });

  test('may be in place of a git directory that was a link', () => {
    const host = createHost();
    host.makeRepository('home/project/stored');
    const git = host.link('home/project/.git', 'stored/.git');
    const watched = watch(host);
    rmSync(git);
    host.write('home/project/.git/hooks/pre-commit', 'evil');
    expect(appeared(watched, host)).toContain('project/.git');
  });

  test('may be in place of a directory on the way that was a link', () => {
    const host = createHost();
    host.write('home/dotfiles/config/fish/config.fish');
    const config = host.link('home/.config', 'dotfiles/config');
    const watched = watch(host, { writable: [host.home] });
    rmSync(config);
    host.write('home/.config/fish/config.fish', 'evil');
    expect(appeared(watched, host)).not.toEqual([]);
  });

  test('may be of a new repository, if it has more than git puts there', () => {
    const host = createHost();
    const watched = watch(host);
    host.makeRepository('home/project');
    expect(appeared(watched, host)).toEqual([]);
    host.write('home/project/.git/config', '[core]\n\tfsmonitor = ./evil\n');
    expect(appeared(watched, host)).toEqual(['project/.git/config']);
  });

  test.for<[string, string, string[]]>([
    ['a config that starts a program', '[core]\n\tfsmonitor = ./evil\n', ['project/sub/.git/config']],
    ['only what git writes', '[core]\n\tbare = false\n', []],
  ])('may be in a repository that an index has come to name, with %s', ([, config, expected]) => {
    const host = createHost();
    const git = gitIn(host);
    git('init', '-q');
    const watched = watch(host);
    git('init', '-q', 'sub');
    git('-C', 'sub', 'commit', '-q', '--allow-empty', '-m', 'x');
    host.write('home/project/sub/.git/config', config);
    expect(appeared(watched, host)).toEqual([]);
    git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`);
    expect(appeared(watched, host)).toEqual(expected);
    // It is known from then on, and read-only.
    expect(appeared(watch(host), host)).toEqual([]);
  });

  const evil = '[core]\n\tfsmonitor = ./evil\n';
  const gitlink = (git: (...args: string[]) => void, name: string): void =>
    git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},${name}`);

  test.for<[string, (host: Host) => void, string[]]>([
    [
      'the repository',
      (host) => {
        gitIn(host)('init', '-q', 'n');
        host.write('home/project/n/.git/config', evil);
      },
      ['project/n/.git/config'],
    ],
    [
      'a file that leads to one',
      (host) => {
        gitIn(host)('init', '-q', '--bare', 'q');
        host.write('home/project/q/config', evil);
        host.write('home/project/n/.git', 'gitdir: ../q\n');
      },
      ['project/q/config'],
    ],
    ['a link to one', (host) => host.link('home/project/n/.git', '../q'), ['project/n/.git']],
    ['a repository as git makes one', (host) => gitIn(host)('init', '-q', 'n'), []],
  ])('may be where an index names a submodule that was not there: %s', ([, make, expected]) => {
    for (const isMade of [false, true]) {
      const host = createHost();
      const git = gitIn(host);
      git('init', '-q');
      gitlink(git, 'n');
      if (isMade) host.makeDirectory('home/project/n');
      const watched = watch(host);
      expect(appeared(watched, host)).toEqual([]);
      make(host);
      expect(appeared(watched, host)).toEqual(expected);
    }
  });

  test.for<[string, (host: Host) => void, string]>([
    [
      'in a new repository',
      (host) => {
        gitIn(host)('init', '-q');
        gitlink(gitIn(host), 'n');
      },
      'n',
    ],
    [
      'where core.worktree is elsewhere',
      (host) => {
        host.makeDirectory('home/project/src');
        gitIn(host)('init', '-q');
        gitIn(host)('config', 'core.worktree', '../src');
      },
      'src/n',
    ],
  ])('may be in a repository that an index names %s', ([, make, path]) => {
    const host = createHost();
    const git = gitIn(host);
    const isNew = path === 'n';
    if (!isNew) make(host);
    const watched = watch(host);
    if (isNew) make(host);
    git('init', '-q', path);
    host.write(`home/project/${path}/.git/config`, evil);
    if (!isNew) gitlink(git, 'n');
    expect(appeared(watched, host)).toEqual([`project/${path}/.git/config`]);
  });

  test('may be any, where an index cannot be read whole', () => {
    const host = createHost();
    gitIn(host)('init', '-q');
    const watched = watch(host);
    host.write('home/project/.git/index', `DIRC\0\0\0\u0002\0\0\0\u0009${'x'.repeat(99)}`);
    expect(appeared(watched, host)).toEqual(['project/.git/index']);
    const { mounts } = host.profile();
    expect(mounts.find(({ path }) => path === host.workspace)?.kind).toBe('readable');
  });

  test('may be in a repository that only the index of another new one names', () => {
    const host = createHost();
    const git = gitIn(host);
    git('init', '-q');
    const watched = watch(host);
    const link = (inside: string, name: string): void =>
      git('-C', inside, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},${name}`);
    for (const path of ['a', 'a/b', 'a/b/c']) git('init', '-q', path);
    host.write('home/project/a/b/c/.git/config', '[core]\n\tfsmonitor = ./evil\n');
    link('.', 'a');
    link('a', 'b');
    expect(appeared(watched, host)).toEqual([]);
    link('a/b', 'c');
    expect(appeared(watched, host)).toEqual(['project/a/b/c/.git/config']);
  });

  test.for<[string, string]>([
    ['at its end', 'link'],
    ['in between', 'link/git'],
    ['behind another one', 'first/git'],
  ])('may be another git directory, behind a link %s of the way from a .git file', ([, way]) => {
    const host = createHost();
    const git = gitIn(host);
    git('init', '-q', '--bare', 'stored/git');
    const link = host.link('home/project/link', way === 'link' ? 'stored/git' : 'stored');
    host.link('home/project/first', 'link');
    host.write('home/project/.git', `gitdir: ${way}\n`);
    const watched = watch(host);
    expect(appeared(watched, host)).toEqual([]);
    rmSync(link);
    symlinkSync('evil', link);
    expect(appeared(watched, host)).toEqual(['project/link']);
  });

  test('may be a program that a config names, made later or behind a link', () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/config', '[core]\n\tfsmonitor = ./later\n\teditor = ./link --wait\n');
    const link = host.link('home/project/link', 'harmless');
    const watched = watch(host);
    expect(appeared(watched, host)).toEqual([]);
    host.write('home/project/later', 'evil');
    rmSync(link);
    host.write('home/project/link', 'evil');
    expect(appeared(watched, host).toSorted()).toEqual(['project/later', 'project/link']);
  });

  test.for<[string, string, string]>([
    ['configuration', '[include]\n\tpath = ../a1/b/x', 'real/b/x'],
    ['hooks', '[core]\n\thooksPath = a1/b/h', 'real/b/h/pre-commit'],
    ['a program', '[core]\n\tfsmonitor = ./a1/b/x', 'real/b/x'],
  ])('may be %s behind a link that is further up', ([, config, file]) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/config', config);
    host.write(`home/project/${file}`);
    const link = host.link('home/project/a1', 'real');
    const watched = watch(host);
    expect(appeared(watched, host)).toEqual([]);
    rmSync(link);
    symlinkSync('evil', link);
    expect(appeared(watched, host)).toContain('project/a1');
  });

  test.for<[string, string, string]>([
    ['a hook', '.git/hooks/pre-commit', '../../scripts/hook'],
    ['a command of an agent', '.claude/commands/team/x.md', '../../../scripts/hook'],
  ])('may be another file where %s leads, or the first one there', ([, link, target]) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/scripts/hook', 'harmless');
    host.link(`home/project/${link}`, target);
    host.link(`home/project/${link}-later`, `${target}-later`);
    const watched = watch(host);
    expect(appeared(watched, host)).toEqual([]);
    renameSync(join(host.workspace, 'scripts'), join(host.workspace, 'moved'));
    host.write('home/project/scripts/hook', 'evil');
    host.write('home/project/scripts/hook-later', 'evil');
    expect(appeared(watched, host).toSorted()).toEqual([
      'project/scripts/hook',
      'project/scripts/hook-later',
    ]);
  });

  test('is nothing in a submodule as git adds it, and is what was put there besides', () => {
    const host = createHost();
    const git = gitIn(host);
    git('init', '-q', '../origin');
    git('-C', '../origin', 'commit', '-q', '--allow-empty', '-m', 'x');
    git('init', '-q');
    const watched = watch(host);
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '../origin', 'sub');
    expect(appeared(watched, host)).toEqual([]);
    host.write('home/project/.git/modules/sub/hooks/post-checkout', 'evil');
    expect(appeared(watched, host)).toEqual(['project/.git/modules/sub/hooks']);
  });

  test.for<[string, string[], string[]]>([
    ['a config', ['HEAD', 'objects/x', 'refs/x', 'config'], ['project/config']],
    ['hooks', ['HEAD', 'objects/x', 'refs/x', 'hooks/pre-commit'], ['project/hooks']],
    ['another directory', ['HEAD', 'commondir', 'rest/objects/x', 'rest/refs/x'], ['project/commondir']],
    ['too little', ['HEAD', 'objects/x', 'config'], []],
  ])('may be the workspace itself, as a git directory with %s', ([, names, expected]) => {
    const host = createHost();
    const watched = watch(host);
    const textOf = (name: string): string => (name === 'commondir' ? 'rest' : '[alias]\n\tx = !evil\n');
    for (const name of names) host.write(`home/project/${name}`, textOf(name));
    expect(appeared(watched, host)).toEqual(expected);
  });

  test('may be hooks or configuration that a config names', () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/config', '[core]\n\thooksPath = .hooks\n[include]\n\tpath = ../inc\n');
    const watched = watch(host);
    host.write('home/project/.hooks/pre-commit');
    host.write('home/project/inc');
    expect(appeared(watched, host)).toEqual(['project/.hooks', 'project/inc']);
  });

  test('is nothing where the whole workspace is gone', () => {
    const host = createHost();
    const watched = watch(host);
    rmSync(host.workspace, { recursive: true });
    expect(appeared(watched, host)).toEqual([]);
  });
});
