/**
 * The PATH that the user's own login shell has. A desktop client starts the server with a bare one, and nvm, pyenv or
 * homebrew are then not found. Asked once, in the background, and kept on disk for the next start. The shell runs in a
 * sandbox of its own, in the home directory: a command may have changed what its start-up files source.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { readJson } from '../base/attempt.ts';
import { directoryProblem } from '../base/config/paths.ts';
import { makePrivateDirectory, writeFileWhole } from '../base/files.ts';
import { randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { MARKER_NAME, type Sandbox, withoutOwn } from '../security/security.ts';
import { startHelper } from './helper.ts';
import { findProcess, listProcesses, type ProcessIdentity } from './process-table.ts';
import { sendSignal } from './tree.ts';

export type LoginPath = ReturnType<typeof createLoginPath>;

export interface LoginPathOptions {
  readonly shell: string;
  readonly stateDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The home directory: start-up files may obey files of the directory they start in. */
  readonly home: string;
  /** What it runs in. */
  prepareSandbox: Sandbox['prepareForLogin'];
  /** Commands can write to it, and its directories of PATH are to be protected from the first one. */
  readonly isHomeOpen?: boolean;
  /** Called whenever it is known. */
  onKnown?: (path: string) => void;
  /** By it the next server finds a shell that this one left behind when it was killed. */
  readonly marker: string;
}

const cacheSchema = z.object({ shell: z.string(), inherited: z.string(), path: z.string() });
/** A login shell that takes longer is not waited for at all; something in it hangs. */
const GIVE_UP_MS = 10_000;
const MAX_BYTES = 64 * 1024;

export function createLoginPath(options: LoginPathOptions) {
  const waitMs = options.isHomeOpen === true ? LIMITS.loginPathInHomeWaitMs : LIMITS.loginPathWaitMs;
  const inherited = options.environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';
  const file = join(options.stateDirectory, 'login-path.json');
  const stop = new AbortController();
  let known: string | undefined;
  let waiting: Promise<unknown> | undefined;

  async function ask(): Promise<void> {
    try {
      const path = await askShell(options, stop.signal);
      if (path === undefined || stop.signal.aborted) return;
      known = mergePaths(path, inherited);
      options.onKnown?.(known);
      makePrivateDirectory(options.stateDirectory);
      writeFileWhole(file, JSON.stringify({ shell: options.shell, inherited, path: known }));
    } catch {
      // It will be asked again next time.
    }
  }

  /** Asks, and waits for the answer as long as a first command may; later ones find that it was waited for. */
  function askOnce(): Promise<unknown> {
    const asking = ask();
    return known === undefined
      ? Promise.race([asking, sleep(waitMs, undefined, { ref: false })])
      : Promise.resolve();
  }

  /** As far as it is known without waiting. */
  function current(): string {
    if (known === undefined) {
      known = readCache(file, options.shell, inherited);
      if (known !== undefined) options.onKnown?.(known);
    }
    return known ?? inherited;
  }

  return {
    current,
    /** The PATH to use now; waits for the login shell a moment, and only the first time. */
    async resolve(): Promise<string> {
      current();
      await (waiting ??= askOnce());
      return known ?? inherited;
    },
    dispose: () => stop.abort(),
  };
}

/** The login shell's entries first, then what only the server had; each once. */
export function mergePaths(login: string, inherited: string): string {
  return [...new Set([...login.split(':'), ...inherited.split(':')])]
    .filter((entry) => entry !== '')
    .join(':');
}

function readCache(file: string, shell: string, inherited: string): string | undefined {
  const cache = cacheSchema.safeParse(readJson(file)).data;
  return cache?.shell === shell && cache.inherited === inherited ? cache.path : undefined;
}

/** Start-up files may print anything, so the answer stands between two marks that nobody can guess. */
async function askShell(options: LoginPathOptions, signal: AbortSignal): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined;
  const prepared = await options.prepareSandbox();
  if (prepared === undefined || signal.aborted) return undefined;
  const mark = randomText();
  return new Promise((resolve) => {
    // An interactive shell wants a terminal; in a session of its own it finds none and goes on.
    const child = startHelper({
      argv: [options.shell, '-l', '-i', '-c', `printf '%s' '${mark}'; printenv PATH; printf '%s' '${mark}'`],
      sandboxSpec: prepared.sandboxSpec,
      directory: directoryProblem(options.home) === undefined ? options.home : '/',
      environment: { ...withoutOwn(options.environment), TERM: 'dumb', [MARKER_NAME]: options.marker },
    });
    const leader = { pid: child.pid ?? 0, startTime: findProcess(child.pid ?? 0)?.startTime ?? 0 };
    let text = '';
    let isDone = false;
    const finish = (): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      endGroup(leader);
      const path = text.split(mark)[1]?.trim();
      resolve(path === undefined || path === '' || path.includes('\n') ? undefined : path);
    };
    const timer = setTimeout(finish, GIVE_UP_MS);
    timer.unref();
    signal.addEventListener('abort', finish);
    child.on('error', finish);
    // Not `exit`: what it printed may come after that.
    child.on('close', finish);
    child.stderr?.resume();
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      if (text.length < MAX_BYTES) text += chunk;
      if (text.split(mark).length > 2) finish();
    });
  });
}

/** What its start-up files left running. The shell itself is still there, or not yet collected. */
function endGroup(leader: ProcessIdentity): void {
  for (const entry of listProcesses()) {
    if (entry.groupId === leader.pid && entry.startTime >= leader.startTime) sendSignal(entry, 'SIGKILL');
  }
}
