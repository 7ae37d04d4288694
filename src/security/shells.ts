/** Which shell a command is handed to, and how. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ShellServerError } from '../base/errors.ts';
import { setOf } from './list.ts';
import { canExecute } from './sandbox/host-files.ts';

export interface Shells {
  /** What terminals and the start-up information show. */
  readonly configured: string;
  /** What commands run in. */
  readonly forCommands: string;
}

/** Shells that do not read POSIX syntax; commands written for bash fail in them in strange ways. */
const FOREIGN = setOf('nologin false true fish csh tcsh nu elvish xonsh pwsh powershell rc es');

export function chooseShells(named: string | undefined, inherited: string | undefined): Shells {
  const given = named ?? (process.platform === 'win32' ? 'cmd.exe' : undefined);
  if (given !== undefined) return { configured: given, forCommands: given };
  const configured =
    inherited !== undefined && inherited !== '' && existsSync(inherited) ? inherited : defaultShell();
  return { configured, forCommands: FOREIGN.has(basename(configured)) ? defaultShell() : configured };
}

/** The shell whose grammar the policy knows. */
const JUDGED_SHELL = '/bin/bash';

/**
 * What commands run in under a policy. `=touch x` of zsh and `echo (touch x)` of fish are no commands to bash, so that a
 * list could not meet them in another shell. An allow-list takes the system's bash, which a minimal root has.
 */
export function judgedShell(
  shell: string,
  policy: { readonly hasAllowList: boolean; readonly hasLists: boolean },
): string {
  if (policy.hasAllowList) return JUDGED_SHELL;
  // Windows has no bash of its own; a block-list is held against what cmd.exe is given as well as it can be.
  const isFree = !policy.hasLists || shellName(shell) === 'bash' || process.platform === 'win32';
  return isFree ? shell : JUDGED_SHELL;
}

/** The argv that runs a command string in a shell. */
export function shellArgv(shell: string, command: string): string[] {
  const name = shellName(shell);
  if (name === 'bash') return [shell, '--norc', '--noprofile', '-c', '--', command];
  if (name === 'cmd') return [shell, '/d', '/s', '/c', command];
  if (name === 'powershell' || name === 'pwsh')
    return [shell, '-NoProfile', '-NonInteractive', '-Command', command];
  // fish takes the command as the option's value; to the others a leading "-" would be an option of the shell.
  return name === 'fish' ? [shell, '-c', command] : [shell, '-c', '--', command];
}

export function shellName(shell: string): string {
  return basename(shell)
    .replace(/\.exe$/i, '')
    .toLowerCase();
}

/** Throws EXECUTION_001 where the shell is not there, before anything is prepared for it. */
export function checkShell(shell: string, path: string): void {
  const places = shell.includes('/') ? [shell] : path.split(':').map((directory) => join(directory, shell));
  if (process.platform === 'win32' || places.some(canExecute)) return;
  throw new ShellServerError('EXECUTION_001', `The shell ${shell} does not exist or is not executable.`, {
    hint: 'Select another one with --shell, or with the setting "shell".',
    details: { shell },
  });
}

function defaultShell(): string {
  return existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
}
