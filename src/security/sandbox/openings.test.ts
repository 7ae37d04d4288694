import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXPOSURES } from './exposures.ts';
import { openings, unknownExposures } from './openings.ts';
import { createHost } from './sandbox.fixture.ts';

const HOST = { homedir: '/home/me', environment: {} };

describe('expose', () => {
  test('without names opens nothing', () => {
    expect(openings([], HOST)).toEqual({ paths: [], sockets: [] });
  });

  test('of known names opens what belongs to them', () => {
    expect(openings(['gh', 'cargo'], HOST)).toEqual({
      paths: [
        '/home/me/.config/gh',
        '/home/me/.config/hub',
        '/home/me/.cargo/credentials',
        '/home/me/.cargo/credentials.toml',
      ],
      sockets: [],
    });
  });

  test('of an agent opens the socket that the server’s environment names', () => {
    const environment = { SSH_AUTH_SOCK: '/run/agent.1' };
    expect(openings(['ssh-agent'], { ...HOST, environment })).toEqual({
      paths: ['/home/me/.ssh/known_hosts', '/home/me/.ssh/config'],
      sockets: ['/run/agent.1'],
    });
  });

  test.for([
    ['unix:///run/user/1000/docker.sock', ['/run/user/1000/docker.sock']],
    ['/run/user/1000/docker.sock', ['/run/user/1000/docker.sock']],
    ['tcp://127.0.0.1:2375', []],
    ['ssh://host', []],
    ['relative.sock', []],
    ['unix://relative.sock', []],
    ['', []],
  ] as const)('of docker with DOCKER_HOST=%s', ([value, extra]) => {
    const { sockets } = openings(['docker'], { ...HOST, environment: { DOCKER_HOST: value } });
    expect(sockets).toEqual(['/run/docker.sock', '/var/run/docker.sock', ...extra]);
  });

  test('of paths opens them where they really lie', () => {
    const host = createHost();
    const real = host.makeDirectory('home/real');
    host.link('home/link', 'real');
    const of = (name: string): readonly string[] =>
      openings([name], { homedir: host.home, environment: {} }).paths;
    expect(of('~/link')).toEqual([real]);
    expect(of(join(host.home, 'link'))).toEqual([real]);
    expect(of('~')).toEqual([host.home]);
    expect(of('~/gone/../real')).toEqual([real]);
    expect(of('~/gone')).toEqual([join(host.home, 'gone')]);
  });

  test('takes no name from where all objects have theirs', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      expect(openings([name], HOST).sockets, name).toEqual([]);
      expect(unknownExposures([name]), name).toEqual([name]);
    }
  });

  test('knows its own names and paths; anything else is a slip', () => {
    expect(unknownExposures([...Object.keys(EXPOSURES), '/opt/x', '~/.aws', '~'])).toEqual([]);
    expect(unknownExposures(['dockr', 'GH', '', './x', '.aws', 'gh ', '$HOME'])).toEqual([
      'dockr',
      'GH',
      '',
      './x',
      '.aws',
      'gh ',
      '$HOME',
    ]);
  });

  test.for(Object.entries(EXPOSURES))(
    '%s names paths below the home directory and absolute ones',
    ([, one]) => {
      for (const path of one.home ?? []) expect(path).toMatch(/^[^/~][^~]*$/);
      for (const path of one.sockets ?? []) expect(path).toMatch(/^\//);
      for (const name of one.socketVariables ?? []) expect(name).toMatch(/^[A-Z_]+$/);
    },
  );
});
