import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findAppeared, watchedPaths } from './appeared.ts';
import { protectedIn } from './protected.ts';
import { createHost, type Host, linesOf, viewOf } from './sandbox.fixture.ts';

/** Paths below the host's root that are read-only. */
function protectedOf(
  host: Host,
  options: {
    readonly writable?: readonly string[];
    readonly repositories?: readonly string[];
    readonly gitDirectories?: readonly string[];
    readonly installation?: readonly string[];
    readonly writablePaths?: readonly string[];
  } = {},
): string[] {
  const { writable = [host.workspace], repositories = [], gitDirectories = [] } = options;
  const roots = writable.filter((path) => !gitDirectories.includes(path));
  const mounts = protectedIn(writable, {
    homedir: host.home,
    installation: options.installation ?? [],
    git: host.git({ roots, repositories, gitDirectories }),
    besidesDots: [],
    security: { writablePaths: options.writablePaths ?? [] },
  });
  expect(mounts.filter(({ kind }) => kind !== 'readable')).toEqual([]);
  return mounts.map(({ path }) => path.slice(host.root.length + 1));
}

describe('what is read-only in a workspace', () => {
  test.for<[link: string, target: string]>([
    ['.git/hooks/pre-commit', '../../s.sh'],
    ['.git/hooks/pre-push', 'HOME/s.sh'],
    ['.git/hooks/pre-commit', '../../scripts/../s.sh'],
    ['.githooks/pre-commit', '../s.sh'],
    ['.claude/commands/x.md', '../../s.sh'],
    ['.claude/skills/a/b.md', '../../../s.sh'],
    ['.vscode/tasks.json', '../s.sh'],
  ])('is what the link %s leads to: %s', ([link, target]) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/config', '[core]\n\thooksPath = .githooks\n');
    host.write('home/project/s.sh');
    host.makeDirectory('home/project/scripts');
    const path = host.link(`home/project/${link}`, target.replace('HOME', host.workspace));
    expect(protectedOf(host)).toContain('home/project/s.sh');
    expect(path).not.toBe('');
  });

  test('is not all of it because a link leads upwards', () => {
    const host = createHost();
    host.link('home/project/.claude/root', '../..');
    host.link('home/project/.claude/here', '.');
    expect(protectedOf(host)).toEqual(['home/project/.claude']);
  });

  test('is what editors, agents and git obey, where it is there', () => {
    const host = createHost();
    host.makeRepository('home/project');
    const names = ['.mcp.json', '.envrc', '.vscode/tasks.json', '.claude/settings.json'];
    const others = ['package.json', 'src/.mcp.json', '.kiro/specs/x.md', 'node_modules/.bin/tsc'];
    for (const name of [...names, ...others]) host.write(`home/project/${name}`);
    host.makeDirectory('home/project/.claude/hooks');
    expect(protectedOf(host)).toEqual([
      'home/project/.mcp.json',
      'home/project/.claude',
      'home/project/.vscode',
      'home/project/.envrc',
      'home/project/.git/hooks',
      'home/project/.git/config',
    ]);
  });

  test.for([
    '.roo/mcp.json',
    '.kiro/settings/mcp.json',
    'opencode.json',
    'opencode.jsonc',
    '.devcontainer/devcontainer.json',
    '.devcontainer.json',
    '.claude/commands',
    '.claude/agents',
    '.opencode',
    '.zed',
    '.idea',
    'project.code-workspace',
    'any name.code-workspace',
    '.hg/hgrc',
    '.hg/hgrc-not-shared',
    '.hg/sharedpath',
    '.jj/repo/config.toml',
    '.jj/workspace-config.toml',
    '.sl/config',
    '.sl/sharedpath',
  ])('is %s with its directory, which starts programs for a client; it is named where it appears', (name) => {
    const host = createHost();
    const watched = watchedPaths({
      writable: [host.workspace],
      git: host.git(),
      homedir: host.home,
      opened: [],
    });
    const path = host.write(`home/project/${name}`);
    expect(findAppeared(watched)).toEqual([path]);
    const isAlone = !name.includes('/') || /^\.(?:hg|jj|sl)\//.test(name);
    expect(protectedOf(host)).toEqual([`home/project/${isAlone ? name : dirname(name)}`]);
  });

  test('is a directory of settings as a whole, but for work trees in it and what the operator opened', () => {
    const host = createHost();
    host.write('home/project/.claude/agents/x.md');
    host.write('home/project/.vscode/tasks.json');
    host.makeDirectory('home/project/.claude/worktrees');
    const mounts = host.profile({ security: { writablePaths: [join(host.workspace, '.vscode')] } }).mounts;
    expect(linesOf(mounts, host.workspace)).toEqual([
      'readable .claude',
      'writable .vscode',
      'readable .vscode/tasks.json',
      'writable .claude/worktrees',
    ]);
  });

  test.for<[file: string, text: string, obeyed: string]>([
    ['.hg/sharedpath', '../other/.hg\n', 'other/.hg/hgrc'],
    ['.hg/sharedpath', 'WORKSPACE/other/.hg', 'other/.hg/hgrc'],
    ['.hg/sharedpath', '../link/../.hg\n', 'far/.hg/hgrc'],
    ['.sl/sharedpath', '../other/.sl\n', 'other/.sl/config'],
    ['.jj/repo', '../store', 'store/config.toml'],
    ['.jj/repo', 'WORKSPACE/store', 'store/config.toml'],
  ])('is what %s obeys in the place that it names: %j', ([file, text, obeyed]) => {
    const host = createHost();
    host.makeDirectory('home/project/far/away');
    host.link('home/project/link', 'far/away');
    host.write(`home/project/${file}`, text.replace('WORKSPACE', host.workspace));
    const watched = watchedPaths({
      writable: [host.workspace],
      git: host.git(),
      homedir: host.home,
      opened: [],
    });
    expect(protectedOf(host)).toEqual([`home/project/${file}`]);
    const made = host.write(`home/project/${obeyed}`);
    // Named where a command made it, and read-only from then on.
    expect(findAppeared(watched)).toEqual([made]);
    expect(protectedOf(host)).toEqual([`home/project/${file}`, `home/project/${obeyed}`]);
  });

  test.for([
    ['.hg/sharedpath', ''],
    ['.hg/sharedpath', '/nowhere/else'],
    ['.jj/repo', 'a/'.repeat(3000)],
    ['.jj/repo', '\0'],
  ] as const)('is %s alone where it names nothing in there: %j', ([file, text]) => {
    const host = createHost();
    host.write(`home/project/${file}`, text);
    expect(protectedOf(host)).toEqual([`home/project/${file}`]);
  });

  test('is named where a file has come in the place of the directory .jj/repo', () => {
    const host = createHost();
    host.makeDirectory('home/project/.jj/repo/store');
    const watched = watchedPaths({
      writable: [host.workspace],
      git: host.git(),
      homedir: host.home,
      opened: [],
    });
    expect(protectedOf(host)).toEqual([]);
    expect(findAppeared(watched)).toEqual([]);
    rmSync(join(host.workspace, '.jj/repo'), { recursive: true });
    const made = host.write('home/project/.jj/repo', '../evil');
    expect(findAppeared(watched)).toEqual([made]);
  });

  test('is what very many links lead to, by the directories that it is in', () => {
    const host = createHost();
    host.makeDirectory('home/project/.claude/commands');
    for (let index = 0; index < 300; index++) {
      host.write(`home/project/docs/prompts/${index}`);
      host.link(`home/project/.claude/commands/${index}`, `../../docs/prompts/${index}`);
    }
    expect(protectedOf(host)).toEqual(['home/project/.claude', 'home/project/docs/prompts']);
    for (let index = 0; index < 300; index++) {
      host.write(`home/project/d${index}/x`);
      host.link(`home/project/.claude/commands/d${index}`, `../../d${index}/x`);
    }
    expect(viewOf(host.profile(), join(host.workspace, 'x'))).toMatch(/^readable/);
  });

  test('is where a link in such a directory leads, too', () => {
    const host = createHost();
    host.write('home/project/shared/mcp.json');
    host.makeDirectory('home/project/.cursor');
    host.link('home/project/.cursor/mcp.json', '../shared/mcp.json');
    expect(protectedOf(host)).toEqual(['home/project/.cursor', 'home/project/shared/mcp.json']);
  });

  test('is in a work tree inside such a directory', () => {
    const host = createHost();
    const inner = host.makeRepository('home/project/.claude/worktrees/x');
    const { mounts } = host.profile({ repositories: [inner] });
    expect(linesOf(mounts, inner)).toEqual(['writable .git', 'readable .git/hooks', 'readable .git/config']);
  });

  test('is the file alone where the directory around it is a link', () => {
    const host = createHost();
    host.write('home/project/src/tasks.json');
    host.link('home/project/.vscode', 'src');
    expect(protectedOf(host)).toEqual(['home/project/src/tasks.json']);
  });

  test('is nothing where there is nothing', () => {
    expect(protectedOf(createHost())).toEqual([]);
  });

  test('is also in repositories inside it', () => {
    const host = createHost();
    const inner = host.makeRepository('home/project/libs/inner');
    host.write('home/project/libs/inner/.git/info/attributes');
    expect(protectedOf(host, { repositories: [inner] })).toEqual([
      'home/project/libs/inner/.git/hooks',
      'home/project/libs/inner/.git/config',
      // As a whole: a mount on the file alone would be lost with it.
      'home/project/libs/inner/.git/info',
    ]);
  });

  test('is not what lies in a repository elsewhere', () => {
    const host = createHost();
    const other = host.makeRepository('home/other');
    expect(protectedOf(host, { repositories: [other] })).toEqual([]);
  });

  test('is in submodules and theirs, and in worktrees', () => {
    const host = createHost();
    host.makeRepository('home/project');
    const git = 'home/project/.git';
    for (const name of ['one', 'group/two', 'one/modules/three']) {
      host.write(`${git}/modules/${name}/HEAD`);
      host.write(`${git}/modules/${name}/config`);
      host.makeDirectory(`${git}/modules/${name}/hooks`);
    }
    host.write(`${git}/worktrees/feature/HEAD`);
    host.write(`${git}/worktrees/feature/commondir`);
    host.write(`${git}/worktrees/feature/config.worktree`);
    expect(protectedOf(host).toSorted()).toEqual(
      [
        'config',
        'hooks',
        'modules/group/two/config',
        'modules/group/two/hooks',
        'modules/one/config',
        'modules/one/hooks',
        'modules/one/modules/three/config',
        'modules/one/modules/three/hooks',
        'worktrees/feature/commondir',
        'worktrees/feature/config.worktree',
      ].map((name) => `${git}/${name}`),
    );
  });

  test('is the file that names the git directory of a worktree or submodule', () => {
    const host = createHost();
    host.write('home/project/.git', 'gitdir: ../main/.git/worktrees/project\n');
    const sub = host.makeDirectory('home/project/sub');
    host.write('home/project/sub/.git', 'gitdir: ../.git/modules/sub\n');
    expect(protectedOf(host, { repositories: [sub] })).toEqual([
      'home/project/.git',
      'home/project/sub/.git',
    ]);
  });

  test('is in a git directory that lies elsewhere and is written to', () => {
    const host = createHost();
    const git = join(host.makeRepository('home/main'), '.git');
    host.write('home/main/.git/worktrees/feature/HEAD');
    host.write('home/main/.git/worktrees/feature/commondir');
    expect(protectedOf(host, { writable: [host.workspace, git], gitDirectories: [git] })).toEqual([
      'home/main/.git/hooks',
      'home/main/.git/config',
      'home/main/.git/worktrees/feature/commondir',
    ]);
  });

  test('is what a link leads to, as long as that can be written to', () => {
    const host = createHost();
    host.makeDirectory('home/project/.git');
    host.makeDirectory('home/project/tools/hooks');
    host.link('home/project/.git/hooks', '../tools/hooks');
    host.write('outside/tasks.json');
    host.link('home/project/.vscode', join(host.root, 'outside'));
    expect(protectedOf(host)).toEqual(['home/project/tools/hooks']);
  });

  test.for([
    '.bashrc',
    '.profile',
    '.zshrc',
    '.gitconfig',
    '.vimrc',
    '.config/fish',
    '.config/fish/config.fish',
    '.config/zsh/.zshrc',
    '.config/git/config',
    '.config/nvim',
  ])('is what ~/%s leads to, where it lies in another directory', (name) => {
    const host = createHost();
    host.write('home/project/dotfiles/file/x');
    host.write('home/project/dotfiles/other');
    host.link(`home/${name}`, join(host.workspace, 'dotfiles/file'));
    expect(protectedOf(host)).toEqual(['home/project/dotfiles/file']);
    const opened = join(host.workspace, 'dotfiles/file');
    expect(protectedOf(host, { writablePaths: [opened] })).toEqual([]);
  });

  test('is named where a start-up file of the user leads to it, and a command made it', () => {
    const host = createHost();
    host.link('home/.zshrc', 'project/dotfiles/zshrc');
    host.link('home/.bashrc', '/nowhere/bashrc');
    host.makeDirectory('home/project/dotfiles');
    const watched = watchedPaths({
      writable: [host.workspace],
      git: host.git(),
      homedir: host.home,
      opened: [],
    });
    expect(findAppeared(watched)).toEqual([]);
    const made = host.write('home/project/dotfiles/zshrc');
    expect(findAppeared(watched)).toEqual([made]);
  });

  test('survives a link that leads to itself', () => {
    const host = createHost();
    host.link('home/project/.vscode', '.vscode');
    host.link('home/project/.git', '.git');
    expect(() => protectedOf(host)).not.toThrow();
  });

  test('has nothing that bwrap could not mount: a link to nowhere', () => {
    const host = createHost();
    host.link('home/project/.envrc', 'gone');
    expect(protectedOf(host)).toEqual([]);
  });

  test('does not have what the operator opened by its own name', () => {
    const host = createHost();
    host.makeRepository('home/project');
    const config = join(host.workspace, '.git/config');
    expect(protectedOf(host, { writablePaths: [config, host.workspace] })).toEqual([
      'home/project/.git/hooks',
    ]);
  });

  test.for(['.ccache/ccache.conf', '.cache/ccache/ccache.conf'])(
    'is ~/%s, in a cache that is not',
    (name) => {
      const host = createHost();
      const cache = dirname(host.write(`home/${name}`));
      host.write(`home/${dirname(name)}/0/x`);
      const tmpDirectory = host.makeDirectory('state/tmp');
      for (const workspace of [host.workspace, host.home]) {
        const profile = host.profile({ tmpDirectory, security: { workspace: [workspace] } });
        expect(viewOf(profile, join(host.home, name))).toMatch(/^readable/);
        expect(viewOf(profile, join(cache, '0/x'))).toMatch(/^writable/);
      }
      rmSync(join(host.home, name));
      const watched = watchedPaths({
        writable: [host.workspace],
        git: host.git(),
        homedir: host.home,
        opened: [],
      });
      const made = host.write(`home/${name}`);
      expect(findAppeared(watched)).toEqual([made]);
    },
  );

  test('is a part of the home directory only where that can be written to', () => {
    const host = createHost();
    host.write('home/.bashrc');
    host.write('home/.cargo/bin/cargo');
    host.write('home/.cargo/registry/index');
    expect(protectedOf(host)).toEqual([]);
    expect(protectedOf(host, { writable: [host.home] })).toEqual(['home/.bashrc', 'home/.cargo']);
    expect(protectedOf(host, { writable: [join(host.home, '.cargo')] })).toEqual(['home/.cargo/bin']);
  });

  test('is the server’s own program', () => {
    const host = createHost();
    const dist = host.makeDirectory('home/project/dist');
    const elsewhere = host.makeDirectory('opt/dist');
    expect(protectedOf(host, { installation: [dist, elsewhere] })).toEqual(['home/project/dist']);
  });

  test.for<[string, (host: Host) => void]>([
    [
      'many submodules',
      (host) => {
        for (let index = 0; index < 80; index++) host.write(`home/project/.git/modules/m${index}/HEAD`);
      },
    ],
    [
      'a submodule with a very long name',
      (host) => host.write(`home/project/.git/modules/${'m/'.repeat(60)}HEAD`),
    ],
    [
      'many directories',
      (host) => {
        for (let index = 0; index < 2100; index++)
          host.makeDirectory(`home/project/.git/modules/${index % 40}/${index}`);
      },
    ],
  ])('is all of .git/modules where a command made %s', ([, make]) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/modules/zz-real/HEAD');
    host.write('home/project/.git/modules/zz-real/config');
    make(host);
    expect(protectedOf(host)).toEqual([
      'home/project/.git/modules',
      'home/project/.git/hooks',
      'home/project/.git/config',
    ]);
  });

  test('is the workspace where a command made very many files that an editor opens', () => {
    const host = createHost();
    for (let index = 0; index < 60; index++) host.write(`home/project/a${index}.code-workspace`);
    const profile = host.profile();
    expect(viewOf(profile, join(host.workspace, 'zz.code-workspace'))).toMatch(/^readable/);
  });
});
