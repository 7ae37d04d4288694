import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { obeyedBesidesDots, pathDirectoriesIn } from './open-home.ts';
import { createHost, type Host, UNCOVERED, viewOf } from './sandbox.fixture.ts';

/** What a command can do to a file of a home directory that is the workspace. */
function seen(host: Host, name: string, pathDirectories: readonly string[] = []): string {
  const besidesDots = pathDirectories.map((path) => join(host.home, path));
  const profile = host.profile({ security: { workspace: [host.home] }, besidesDots });
  return viewOf(profile, join(host.home, name)).split(' ')[0] ?? '';
}

describe('with more entries with a dot than can be mounted', () => {
  function filledHost(dots: number): Host {
    const host = createHost(UNCOVERED);
    for (const name of [
      'bin/b',
      'tools/bin/tool',
      'dotfiles/bash_aliases',
      'dotfiles/two.sh',
      'src/ok',
      'notes',
    ])
      host.write(`home/${name}`);
    host.link('home/.bash_aliases', 'dotfiles/bash_aliases');
    host.link('home/.bashrc.d/two.sh', '../dotfiles/two.sh');
    for (let index = 0; index < dots; index++) writeFileSync(join(host.home, `.d${index}`), '');
    return host;
  }

  test.for<[number, string, string]>([
    [140, 'bin/b', 'readable'],
    [140, 'bin/new', 'readable'],
    [140, 'tools/bin/tool', 'readable'],
    [140, 'tools/bin/new', 'readable'],
    [140, 'dotfiles/bash_aliases', 'readable'],
    [140, 'dotfiles/two.sh', 'readable'],
    [140, '.d3', 'readable'],
    [140, '.new', 'readable'],
    [140, 'notes', 'readable'],
    [140, 'src/ok', 'writable'],
    [600, 'src/ok', 'readable'],
    [600, 'bin/b', 'readable'],
    [20, 'src/ok', 'writable'],
    [20, 'dotfiles/two.sh', 'readable'],
  ])('%i: %s is %s', ([dots, name, expected]) => {
    expect(seen(filledHost(dots), name, ['tools/bin'])).toBe(expected);
  });
});

describe('where a link leads that is obeyed', () => {
  test.for<[link: string, target: string, file: string, expected: string]>([
    ['.bashrc.d/two.sh', '../dotfiles/two.sh', 'dotfiles/two.sh', 'readable'],
    ['.config/fish/conf.d/x.fish', '../../../dotfiles/x.fish', 'dotfiles/x.fish', 'readable'],
    ['.config/nvim', '../dotfiles/nvim', 'dotfiles/nvim/init.lua', 'readable'],
    ['.local/bin/prog', '../../src/prog.sh', 'src/prog.sh', 'readable'],
    ['tools/bin/prog', 'HOME/src/prog.sh', 'src/prog.sh', 'readable'],
    ['bin/prog', '../src/prog.sh', 'src/prog.sh', 'readable'],
    ['.config/yarn/link/mine', '../../../src/mine', 'src/mine/index.js', 'writable'],
    ['.oh-my-zsh/.git/x', '../../src/x', 'src/x', 'writable'],
    ['.self/all', '..', 'src/x', 'writable'],
    ['src/other/link', '../x', 'src/x', 'writable'],
  ])('%s -> %s: %s is %4$s', ([link, target, file, expected]) => {
    const host = createHost(UNCOVERED);
    host.write(`home/${file}`);
    host.link(`home/${link}`, target.replace('HOME', host.home));
    expect(seen(host, file, ['tools/bin'])).toBe(expected);
    expect(seen(host, 'notes')).toBe('writable');
  });

  test('is protected with all around it where that are very many', () => {
    const host = createHost(UNCOVERED);
    for (let index = 0; index < 200; index++) {
      host.write(`home/dotfiles/${index}`);
      host.link(`home/.bashrc.d/${index}`, `../dotfiles/${index}`);
    }
    expect(seen(host, 'dotfiles/7')).toBe('readable');
    expect(seen(host, 'dotfiles/new')).toBe('readable');
    expect(seen(host, 'src/x')).toBe('writable');
    for (let index = 0; index < 200; index++) {
      mkdirSync(join(host.home, `top-${index}`));
      host.link(`home/.more.d/${index}`, `../top-${index}`);
    }
    expect(obeyedBesidesDots(host.home, [])).toEqual([host.home]);
    expect(seen(host, 'src/x')).toBe('readable');
  });
});

describe('of the directories of PATH', () => {
  test.for<[name: string, virtual: string, isObeyed: boolean]>([
    ['tools/bin', '', true],
    ['venv/bin', '', true],
    ['venv/bin', 'venv', false],
    ['tools/bin', 'venv', true],
    ['project/node_modules/.bin', '', false],
  ])('%s, in the environment "%s", is obeyed: %s', ([name, virtual, isObeyed]) => {
    const host = createHost(UNCOVERED);
    const path = host.makeDirectory(`home/${name}`);
    // A command can make this one.
    host.write(`home/${name}/../pyvenv.cfg`);
    const activated = virtual === '' ? undefined : join(host.home, virtual);
    expect(pathDirectoriesIn(host.home, [path], activated)).toEqual(isObeyed ? [path] : []);
  });

  test('one that a link leads to is obeyed by both names, also where it is called otherwise', () => {
    const host = createHost(UNCOVERED);
    const real = host.makeDirectory('home/x/node_modules/.bin');
    const link = host.link('home/pnew/bin', '../x/node_modules/.bin');
    expect(pathDirectoriesIn(host.home, [link])).toEqual([real, link]);
  });
});
