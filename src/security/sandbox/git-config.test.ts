import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createConfigBudget, type NamedByConfig, namedByConfig, readGitConfig } from './git-config.ts';
import { createHost, type Host } from './sandbox.fixture.ts';

const MODULE = [
  'tools/clean.py',
  'tools/clean/__main__.py',
  'tools/__init__.py',
  'tools/clean/__init__.py',
].map((name) => `project/${name}`);
const PROXY = ['project/ProxyCommand tools/monitor %h', 'project/tools/monitor'];
/** Wherever it could be after both changes of directory. */
const IN_PARENTHESES = ['monitor', 'tools/monitor', 'later/tools/monitor'].map((name) => `project/${name}`);

describe('what it names', () => {
  function lookAt(
    config: string,
    files: Readonly<Record<string, string>> = {},
    moved: Readonly<Record<string, string>> = {},
    make: (host: Host) => void = () => undefined,
  ): NamedByConfig {
    const host = createHost();
    const environment = Object.fromEntries(
      Object.entries(moved).map(([name, path]) => [name, join(host.home, path)]),
    );
    host.write('home/project/.git/config', config);
    for (const [name, text] of Object.entries(files)) host.write(`home/${name}`, text);
    host.link('home/project/tools/link', 'monitor');
    make(host);
    const git = join(host.workspace, '.git');
    const { paths, links, isWhole } = namedByConfig(git, {
      workTree: host.workspace,
      home: host.home,
      environment,
      budget: createConfigBudget(),
      config: readGitConfig,
    });
    const inHome = (all: readonly string[]) => all.map((path) => path.slice(host.home.length + 1));
    return { paths: inHome(paths), links: inHome(links), isWhole };
  }
  const namedIn = (...about: Parameters<typeof lookAt>): readonly string[] => lookAt(...about).paths;

  test.for<[string, string[]]>([
    ['[core]\nhooksPath = .githooks', ['project/.githooks']],
    ['[core]\nhooksPath = my\thooks', ['project/my\thooks', 'project/my hooks']],
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
    ['[core]\nsshCommand = ssh -Ftools/ssh.conf', ['project/tools/ssh.conf']],
    ['[core]\nsshCommand = ssh -oProxyCommand=tools/monitor', ['project/tools/monitor']],
    ['[core]\nsshCommand = ssh -oProxyCommand=later/x', ['project/later/x']],
    ['[core]\nsshCommand = "ssh -o \'ProxyCommand tools/monitor %h\'"', PROXY],
    ['[core]\nsshCommand = ssh --config=tools/ssh.conf', ['project/tools/ssh.conf']],
    ['[core]\nsshCommand = env A=tools/monitor ssh', ['project/tools/monitor']],
    ['[core]\nfsmonitor = `tools/monitor`', ['project/tools/monitor']],
    ['[core]\nfsmonitor = sh <tools/monitor', ['project/tools/monitor']],
    ['[alias]\nx = "!\\"${X:-tools/monitor}\\""', ['project/${X:-tools/monitor}', 'project/tools/monitor']],
    ['[alias]\nx = !cd tools && ./monitor', ['project/monitor', 'project/tools/monitor']],
    ['[alias]\nx = "!cd tools; sh monitor"', ['project/tools/monitor']],
    ['[alias]\nx = "!sh -c \'cd tools && sh monitor\'"', ['project/tools/monitor']],
    ['[alias]\nx = "!(cd later); (cd tools && ./monitor)"', IN_PARENTHESES],
    [
      '[alias]\nx = "!cd \\"$(git rev-parse --show-toplevel)/tools\\" && sh monitor"',
      ['project/tools/monitor'],
    ],
    ['[alias]\nx = "!cd ${GIT_PREFIX:-.} && ./tools/monitor"', ['project/tools/monitor']],
    ['[alias]\nx = !make -C tools -f ./monitor', ['project/monitor', 'project/tools/monitor']],
    ['[alias]\nx = !git --exec-path status', []],
    ['[alias]\nx = !python3 -m tools.clean', MODULE],
    ['[alias]\nx = !python3 -umtools.clean', MODULE],
    ['[alias]\nx = !git commit -m tools.clean', []],
    ['[lfs "customtransfer.x"]\npath = tools/monitor', ['project/tools/monitor']],
    ['[lfs "customtransfer.x"]\npath = python3\nargs = tools/monitor', ['project/tools/monitor']],
    ['[lfs "extension.x"]\nclean = tools/monitor %f', ['project/tools/monitor']],
    ['[lfs "extension.x"]\nsmudge = tools/monitor %f', ['project/tools/monitor']],
    ['[remote "x"]\nurl = ext::tools/monitor %S', ['project/tools/monitor']],
    ['[remote "x"]\npushUrl = ext::tools/monitor', ['project/tools/monitor']],
    ['[url "ext::tools/monitor "]\ninsteadOf = https://x', ['project/tools/monitor']],
    ['[core]\nhooksPath = :(optional).githooks', ['project/.githooks']],
    // What "tools/up" leads to has its own directory above.
    ['[core]\nhooksPath = tools/up/../hooks', ['other/hooks']],
  ])('%j', ([config, expected]) => {
    const make = (host: Host): void => {
      host.makeDirectory('home/other/inner');
      host.link('home/project/tools/up', '../../other/inner');
    };
    const files = ['tools/monitor', 'tools/ssh.conf', 'tools/clean.sh', 'my tools/t'].map((name) => [
      `project/${name}`,
      '',
    ]);
    expect(namedIn(config, Object.fromEntries(files), {}, make)).toEqual(expected);
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

  test('is what an included file names by the name by which it is included, as git takes it', () => {
    const files = { 'shared/config': '[include]\npath = extra' };
    const link = (host: Host): void => void host.link('home/project/.git/more', '../../shared/config');
    expect(namedIn('[include]\npath = more', files, {}, link)).toEqual([
      'project/.git/more',
      'project/.git/extra',
    ]);
  });

  test('is found in files that include each other, each once', () => {
    const again = '[include]\npath = config\n[include]\npath = ../other\n'.repeat(8);
    const startMs = performance.now();
    const { paths, isWhole } = lookAt(`${again}[core]\nhooksPath = hooks`, {
      'project/other': `[include]\npath = .git/config\n[include]\npath = other\n`.repeat(8),
    });
    expect({ paths, isWhole }).toEqual({
      paths: ['project/.git/config', 'project/other', 'project/hooks'],
      isWhole: true,
    });
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  describe('is not known where there is', () => {
    const many = (line: (index: number) => string, count: number) =>
      Array.from({ length: count }, (_, index) => line(index)).join('\n');
    const included = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`project/i${index}`, `[include]\npath = i${index + 1}`]),
    );
    test.for<[string, string, Readonly<Record<string, string>>]>([
      ['a very large file', `#${'x'.repeat(3_000_000)}\n[core]\nhooksPath = x`, {}],
      [
        'a very large file that is included',
        '[include]\npath = ../big',
        { 'project/big': '#'.repeat(3_000_000) },
      ],
      ['a very long chain of files', '[include]\npath = ../i0', included],
      ['a very large number of files', `[include]\n${many((index) => `path = ${index}`, 500)}`, {}],
      [
        'a very long command line',
        `[alias]\nx = !${many((index) => `a/${index}`, 60_000).replaceAll('\n', ' ')}`,
        {},
      ],
      [
        'a very large number of words',
        `[alias]\nx = !${many((index) => `a/${index}`, 9000).replaceAll('\n', ' ')}`,
        {},
      ],
      ['a very large number of entries', `[core]\n${many((index) => `pager = ./p${index}`, 5000)}`, {}],
      ['a path of very many parts', `[alias]\n${many(() => `x = !${'a/'.repeat(2000)}`, 20)}`, {}],
    ])('%s', ([, config, files]) => {
      const startMs = performance.now();
      expect(lookAt(config, files).isWhole).toBe(false);
      expect(performance.now() - startMs).toBeLessThan(5000);
    });

    test('nothing of the kind', () => {
      const branches = many(
        (index) => `[branch "b${index}"]\n\tremote = origin\n\tmerge = refs/heads/b${index}`,
        10_000,
      );
      expect(lookAt(`${branches}\n[core]\nhooksPath = x`)).toEqual({
        paths: ['project/x'],
        links: [],
        isWhole: true,
      });
    });
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
