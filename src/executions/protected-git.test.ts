/** Git layouts by which a command could once write to what git outside executes or obeys, each tried in a real sandbox. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { createWorld } from '../../test/support/world.ts';

interface Attack {
  /** By the person, before the server starts. */
  readonly prepare?: (workspace: string) => void;
  readonly commands: readonly string[];
  /** Must not have EVIL in it afterwards. */
  readonly target: string;
}

function git(directory: string, ...args: string[]): void {
  mkdirSync(directory, { recursive: true });
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], {
    cwd: directory,
    stdio: 'ignore',
  });
}

const EVIL = '[core]\\n\\tfsmonitor = EVIL\\n';
const append = (path: string): string => `printf '${EVIL}' >> ${path}; true`;

const ATTACKS: Readonly<Record<string, Attack>> = {
  'a hard link of the person’s': {
    prepare(workspace) {
      git(workspace, 'init', '-q');
      linkSync(join(workspace, '.git/config'), join(workspace, 'notes.txt'));
    },
    commands: [append('notes.txt')],
    target: '.git/config',
  },
  'a hard link from the command that made the repository': {
    commands: ['git init -q && ln .git/config notes.txt', append('notes.txt')],
    target: '.git/config',
  },
  'a hard link to a hook': {
    commands: [
      'git init -q && echo true > .git/hooks/pre-commit && ln .git/hooks/pre-commit notes.txt',
      append('notes.txt'),
    ],
    target: '.git/hooks/pre-commit',
  },
  'a hard link to the settings of a client': {
    commands: ['mkdir .claude && echo {} > .claude/settings.json && ln .claude/settings.json x', append('x')],
    target: '.claude/settings.json',
  },
  'very many directories before that of a submodule': {
    prepare(workspace) {
      git(workspace, 'init', '-q');
      git(join(workspace, '.git/modules/zz'), 'init', '-q', '--bare', '.');
    },
    commands: [
      'for i in $(seq 80); do mkdir -p .git/modules/a$i; echo > .git/modules/a$i/HEAD; done',
      append('.git/modules/zz/config'),
    ],
    target: '.git/modules/zz/config',
  },
  'a submodule with a long name': {
    prepare(workspace) {
      git(workspace, 'init', '-q');
      git(join(workspace, '.git/modules/a/b/c/d/e'), 'init', '-q', '--bare', '.');
    },
    commands: [append('.git/modules/a/b/c/d/e/config')],
    target: '.git/modules/a/b/c/d/e/config',
  },
  'a git directory that a file names': {
    prepare: (workspace) => git(join(workspace, 'work'), 'init', '-q', '--separate-git-dir', '../store'),
    commands: [append('store/config'), 'mv store other && cp -r other store', append('store/config')],
    target: 'store/config',
  },
  'very many repositories before a real one': {
    prepare(workspace) {
      const first = join(workspace, 'a0');
      git(first, 'init', '-q', '--template=');
      for (let index = 1; index < 70; index++)
        cpSync(first, join(workspace, `a${index}`), { recursive: true });
      git(join(workspace, 'zz'), 'init', '-q');
    },
    commands: [append('zz/.git/config')],
    target: 'zz/.git/config',
  },
  'a repository that the index names, made by the command before': {
    prepare: (workspace) => git(workspace, 'init', '-q'),
    commands: [
      'git init -q sub && git -C sub -c user.name=x -c user.email=x commit -q --allow-empty -m x && git add sub',
      append('sub/.git/config'),
    ],
    target: 'sub/.git/config',
  },
  'a git directory at the top of the workspace': {
    commands: ['git init -q --bare .', append('config')],
    target: 'config',
  },
  'hooks that the config names': {
    prepare(workspace) {
      git(workspace, 'init', '-q');
      git(workspace, 'config', 'core.hooksPath', 'tools/hooks');
      mkdirSync(join(workspace, 'tools/hooks'), { recursive: true });
      writeFileSync(join(workspace, 'tools/hooks/pre-commit'), 'true\n');
    },
    commands: [
      append('tools/hooks/pre-commit'),
      'mv tools old && cp -r old tools',
      append('tools/hooks/pre-commit'),
    ],
    target: 'tools/hooks/pre-commit',
  },
  'a file that the config includes': {
    prepare(workspace) {
      git(workspace, 'init', '-q');
      git(workspace, 'config', 'include.path', '../shared.config');
      writeFileSync(join(workspace, 'shared.config'), '');
    },
    commands: [append('shared.config')],
    target: 'shared.config',
  },
};

describe.skipIf(needs('bwrap', 'git'))('a command does not get to what git obeys', () => {
  test.for(Object.entries(ATTACKS))('by %s', async ([, { prepare, commands, target }]) => {
    await using world = createWorld({ settings: { security: { sandbox: 'required' } } });
    const workspace = world.settings.defaultWorkdir;
    prepare?.(workspace);
    for (const command of commands) await world.run(command);
    expect(existsSync(join(workspace, dirname(target)))).toBe(true);
    expect(readFileSync(join(workspace, target), 'utf8')).not.toContain('EVIL');
  });

  test('and git still works there', async () => {
    await using world = createWorld({ settings: { security: { sandbox: 'required' } } });
    const workspace = world.settings.defaultWorkdir;
    git(workspace, 'init', '-q', '--bare', '.bare');
    writeFileSync(join(workspace, '.git'), 'gitdir: ./.bare\n');
    git(workspace, '--work-tree=.', 'commit', '-q', '--allow-empty', '-m', 'first');
    git(workspace, 'worktree', 'add', '-q', 'main', '-b', 'other');
    const { outcome, stdout } = await world.run(
      'cd main && echo x > file && git add file && git -c user.name=x -c user.email=x commit -q -m second && git log --format=%s',
    );
    expect({ stdout, exitCode: outcome.exitCode }).toEqual({ stdout: 'second\nfirst\n', exitCode: 0 });
  });

  test.for<[string, string, string]>([
    [
      'a repository that the index names',
      `git init -q; git init -q sub; printf '${EVIL}' >> sub/.git/config; git update-index --add --cacheinfo 160000,${'1'.repeat(40)},sub`,
      'sub/.git/config',
    ],
    ['a git directory at the top', `git init -q --bare .; printf '${EVIL}' >> config`, 'config'],
  ])('and %s with something to obey in it is named', async ([, command, name]) => {
    await using world = createWorld({ settings: { security: { sandbox: 'required' } } });
    const workspace = world.settings.defaultWorkdir;
    if (command.includes('sub')) git(workspace, 'init', '-q');
    const { outcome } = await world.run(command);
    expect(outcome.appeared).toContain(join(workspace, name));
  });
});
