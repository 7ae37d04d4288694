import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from '../../../test/setup/needs.ts';
import { createGitLayouts, type GitPlaces } from './git-layout.ts';
import { createHost, type Host, linesOf, viewOf } from './sandbox.fixture.ts';

function git(host: Host, directory: string, ...args: string[]): void {
  const full = join(host.workspace, directory);
  mkdirSync(full, { recursive: true });
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd: full, stdio: 'ignore' });
}

const put = (host: Host, name: string, text: string): void => {
  mkdirSync(dirname(join(host.workspace, name)), { recursive: true });
  writeFileSync(join(host.workspace, name), text);
};

interface Layout {
  readonly make: (host: Host) => void;
  readonly repositories?: readonly string[];
  readonly kept: readonly string[];
  readonly open: readonly string[];
}

const LAYOUTS: Readonly<Record<string, Layout>> = {
  'a bare repository with work trees beside it': {
    make(host) {
      git(host, '', 'init', '-q', '--bare', '.bare');
      put(host, '.git', 'gitdir: ./.bare\n');
      git(host, '', '--work-tree=.', 'commit', '-q', '--allow-empty', '-m', 'x');
      git(host, '', 'worktree', 'add', '-q', 'main', '-b', 'other');
    },
    repositories: ['main'],
    kept: ['.git', 'main/.git', '.bare/config', '.bare/hooks', '.bare/worktrees/main/commondir'],
    open: ['.bare/HEAD', '.bare/worktrees/main/HEAD', '.bare/objects', 'main/file'],
  },
  'a git directory elsewhere in the workspace': {
    make: (host) => git(host, 'work', 'init', '-q', '--separate-git-dir', '../store'),
    repositories: ['work'],
    kept: ['work/.git', 'store/config', 'store/hooks'],
    open: ['store/HEAD', 'work/file'],
  },
  'a git directory behind a link': {
    make(host) {
      git(host, 'store', 'init', '-q');
      symlinkSync('store/.git', join(host.workspace, '.git'));
    },
    kept: ['store/.git/config', 'store/.git/hooks'],
    open: ['store/.git/HEAD'],
  },
  'a git directory at the top': {
    make: (host) => git(host, '', 'init', '-q', '--bare', '.'),
    kept: ['config', 'hooks'],
    open: ['HEAD', 'objects', 'file'],
  },
  'a git directory further down': {
    make: (host) => git(host, 'a/b.git', 'init', '-q', '--bare', '.'),
    repositories: ['a/b.git'],
    kept: ['a/b.git/config', 'a/b.git/hooks'],
    open: ['a/b.git/HEAD'],
  },
  'a git directory of which another one is the rest': {
    make(host) {
      git(host, 'rest', 'init', '-q', '--bare', '.');
      put(host, 'HEAD', 'ref: refs/heads/main\n');
      put(host, 'commondir', 'rest\n');
    },
    kept: ['commondir', 'rest/config', 'rest/hooks'],
    open: ['HEAD', 'rest/HEAD'],
  },
  'a repository that an index names, where no survey looks': {
    make(host) {
      git(host, '', 'init', '-q');
      git(host, 'node_modules/sub', 'init', '-q');
      git(host, 'node_modules/sub', 'commit', '-q', '--allow-empty', '-m', 'x');
      git(host, '', 'add', '-f', 'node_modules/sub');
    },
    kept: ['.git/config', 'node_modules/sub/.git/config', 'node_modules/sub/.git/hooks'],
    open: ['node_modules/sub/file', 'node_modules/other'],
  },
  'hooks and configuration elsewhere in the workspace': {
    make(host) {
      git(host, '', 'init', '-q');
      git(host, '', 'config', 'core.hooksPath', 'tools/hooks');
      git(host, '', 'config', 'include.path', '../shared/config');
      put(host, 'tools/hooks/pre-commit', '');
      put(host, 'shared/config', '[core]\n\tfsmonitor = tools/monitor\n');
      put(host, 'tools/monitor', '');
    },
    kept: ['tools/hooks', 'shared/config', 'tools/monitor', '.git/config'],
    open: ['tools/other', 'shared/other'],
  },
  'a submodule whose name has many parts': {
    make(host) {
      git(host, '', 'init', '-q');
      git(host, '.git/modules/a/b/c/d/e/f', 'init', '-q', '--bare', '.');
    },
    kept: ['.git/modules/a/b/c/d/e/f/config', '.git/modules/a/b/c/d/e/f/hooks'],
    open: ['.git/modules/a/b/c/d/e/f/HEAD'],
  },
  'a submodule in what a command made look like another': {
    make(host) {
      git(host, '', 'init', '-q');
      git(host, '.git/modules/a/b', 'init', '-q', '--bare', '.');
      put(host, '.git/modules/a/HEAD', '');
    },
    kept: ['.git/modules/a/b/config', '.git/modules/a/b/hooks'],
    open: ['.git/modules/a/b/HEAD'],
  },
};

