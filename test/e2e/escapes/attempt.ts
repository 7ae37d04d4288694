/** What an attempt to get past the sandbox is, and words that many of them need. */
import type { PresetName } from '../../../src/base/config/presets.ts';

export type User = 'root' | 'ordinary user';

export interface Attempt {
  /** What would have been achieved. */
  readonly name: string;
  /** Where it makes sense; `development` and `sandbox` unless said. */
  readonly presets?: readonly PresetName[];
  readonly users?: readonly User[];
  /**
   * Bash. Got through is: "ESCAPED" or a planted secret among what it prints, any change outside the workspace, a
   * connection or a message to a process of the host, the end of one, or what `isSeen` finds.
   */
  script(target: Target): string;
  isSeen?(target: Target): boolean;
  /**
   * It cannot be kept from making this path, which was not there; the answer has to name it, or a directory around it,
   * so that a person learns of it.
   */
  namedPath?(target: Target): string;
}

/** What is there to be attacked. */
export interface Target {
  /** A directory in /home, with those of two people in it. */
  readonly base: string;
  readonly home: string;
  readonly work: string;
  readonly bob: string;
  /** A file outside the workspace for this attempt alone; "untouched" is in it. */
  readonly canary: string;
  readonly stateDir: string;
  readonly settingsFile: string;
  /** The directory with the server's program. */
  readonly installation: string;
  readonly serverPid: number;
  /** A process of the same user that has nothing to do with the server. */
  readonly victimPid: number;
  /** Listens on 127.0.0.1, outside. */
  readonly tcpPort: number;
  /** Sockets of host processes: in the home directory, /run and /opt. */
  readonly sockets: readonly string[];
  readonly abstractName: string;
  /** A host process reads it. */
  readonly fifo: string;
}

export const ALL_PRESETS: readonly PresetName[] = ['development', 'sandbox', 'production', 'minimal'];

/** In single quotes for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Bash that runs Python. `call(number, …)` is a system call: what it returned, or minus the error's number. */
export const python = (code: string): string => `/usr/bin/python3 -I -S -c ${quoted(`${PRELUDE}\n${code}`)}`;

const PRELUDE = `
import ctypes, errno, fcntl, os, signal, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    values = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *values)
    return result if result >= 0 else -ctypes.get_errno()
def escaped(*what): print("ESCAPED", *what, flush=True)
`.trim();

/** The number of a system call on this machine. */
export const number = (x64: number, arm64: number): number => (process.arch === 'arm64' ? arm64 : x64);

/** A system call: its number on both architectures, then its arguments in Python. */
type SystemCall = readonly [x64: number, arm64: number, ...rest: string[]];

/** System calls that must all be refused. */
export function refusedCalls(...calls: readonly SystemCall[]): string {
  const lines = calls.map(([x64, arm64, ...rest]) => `call(${[number(x64, arm64), ...rest].join(', ')})`);
  return python(
    `for result in (${lines.join(', ')},):\n    if result not in (-errno.EPERM, -errno.ENOSYS, -errno.EACCES): escaped(result)`,
  );
}

export const refusedCall = (...call: SystemCall): string => refusedCalls(call);
