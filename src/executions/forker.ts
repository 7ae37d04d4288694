/**
 * A small process that forks for the server. Node's own fork copies the page tables of a process of 60 to 100 MB, and
 * nothing else is done meanwhile; this one copies those of less than one, elsewhere. Its program is in C (`forker/`).
 * Started with the first process that is wanted, and gone with the server. Where its program was not built, the server
 * forks by itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getSystemErrorName } from 'node:util';
import { attempt, succeeds } from '../base/attempt.ts';
import { markerIn, wordsOf } from './environment-words.ts';
import { mostInstances } from './inotify.ts';
import {
  allowedOf,
  type Child,
  createSpawner,
  type Exit,
  FLAGS,
  type PipeEnds,
  SIGNAL_NAMES,
  type Spawner,
  type SpawnSpec,
  startError,
  unlinkAll,
} from './spawner.ts';
import { endByMarker } from './terminate.ts';

/** From the last look at its parent to the start of its program it takes a thousandth of that. */
const ON_ITS_WAY_MS = 100;

/** `program` is a path, where there need not be a file. */
export function createForker(program: string): Spawner {
  const fallback = createSpawner(program);
  let current: Forker | undefined;
  let isUsable = succeeds(() => accessSync(program, constants.X_OK));
  let isDisposed = false;

  function find(): Forker | undefined {
    if (!isUsable || isDisposed) return undefined;
    if (current?.hasEnded() === true) {
      // One that has never served anybody never will.
      isUsable = current.hasServed();
      current = undefined;
      return find();
    }
    return (current ??= startForker(program));
  }

  return {
    async start(spec) {
      // Where there is a terminal, there is a process of ours that holds no more than terminals.
      const forker = spec.terminal === undefined ? find() : undefined;
      return forker === undefined ? fallback.start(spec) : forker.start(spec);
    },
    canCopy: () => find() !== undefined,
    boundInotify: fallback.boundInotify,
    async makePipes(names) {
      const ends = await find()
        ?.makePipes(names)
        .catch(() => undefined);
      return ends !== undefined && canBeOpened(ends[0]) ? ends : fallback.makePipes(names);
    },
    async dispose() {
      isDisposed = true;
      await current?.dispose();
    },
  };
}

/** Not where another process's descriptors are hidden, as they are of a program that its user may not read. */
const canBeOpened = (ends: PipeEnds | undefined): boolean =>
  ends !== undefined &&
  succeeds(() => closeSync(openSync(ends.read, constants.O_RDONLY | constants.O_NONBLOCK)));

type Forker = ReturnType<typeof startForker>;

/** Asked for, and not running yet. */
interface Job {
  readonly spec: SpawnSpec;
  readonly reported: Child['reported'];
  resolve(child: Child): void;
  reject(error: Error): void;
}

interface Running {
  readonly words: string | undefined;
  end(exit: Exit): void;
}

interface Making {
  resolve(ends: readonly PipeEnds[]): void;
  reject(error: Error): void;
}

/** What was asked for, and is not over yet. */
interface Open {
  readonly jobs: Map<string, Job>;
  readonly running: Map<string, Running>;
  readonly making: Map<string, Making>;
  /** By the words that are waited for. */
  readonly reports: Map<string, (pid: number | undefined) => void>;
  hasServed: boolean;
}

function spawnForker(program: string): ChildProcess {
  const most = (of: 'all' | 'command'): string => String(attempt(() => mostInstances(of)) ?? '');
  return spawn(program, [], {
    argv0: 'mcp-shell-server: forker',
    cwd: '/',
    env: { INOTIFY_ALL: most('all'), INOTIFY_EACH: most('command') },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

function startForker(program: string) {
  const open: Open = {
    jobs: new Map(),
    running: new Map(),
    making: new Map(),
    reports: new Map(),
    hasServed: false,
  };
  const { jobs, running, making, reports } = open;
  let lastId = 0;
  let hasEnded = false;
  const child = spawnForker(program);
  const requests = socketOf(child, 3);
  const answers = socketOf(child, 4);
  child.unref();
  requests.unref();

  /** What is waited for keeps this process alive, and nothing else. */
  function hold(): void {
    if (jobs.size + running.size + making.size > 0) answers.ref();
    else answers.unref();
  }
  hold();
  hear(answers, handlersOf(open, child.pid ?? 0), hold);

  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      failAll(open);
      resolve();
    };
    child.once('error', end);
    child.once('exit', end);
  });

  return {
    hasEnded: () => hasEnded,
    hasServed: () => open.hasServed,
    start(spec: SpawnSpec): Promise<Child> {
      const id = String(++lastId);
      return new Promise((resolve, reject) => {
        const reported = new Promise<number | undefined>((announce) => {
          if (spec.report !== undefined) reports.set(spec.report.words, announce);
        });
        jobs.set(id, { spec, reported, resolve, reject });
        hold();
        requests.write(frame(orderOf(id, spec)));
      });
    },
    makePipes(names: readonly string[]): Promise<readonly PipeEnds[]> {
      const id = String(++lastId);
      return new Promise((resolve, reject) => {
        making.set(id, { resolve, reject });
        hold();
        requests.write(frame(['m', id, names.length]));
      });
    },
    async dispose(): Promise<void> {
      child.ref();
      requests.end();
      await ended;
    },
  };
}

type Handlers = Readonly<Record<string, (...words: string[]) => void>>;

function hear(answers: Socket, handlers: Handlers, onHeard: () => void): void {
  let rest = '';
  answers.setEncoding('latin1').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [kind = '', ...words] = line.split(' ');
      handlers[kind]?.(...words);
    }
    onHeard();
  });
}

