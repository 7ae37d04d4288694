/**
 * Around the whole run: tests get a temporary directory of their own and a mark in the environment, and the run fails
 * if a file is left in the one, or a process that carries the other or waits for something in the one.
 */
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MARK = 'SHELL_TEST_RUN';
/** Set by handles.ts, so that a leak can name the test file. */
const FILE = 'SHELL_TEST_FILE';
/** What was just told to end may need a moment, more on a busy machine. */
const GRACE_MS = 3000;

export default function setup(): () => Promise<void> {
  // Short, because a unix socket's path may have about 100 bytes.
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'mst-'));
  const run = randomBytes(8).toString('hex');
  const home = join(directory, 'home');
  // Where this is missing, fish reads every manual page with Python in the background of its first prompt.
  mkdirSync(join(home, 'fish', 'generated_completions'), { recursive: true });
  Object.assign(process.env, {
    [MARK]: run,
    TMPDIR: directory,
    // A test that forgets to name its state directory must not write to the user's, and is found out here.
    XDG_STATE_HOME: join(directory, 'state'),
    // Shells and editors keep caches, and tests must not depend on the user's settings or start-up files.
    HOME: home,
    XDG_CONFIG_HOME: home,
    XDG_DATA_HOME: home,
    XDG_CACHE_HOME: home,
    PATH: searchable(process.env.PATH ?? ''),
  });

  // The teardown below is not called when a run is interrupted.
  process.once('exit', () => cleanUp(directory, run));

  return async () => {
    const deadlineMs = Date.now() + GRACE_MS;
    while (leftovers(directory, run).length > 0 && Date.now() < deadlineMs) await sleep(100);
    const left = leftovers(directory, run);
    if (left.length > 0) {
      process.stderr.write(`Left behind by the tests:\n${left.map((line) => `  ${line}\n`).join('')}`);
      // Vitest only logs what a teardown throws.
      process.exitCode = 1;
    }
  };
}

/** An execvp(3) that finds nothing says "permission denied" if there was one directory it could not search. */
function searchable(path: string): string {
  return path.split(delimiter).filter(canSearch).join(delimiter);
}

function canSearch(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function cleanUp(directory: string, run: string): void {
  for (const { pid } of markedProcesses(run, directory)) kill(pid);
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}

function leftovers(directory: string, run: string): string[] {
  const files = readdirSync(directory).filter((name) => name !== 'home');
  return [
    ...files.map((name) => `file ${name}${contents(join(directory, name))}`),
    // Direct children are vitest's own workers, some of which it has yet to stop.
    ...markedProcesses(run, directory)
      .filter(({ parent }) => parent !== process.pid)
      .map(({ pid, command, file }) => `process ${pid} (${command}) of ${file}`),
  ];
}

function contents(path: string): string {
  try {
    const names = readdirSync(path);
    return `/ (${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''})`;
  } catch {
    return '';
  }
}

interface MarkedProcess {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  readonly file: string;
}

function markedProcesses(run: string, directory: string): MarkedProcess[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readMarkedProcess(Number(name), run, directory) ?? []);
}

function readMarkedProcess(pid: number, run: string, directory: string): MarkedProcess | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    if (!environment.includes(`${MARK}=${run}`) && !isOrphanIn(pid, directory)) return undefined;
    const file = environment.find((entry) => entry.startsWith(`${FILE}=`))?.slice(FILE.length + 1);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim().slice(0, 200);
    return { pid, parent: parentOf(pid), command, file: file ?? 'an unknown test' };
  } catch {
    // Gone meanwhile, or another user's.
    return undefined;
  }
}

/**
 * The programs of a sandbox have an environment of their own, and wait for a pipe that lay in the directory. Not those
 * that wait for another part of bwrap which was killed: that is its own fault, and the next server ends them.
 */
function isOrphanIn(pid: number, directory: string): boolean {
  if (parentOf(pid) !== 1) return false;
  const [, fd] = /^0 0x([0-9a-f]+) /.exec(readFileSync(`/proc/${pid}/syscall`, 'utf8')) ?? [];
  return (
    fd !== undefined && readlinkSync(`/proc/${pid}/fd/${Number.parseInt(fd, 16)}`).startsWith(`${directory}/`)
  );
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
