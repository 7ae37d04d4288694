import { expect, test } from 'vitest';
import { parseHierarchies } from './hierarchies.ts';

const mount = (root: string, point: string, type: string, options: string): string =>
  `30 23 0:26 ${root} ${point} rw,nosuid shared:4 master:1 - ${type} ${type} ${options}`;

test.for([
  {
    name: 'version 2 alone',
    cgroups: '0::/user.slice/user@1000.service/app.slice/editor.scope\n',
    mounts: [mount('/', '/sys/fs/cgroup', 'cgroup2', 'rw,nsdelegate')],
    found: [
      {
        version: 2,
        controllers: [],
        own: '/sys/fs/cgroup/user.slice/user@1000.service/app.slice/editor.scope',
        mount: '/sys/fs/cgroup',
      },
    ],
  },
  {
    name: 'version 1 with a named tree, and version 2 beside it',
    cgroups: '9:name=systemd:/\n4:memory:/a b/c:d\n2:cpu,cpuacct:/\n0::/\n',
    mounts: [
      '22 1 0:20 / / rw - ext4 /dev/root rw',
      mount('/', '/cg/cpu,cpuacct', 'cgroup', 'rw,cpu,cpuacct'),
      mount('/', '/cg/mem\\040ory', 'cgroup', 'rw,memory'),
      mount('/', '/cg/unified', 'cgroup2', 'rw'),
    ],
    found: [
      { version: 1, controllers: ['memory'], own: '/cg/mem ory/a b/c:d', mount: '/cg/mem ory' },
      { version: 1, controllers: ['cpu', 'cpuacct'], own: '/cg/cpu,cpuacct/', mount: '/cg/cpu,cpuacct' },
      { version: 2, controllers: [], own: '/cg/unified/', mount: '/cg/unified' },
    ],
  },
  {
    name: 'a container that sees its own part under the name it has outside',
    cgroups: '5:pids:/docker/abc/inner\n4:memory:/docker/abc\n0::/docker/abcdef\n',
    mounts: [
      mount('/docker/abc', '/cg/pids', 'cgroup', 'ro,pids'),
      mount('/docker/abc', '/cg/memory', 'cgroup', 'rw,memory'),
      mount('/docker/abc', '/cg/unified', 'cgroup2', 'rw'),
    ],
    found: [
      { version: 1, controllers: ['pids'], own: '/cg/pids/inner', mount: '/cg/pids' },
      { version: 1, controllers: ['memory'], own: '/cg/memory/', mount: '/cg/memory' },
    ],
  },
  {
    name: 'nothing outside of the namespace, and nothing without a mount',
    cgroups: '3:freezer:/\n0::/../other\n',
    mounts: [mount('/', '/sys/fs/cgroup', 'cgroup2', 'rw')],
    found: [],
  },
  { name: 'no cgroups at all', cgroups: '', mounts: [], found: [] },
])('finds our own groups: $name', ({ cgroups, mounts, found }) => {
  expect(parseHierarchies(cgroups, mounts.join('\n'))).toEqual(found);
});
