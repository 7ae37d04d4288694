import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { isInside } from '../../base/config/paths.ts';
import { PRESET_NAMES } from '../../base/config/presets.ts';
import { currentUser } from '../../base/user.ts';
import { PROXY_SOCKET } from './build-profile.ts';
import { kindOf } from './host-files.ts';
import type { Mount, Profile } from './profile.ts';
import { createHost, type Host, linesOf, UNCOVERED, viewOf } from './sandbox.fixture.ts';
import { makeTmp } from './state-files.ts';

const MIB = 1024 * 1024;

const pathsOf = (profile: Profile, kind: Mount['kind']): string[] =>
  profile.mounts.filter((mount) => mount.kind === kind).map(({ path }) => path);

function indexOfMount(profile: Profile, path: string): number {
  const index = profile.mounts.findIndex((mount) => mount.path === path);
  if (index === -1) throw new Error(`${path} is not mounted`);
  return index;
}

function canWriteTo(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

describe('the home directory', () => {
  test('where nothing covers it is there read-only, without what is private', () => {
    const host = createHost(UNCOVERED);
    host.write('home/.ssh/id_ed25519');
    host.write('home/.netrc');
    host.write('home/.bash_history');
    host.write('home/.config/gh/hosts.yml');
    host.write('home/.config/editor/settings');
    host.write('home/notes.txt');
    const profile = host.profile();
    expect(linesOf(profile.mounts, host.root)).toEqual([
      'writable home/project',
      'empty home/.ssh',
      'blank home/.netrc',
      'blank home/.bash_history',
      'empty home/.config/gh',
    ]);
    expect(viewOf(profile, join(host.home, 'notes.txt'))).toBe(`readable ${join(host.home, 'notes.txt')}`);
    expect(viewOf(profile, join(host.home, '.ssh/id_ed25519'))).toBe('nothing');
    expect(viewOf(profile, join(host.home, '.config/editor/settings'))).toMatch(/^readable /);
  });

  test('inside /tmp is shown again after /tmp was replaced', () => {
    const host = createHost();
    host.write('home/.ssh/id_ed25519');
    const profile = host.profile();
    expect(linesOf(profile.mounts, host.root)).toEqual([
      'readable home',
      'writable home/project',
      'empty home/.ssh',
    ]);
    expect(indexOfMount(profile, '/tmp')).toBeLessThan(indexOfMount(profile, host.home));
    // What lies beside it in the host's /tmp is not there.
    expect(viewOf(profile, join(host.root, 'beside'))).toBe('nothing');
  });

  const own = currentUser().homedir;
  const hasOwn = own !== '/home' && isInside(own, '/home') && existsSync(own);
  test.skipIf(lacks(!hasOwn && !canWriteTo('/home'), 'no home directory in /home'))(
    'in /home is shown alone, without those of others',
    () => {
      const home = hasOwn ? own : mkdtempSync('/home/host-');
      onTestFinished(() => (hasOwn ? undefined : rmSync(home, { recursive: true })));
      const profile = createHost().profile({ homedir: home });
      expect(viewOf(profile, '/home')).toBe('empty');
      expect(viewOf(profile, '/home/another/file')).toBe('nothing');
      expect(viewOf(profile, home)).toBe(`readable ${home}`);
    },
  );

  test('that is the workspace can be written to, but for what the user’s shells obey and what is private', () => {
    const host = createHost(UNCOVERED);
    host.write('home/.bashrc');
    host.write('home/.config/fish/config.fish');
    host.write('home/.local/bin/tool');
    host.write('home/.ssh/id_ed25519');
    host.write('home/.cache/pip/x');
    host.write('home/.cargo/registry/x');
    host.write('home/tools/bin/x');
    host.makeRepository('home/project');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const profile = host.profile({
      security: { workspace: [host.home] },
      repositories: [host.workspace],
      besidesDots: [join(host.home, 'tools/bin')],
      tmpDirectory,
    });
    expect(linesOf(profile.mounts, host.root).sort()).toEqual([
      'empty home/.ssh',
      'readable home/.bashrc',
      'readable home/.cargo',
      'readable home/.config',
      'readable home/.local',
      'readable home/project/.git/config',
      'readable home/project/.git/hooks',
      'readable home/tools/bin',
      'writable home',
      'writable home/.cache from state/tmp/me/.cache',
      'writable home/.cache/pip',
      'writable home/.cargo/registry',
      'writable home/project',
      'writable home/project/.git',
      'writable home/tools',
    ]);
    expect(profile.writable).toEqual([host.home]);
  });

  test.for([
    '.oh-my-zsh/lib/git.zsh',
    '.bashrc.d/50-prompt',
    '.p10k.zsh',
    '.zshrc.zwc',
    '.zcompdump',
    '.config/any/thing',
    '.anything-else',
    'bin/tool',
    'go/bin/tool',
    'my tools/tool',
  ])('that is the workspace stays as it is in %s, in every preset', (name) => {
    const host = createHost(UNCOVERED);
    const path = host.write(`home/${name}`);
    for (const preset of PRESET_NAMES) {
      const profile = host.profile({
        preset,
        security: { workspace: [host.home] },
        besidesDots: [join(host.home, 'my tools')],
      });
      expect(viewOf(profile, path)).toBe(`readable ${path}`);
      expect(viewOf(profile, join(host.home, 'notes.txt'))).toMatch(/^writable/);
      expect(viewOf(profile, join(host.home, '.npm/_cacache/x'))).toMatch(/^writable/);
    }
  });

  test('that is the workspace is protected where a link in it leads', () => {
    const host = createHost(UNCOVERED);
    const zshrc = host.write('home/dotfiles/zshrc');
    host.link('home/.zshrc', 'dotfiles/zshrc');
    host.link('home/.self', '.');
    host.link('home/.nowhere', 'gone');
    const profile = host.profile({ security: { workspace: [host.home] } });
    expect(viewOf(profile, zshrc)).toBe(`readable ${zshrc}`);
    expect(viewOf(profile, join(host.home, 'notes.txt'))).toMatch(/^writable/);
  });

  test('that is the workspace shows what the operator named in it as it is', () => {
    const host = createHost(UNCOVERED);
    const config = host.write('home/.config/foo/x');
    const dots = host.write('home/.dotfiles/x');
    const cache = host.write('home/.cache/x');
    const profile = host.profile({
      security: {
        workspace: [host.home, join(host.home, '.dotfiles')],
        writablePaths: [join(host.home, '.config'), join(host.home, '.cache')],
      },
      tmpDirectory: makeTmp(join(host.state, 'tmp/me')),
    });
    for (const path of [config, dots, cache]) expect(viewOf(profile, path)).toBe(`writable ${path}`);
  });

  test('that is the workspace becomes read-only itself, but for older directories, where a command made too much', () => {
    const host = createHost(UNCOVERED);
    const rc = host.write('home/.zshrc');
    for (let index = 0; index < 200; index++) host.write(`home/.made-${index}`);
    const profile = host.profile({ security: { workspace: [host.home] } });
    expect(viewOf(profile, rc)).toBe(`readable ${rc}`);
    expect(viewOf(profile, join(host.home, '.new'))).toMatch(/^readable/);
    expect(viewOf(profile, join(host.workspace, 'x'))).toMatch(/^writable/);
    expect(profile.mounts.length).toBeLessThan(40);
  });

  test.for([UNCOVERED, '/tmp'])(
    'that lies in the workspace can be written to as if it were the workspace, in %s',
    (top) => {
      const host = createHost(top);
      host.write('home/.bashrc');
      host.write('home/.npm/x');
      host.write('home/.config/x');
      host.write('home/code/x');
      const parent = dirname(host.home);
      const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
      const profile = host.profile({ security: { workspace: [parent] }, tmpDirectory });
      expect(viewOf(profile, join(host.home, 'code/x'))).toMatch(/^writable/);
      expect(viewOf(profile, join(host.home, '.bashrc'))).toMatch(/^readable/);
      expect(viewOf(profile, join(host.home, '.config/x'))).toMatch(/^readable/);
      expect(profile.writable).toEqual([parent]);
      // Where it is not there, bubblewrap makes it.
      expect(viewOf(profile, join(host.home, '.npm/_npx'))).toMatch(/^writable/);
      expect(viewOf(profile, join(host.home, '.npm/other'))).toMatch(/^writable/);
    },
  );

  test('that is not there is not mounted', () => {
    const host = createHost();
    const profile = host.profile({ homedir: join(host.root, 'nobody') });
    expect(viewOf(profile, join(host.root, 'nobody'))).toBe('nothing');
  });

  test('behind a link is the one that the link leads to', () => {
    const host = createHost(UNCOVERED);
    host.write('home/.ssh/id_ed25519');
    const link = host.link('link', 'home');
    const profile = host.profile({ homedir: link });
    expect(viewOf(profile, join(host.home, '.ssh'))).toBe('empty');
  });
});

describe('what is private', () => {
  test('is hidden where a link leads to, absolute or relative', () => {
    const host = createHost(UNCOVERED);
    host.write('elsewhere/config/gh/hosts.yml');
    host.link('home/.config', join(host.root, 'elsewhere/config'));
    host.write('dotfiles/ssh/id_ed25519');
    host.link('home/.ssh', '../dotfiles/ssh');
    host.write('dotfiles/netrc');
    host.link('home/.netrc', '../dotfiles/netrc');
    const profile = host.profile();
    expect(viewOf(profile, join(host.root, 'elsewhere/config/gh/hosts.yml'))).toBe('nothing');
    expect(viewOf(profile, join(host.root, 'dotfiles/ssh/id_ed25519'))).toBe('nothing');
    expect(viewOf(profile, join(host.root, 'dotfiles/netrc'))).toBe('blank');
    // bwrap could not make a mount on a link.
    const links = profile.mounts.filter(
      ({ path }) => isInside(path, host.root) && lstatSync(path).isSymbolicLink(),
    );
    expect(links).toEqual([]);
  });

  test('that is a link to nowhere is no reason to fail', () => {
    const host = createHost(UNCOVERED);
    host.link('home/.ssh', 'gone');
    host.link('home/.aws', '.aws');
    const profile = host.profile();
    expect(linesOf(profile.mounts, host.root)).toEqual(['writable home/project']);
  });

  test('is an empty file where there is one to show, so that tools are content with it', () => {
    const host = createHost(UNCOVERED);
    const netrc = host.write('home/.netrc');
    const empty = host.write('state/empty');
    expect(viewOf(host.profile({ emptyFile: empty }), netrc)).toBe(`readable ${empty}`);
  });

  test('is also what histories and copies of it are called', () => {
    const host = createHost(UNCOVERED);
    const names = [
      '.bash_history-01234.tmp',
      '.mysql_history',
      '.zsh_history.bak',
      '.histfile',
      '.claude.json.backup',
      '.ssh-old',
      '.aws.bak',
    ];
    for (const name of names) host.write(`home/${name}`);
    const visible = ['history.txt', '.profile', '.tool-versions', 'ssh-notes', 'claude.json'];
    for (const name of visible) host.write(`home/${name}`);
    const profile = host.profile();
    for (const name of names) expect(viewOf(profile, join(host.home, name)), name).toBe('blank');
    for (const name of visible) expect(viewOf(profile, join(host.home, name)), name).toMatch(/^readable/);
  });

  test('is what variables of the server name, several files included', () => {
    const host = createHost(UNCOVERED);
    const one = host.write('clusters/one');
    const two = host.write('clusters/two');
    const keys = host.makeDirectory('keys');
    const profile = host.profile({
      environment: { KUBECONFIG: `${one}:${two}:relative:/not/there`, GNUPGHOME: keys, OTHER: host.home },
    });
    expect([one, two, keys].map((path) => viewOf(profile, path))).toEqual(['blank', 'blank', 'empty']);
  });

  test('are sockets and FIFOs outside the workspace', () => {
    const host = createHost(UNCOVERED);
    const special = host.write('control/socket');
    expect(viewOf(host.profile({ specialFiles: [special] }), special)).toBe('blank');
  });

  test('is not what the workspace lies in', () => {
    const host = createHost(UNCOVERED);
    const inside = host.makeDirectory('home/.claude/worktrees/one');
    const profile = host.profile({ security: { workspace: [inside] } });
    expect(viewOf(profile, inside)).toBe(`writable ${inside}`);
  });

  test.for(PRESET_NAMES)('stays hidden inside a workspace, in the preset %s', (preset) => {
    const host = createHost(UNCOVERED);
    host.write('home/.ssh/id_ed25519');
    const profile = host.profile({ preset, security: { workspace: [host.home] } });
    expect(viewOf(profile, join(host.home, '.ssh/id_ed25519'))).toBe('nothing');
    expect(indexOfMount(profile, join(host.home, '.ssh'))).toBeGreaterThan(indexOfMount(profile, host.home));
  });
});

describe('workspaces', () => {
  test('inside one another are one', () => {
    const host = createHost(UNCOVERED);
    const inner = host.makeDirectory('home/project/inner');
    const profile = host.profile({ security: { workspace: [inner, host.workspace, inner] } });
    expect(linesOf(profile.mounts, host.root)).toEqual(['writable home/project']);
    expect(profile.writable).toEqual([host.workspace]);
  });

  test('with a name that another one begins with are two', () => {
    const host = createHost(UNCOVERED);
    const other = host.makeDirectory('home/project-two');
    const profile = host.profile({ security: { workspace: [host.workspace, other] } });
    expect(profile.writable).toEqual([host.workspace, other]);
  });

  test('that are not there, are files, or are the root are left out', () => {
    const host = createHost(UNCOVERED);
    const file = host.write('file');
    const profile = host.profile({
      security: { workspace: ['/', file, join(host.root, 'gone'), host.workspace] },
    });
    expect(profile.writable).toEqual([host.workspace]);
    expect(pathsOf(profile, 'writable')).toEqual([host.workspace]);
  });

  test('behind a link are where the link leads', () => {
    const host = createHost(UNCOVERED);
    const link = host.link('link', 'home/project');
    expect(host.profile({ security: { workspace: [link] } }).writable).toEqual([host.workspace]);
  });

  test('that are /tmp itself make it the real one', () => {
    const host = createHost(UNCOVERED);
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const profile = host.profile({ security: { workspace: ['/tmp'] }, tmpDirectory });
    expect(viewOf(profile, '/tmp/x')).toBe('writable /tmp/x');
  });

  test('that are /tmp itself make all that is in it the real one', () => {
    const host = createHost();
    const file = host.write('a/b/.git/config');
    const profile = host.profile({
      security: { workspace: ['/tmp'] },
      repositories: [join(host.root, 'a/b')],
      tmpDirectory: makeTmp(join(host.state, 'tmp/me')),
    });
    expect(viewOf(profile, file)).toBe(`readable ${file}`);
    const beside = join(host.root, 'a/b/.git/HEAD');
    expect(viewOf(profile, beside)).toBe(`writable ${beside}`);
  });

  test.for(PRESET_NAMES)('are what can be written to in the preset %s, and little else', (preset) => {
    const host = createHost(UNCOVERED);
    const profile = host.profile({ preset });
    expect(pathsOf(profile, 'writable')).toEqual([host.workspace]);
    const memory = preset === 'development' ? ['/tmp', '/var/tmp'] : ['/tmp'];
    expect(pathsOf(profile, 'memory')).toEqual(memory);
    expect(viewOf(profile, '/usr/bin/x')).not.toMatch(/^writable/);
    expect(viewOf(profile, '/etc/x')).not.toMatch(/^writable/);
  });
});

describe('writable_paths', () => {
  test('inside the workspace open what is protected there, and need no mount of their own', () => {
    const host = createHost(UNCOVERED);
    host.makeRepository('home/project');
    const hooks = join(host.workspace, '.git/hooks');
    const profile = host.profile({ security: { writablePaths: [hooks] } });
    expect(viewOf(profile, hooks)).toBe(`writable ${hooks}`);
    expect(viewOf(profile, join(host.workspace, '.git/config'))).toMatch(/^readable/);
  });

  test('inside something protected are writable, and nothing beside them', () => {
    const host = createHost(UNCOVERED);
    host.makeRepository('home/project');
    const hook = host.write('home/project/.git/hooks/pre-commit');
    const profile = host.profile({ security: { writablePaths: [hook] } });
    expect(viewOf(profile, join(host.workspace, '.git/hooks/post-merge'))).toMatch(/^readable/);
    expect(viewOf(profile, hook)).toBe(`writable ${hook}`);
  });

  test('around the workspace take its place, and protect what is in it as before', () => {
    const host = createHost(UNCOVERED);
    host.makeRepository('home/project');
    const profile = host.profile({
      security: { writablePaths: [host.home] },
      repositories: [host.workspace],
    });
    expect(profile.writable).toEqual([host.home]);
    expect(viewOf(profile, join(host.workspace, '.git/hooks/pre-commit'))).toMatch(/^readable/);
  });

  test('that are files or links are opened where they lie', () => {
    const host = createHost(UNCOVERED);
    const file = host.write('home/log.txt');
    const link = host.link('home/log', 'log.txt');
    const profile = host.profile({ security: { writablePaths: [link, join(host.home, 'gone')] } });
    expect(profile.writable).toEqual([host.workspace, file]);
  });

  test('that are private themselves are opened, and nothing beside them', () => {
    const host = createHost(UNCOVERED);
    const aws = host.makeDirectory('home/.aws');
    host.makeDirectory('home/.ssh');
    const profile = host.profile({ security: { writablePaths: [aws] } });
    expect(viewOf(profile, aws)).toBe(`writable ${aws}`);
    expect(viewOf(profile, join(host.home, '.ssh'))).toBe('empty');
  });

  test('inside something private are there though it is hidden', () => {
    const host = createHost(UNCOVERED);
    host.write('home/.config/gcloud/credentials.db');
    const logs = host.makeDirectory('home/.config/gcloud/logs');
    const profile = host.profile({ security: { writablePaths: [logs] } });
    expect(viewOf(profile, join(host.home, '.config/gcloud/credentials.db'))).toBe('nothing');
    expect(viewOf(profile, logs)).toBe(`writable ${logs}`);
  });

  test('around something private do not open it', () => {
    const host = createHost(UNCOVERED);
    host.write('home/.config/gh/hosts.yml');
    const profile = host.profile({ security: { writablePaths: [join(host.home, '.config')] } });
    expect(viewOf(profile, join(host.home, '.config/gh/hosts.yml'))).toBe('nothing');
    expect(viewOf(profile, join(host.home, '.config/x'))).toMatch(/^writable/);
  });
});

describe('readable_paths', () => {
  test('inside something private are there, and nothing beside them', () => {
    const host = createHost(UNCOVERED);
    const known = host.write('home/.ssh/known_hosts');
    const key = host.write('home/.ssh/id_ed25519');
    const profile = host.profile({ security: { readablePaths: [known] } });
    expect(viewOf(profile, known)).toBe(`readable ${known}`);
    expect(viewOf(profile, key)).toBe('nothing');
  });

  test('that are private themselves are opened', () => {
    const host = createHost(UNCOVERED);
    const kube = host.makeDirectory('home/.kube');
    expect(viewOf(host.profile({ security: { readablePaths: [kube] } }), kube)).toBe(`readable ${kube}`);
  });

  test.for(['home', 'home/.config'])('around something private do not open it: %s', (around) => {
    const host = createHost(UNCOVERED);
    const token = host.write('home/.config/gh/hosts.yml');
    const profile = host.profile({ security: { readablePaths: [join(host.root, around)] } });
    expect(viewOf(profile, token)).toBe('nothing');
  });

  test('around the workspace do not make it read-only', () => {
    const host = createHost(UNCOVERED);
    const file = host.write('home/project/file');
    const profile = host.profile({ security: { readablePaths: [host.home] } });
    expect(viewOf(profile, file)).toBe(`writable ${file}`);
  });

  test('inside the workspace are read-only', () => {
    const host = createHost(UNCOVERED);
    const vendor = host.makeDirectory('home/project/vendor');
    const profile = host.profile({ security: { readablePaths: [vendor] } });
    expect(viewOf(profile, join(vendor, 'x'))).toBe(`readable ${join(vendor, 'x')}`);
  });

  test('are there in a root that is otherwise empty', () => {
    const host = createHost(UNCOVERED);
    const data = host.write('data/set');
    const profile = host.profile({ preset: 'sandbox', security: { readablePaths: [data] } });
    expect(viewOf(profile, data)).toBe(`readable ${data}`);
    expect(viewOf(profile, join(host.root, 'data/other'))).toBe('nothing');
  });

  test('that are not there are left out', () => {
    const host = createHost(UNCOVERED);
    const profile = host.profile({ security: { readablePaths: [join(host.root, 'gone')] } });
    expect(linesOf(profile.mounts, host.root)).toEqual(['writable home/project']);
  });
});

describe('expose', () => {
  test('opens what it names and nothing else', () => {
    const host = createHost(UNCOVERED);
    for (const name of ['.config/gh', '.aws', '.ssh']) host.makeDirectory(`home/${name}`);
    const profile = host.profile({ security: { expose: ['gh'] } });
    expect(viewOf(profile, join(host.home, '.config/gh'))).toMatch(/^readable/);
    expect(viewOf(profile, join(host.home, '.aws'))).toBe('empty');
    expect(viewOf(profile, join(host.home, '.ssh'))).toBe('empty');
  });

  test('opens files in a directory that stays hidden, and a socket that a variable names', () => {
    const host = createHost(UNCOVERED);
    const known = host.write('home/.ssh/known_hosts');
    host.write('home/.ssh/id_ed25519');
    const agent = host.write('run/agent.sock');
    const profile = host.profile({
      security: { expose: ['ssh-agent'] },
      environment: { SSH_AUTH_SOCK: agent },
      specialFiles: [agent],
    });
    expect(viewOf(profile, known)).toBe(`readable ${known}`);
    expect(viewOf(profile, join(host.home, '.ssh/id_ed25519'))).toBe('nothing');
    expect(viewOf(profile, agent)).toBe(`readable ${agent}`);
  });

  test('of a path in the home directory opens it', () => {
    const host = createHost(UNCOVERED);
    const aws = host.makeDirectory('home/.aws');
    expect(viewOf(host.profile({ security: { expose: ['~/.aws'] } }), aws)).toBe(`readable ${aws}`);
  });

  test('of a path around the workspace does not make it read-only', () => {
    const host = createHost(UNCOVERED);
    const profile = host.profile({ security: { expose: ['~'] } });
    expect(viewOf(profile, host.workspace)).toBe(`writable ${host.workspace}`);
  });
});

describe('copies without secrets', () => {
  test('take the place of the files', () => {
    const host = createHost(UNCOVERED);
    const npmrc = host.write('home/.npmrc');
    const copy = host.write('state/redacted/copy');
    expect(viewOf(host.profile({ redacted: new Map([[npmrc, copy]]) }), npmrc)).toBe(`readable ${copy}`);
  });

  test('take their place in a home directory that is the workspace', () => {
    const host = createHost(UNCOVERED);
    const npmrc = host.write('home/.npmrc', '_authToken=x');
    const gitconfig = host.write('home/.gitconfig');
    const copy = host.write('state/redacted/copy');
    const profile = host.profile({
      security: { workspace: [host.home] },
      redacted: new Map([[npmrc, copy]]),
    });
    expect(viewOf(profile, npmrc)).toBe(`readable ${copy}`);
    expect(viewOf(profile, gitconfig)).toBe(`readable ${gitconfig}`);
  });

  test('stay in place though a directory around is made readable', () => {
    const host = createHost(UNCOVERED);
    const npmrc = host.write('home/.npmrc');
    const copy = host.write('state/redacted/copy');
    const profile = host.profile({
      security: { readablePaths: [host.home] },
      redacted: new Map([[npmrc, copy]]),
    });
    expect(viewOf(profile, npmrc)).toBe(`readable ${copy}`);
  });
});

describe('caches of package managers', () => {
  test('are writable where they are there', () => {
    const host = createHost(UNCOVERED);
    for (const name of ['.npm', '.cargo/registry', '.m2/repository']) host.makeDirectory(`home/${name}`);
    host.write('home/.cargo/bin/cargo');
    host.write('home/.cargo/credentials.toml');
    const profile = host.profile();
    expect(viewOf(profile, join(host.home, '.npm/x'))).toMatch(/^writable/);
    expect(viewOf(profile, join(host.home, '.cargo/registry/x'))).toMatch(/^writable/);
    expect(viewOf(profile, join(host.home, '.cargo/bin/cargo'))).toMatch(/^readable/);
    expect(viewOf(profile, join(host.home, '.cargo/credentials.toml'))).toBe('blank');
    expect(profile.writable).toEqual([host.workspace]);
  });

  test.for(['sandbox', 'production', 'minimal'] as const)('are not there in the preset %s', (preset) => {
    const host = createHost(UNCOVERED);
    host.makeDirectory('home/.npm');
    expect(viewOf(host.profile({ preset }), join(host.home, '.npm'))).toBe('nothing');
  });

  test('below a link are writable where the link leads, if that is in the home directory', () => {
    const host = createHost(UNCOVERED);
    const registry = host.makeDirectory('home/disk/cargo/registry');
    host.link('home/.cargo', 'disk/cargo');
    host.makeDirectory('others/gradle/caches');
    host.link('home/.gradle', join(host.root, 'others/gradle'));
    const profile = host.profile();
    expect(viewOf(profile, registry)).toBe(`writable ${registry}`);
    expect(viewOf(profile, join(host.root, 'others/gradle/caches'))).toMatch(/^readable/);
  });

  test('that are links themselves are writable where they lead, if that is in the home directory', () => {
    const host = createHost(UNCOVERED);
    const npm = host.makeDirectory('home/disk/npm');
    host.link('home/.npm', 'disk/npm');
    host.makeDirectory('others/cache');
    host.link('home/.cache', join(host.root, 'others/cache'));
    const profile = host.profile();
    expect(viewOf(profile, join(host.root, 'others/cache'))).toMatch(/^readable/);
    expect(viewOf(profile, npm)).toBe(`writable ${npm}`);
  });

  test.for([
    'p10k-instant-prompt-me.zsh',
    'p10k-instant-prompt-me.zsh.zwc',
    'p10k-dump-me.zsh.zwc',
    'gitstatus/gitstatusd-linux-x86_64',
    'zsh/compdump',
    'bazel/_bazel_me/1/server/command_port',
    'uv/archive-v0/x',
    'pre-commit/repo/x',
    'anything',
  ])('are others inside but for those of package managers: .cache/%s', (name) => {
    const host = createHost(UNCOVERED);
    const pip = host.write('home/.cache/pip/x');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    for (const workspace of [host.workspace, host.home]) {
      const profile = host.profile({ tmpDirectory, security: { workspace: [workspace] } });
      expect(viewOf(profile, join(host.home, '.cache', name))).toBe(
        `writable ${tmpDirectory}/.cache/${name}`,
      );
      expect(viewOf(profile, pip)).toBe(`writable ${pip}`);
    }
    // Without a directory that is kept it is memory, and of no other directory than the workspace.
    const sandboxed = host.profile({ preset: 'sandbox', security: { workspace: [host.home] } });
    expect(viewOf(sandboxed, join(host.home, '.cache', name))).toBe('nothing');
    expect(viewOf(host.profile({ preset: 'sandbox' }), join(host.home, '.cache', name))).toBe('nothing');
  });

  test('are others inside where XDG_CACHE_HOME leads, too, and where ~/.cache is a link', () => {
    const host = createHost(UNCOVERED);
    host.makeDirectory('home/disk/cache');
    host.link('home/.cache', 'disk/cache');
    host.makeDirectory('home/elsewhere');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const profile = host.profile({
      tmpDirectory,
      environment: { XDG_CACHE_HOME: join(host.home, 'elsewhere') },
    });
    for (const path of ['disk/cache/x.zwc', 'elsewhere/x.zwc'])
      expect(viewOf(profile, join(host.home, path))).toBe(`writable ${tmpDirectory}/.cache/x.zwc`);
  });

  test('are mounted on a directory, whatever a command put there', () => {
    const host = createHost(UNCOVERED);
    host.makeDirectory('home/.cache/pip');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    host.link('state/tmp/me/.cache/pip', '/etc');
    host.profile({ tmpDirectory });
    expect(kindOf(join(tmpDirectory, '.cache/pip'))).toBe('directory');
  });

  test('cost no mount where they are not there', () => {
    const host = createHost(UNCOVERED);
    host.makeDirectory('home/.cache');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    expect(linesOf(host.profile({ tmpDirectory }).mounts, host.home)).toEqual([
      `writable .cache from ${tmpDirectory}/.cache`,
      'writable project',
    ]);
  });

  test('hide no socket of a cache that is another inside', () => {
    const host = createHost(UNCOVERED);
    const socket = host.write('home/.cache/agent/sock');
    const profile = host.profile({
      specialFiles: [socket],
      tmpDirectory: makeTmp(join(host.state, 'tmp/me')),
    });
    expect(profile.mounts.filter(({ path }) => path === socket)).toEqual([]);
  });

  test('of programs that are run on demand are others inside', () => {
    const host = createHost(UNCOVERED);
    host.makeDirectory('home/.npm/_npx');
    host.makeDirectory('home/.cache');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const profile = host.profile({ tmpDirectory });
    expect(viewOf(profile, join(host.home, '.npm/_npx/x'))).toBe(`writable ${tmpDirectory}/.npm-_npx/x`);
    expect(viewOf(profile, join(host.home, '.cache/uv'))).toBe(`writable ${tmpDirectory}/.cache/uv`);
    expect(viewOf(profile, join(host.home, '.npm/_cacache'))).toBe(`writable ${host.home}/.npm/_cacache`);
    expect(profile.pinned).toContainEqual({
      path: join(host.home, '.npm/_npx'),
      source: join(tmpDirectory, '.npm-_npx'),
    });
  });

  test('of programs that are run on demand are others inside, though the server runs from there', () => {
    const host = createHost(UNCOVERED);
    const installation = host.makeDirectory('home/.npm/_npx/1f2e/node_modules/mcp-shell-server');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const profile = host.profile({ installation: [installation], tmpDirectory });
    expect(viewOf(profile, join(installation, 'cli.js'))).toBe(`readable ${installation}/cli.js`);
    expect(viewOf(profile, join(host.home, '.npm/_npx/1f2e/node_modules/other'))).toBe(
      `writable ${tmpDirectory}/.npm-_npx/1f2e/node_modules/other`,
    );
  });

  test('of programs that are run on demand are left alone where a link leads elsewhere', () => {
    const host = createHost(UNCOVERED);
    host.makeDirectory('others/cache');
    host.link('home/.cache', '../others/cache');
    host.makeDirectory('home/.npm');
    host.link('home/.npm/_npx', join(host.root, 'others'));
    const profile = host.profile({ tmpDirectory: makeTmp(join(host.state, 'tmp/me')) });
    expect(linesOf(profile.mounts, host.home)).toEqual(['writable .npm', 'writable project']);
  });

  test('of programs that are run on demand and of build servers are others inside a home directory that is the workspace', () => {
    const host = createHost(UNCOVERED);
    host.makeDirectory('home/.npm/_npx');
    host.makeDirectory('home/.gradle/daemon');
    host.makeDirectory('home/.gradle/caches');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const profile = host.profile({ security: { workspace: [host.home] }, tmpDirectory });
    expect(linesOf(profile.mounts, host.home)).toEqual([
      'readable .gradle',
      'writable .npm',
      'writable .gradle/caches',
      `writable .npm/_npx from ${tmpDirectory}/.npm-_npx`,
      `writable .gradle/daemon from ${tmpDirectory}/.gradle-daemon`,
    ]);
  });
});

describe('a directory of the system as the workspace', () => {
  test.for(['/etc', '/usr'])('%s is the host’s, and nothing of a minimal root is mounted in it', (path) => {
    const host = createHost(UNCOVERED);
    for (const preset of ['sandbox', 'production'] as const) {
      const profile = host.profile({ preset, security: { workspace: [path] } });
      const inside = profile.mounts.filter((mount) => mount.path.startsWith(`${path}/`));
      expect(inside.filter((mount) => mount.kind === 'readable' && mount.from?.startsWith(path))).toEqual([]);
      expect(profile.mounts).toContainEqual({ kind: 'writable', path });
    }
  });

  test.for(['sandbox', 'production', 'minimal'] as const)(
    'of a preset without the host’s root leaves nothing outside the allowed directories to read: %s',
    (preset) => {
      const host = createHost(UNCOVERED);
      const others = ['home/other/file', 'home/.bashrc', 'srv/data'].map((name) => host.write(name));
      const profile = host.profile({
        preset,
        security: { workspace: [host.workspace], allowedDirectories: [host.workspace] },
      });
      for (const path of [...others, '/opt/x', '/srv/x', '/var/log/x', '/etc/hostname', '/home/x'])
        expect(viewOf(profile, path)).toBe('nothing');
    },
  );
});

describe('the server’s own files', () => {
  test('inside the workspace are covered last of all, and cannot be moved away', () => {
    const host = createHost(UNCOVERED);
    const state = host.makeDirectory('home/project/.local/state');
    const settings = host.write('home/project/mcp-shell-server.toml');
    const installation = host.makeDirectory('home/project/dist');
    const profile = host.profile({
      security: { readablePaths: [state, settings], expose: [state], writablePaths: [state, installation] },
      ownPaths: [settings, state],
      installation: [installation],
      specialFiles: [join(state, 'socket')],
    });
    expect(viewOf(profile, join(state, 'audit'))).toBe('nothing');
    expect(viewOf(profile, settings)).toBe('blank');
    expect(viewOf(profile, join(installation, 'cli.js'))).toMatch(/^readable/);
    expect(profile.mounts).toEqual(
      expect.arrayContaining([
        { kind: 'readable', path: installation },
        { kind: 'blank', path: settings },
        { kind: 'empty', path: state },
      ]),
    );
    expect(profile.mounts).toContainEqual({ kind: 'writable', path: join(host.workspace, '.local') });
  });

  test.for(PRESET_NAMES)('are not uncovered by any setting, in the preset %s', (preset) => {
    const host = createHost(UNCOVERED);
    const secret = host.write('state/audit/today.jsonl');
    const profile = host.profile({
      preset,
      security: {
        workspace: [host.root],
        readablePaths: [host.state, join(host.state, 'audit'), secret],
        writablePaths: [host.state, secret],
        expose: [host.state, secret],
      },
      ownPaths: [host.state],
    });
    expect(viewOf(profile, host.state)).toBe('empty');
    expect(viewOf(profile, secret)).toBe('nothing');
  });

  test('behind links are covered where they lie', () => {
    const host = createHost(UNCOVERED);
    const link = host.link('home/project/state', '../../state');
    expect(viewOf(host.profile({ ownPaths: [link] }), host.state)).toBe('empty');
  });

  test('outside of what an empty root shows need no cover', () => {
    const host = createHost(UNCOVERED);
    const profile = host.profile({ preset: 'sandbox', ownPaths: [host.state] });
    expect(viewOf(profile, host.state)).toBe('nothing');
    expect(profile.mounts.some(({ path }) => path === host.state)).toBe(false);
  });

  test('shown by readable_paths in an empty root are covered all the same', () => {
    const host = createHost(UNCOVERED);
    const secret = host.write('state/audit/today.jsonl');
    const profile = host.profile({
      preset: 'sandbox',
      security: { readablePaths: [host.root] },
      ownPaths: [host.state],
    });
    expect(viewOf(profile, secret)).toBe('nothing');
  });
});

describe('/tmp', () => {
  const keeping = (host: Host): string => makeTmp(join(host.state, 'tmp/me'));

  test('that is kept is a directory of the principal’s own', () => {
    const host = createHost(UNCOVERED);
    const tmpDirectory = keeping(host);
    const profile = host.profile({ tmpDirectory });
    expect(viewOf(profile, '/tmp/x')).toBe(`writable ${tmpDirectory}/tmp/x`);
    expect(viewOf(profile, '/var/tmp/x')).toBe(`writable ${tmpDirectory}/var-tmp/x`);
  });

  test('that is not kept is memory, up to a limit; /var/tmp counts against the same', () => {
    const host = createHost(UNCOVERED);
    const { mounts, shmBytes } = host.profile({ preset: 'sandbox' });
    expect(mounts).toContainEqual({ kind: 'memory', path: '/tmp', bytes: 256 * MIB });
    expect(mounts).toContainEqual({ kind: 'link', path: '/var/tmp', target: '/tmp' });
    expect(shmBytes).toBe(64 * MIB);
    expect(host.profile().shmBytes).toBe(256 * MIB);
  });

  test.each([[{ workspace: ['/var'] }], [{ writablePaths: ['/var'] }], [{ readablePaths: ['/var'] }]])(
    'is memory as /var/tmp too, where the host’s /var is there: %j',
    (security) => {
      const { mounts } = createHost(UNCOVERED).profile({ preset: 'sandbox', security });
      expect(mounts).toContainEqual({ kind: 'memory', path: '/var/tmp', bytes: 256 * MIB });
    },
  );

  test('has the directories on the way to a workspace in it as mounts, outer ones first', () => {
    const host = createHost();
    const deep = host.makeDirectory('home/a/b/ws');
    const tmpDirectory = keeping(host);
    const profile = host.profile({ security: { workspace: [deep] }, tmpDirectory });
    const name = host.root.slice('/tmp/'.length);
    const parents = [...name.split('/').keys()].map((at) =>
      name
        .split('/')
        .slice(0, at + 1)
        .join('/'),
    );
    // The home directory itself is read-only there: nobody moves what is in it.
    const expected = parents.map((rest) => ({
      kind: 'writable',
      path: `/tmp/${rest}`,
      from: `${tmpDirectory}/tmp/${rest}`,
    }));
    const found = profile.mounts.filter((mount) => 'from' in mount && mount.path.startsWith('/tmp/'));
    expect(found).toEqual(expected);
    for (const { from } of expected) expect(lstatSync(from).isDirectory()).toBe(true);
    expect(viewOf(profile, join(deep, 'file'))).toBe(`writable ${deep}/file`);
  });

  test.for(['a link', 'a file', 'a link to nowhere'])(
    'that is kept gets directories again where a command left %s on the way',
    (left) => {
      const host = createHost();
      const tmpDirectory = keeping(host);
      const first = join(tmpDirectory, 'tmp', host.root.split('/')[2] ?? '');
      const victim = host.makeDirectory('victim');
      if (left === 'a file') host.write(first.slice(host.root.length));
      else symlinkSync(left === 'a link' ? victim : '/nowhere/at/all', first);
      host.profile({ tmpDirectory });
      expect(lstatSync(first).isDirectory()).toBe(true);
      expect(readdirSync(victim)).toEqual([]);
    },
  );

  test('that is kept gets them also on the way to what is only read, and to sockets', () => {
    const host = createHost();
    const outside = createHost(UNCOVERED);
    const tmpDirectory = keeping(outside);
    const data = host.write('data/set');
    const agent = host.write('agent/socket');
    const first = join(tmpDirectory, 'tmp', host.root.split('/')[2] ?? '');
    symlinkSync('/nowhere/at/all', first);
    const profile = outside.profile({
      security: { readablePaths: [data], expose: ['ssh-agent'] },
      environment: { SSH_AUTH_SOCK: agent },
      tmpDirectory,
    });
    expect(viewOf(profile, data)).toBe(`readable ${data}`);
    expect(viewOf(profile, agent)).toBe(`readable ${agent}`);
    expect(lstatSync(first).isDirectory()).toBe(true);
  });

  test('that is kept has a workspace in it whose own directories are the real ones', () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.makeRepository('home/project/deep/er');
    host.write('home/project/.vscode/settings.json');
    host.write('home/project/.claude/settings.json');
    const profile = host.profile({
      repositories: [join(host.workspace, 'deep/er')],
      tmpDirectory: keeping(host),
    });
    for (const name of ['.git/HEAD', 'deep/x', 'deep/er/x', 'deep/er/.git/HEAD']) {
      const path = join(host.workspace, name);
      expect(viewOf(profile, path)).toBe(`writable ${path}`);
    }
    for (const name of ['.git/config', '.git/hooks', '.vscode/x', '.claude/x', 'deep/er/.git/config']) {
      const path = join(host.workspace, name);
      expect(viewOf(profile, path)).toBe(`readable ${path}`);
    }
  });

  test('and what else is another inside has nothing in it of the host’s, though that would be protected', () => {
    const host = createHost(UNCOVERED);
    const tmpDirectory = keeping(host);
    host.makeDirectory('home/.npm/_npx');
    host.write('home/.npm/_npx/.mcp.json');
    host.write('home/.npm/_npx/.git/config');
    const profile = host.profile({ tmpDirectory });
    expect(linesOf(profile.mounts, join(host.home, '.npm/_npx'))).toEqual([]);
  });

  test('keeps what a command left beside them', () => {
    const host = createHost();
    const tmpDirectory = keeping(host);
    mkdirSync(join(tmpDirectory, 'tmp/kept'));
    host.profile({ tmpDirectory });
    expect(readdirSync(join(tmpDirectory, 'tmp'))).toContain('kept');
  });
});

