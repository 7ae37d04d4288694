import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defaultStateDirectory, isInside, locatePath, realPathOf, startDirectory } from './paths.ts';

describe('locatePath', () => {
  it.each([
    ['~', '/home/me'],
    ['~/', '/home/me'],
    ['~/a/../b', '/home/me/b'],
    ['a/~', '/base/a/~'],
    ['.', '/base'],
    ['../x/', '/x'],
    ['/abs//x/./y/', '/abs/x/y'],
    ['$HOME/x', '/base/$HOME/x'],
  ])('makes %j %j', (typed, expected) => {
    expect(locatePath(typed, { directory: '/base', homedir: '/home/me' })).toBe(expected);
  });
});

describe('isInside', () => {
  it.each([
    ['/a', '/a', true],
    ['/a/b', '/a', true],
    ['/a/..b', '/a', true],
    ['/a', '/', true],
    ['/ab', '/a', false],
    ['/', '/a', false],
    ['/b', '/a', false],
    ['/', '/', true],
    ['/a/.b', '/a', true],
    ['/a/...', '/a', true],
    ['/a/../b', '/a', false],
    ['/a/b/..', '/a/b', false],
    ['/a/./b', '/a', true],
    ['/a//b', '/a', true],
    ['/a/b/', '/a', true],
    ['/a/b', '/a/', true],
    ['/b', '/a/..', true],
  ])('of %j in %j is %j', (path, directory, expected) => {
    expect(isInside(path, directory)).toBe(expected);
  });
});

describe('startDirectory', () => {
  it.each([
    ['/'],
    ['/usr'],
    ['/usr/local/lib/node_modules/x'],
    ['/usr/src'],
    ['/etc/x'],
    ['/lib64'],
    ['/Applications/Claude.app/Contents'],
  ])('is the home directory where the server was started in %j', (cwd) => {
    expect(startDirectory(cwd, '/home/me', 'linux')).toBe('/home/me');
  });

  it.each([
    ['/home/me/project'],
    ['/usr/src/app'],
    ['/usr/local/src/x'],
    ['/srv/x'],
    ['/etcetera'],
    ['/library'],
  ])('is %j where the server was started there', (cwd) => {
    expect(startDirectory(cwd, '/home/me', 'linux')).toBe(cwd);
  });

  it.each([
    ['C:\\', 'C:\\Users\\me'],
    ['C:\\Windows\\System32', 'C:\\Users\\me'],
    ['c:\\program files (x86)\\Claude', 'C:\\Users\\me'],
    ['C:\\WindowsOfMine', 'C:\\WindowsOfMine'],
    ['D:\\work', 'D:\\work'],
  ])('on Windows makes of %j %j', (cwd, expected) => {
    expect(startDirectory(cwd, 'C:\\Users\\me', 'win32')).toBe(expected);
  });

  it('does not take a home directory below /usr for a system directory', () => {
    expect(startDirectory('/usr/home/me/x', '/usr/home/me', 'linux')).toBe('/usr/home/me/x');
  });
});

describe('defaultStateDirectory', () => {
  it.each([
    ['linux', {}, '/home/me', '/home/me/.local/state/mcp-shell-server'],
    ['linux', { XDG_STATE_HOME: '/state' }, '/home/me', '/state/mcp-shell-server'],
    ['linux', { XDG_STATE_HOME: 'relative' }, '/home/me', '/home/me/.local/state/mcp-shell-server'],
    ['linux', { XDG_STATE_HOME: '' }, '/home/me', '/home/me/.local/state/mcp-shell-server'],
    ['darwin', {}, '/Users/me', '/Users/me/Library/Application Support/mcp-shell-server'],
    ['darwin', { XDG_STATE_HOME: '/state' }, '/Users/me', '/state/mcp-shell-server'],
    ['win32', { LOCALAPPDATA: 'C:\\L' }, 'C:\\Users\\me', 'C:\\L\\mcp-shell-server'],
    ['win32', {}, 'C:\\Users\\me', 'C:\\Users\\me\\AppData\\Local\\mcp-shell-server'],
  ] as const)(
    'on %s with %j is where the platform keeps state',
    (platform, environment, homedir, expected) => {
      expect(defaultStateDirectory({ platform, environment, homedir })).toBe(expected);
    },
  );
});

describe('realPathOf', () => {
  it('follows links as far as there is something, and keeps the rest', () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'paths-')));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    mkdirSync(join(root, 'a/b/c'), { recursive: true });
    symlinkSync('a/b', join(root, 'link'));
    symlinkSync('gone', join(root, 'broken'));
    const cases = {
      'link/c': 'a/b/c',
      'link/c/x': 'a/b/c/x',
      'link/x/y/z': 'a/b/x/y/z',
      broken: 'broken',
      'broken/x/y': 'broken/x/y',
      'x/link/y': 'x/link/y',
      'link/../x': 'a/x',
      'link/x/../y': 'a/b/y',
      'link//x//': 'a/b/x',
    };
    const found = Object.keys(cases).map((path) => [
      path,
      realPathOf(`${root}/${path}`).slice(root.length + 1),
    ]);
    expect(Object.fromEntries(found)).toEqual(cases);
    expect(realPathOf('/')).toBe('/');
    expect(realPathOf('/nowhere-at-all/x')).toBe('/nowhere-at-all/x');
  });

  it('takes a moment for a path of thousands of parts', () => {
    const path = `/nowhere-at-all/${'a/'.repeat(20_000)}b`;
    const startMs = performance.now();
    expect(realPathOf(path)).toBe(path);
    expect(performance.now() - startMs).toBeLessThan(1000);
  });
});
