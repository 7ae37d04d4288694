/**
 * Programs that tests drive besides Node. Where it can without asking (root on Debian or Ubuntu) `npm test` installs
 * those that are missing; elsewhere it says what to install, and their tests skip with a reason (in CI they fail).
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A mirror that never answers must not hold up the tests that need nothing of it. */
const APT_MS = 300_000;

/** `list` names a file beside this one: program -> Debian package. */
export async function installPrograms(list = 'programs.json') {
  const packageOf = JSON.parse(readFileSync(new URL(list, import.meta.url), 'utf8'));
  const missing = Object.keys(packageOf).filter((program) => !isOnPath(program));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((program) => packageOf[program]))];
  const canInstall = process.platform === 'linux' && process.getuid() === 0 && isOnPath('apt-get');
  if (canInstall) {
    process.stderr.write(`Installing for the tests: ${packages.join(' ')}\n`);
    // A source that does not answer is of no matter where the others have what is missing.
    aptGet('update');
    if (aptGet('install', '--yes', '--no-install-recommends', ...packages)) return;
  }
  process.stderr.write(`Tests that need ${missing.join(', ')} cannot run; install: ${packages.join(' ')}\n`);
}

function aptGet(...args) {
  const options = {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: APT_MS,
  };
  // Another apt may be at work on a machine that has just started.
  const flags = ['--quiet', '--option=DPkg::Lock::Timeout=120'];
  const { status, stdout, stderr, error } = spawnSync('apt-get', [...flags, ...args], options);
  if (status !== 0)
    process.stderr.write(`${stdout}${stderr}apt-get ${args[0]}: ${error?.message ?? status}\n`);
  return status === 0;
}

function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
