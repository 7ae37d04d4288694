/**
 * podman with everything of its own in one directory, and a base image that is made here: a Debian by debootstrap with
 * Node and npm from the registry, so that nothing is pulled from anywhere else.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ROOT } from '../../support/root.ts';
import { npm, npmEnvironment, runBounded } from './npm.ts';

/** The version that the Dockerfile's own base has. */
const NODE = '24.21.0';
const NPM = '11';
const SUITE = 'bookworm';
/** As statfs names it. */
const OVERLAYFS = 0x794c7630;
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
export const IMAGE = 'localhost/mcp-shell-server';

export interface Engine {
  /** For a process that somebody else starts. */
  command(...args: string[]): { command: string; args: string[]; env: Record<string, string> };
  /** Answers with what it printed. */
  podman(...args: string[]): Promise<string>;
  remove(): Promise<void>;
}

export function createEngine(directory: string): Engine {
  const at = (name: string): string => join(directory, 'engine', name);
  mkdirSync(at('.'), { recursive: true });
  writeFileSync(at('containers.conf'), settings(at));
  const env = {
    ...npmEnvironment(),
    CONTAINERS_CONF: at('containers.conf'),
    XDG_RUNTIME_DIR: at('runtime'),
  };
  const options = ['--root', at('storage'), '--runroot', at('run'), '--storage-driver', driverFor(at('.'))];
  const command = (...args: string[]) => ({ command: 'podman', args: [...options, ...args], env });
  const podman = async (...args: string[]): Promise<string> =>
    (await runBounded('podman', [...options, ...args], { env })).trim();
  return {
    command,
    podman,
    async remove() {
      try {
        await podman('rm', '--all', '--force', '--time', '0');
        await podman('volume', 'rm', '--all', '--force');
        await podman('rmi', '--all', '--force');
      } finally {
        rmSync(at('.'), { recursive: true, force: true, maxRetries: 3 });
      }
    },
  };
}

/** Where this machine is a container itself, its files may be on an overlay, and those do not lie on each other. */
function driverFor(directory: string): 'overlay' | 'vfs' {
  return statfsSync(directory).type === OVERLAYFS ? 'vfs' : 'overlay';
}

/**
 * Other podmans of this machine share neither locks nor volumes. What runs has the mark by which leaks are found. What
 * podman asks of rlimits, not every root may give; and its bridge, which not every kernel has, would stay behind.
 */
function settings(at: (name: string) => string): string {
  return `
[containers]
env = ["SHELL_TEST_RUN=${process.env['SHELL_TEST_RUN'] ?? ''}"]
netns = "none"
default_ulimits = ["nofile=${hardLimit('n', 20_000)}", "nproc=${hardLimit('u', 4096)}"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "${at('tmp')}"
static_dir = "${at('static')}"
volume_path = "${at('volumes')}"
`;
}

function hardLimit(letter: 'n' | 'u', wanted: number): string {
  const hard = execFileSync('bash', ['-c', `ulimit -H${letter}`], { encoding: 'utf8' }).trim();
  const limit = hard === 'unlimited' ? wanted : Math.min(wanted, Number(hard));
  return `${limit}:${limit}`;
}

/** `packages` are Debian's, beside the smallest set. */
export async function makeBase(
  engine: Engine,
  directory: string,
  name: string,
  packages: string[] = [],
): Promise<void> {
  // Where podman cannot work at all, it says so now and not after minutes.
  await engine.podman('info');
  const root = join(directory, 'base');
  const include = ['ca-certificates', ...packages].join(',');
  const debootstrap = ['debootstrap', '--variant=minbase', `--include=${include}`, SUITE, root, mirror()];
  // It mounts a /proc in there; in a namespace of its own that goes with it, also where it is interrupted.
  await runBounded('unshare', ['--mount', ...debootstrap]);
  // Whom this machine trusts: its registry may have a certificate of its own.
  copyFileSync(CERTIFICATES, join(root, CERTIFICATES));
  const platform = `node-linux-${process.arch}`;
  await npm(
    directory,
    'install',
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    '--prefix',
    directory,
    `${platform}@${NODE}`,
    `npm@${NPM}`,
  );
  const local = join(root, 'usr/local');
  mkdirSync(join(local, 'lib/node_modules'), { recursive: true });
  copyFileSync(join(directory, `node_modules/${platform}/bin/node`), join(local, 'bin/node'));
  chmodSync(join(local, 'bin/node'), 0o755);
  cpSync(join(directory, 'node_modules/npm'), join(local, 'lib/node_modules/npm'), { recursive: true });
  for (const program of ['npm', 'npx']) {
    chmodSync(join(local, `lib/node_modules/npm/bin/${program}-cli.js`), 0o755);
    symlinkSync(`../lib/node_modules/npm/bin/${program}-cli.js`, join(local, 'bin', program));
  }
  const { args, env } = engine.command('import', '-', name);
  await runBounded('sh', ['-c', 'tar -C "$0" -c . | podman "$@"', root, ...args], { env });
  rmSync(root, { recursive: true, force: true });
}

/** From where this machine has its own packages, if that has the suite. */
function mirror(): string {
  const format = ['--format', '$(REPO_URI)', 'Created-By: Packages', `Codename: ${SUITE}`, 'Label: Debian'];
  const found = execFileSync('apt-get', ['indextargets', ...format], { encoding: 'utf8' }).split('\n');
  return found.find((uri) => /^https?:/.test(uri)) ?? 'http://deb.debian.org/debian';
}

/** The image of this checkout, built as its Dockerfile says on the base that was made. */
export async function buildImage(engine: Engine, directory: string, base: string): Promise<void> {
  const npmrc = await npmSettings(directory);
  await engine.podman(
    'build',
    // The other format has no HEALTHCHECK.
    '--format=docker',
    // Nobody builds it a second time, and each layer can be a copy of everything.
    '--layers=false',
    '--network=host',
    `--secret=id=npmrc,src=${npmrc}`,
    `--build-arg=BASE=${base}`,
    `--tag=${IMAGE}`,
    ROOT,
  );
}

/** A file with which npm in a container finds what npm finds here. */
export async function npmSettings(directory: string): Promise<string> {
  const registry = (await npm(directory, 'config', 'get', 'registry')).trim();
  const path = join(directory, 'npmrc');
  writeFileSync(path, `registry=${registry}\ncafile=${CERTIFICATES}\n`);
  return path;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
