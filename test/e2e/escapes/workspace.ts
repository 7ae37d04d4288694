/** Files in the workspace that somebody outside executes or obeys. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Attempt } from './attempt.ts';

/** Plants what the attempts below go for. Each has names of its own, so that none is in another's way. */
export function prepareWorkspace(work: string): void {
  const git = (directory: string, ...args: string[]): void => {
    mkdirSync(directory, { recursive: true });
    execFileSync(
      'git',
      ['-c', 'init.defaultBranch=main', '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args],
      {
        cwd: directory,
        stdio: 'ignore',
        env: { PATH: process.env['PATH'], HOME: work, GIT_CONFIG_NOSYSTEM: '1' },
      },
    );
  };
  const write = (path: string, text = '{}\n'): void => {
    mkdirSync(join(work, path, '..'), { recursive: true });
    writeFileSync(join(work, path), text);
  };
  git(work, 'init', '-q');
  for (const name of [
    'moved',
    'nested/deep/repo',
    'linked',
    'modules',
    'common',
    'hookless',
    'worktree',
    'exchanged',
    'gitlink',
    'replaced/inner',
  ]) {
    git(join(work, name), 'init', '-q');
    git(join(work, name), 'commit', '-q', '--allow-empty', '-m', 'first');
  }
  execFileSync('rm', ['-rf', join(work, 'hookless/.git/hooks'), join(work, 'linked/.git/hooks')]);
  mkdirSync(join(work, 'linked/.githooks'));
  symlinkSync('../.githooks', join(work, 'linked/.git/hooks'));
  git(join(work, 'worktree'), 'worktree', 'add', '-q', join(work, 'second-tree'));
  write('modules/.git/modules/sub/config', '[core]\n\tbare = false\n');
  write('modules/.git/modules/sub/HEAD', 'ref: refs/heads/main\n');
  mkdirSync(join(work, 'modules/.git/modules/sub/hooks'));
  execFileSync('mv', [join(work, 'gitlink/.git'), join(work, 'gitlink-real')]);
  symlinkSync('../gitlink-real', join(work, 'gitlink/.git'));
  for (const path of [
    '.mcp.json',
    '.vscode/settings.json',
    '.claude/settings.json',
    'mcp-shell-server.toml',
    '.envrc',
    '.devcontainer/devcontainer.json',
  ])
    write(path, path.endsWith('.toml') ? '# project\n' : '{}\n');
  write('shared/cursor.json');
  mkdirSync(join(work, '.cursor'));
  symlinkSync('../shared/cursor.json', join(work, '.cursor/mcp.json'));
}

const evil = (work: string, path: string): boolean => {
  const file = join(work, path);
  return existsSync(file) && readFileSync(file, 'utf8').includes('EVIL');
};

/** Any way of getting that text into that file. */
function change(path: string, how: string, name = `${path} is changed`): Attempt {
  return { name, script: (t) => `cd ${t.work}; ${how}`, isSeen: (t) => evil(t.work, path) };
}

/** The same for what was not there, or was a link; nobody is surprised by it. */
function create(path: string, how: string, name: string): Attempt {
  return { ...change(path, how, name), namedPath: (t) => join(t.work, path) };
}

const overwrite = (path: string): string =>
  `echo EVIL >> ${path}; sed -i s/.*/EVIL/ ${path}; echo EVIL > .new; mv -f .new ${path}; rm -f ${path}; mkdir -p ${path.replace(/\/?[^/]*$/, '/.')}; echo EVIL > ${path}`;

export const WORKSPACE: readonly Attempt[] = [
  ...[
    '.git/config',
    '.git/hooks/pre-commit',
    'nested/deep/repo/.git/config',
    'nested/deep/repo/.git/hooks/post-checkout',
  ].map((path) => change(path, overwrite(path))),
  change(
    '.git/config',
    'git config core.fsmonitor EVIL; git config --local alias.st "!EVIL"',
    '.git/config is changed by git itself',
  ),
  change(
    'moved/.git/config',
    'mv moved/.git moved/old; mkdir -p moved/.git; echo EVIL > moved/.git/config',
    'a .git is moved away and replaced',
  ),
  change(
    'replaced/inner/.git/config',
    'mv replaced replaced-old; mkdir -p replaced/inner/.git; echo EVIL > replaced/inner/.git/config',
    'a directory around a repository is moved away and replaced',
  ),
  change(
    'exchanged/.git/hooks/pre-commit',
    `mkdir -p twin/.git/hooks; echo EVIL > twin/.git/hooks/pre-commit; /usr/bin/python3 -I -c 'import ctypes; l = ctypes.CDLL(None)\nfor a, b in (("exchanged", "twin"), ("exchanged/.git", "twin/.git"), ("exchanged/.git/hooks", "twin/.git/hooks")): l.renameat2(-100, a.encode(), -100, b.encode(), 2)'`,
    'a repository is exchanged for another',
  ),
  create(
    'common/.git/commondir',
    'mkdir -p common/other; cp -r common/.git/config common/.git/objects common/.git/refs common/other/; echo "[core] fsmonitor = EVIL" >> common/other/config; echo "../other #EVIL" > common/.git/commondir',
    'a repository is told to take its settings elsewhere (commondir)',
  ),
  change(
    'modules/.git/modules/sub/config',
    'echo "[core] fsmonitor = EVIL" >> modules/.git/modules/sub/config',
    'the settings of a submodule',
  ),
  change(
    'modules/.git/modules/sub/hooks/post-checkout',
    'echo EVIL > modules/.git/modules/sub/hooks/post-checkout',
    'the hooks of a submodule',
  ),
  create(
    'hookless/.git/hooks/pre-commit',
    'mkdir -p hookless/.git/hooks; echo EVIL > hookless/.git/hooks/pre-commit',
    'hooks of a repository that has none yet',
  ),
  create(
    'linked/.git/hooks/pre-commit',
    'rm -f linked/.git/hooks; mkdir -p linked/.git/hooks; echo EVIL > linked/.git/hooks/pre-commit',
    'a link to hooks is replaced',
  ),
  create(
    'gitlink/.git/config',
    'rm -f gitlink/.git; mkdir -p gitlink/.git; echo EVIL > gitlink/.git/config',
    'a link to a .git is replaced',
  ),
  change(
    'second-tree/.git',
    'echo "gitdir: EVIL" > second-tree/.git; rm -f second-tree/.git; echo "gitdir: EVIL" > second-tree/.git',
    'the .git file of a second working tree',
  ),
  ...[
    '.mcp.json',
    '.vscode/settings.json',
    '.claude/settings.json',
    '.devcontainer/devcontainer.json',
    'mcp-shell-server.toml',
    '.envrc',
  ].map((path) => change(path, overwrite(path))),
  ...[
    '.vscode/tasks.json',
    '.vscode/mcp.json',
    '.claude/settings.local.json',
    '.claude/hooks/start.sh',
    '.gemini/settings.json',
    '.idea/workspace.xml',
    '.zed/settings.json',
    '.kiro/settings/mcp.json',
    'opencode.json',
  ].map((path) => create(path, overwrite(path), `${path} is created where there was none`)),
  create(
    '.cursor/mcp.json',
    'rm -f .cursor/mcp.json; echo EVIL > .cursor/mcp.json',
    'a link to a client’s settings is replaced',
  ),
  create(
    '.codex/config.toml',
    'rm -rf .codex; mkdir -p real-codex; echo EVIL > real-codex/config.toml; ln -s real-codex .codex',
    'a client’s settings in a directory that is a link',
  ),
  change(
    '.claude/settings.json',
    'mv .claude .claude-old; mkdir -p .claude; echo EVIL > .claude/settings.json',
    'the directory of a client’s settings is moved away',
  ),
  {
    name: 'a hook of the host’s git runs',
    script: (t) =>
      `cd ${t.work}; for d in . moved modules common linked; do printf '#!/bin/sh\\necho EVIL > ${t.canary}.hook\\n' > $d/.git/hooks/post-index-change; chmod +x $d/.git/hooks/post-index-change; done 2>/dev/null; true`,
    isSeen: (t) => {
      for (const name of ['.', 'moved', 'modules', 'common', 'linked']) {
        try {
          execFileSync('git', ['-c', 'safe.directory=*', '-C', join(t.work, name), 'status'], {
            stdio: 'ignore',
            env: { PATH: process.env['PATH'], HOME: t.home },
          });
        } catch {
          // A repository that an attempt broke.
        }
      }
      return existsSync(`${t.canary}.hook`);
    },
  },
];

/** The home directory is the workspace: start-up files are there or not, real or links, and secrets beside them. */
export function prepareHome(home: string): void {
  const write = (path: string, text = '# mine\n'): void => {
    mkdirSync(join(home, path, '..'), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  for (const path of [
    '.bashrc',
    '.zshrc',
    '.config/fish/config.fish',
    '.vimrc',
    'dot/profile',
    'dot/config/nvim/init.lua',
  ])
    write(path);
  symlinkSync('dot/profile', join(home, '.profile'));
  symlinkSync(join(home, 'dot/profile'), join(home, '.zprofile'));
}

export const HOME_WORKSPACE: readonly Attempt[] = [
  ...['.bashrc', '.zshrc', '.config/fish/config.fish', '.vimrc'].map((path) =>
    change(path, overwrite(path), `~/${path} is changed`),
  ),
  ...['.profile', '.zprofile'].map((path) =>
    create(path, `rm -f ${path}; echo EVIL > ${path}`, `~/${path}, a link, is replaced`),
  ),
  ...[
    '.bash_profile',
    '.bash_login',
    '.zshenv',
    '.config/fish/conf.d/x.fish',
    '.config/autostart/x.desktop',
    '.config/systemd/user/x.service',
    '.local/bin/ls',
    'bin/ls',
    '.npmrc',
    '.gitconfig',
    '.config/git/config',
    '.pam_environment',
    '.ssh/rc',
    '.ssh/authorized_keys',
    '.claude.json',
    '.claude/settings.json',
    '.docker/config.json',
    '.xprofile',
    '.tmux.conf',
  ].map((path) => create(path, overwrite(path), `~/${path} is created where there was none`)),
  change(
    '.config/fish/config.fish',
    'mv .config .config-old; mkdir -p .config/fish; echo EVIL > .config/fish/config.fish',
    '~/.config is moved away and replaced',
  ),
];
