import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { holdBack, type WatchedPath, watchedPaths } from './held-back.ts';
import { createHost, type Host } from './sandbox.fixture.ts';

interface Watching {
  readonly writable?: readonly string[];
  readonly repositories?: readonly string[];
  readonly opened?: readonly string[];
}

function watch(host: Host, { writable = [host.workspace], repositories = [], opened = [] }: Watching = {}) {
  return watchedPaths({ writable, repositories, homedir: host.home, opened });
}

const namesOf = (watched: readonly WatchedPath[], host: Host): string[] =>
  watched.map(({ path }) => path.slice(host.root.length + 1));

/** The moved files, by the names they had. */
function heldBack(watched: readonly WatchedPath[], host: Host): string[] {
  const moved = holdBack(watched);
  for (const path of moved) expect(lstatSync(path)).toBeDefined();
  return moved.map((path) =>
    path.slice(host.workspace.length + 1).replace(/\.held-back-[a-z0-9]{6}$/, ' held back'),
  );
}

describe('what is watched', () => {
  test('is what is not there yet and would be obeyed', () => {
    const host = createHost();
    host.write('home/project/.mcp.json');
    host.makeRepository('home/project');
    const names = namesOf(watch(host), host);
    expect(names).not.toContain('home/project/.mcp.json');
    expect(names).not.toContain('home/project/.git/hooks');
    expect(names).toEqual(
      [
        '.claude/settings.json',
        '.claude/settings.local.json',
        '.cursor/mcp.json',
        '.cursor/hooks.json',
        '.vscode/mcp.json',
        '.vscode/tasks.json',
        '.codex/config.toml',
        '.gemini/settings.json',
        '.git/commondir',
        '.git/config.worktree',
      ].map((name) => `home/project/${name}`),
    );
  });

  test('is what repositories inside lack', () => {
    const host = createHost();
    const inner = host.makeRepository('home/project/inner');
    rmSync(join(inner, '.git/hooks'), { recursive: true });
    expect(namesOf(watch(host, { repositories: [inner] }), host)).toContain('home/project/inner/.git/hooks');
  });

  test('is what submodules lack, as in the repository itself', () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/modules/sub/HEAD');
    host.write('home/project/.git/modules/sub/config');
    expect(namesOf(watch(host), host)).toContain('home/project/.git/modules/sub/hooks');
  });

  test('is nothing of git where there is no repository', () => {
    const host = createHost();
    expect(namesOf(watch(host), host).filter((name) => name.includes('.git/'))).toEqual([]);
  });

  test('is what shells obey where the home directory can be written to, and nothing of it elsewhere', () => {
    const host = createHost();
    host.write('home/.bashrc');
    expect(namesOf(watch(host), host).filter((name) => !name.startsWith('home/project/'))).toEqual([]);
    const names = namesOf(watch(host, { writable: [host.home] }), host);
    expect(names).toEqual(
      expect.arrayContaining(['home/.profile', 'home/.zshenv', 'home/.ssh', 'home/.config/systemd']),
    );
    expect(names).not.toContain('home/.bashrc');
  });

  test('is where a link leads', () => {
    const host = createHost();
    host.write('home/dotfiles/bashrc');
    host.link('home/.bashrc', 'dotfiles/bashrc');
    expect(watch(host, { writable: [host.home] })).toContainEqual({
      path: join(host.home, '.bashrc'),
      link: 'dotfiles/bashrc',
    });
  });

  test('is not what the operator opened', () => {
    const host = createHost();
    const vscode = join(host.workspace, '.vscode');
    const names = namesOf(watch(host, { opened: [vscode] }), host);
    expect(names.filter((name) => name.includes('.vscode'))).toEqual([]);
    expect(names).toContain('home/project/.mcp.json');
  });

  test('has each path once', () => {
    const host = createHost();
    host.makeRepository('home/project');
    const paths = watch(host, { repositories: [host.workspace] }).map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
  });
});

