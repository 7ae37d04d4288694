/**
 * A bash that is started before its command comes, with everything but the text of it: environment, directory,
 * descriptors, limits and sandbox are those of the last command, and nearly always those of the next. It reads the text
 * from a descriptor that it closes, and evaluates it as `bash -c` would. Where the next command differs in any of this, or
 * could notice (`textForWaitingShell`), it gets a shell of its own.
 */
import { statSync } from 'node:fs';
import { attempt } from '../base/attempt.ts';
import { randomText } from '../base/ids.ts';
import { oncePer } from '../base/once.ts';
import type { StreamType } from '../outputs/types.ts';
import {
  type Environment,
  type LaunchPermit,
  MARKER_NAME,
  SANDBOX_FDS,
  shellArgv,
  shellName,
  textForWaitingShell,
} from '../security/security.ts';
import { wordsOf } from './environment-words.ts';

/** All that it is started with. */
export interface ShellSpec extends Pick<LaunchPermit, 'argv' | 'environment' | 'directory'> {
  readonly isMerged: boolean;
  readonly hasStderr: boolean;
  readonly keepsState: boolean;
}

/** What tells one that waits from others. */
export interface WaitingShell {
  /** What is in its environment, by which all that it starts is found. */
  readonly marker: string;
  /** Its directory; one of the same name may have taken its place. Undefined where it is gone, or the shell has ended. */
  place(): string | undefined;
}

const { handoff } = SANDBOX_FDS;
/** A variable of bash's own holds the text, so that none is left behind. Without the last byte nothing runs. */
const WAIT = `IFS= read -r -d "" -u ${handoff} BASH_EXECUTION_STRING || exit 126; exec ${handoff}<&-; : "$0"; eval "$BASH_EXECUTION_STRING"`;
/** Whether a variable makes bash run or be something else before it reads a word, or find programs below its directory. */
const changesBash = oncePer(
  (environment: Environment) =>
    Object.keys(environment).some((name) => CHANGES_BASH.test(name)) ||
    !(environment['PATH'] ?? '').split(':').every((directory) => directory.startsWith('/')),
);
const CHANGES_BASH = /^(?:BASH_.*|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|PS4|TMOUT)$/;

/** What a launch says of its command. */
export interface ShellIo {
  readonly streams: readonly StreamType[];
  readonly keepsState: boolean;
  readonly inputData: string | undefined;
  readonly command?: string | undefined;
  readonly isBackground?: boolean;
  readonly terminal?: string | undefined;
}

/** Those of a shell that runs a text. */
const OPTIONS = shellArgv('bash', '').slice(1, -1).join(' ');

/** The shell that a command wants, and what that would evaluate; undefined where the command wants none. */
export function shellFor(
  { argv, environment, directory, sandboxSpec, hasLists }: LaunchPermit,
  { streams, keepsState, inputData, command, terminal }: ShellIo,
): { readonly shell: ShellSpec; readonly text: string } | undefined {
  const script = argv.at(-1) ?? '';
  if (command === undefined || inputData !== undefined || terminal !== undefined) return undefined;
  // Another command of the same user could write to the descriptor that it reads its text from.
  if (hasLists && sandboxSpec === undefined) return undefined;
  const [file = '', ...options] = argv.slice(0, -1);
  if (shellName(file) !== 'bash' || options.join(' ') !== OPTIONS || !script.endsWith(command))
    return undefined;
  const text = textForWaitingShell(command, script.slice(0, -command.length));
  if (text === undefined || changesBash(environment)) return undefined;
  const shell = {
    argv: [file, ...options, WAIT],
    environment,
    directory,
    isMerged: streams.includes('combined'),
    hasStderr: streams.includes('stderr'),
    keepsState,
  };
  return { shell, text };
}

/** Whether the one can do what the other was started for. */
export function isSameShell(one: ShellSpec | undefined, other: ShellSpec | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.argv[0] === other.argv[0] &&
    one.directory === other.directory &&
    one.isMerged === other.isMerged &&
    one.hasStderr === other.hasStderr &&
    one.keepsState === other.keepsState &&
    wordsOf(one.environment) === wordsOf(other.environment)
  );
}

/** For the environment of one. */
export const createMarker = (): string => `${MARKER_NAME}=${randomText()}`;

/** Whether it is where the command is to be. */
export function isInPlace({ place }: WaitingShell, path: string): boolean {
  const wanted = placeOf(path);
  return wanted !== undefined && place() === wanted;
}

export function placeOf(path: string): string | undefined {
  const found = attempt(() => statSync(path, { throwIfNoEntry: false }));
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
