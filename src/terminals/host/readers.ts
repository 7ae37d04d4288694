/** Which program reads what is typed, where it is not the terminal's own shell: another shell, or one that asks for passwords. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { findProcess } from '../../executions/processes.ts';
import { isShellName } from '../../security/security.ts';
import { describeProcess, directoryOf, type FrontActivity, type Program } from './foreground.ts';

type Reader = FrontActivity['readers'][number];

/** Its name, and the directory that it is in. */
export interface InnerShell {
  readonly name: string;
  readonly directory: string | undefined;
}

/** A shell that reads commands from the terminal. */
export function findInnerShell(readers: readonly Pick<Reader, 'entry'>[]): InnerShell | undefined {
  for (const { entry } of readers) {
    const { path, name, calledAs } = describeProcess(entry);
    const shell = [basename(path ?? ''), calledAs ?? '', name].find(isShellName);
    if (shell !== undefined && readsCommands(argvOf(entry.pid)))
      return { name: shell, directory: directoryOf(entry.pid) };
  }
  return undefined;
}

/** The shell has become another one (`exec sh`), which tells nothing of itself. */
export function isOtherShell({ shell, argv }: Program): boolean {
  const entry = findProcess(shell);
  // What relays its network may stand before it.
  const isOwn = argv.join('\0').endsWith(argvOf(shell).join('\0'));
  return entry !== undefined && !isOwn && findInnerShell([{ entry }]) !== undefined;
}

const argvOf = (pid: number): string[] =>
  attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)) ?? [];

/** A shell with `-c` or a script reads no commands from the terminal, unless the script is the terminal. */
function readsCommands([, ...args]: readonly string[]): boolean {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (/^-[A-Za-z]*c/.test(word)) return false;
    if (/^-[A-Za-z]*s/.test(word)) return true;
    if (/^(?:--(?:rcfile|init-file)|[-+][A-Za-z]*[oO])$/.test(word)) at += 1;
    else if (!/^[-+]./.test(word)) return /^-$|^\/(?:dev|proc)\//.test(word);
  }
  return true;
}

/** Programs that read a password as one whole line, which a file of the same name elsewhere need not do. */
const PASSWORD_PROGRAMS =
  /^\/(?:usr\/)?s?bin\/(?:sudo|su|doas|login|passwd|ssh|ssh-add|ssh-keygen|gpg|gpg2|pinentry-tty|kinit|cryptsetup|systemd-ask-password)$/;

/** Whether nothing else can get the line: a program that waits for other things too (`ssh` in a session) passes on what it reads. */
export const isPasswordProgram = (readers: readonly Reader[]): boolean =>
  readers.length > 0 &&
  readers.every(
    ({ entry, activity }) =>
      activity === 'reading' && PASSWORD_PROGRAMS.test(describeProcess(entry).path ?? ''),
  );
