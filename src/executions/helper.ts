/** Runs a fixed program of ours to its end, for what security/ must try out. Nothing a caller said is in it. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { type BubblewrapSpec, SANDBOX_FDS, type SandboxSpec } from '../security/sandbox/profile.ts';
import type { RunHelper } from '../security/security.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 64 * 1024;

/** The variables of programs outside: one of the command's could make their loader run a file of the workspace. */
export const OUTER_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: '/usr/bin:/bin' };

export const runHelper: RunHelper = ({ timeoutMs = TIMEOUT_MS, ...call }) =>
  new Promise((resolve, reject) => {
    const child = startHelper(call);
    const said = { stdout: '', stderr: '' };
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        if (said[stream].length < MAX_BYTES) said[stream] += text;
      });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...said });
    });
  });

/** A program that has the person's terminal until it ends; false where it is not there. */
export function runInTerminal(
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<boolean> {
  const [file = '', ...args] = argv;
  return new Promise((resolve) => {
    const child = spawn(file, args, { env: { ...environment }, stdio: 'inherit' });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}

interface HelperStart {
  readonly argv: readonly string[];
  readonly sandboxSpec?: SandboxSpec | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
}

/** In a session of its own: it has no terminal, and what it leaves behind is in its process group. */
export function startHelper({
  argv,
  sandboxSpec,
  environment = {},
  directory = '/',
}: HelperStart): ChildProcess {
  const isBubblewrap = sandboxSpec?.kind === 'bubblewrap';
  const [file = '', ...args] = sandboxSpec === undefined ? argv : argvIn(sandboxSpec, argv, directory);
  const child = spawn(file, args, {
    cwd: isBubblewrap ? '/' : directory,
    env: isBubblewrap ? { ...OUTER_ENVIRONMENT } : { ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ignore', ...(isBubblewrap ? FROM_4 : [])],
    detached: true,
  });
  // A pipe that breaks says nothing that the program's end does not say; without a listener it would end the server.
  for (const pipe of child.stdio ?? []) pipe?.on('error', () => undefined);
  if (isBubblewrap && child.pid !== undefined) feed(child.stdio, sandboxSpec, environment);
  return child;
}

/** Options, filter, and something that is empty. */
const FROM_4 = ['pipe', 'pipe', 'ignore', 'ignore', 'ignore', 'pipe'] as const;

function argvIn(sandboxSpec: SandboxSpec, argv: readonly string[], directory: string): readonly string[] {
  if (sandboxSpec.kind === 'seatbelt') return [sandboxSpec.program, '-p', sandboxSpec.profile, ...argv];
  return [sandboxSpec.program, '--args', String(SANDBOX_FDS.options), '--chdir', directory, '--', ...argv];
}

function feed(
  stdio: readonly unknown[],
  sandboxSpec: BubblewrapSpec,
  environment: Readonly<Record<string, string>>,
): void {
  const give = (fd: number, data: string | Buffer): void => {
    (stdio[fd] as Socket).end(data);
  };
  const variables = Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]);
  give(SANDBOX_FDS.options, [...sandboxSpec.options, '--clearenv', ...variables].join('\0'));
  give(SANDBOX_FDS.seccomp, Buffer.from(sandboxSpec.seccomp ?? '', 'base64'));
  give(SANDBOX_FDS.empty, '');
}
