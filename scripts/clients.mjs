/** The agents that test/clients/ drives, from npm: no dependencies, since they take 900 MB that nothing else needs. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { root } from './setup.mjs';

const directory = `${root}/node_modules/.clients`;
const versions = JSON.parse(readFileSync(new URL('clients.json', import.meta.url), 'utf8'));

/** Those that cannot be had are named; their tests skip. */
export function installClients() {
  const missing = Object.entries(versions).filter(([name, version]) => versionOf(name) !== version);
  if (missing.length === 0) return;
  const packages = missing.map(([name, version]) => `${name}@${version}`);
  process.stderr.write(`Installing for the tests: ${packages.join(' ')}\n`);
  // npm removes what is not named, so that all of them are.
  const all = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const options = { cwd: root, stdio: ['ignore', 2, 2], timeout: 600_000 };
  const { status } = spawnSync('npm', [...args, '--prefix', directory, ...all], options);
  if (status !== 0) process.stderr.write(`Tests of ${packages.join(', ')} cannot run: npm failed.\n`);
}

function versionOf(name) {
  const file = `${directory}/node_modules/${name}/package.json`;
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined;
}

/** A program and its arguments, in a network that has nothing but loopback; as they are where bubblewrap is missing. */
export function withoutNetwork(command) {
  const isRoot = process.getuid?.() === 0;
  const wrapper = ['bwrap', '--dev-bind', '/', '/', '--unshare-net', ...(isRoot ? ['--cap-add', 'ALL'] : [])];
  const { status } = spawnSync(wrapper[0], [...wrapper.slice(1), 'true']);
  return status === 0 ? [...wrapper, ...command] : command;
}