describe('what a command created', () => {
  test('is moved aside, with what is in it', () => {
    const host = createHost();
    const watched = watch(host);
    host.write('home/project/.mcp.json', 'evil');
    host.write('home/project/.vscode/tasks.json', 'evil');
    host.write('home/project/.vscode/settings.json', 'harmless');
    const [first = '', ...others] = holdBack(watched);
    expect(first).toMatch(/\/\.mcp\.json\.held-back-[a-z0-9]{6}$/);
    expect(readFileSync(first, 'utf8')).toBe('evil');
    expect(others).toHaveLength(1);
    expect(existsSync(join(host.workspace, '.mcp.json'))).toBe(false);
    expect(existsSync(join(host.workspace, '.vscode/tasks.json'))).toBe(false);
    expect(existsSync(join(host.workspace, '.vscode/settings.json'))).toBe(true);
  });

  test('is nothing where a command created nothing of the kind', () => {
    const host = createHost();
    const watched = watch(host);
    host.write('home/project/src/.mcp.json');
    host.write('home/project/package.json');
    expect(holdBack(watched)).toEqual([]);
  });

  test('is moved aside as a link, and where it led stays as it is', () => {
    const host = createHost();
    host.makeRepository('home/project');
    rmSync(join(host.workspace, '.git/hooks'), { recursive: true });
    const watched = watch(host);
    const evil = host.write('home/project/evil/pre-commit');
    symlinkSync('../evil', join(host.workspace, '.git/hooks'));
    symlinkSync('nowhere', join(host.workspace, '.mcp.json'));
    expect(heldBack(watched, host)).toEqual(['.mcp.json held back', '.git/hooks held back']);
    expect(existsSync(evil)).toBe(true);
  });

  test('may lead to a directory elsewhere, which nobody finds there afterwards', () => {
    const host = createHost();
    const watched = watch(host);
    host.write('home/project/evil/settings.json');
    symlinkSync('evil', join(host.workspace, '.claude'));
    holdBack(watched);
    expect(existsSync(join(host.workspace, '.claude/settings.json'))).toBe(false);
    expect(existsSync(join(host.workspace, 'evil/settings.json'))).toBe(true);
  });

  test('is not moved through a link that leads out of the workspace', () => {
    const host = createHost();
    const watched = watch(host);
    const theirs = host.write('home/other/.claude/settings.json');
    symlinkSync('../other/.claude', join(host.workspace, '.claude'));
    holdBack(watched);
    expect(existsSync(theirs)).toBe(true);
  });

  test('in place of a link is moved aside; the link as it was is not', () => {
    const host = createHost();
    host.write('home/dotfiles/bashrc');
    host.link('home/.bashrc', 'dotfiles/bashrc');
    host.link('home/.zshrc', 'dotfiles/zshrc');
    const watched = watch(host, { writable: [host.home] });
    expect(holdBack(watched)).toEqual([]);
    rmSync(join(host.home, '.bashrc'));
    writeFileSync(join(host.home, '.bashrc'), 'evil');
    rmSync(join(host.home, '.zshrc'));
    symlinkSync('dotfiles/evil', join(host.home, '.zshrc'));
    expect(holdBack(watched)).toHaveLength(2);
    expect(existsSync(join(host.home, '.bashrc'))).toBe(false);
    expect(existsSync(join(host.home, '.zshrc'))).toBe(false);
  });

  test('in place of a git directory that was a link is moved aside', () => {
    const host = createHost();
    host.makeRepository('home/project/stored');
    const git = host.link('home/project/.git', 'stored/.git');
    const watched = watch(host);
    rmSync(git);
    host.write('home/project/.git/hooks/pre-commit', 'evil');
    holdBack(watched);
    expect(existsSync(join(git, 'hooks/pre-commit'))).toBe(false);
  });

  test('in place of a directory that was a link on the way is moved aside', () => {
    const host = createHost();
    host.write('home/dotfiles/config/fish/config.fish');
    const config = host.link('home/.config', 'dotfiles/config');
    const watched = watch(host, { writable: [host.home] });
    rmSync(config);
    host.write('home/.config/fish/config.fish', 'evil');
    holdBack(watched);
    expect(existsSync(join(config, 'fish/config.fish'))).toBe(false);
  });

  test('is held back each time under another name', () => {
    const host = createHost();
    const watched = watch(host);
    const path = join(host.workspace, '.mcp.json');
    const names = Array.from({ length: 20 }, () => {
      writeFileSync(path, '');
      return holdBack(watched)[0];
    });
    expect(new Set(names).size).toBe(20);
  });

  test('cannot be kept from being moved by what lies around it', () => {
    const host = createHost();
    const watched = watch(host);
    host.write('home/project/.mcp.json');
    host.makeDirectory('home/project/.cursor/mcp.json/not/empty');
    expect(heldBack(watched, host)).toEqual(['.mcp.json held back', '.cursor/mcp.json held back']);
  });

  test('and that is gone again is no reason to fail', () => {
    const host = createHost();
    const watched = watch(host);
    rmSync(host.workspace, { recursive: true });
    expect(holdBack(watched)).toEqual([]);
    mkdirSync(host.workspace);
    symlinkSync('.mcp.json', join(host.workspace, '.mcp.json'));
    expect(heldBack(watched, host)).toEqual(['.mcp.json held back']);
    expect(existsSync(join(host.workspace, '.mcp.json'))).toBe(false);
  });

  test('is a link that is read without following it', () => {
    const host = createHost();
    const watched = watch(host);
    symlinkSync('/etc/passwd', join(host.workspace, '.mcp.json'));
    const [moved = ''] = holdBack(watched);
    expect(readlinkSync(moved)).toBe('/etc/passwd');
  });
});