describe.skipIf(needs('git'))('what git would obey is read-only, and the rest is not', () => {
  test.for(Object.entries(LAYOUTS))('in %s', ([, { make, repositories = [], kept, open }]) => {
    const host = createHost();
    make(host);
    const at = (name: string): string => join(host.workspace, name);
    const profile = host.profile({ repositories: repositories.map(at) });
    const kindsOf = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, viewOf(profile, at(name)).split(' ')[0]]));
    const all = (names: readonly string[], kind: string) =>
      Object.fromEntries(names.map((name) => [name, kind]));
    expect(kindsOf(kept)).toEqual(all(kept, 'readable'));
    expect(kindsOf(open)).toEqual(all(open, 'writable'));
  });

  test('in an ordinary one with three mounts', () => {
    const host = createHost();
    git(host, '', 'init', '-q');
    expect(linesOf(host.profile().mounts, host.workspace)).toEqual([
      'writable .git',
      'readable .git/hooks',
      'readable .git/config',
    ]);
  });

  test('with its whole git directory in those beyond the number that is looked into', () => {
    const host = createHost();
    const repositories = Array.from({ length: 70 }, (_, index) =>
      host.makeRepository(`home/project/r${index}`),
    );
    const profile = host.profile({ repositories });
    const heads = repositories.map((path) => viewOf(profile, join(path, '.git/HEAD')).split(' ')[0]);
    expect(heads).toEqual(Array.from({ length: 70 }, (_, index) => (index < 64 ? 'writable' : 'readable')));
    expect(
      repositories.every((path) => viewOf(profile, join(path, '.git/config')).startsWith('readable')),
    ).toBe(true);
    expect(viewOf(profile, join(host.workspace, 'r69/file'))).toMatch(/^writable/);
  });

  test('with the whole work tree where a configuration is not read to its end, and not with others', () => {
    const host = createHost();
    const [large, plain] = ['large', 'plain'].map((name) => host.makeRepository(`home/project/${name}`));
    host.write('home/project/large/.git/config', `#${'x'.repeat(3_000_000)}\n`);
    const profile = host.profile({ repositories: [large ?? '', plain ?? ''] });
    expect(viewOf(profile, join(host.workspace, 'large/file'))).toMatch(/^readable/);
    expect(viewOf(profile, join(host.workspace, 'plain/file'))).toMatch(/^writable/);
    host.write('home/project/.git/config', `#${'x'.repeat(3_000_000)}\n`);
    expect(viewOf(host.profile(), join(host.workspace, 'x'))).toMatch(/^readable/);
  });

  test.for<[string, Readonly<Record<string, string>>]>([
    ['.git', { '.git': `gitdir: ${'a/'.repeat(2000)}\n` }],
    ['commondir', { '.git/HEAD': '', '.git/commondir': `${'a/'.repeat(2000)}\n` }],
  ])('with the whole work tree where %s leads very far', ([, files]) => {
    const host = createHost();
    for (const [name, text] of Object.entries(files)) put(host, `far/${name}`, text);
    const profile = host.profile({ repositories: [join(host.workspace, 'far')] });
    expect(viewOf(profile, join(host.workspace, 'far/file'))).toMatch(/^readable/);
    expect(viewOf(profile, join(host.workspace, 'file'))).toMatch(/^writable/);
  });

  test('with all of .git/modules in those that are left when very many submodules were found', () => {
    const host = createHost();
    const repositories = Array.from({ length: 20 }, (_, index) => {
      for (let inner = 0; inner < 40; inner++)
        host.write(`home/project/r${index}/.git/modules/m${inner}/HEAD`);
      host.write(`home/project/r${index}/.git/modules/m0/config`);
      return host.makeRepository(`home/project/r${index}`);
    });
    const profile = host.profile({ repositories });
    const kinds = (name: string) =>
      repositories.map((path) => viewOf(profile, join(path, name)).split(' ')[0]);
    expect(new Set(kinds('.git/modules/m0/config'))).toEqual(new Set(['readable']));
    expect(kinds('.git/modules/m0/index').slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 'writable'));
    expect(kinds('.git/modules/m0/index').slice(-5)).toEqual(Array.from({ length: 5 }, () => 'readable'));
    expect(new Set(kinds('.git/index'))).toEqual(new Set(['writable']));
  });

  test('that are not listed, as far as a second name of what is in them goes', () => {
    const host = createHost();
    const inner = host.makeRepository('home/project/many/x');
    const { single, obeyed } = host.git({ unlisted: [inner], overflowing: [join(host.workspace, 'many')] });
    expect(single).toEqual(expect.arrayContaining([join(inner, '.git/config'), join(inner, '.git/hooks')]));
    expect(obeyed).toContain(join(host.workspace, 'many'));
  });

  test('with directories that have too many of them, and the workspace itself', () => {
    const host = createHost();
    const many = host.makeDirectory('home/project/many');
    expect(viewOf(host.profile({ overflowing: [many] }), join(many, 'x'))).toMatch(/^readable/);
    expect(viewOf(host.profile({ overflowing: [host.workspace] }), join(host.workspace, 'x'))).toMatch(
      /^readable/,
    );
  });
});

describe.skipIf(needs('git'))('a layout is looked for again', () => {
  const placesOf = (host: Host): GitPlaces => ({
    roots: [host.workspace],
    repositories: [],
    gitDirectories: [],
    overflowing: [],
    unlisted: [],
    home: host.home,
  });

  test.for<[string, (host: Host) => void]>([
    ['a repository appears', (host) => git(host, '', 'init', '-q')],
    ['a git directory appears at the top', (host) => git(host, '', 'init', '-q', '--bare', '.')],
    ['hooks are elsewhere', (host) => git(host, 'base', 'config', 'core.hooksPath', 'x')],
    ['a submodule is made', (host) => git(host, 'base/.git/modules/x', 'init', '-q', '--bare', '.')],
    [
      'an index names another',
      (host) => {
        git(host, 'base/sub', 'init', '-q');
        git(host, 'base/sub', 'commit', '-q', '--allow-empty', '-m', 'x');
        git(host, 'base', 'add', 'sub');
      },
    ],
    ['attributes come', (host) => put(host, 'base/.git/info/attributes', '* filter=x')],
  ])('when %s', ([, change]) => {
    const host = createHost();
    git(host, 'base', 'init', '-q');
    const look = createGitLayouts();
    const places = { ...placesOf(host), repositories: [join(host.workspace, 'base')] };
    const before = look(places);
    expect(look(places)).toBe(before);
    change(host);
    expect(look(places).key).not.toBe(before.key);
  });
});