/** By the first letter of what the forker says. */
function handlersOf(open: Open, reaperPid: number): Handlers {
  const { jobs, running, making, reports } = open;
  let forker = 0;
  const reaper = { pid: reaperPid, hasStarted: (pid: number) => pid === forker };

  function takeJob(id = ''): Job | undefined {
    const job = jobs.get(id);
    jobs.delete(id);
    if (job !== undefined) open.hasServed = true;
    return job;
  }

  return {
    f(pid) {
      forker = Number(pid);
    },
    p(id, pid = '', startTime) {
      const job = takeJob(id);
      if (job === undefined) return;
      const { spec, reported, resolve } = job;
      const exited = new Promise<Exit>((end) => {
        running.set(pid, { words: spec.report?.words, end });
      });
      const identity = { pid: Number(pid), startTime: Number(startTime) };
      resolve({ identity, reaper, exited, reported });
    },
    e(id, step, errno) {
      const job = takeJob(id);
      const code = getSystemErrorName(-Number(errno));
      if (job !== undefined) giveUp(job, Object.assign(new Error(`${step}: ${code}`), { code }), open);
    },
    x(pid = '', status, cpuMicroseconds, maxKib) {
      const ended = running.get(pid);
      if (ended === undefined) return;
      running.delete(pid);
      if (ended.words !== undefined) reports.delete(ended.words);
      const usage = {
        cpuSeconds: Number(cpuMicroseconds) / 1e6,
        maxResidentBytes: Number(maxKib) * 1024,
      };
      ended.end({ ...exitOf(Number(status)), usage });
    },
    m(id = '', errno, ...fds) {
      const asked = making.get(id);
      making.delete(id);
      if (errno !== '0') return asked?.reject(new Error(getSystemErrorName(-Number(errno))));
      // Ours until the program that gets one end has been started.
      const pathOf = (fd = ''): string => `/proc/${forker}/fd/${fd}`;
      const firsts = fds.flatMap((_, at) => (at % 2 === 0 ? [at] : []));
      asked?.resolve(
        firsts.map((at) => ({ read: pathOf(fds[at]), write: pathOf(fds[at + 1]), isNamed: false })),
      );
    },
    r(words = '', pid) {
      reports.get(words)?.(pid === undefined ? undefined : Number(pid));
      reports.delete(words);
    },
  };
}

function giveUp({ spec, reject }: Job, error: Error, { reports }: Open): void {
  unlinkAll(spec.descriptors);
  if (spec.report !== undefined) reports.delete(spec.report.words);
  reject(startError(error, spec.argv[0] ?? ''));
}

function failAll(open: Open): void {
  for (const job of open.jobs.values()) {
    // It may have been started, and nobody would have it.
    const failed = (): void =>
      giveUp(job, new Error('the process that starts commands has ended, and what it started'), open);
    const marker = markerIn(job.spec.environment);
    if (marker === undefined) failed();
    else endAllOf(marker).then(failed, failed);
  }
  // How they end nobody will hear; the caller ends what is left of them.
  for (const { end } of open.running.values()) end({ code: null, signal: 'SIGKILL' });
  for (const { reject } of open.making.values()) reject(new Error('the process that makes pipes has ended'));
}

/** Twice: one may be on its way to its program, and has no marker yet. */
async function endAllOf(marker: string): Promise<void> {
  await endByMarker(marker);
  await sleep(ON_ITS_WAY_MS);
  await endByMarker(marker);
}

function socketOf(child: ChildProcess, fd: number): Socket {
  const socket = child.stdio[fd] as Socket;
  // It ended, which is heard elsewhere.
  return socket.on('error', () => undefined);
}

/** As waitpid gives it. */
function exitOf(status: number): Exit {
  const number = status & 127;
  if (number === 0) return { code: status >> 8, signal: null };
  return { code: null, signal: SIGNAL_NAMES.get(number) ?? (`SIG${number}` as NodeJS.Signals) };
}

function orderOf(id: string, spec: SpawnSpec): readonly (string | number)[] {
  const descriptors = spec.descriptors.flatMap((descriptor, fd) =>
    descriptor === undefined
      ? []
      : [fd, FLAGS[descriptor.access], descriptor.isUnlinked === true ? 1 : 0, descriptor.path],
  );
  const { fileBytes, dataBytes } = spec.limits;
  const environment = wordsOf(spec.environment);
  return [
    's',
    id,
    spec.directory,
    spec.report?.fd ?? '',
    fileBytes === undefined ? '' : allowedOf(fileBytes, 'Max file size'),
    dataBytes === undefined ? '' : allowedOf(dataBytes, 'Max data size', 'soft'),
    spec.mustJoin ? 1 : 0,
    spec.groups.length,
    ...spec.groups,
    descriptors.length,
    ...descriptors,
    ...templateOf(spec),
    spec.argv.length,
    ...spec.argv,
    ...(environment === '' ? [] : [environment]),
  ];
}

function templateOf({ template, report }: SpawnSpec): readonly (string | number)[] {
  if (template === undefined) return [0];
  const { namespace, plan, filter = '', handoff, input, maxProcesses = '' } = template;
  const words = [
    report?.words ?? '',
    handoff,
    input,
    maxProcesses,
    namespace,
    plan.hasNetwork ? 1 : 0,
    plan.isLastUserNamespace ? 1 : 0,
    filter,
    ...plan.mounts.flat(),
  ];
  return [words.length, ...words];
}

/** Their length, and words with a NUL between them, which none of them can have. */
function frame(words: readonly (string | number)[]): Buffer {
  const text = words.join('\0');
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(4 + length);
  bytes.writeUInt32LE(length);
  bytes.write(text, 4);
  return bytes;
}