describe('everything mounted where a running command can write', () => {
  test('is pinned to what must be found there', () => {
    const host = createHost(UNCOVERED);
    host.makeRepository('home/project');
    const own = host.makeDirectory('home/project/state');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const { pinned } = host.profile({ tmpDirectory, ownPaths: [own] });
    expect(pinned).toEqual([
      { path: own, source: undefined },
      { path: join(host.workspace, '.git'), source: join(host.workspace, '.git') },
      { path: join(host.workspace, '.git/hooks'), source: join(host.workspace, '.git/hooks') },
      { path: join(host.workspace, '.git/config'), source: join(host.workspace, '.git/config') },
    ]);
  });

  test('is every such mount and no other', () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.makeDirectory('home/.npm');
    host.write('home/.ssh/known_hosts');
    const tmpDirectory = makeTmp(join(host.state, 'tmp/me'));
    const profile = host.profile({ tmpDirectory, ownPaths: [host.state] });
    const below = profile.mounts.filter(({ path }) => path.startsWith('/tmp/'));
    expect(profile.pinned.map(({ path }) => path)).toEqual([...new Set(below.map(({ path }) => path))]);
  });
});

describe.skipIf(lacks(process.getuid?.() !== 0, 'only root makes directories of another user'))(
  'below a directory of another user that only they may search',
  () => {
    const shut = (host: Host, path: string, mode: number): void => {
      chownSync(join(host.root, path), 65_534, 65_534);
      chmodSync(join(host.root, path), mode);
    };

    test('nothing is covered or protected, since no command gets there', () => {
      const host = createHost(UNCOVERED);
      const covered = ['home/other/deep/fifo', 'home/other/token', 'home/other/settings'].map((path) =>
        host.write(path),
      );
      const [fifo = '', token = '', settings = ''] = covered;
      host.makeRepository('home/project/other/repository');
      const changes = {
        specialFiles: [fifo],
        privatePaths: [token],
        ownPaths: [settings],
        repositories: [join(host.workspace, 'other/repository')],
        security: { readablePaths: [host.write('home/other/data')] },
      };
      const before = linesOf(host.profile(changes).mounts, host.root);
      expect(before).toEqual(
        expect.arrayContaining([
          'blank home/other/deep/fifo',
          'blank home/other/token',
          'blank home/other/settings',
          'readable home/other/data',
          'writable home/project/other',
          'readable home/project/other/repository/.git/config',
        ]),
      );
      for (const path of ['home/other', 'home/project/other']) shut(host, path, 0o750);
      expect(linesOf(host.profile(changes).mounts, host.root)).toEqual(['writable home/project']);
    });

    test('a workspace stays one, so that its commands fail rather than run elsewhere', () => {
      const host = createHost(UNCOVERED);
      shut(host, 'home', 0o700);
      expect(viewOf(host.profile(), host.workspace)).toBe(`writable ${host.workspace}`);
    });
  },
);

