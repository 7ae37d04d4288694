import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { namedByConfig, parseGitConfig, readGitConfig } from './git-config.ts';
import { createHost } from './sandbox.fixture.ts';

describe('a git configuration', () => {
  test.for<[string, string]>([
    ['[core]\n\thooksPath = x', 'x'],
    ['[CORE]\n  HooksPath=x', 'x'],
    ['[core] hooksPath = x', 'x'],
    ['[core]\r\n\thooksPath = x\r\n', 'x'],
    ['[core]\nhooksPath = "a b"  # comment', 'a b'],
    ['[core]\nhooksPath = a"; b"c ; comment', 'a; bc'],
    ['[core]\nhooksPath = a\\\nb', 'ab'],
    ['[core]\nhooksPath = "a\\"b\\\\c"', 'a"b\\c'],
    ['; comment\n# comment\n[core "x"]\nhooksPath = x   ', 'x'],
    ['[core.x]\nhooksPath = x', 'x'],
  ])('%j', ([text, value]) => {
    expect(parseGitConfig(text)).toEqual([{ section: 'core', key: 'hookspath', value }]);
  });

  test('that is no text of the kind has nothing in it', () => {
    expect(parseGitConfig('\0\u0001[[[\n]]=')).toEqual([]);
  });
});

describe('what it names', () => {
  function namedIn(
    config: string,
    files: Readonly<Record<string, string>> = {},
    moved: Readonly<Record<string, string>> = {},
  ): string[] {
    const host = createHost();
    const environment = Object.fromEntries(
      Object.entries(moved).map(([name, path]) => [name, join(host.home, path)]),
    );
    host.write('home/project/.git/config', config);
    for (const [name, text] of Object.entries(files)) host.write(`home/${name}`, text);
    host.link('home/project/tools/link', 'monitor');
    const git = join(host.workspace, '.git');
    return namedByConfig(git, {
      workTree: host.workspace,
      home: host.home,
      environment,
      read: readGitConfig,
    }).map((path) => path.slice(host.home.length + 1));
  }

  test.for<[string, string[]]>([
    ['[core]\nhooksPath = .githooks', ['project/.githooks']],
    ['[core]\nhooksPath = ~/hooks', ['hooks']],
    // Its scripts run those beside the directory.
    ['[core]\nhooksPath = .husky/_', ['project/.husky']],
    ['[include]\npath = ../shared.config', ['project/shared.config']],
    ['[includeIf "gitdir:~/job/"]\npath = ~/job.config', ['job.config']],
    ['[core]\nfsmonitor = ./tools/monitor --quick', ['project/tools/monitor']],
    ['[core]\nsshCommand = "ssh -F tools/ssh.conf"', ['project/tools/ssh.conf']],
    ['[filter "x"]\nclean = sh tools/clean.sh %f', ['project/tools/clean.sh']],
    ['[alias]\nx = "!tools/monitor; true"', ['project/tools/monitor']],
    // Made later, a command would choose what git runs.
    ['[core]\nfsmonitor = ./later', ['project/later']],
    ['[core]\neditor = tools/link', ['project/tools/link']],
    ['[core]\nfsmonitor = ./tools', []],
    ['[remote "x"]\nurl = ./tools/monitor', []],
    ['[core]\nworktree = ../tools', []],
    ['[core]\nfsmonitor = true\npager = less', []],
    ['[core]\nfsmonitor = "\'./my tools/t\'"', ['project/my tools/t']],
    ['[core]\nfsmonitor = "\\"./my tools/t\\" --quick"', ['project/my tools/t']],
    ['[core]\nfsmonitor = ./my\\\\ tools/t', ['project/my tools/t']],
    ['[core]\nfsmonitor = "\\"$PWD\\"/tools/monitor"', ['project/tools/monitor']],
    ['[core]\nfsmonitor = ${PWD}/tools/monitor', ['project/tools/monitor']],
    ['[core]\nfsmonitor = "$(git rev-parse --show-toplevel)/tools/monitor -x"', ['project/tools/monitor']],
    ['[core]\nfsmonitor = $HOME/project/tools/monitor', ['project/tools/monitor']],
    ['[mergetool "x"]\npath = ./my tools/t', ['project/my', 'project/tools/t', 'project/my tools/t']],
    [
      '[filter "x"]\nclean = "sh -c \'./tools/clean.sh %f\'"',
      ['project/tools/clean.sh %f', 'project/tools/clean.sh'],
    ],
    ['[tar "tar.xz"]\ncommand = ./tools/monitor', ['project/tools/monitor']],
    ['[sendemail]\nsendmailCmd = ./tools/monitor', ['project/tools/monitor']],
  ])('%j', ([config, expected]) => {
    const files = ['tools/monitor', 'tools/ssh.conf', 'tools/clean.sh', 'my tools/t'].map((name) => [
      `project/${name}`,
      '',
    ]);
    expect(namedIn(config, Object.fromEntries(files))).toEqual(expected);
  });

  test('is also what the user has for all repositories', () => {
    expect(namedIn('', { '.gitconfig': '[core]\nhooksPath = .hooks' })).toEqual(['project/.hooks']);
  });

  test.for([
    ['XDG_CONFIG_HOME', 'xdg', 'xdg/git/config'],
    ['GIT_CONFIG_GLOBAL', 'other', 'other'],
    ['GIT_CONFIG_SYSTEM', 'system', 'system'],
  ] as const)('is also what %s leads to', ([variable, path, file]) => {
    const text = '[core]\nhooksPath = .hooks';
    expect(namedIn('', { [file]: text }, { [variable]: path })).toEqual(['project/.hooks']);
    expect(namedIn('', { [file]: text })).toEqual([]);
  });

  test('is also in what is included, which may include itself', () => {
    const included = '[core]\nhooksPath = hooks\n[include]\npath = other';
    expect(namedIn('[include]\npath = ../other', { 'project/other': included })).toEqual([
      'project/other',
      'project/hooks',
    ]);
  });

  test('is each hook where all of the work tree is the place for them', () => {
    const files = { 'project/pre-commit': '', 'project/package.json': '' };
    const named = namedIn('[core]\nhooksPath = .', files);
    // One that is made later is a hook as well.
    expect(named).toEqual(expect.arrayContaining(['project/pre-commit', 'project/post-checkout']));
    expect(named).not.toContain('project/package.json');
    expect(named).not.toContain('project');
  });
});
