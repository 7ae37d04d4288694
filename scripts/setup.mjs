/**
 * Brings node_modules and dist up to date, and does nothing where they are. Stamps say what they were made from;
 * a stamp goes before its work begins and comes back when it is done, so that an interrupted run is done again.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimes,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const INSTALL = {
  stamp: 'node_modules/.stamp',
  inputs: () => ['package.json', 'package-lock.json'],
  // Some packages differ by platform; a new major of Node may want others.
  also: `${process.platform} ${process.arch} ${process.versions.node.split('.')[0]}`,
  // - `install`, not `ci`: mirrors lack some optional platform packages, and `ci` rejects a lock made with one.
  // - --include=dev: NODE_ENV=production would leave the build tools out.
  // - --ignore-scripts: nothing here needs one (esbuild's binary comes as an optional package).
  // - --no-save: leaves package-lock.json as it is, whatever this machine's npm would add to it.
  command: [
    'npm',
    'install',
    '--include=dev',
    '--include=optional',
    '--ignore-scripts',
    '--no-save',
    '--no-audit',
    '--no-fund',
  ],
};

const BUILD = {
  stamp: 'dist/.stamp',
  inputs: () => [
    'package.json',
    'package-lock.json',
    'scripts/as-script.mjs',
    'scripts/build.mjs',
    'scripts/code-cache.mjs',
    'scripts/legal.mjs',
    'scripts/load-script.mjs',
    'scripts/record-code.cjs',
    'scripts/sdk-shims.mjs',
    ...sources('src'),
  ],
  // Code caches are good for one version of Node, and the forker takes less with musl.
  also: `${process.version} ${process.platform} ${process.arch} ${existsSync('/usr/bin/musl-gcc')}`,
  command: [process.execPath, 'scripts/build.mjs'],
};

export async function setUp({ build = true } = {}) {
  const parts = build ? [INSTALL, BUILD] : [INSTALL];
  if (parts.every(isCurrent)) return;
  const release = await takeLock();
  try {
    // Asked again under the lock: its previous holder may have done the work.
    for (const part of parts) if (!isCurrent(part)) await make(part);
  } finally {
    release();
  }
}

async function make(part) {
  const digest = digestOf(part);
  rmSync(`${root}/${part.stamp}`, { force: true });
  await run(part.command);
  writeFileSync(`${root}/${part.stamp}`, digest);
}

function isCurrent(part) {
  const path = `${root}/${part.stamp}`;
  return existsSync(path) && readFileSync(path, 'utf8') === digestOf(part);
}

function digestOf({ inputs, also }) {
  const hash = createHash('sha256').update(also);
  for (const path of inputs()) hash.update(`\0${path}\0`).update(readFileSync(`${root}/${path}`));
  return hash.digest('hex');
}

function sources(directory) {
  return readdirSync(`${root}/${directory}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length + 1))
    .sort();
}

/** Output goes to stderr: stdout belongs to what is run afterwards. */
function run([program, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 2, 2] });
    // The lock is held until the child is gone, so that nobody else begins beside it.
    const pass = (signal) => child.kill(signal);
    process.on('SIGINT', pass).on('SIGTERM', pass);
    child.on('error', (error) => giveUp(error.message));
    child.on('close', (code, signal) => {
      process.off('SIGINT', pass).off('SIGTERM', pass);
      if (code === 0) resolve();
      else giveUp(signal ?? `exit code ${code}`);
    });
  });
  function giveUp(reason) {
    process.stderr.write(`${[program, ...args].join(' ')}: ${reason}\n`);
    process.exit(1);
  }
}

const LOCK = `${root}/.setup-lock`;
const HEARTBEAT_MS = 1000;
/** Only a killed holder stops its heartbeat; long enough that a busy machine does not look like one. */
const STALE_MS = 20_000;

/** One set-up at a time. A directory, because mkdir is atomic everywhere; pids mean nothing in another container. */
async function takeLock() {
  for (let isFirstTry = true; !tryLock(); isFirstTry = false) {
    if (isFirstTry) process.stderr.write('Waiting for another set-up in this directory.\n');
    if (isStale()) rmSync(LOCK, { recursive: true, force: true });
    else await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const heartbeat = setInterval(() => utimes(LOCK, new Date(), new Date(), () => {}), HEARTBEAT_MS);
  const unlock = () => rmSync(LOCK, { recursive: true, force: true });
  process.once('exit', unlock);
  return () => {
    clearInterval(heartbeat);
    unlock();
    process.off('exit', unlock);
  };
}

function tryLock() {
  try {
    mkdirSync(LOCK);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function isStale() {
  const modified = statSync(LOCK, { throwIfNoEntry: false });
  return modified !== undefined && Date.now() - modified.mtimeMs > STALE_MS;
}