describe('the rest of a profile', () => {
  test('has a network unless it is off, or a proxy is the only way', () => {
    const host = createHost(UNCOVERED);
    const socket = host.write('proxy');
    expect(host.profile().network).toBe(true);
    expect(host.profile({ security: { network: false } }).network).toBe(false);
    const proxied = host.profile({ proxySocket: socket });
    expect(proxied.network).toBe(false);
    expect(viewOf(proxied, PROXY_SOCKET)).toBe(`readable ${socket}`);
  });

  test('shows nothing of what runs on the host', () => {
    const host = createHost(UNCOVERED);
    for (const preset of PRESET_NAMES) {
      const profile = host.profile({ preset });
      expect(viewOf(profile, '/run'), preset).toBe('empty');
      expect(viewOf(profile, '/run/docker.sock'), preset).toBe('nothing');
    }
  });

  test('covers /proc for root alone, and what of it others could read', () => {
    const host = createHost(UNCOVERED);
    const ofUser = host.profile({ isRoot: false });
    expect(ofUser).toMatchObject({ coversProc: false, procTrees: [] });
    expect(ofUser.procFiles.includes('/proc/keys')).toBe(existsSync('/proc/keys'));
    const { coversProc, procTrees, procFiles } = host.profile({ isRoot: true });
    expect(coversProc).toBe(true);
    expect([...procTrees, ...procFiles].filter((path) => !existsSync(path))).toEqual([]);
    expect(procFiles.length).toBeGreaterThan(0);
  });
});
