/**
 * The environment a command gets: the server's own without its secrets, the login shell's PATH, defaults that keep
 * programs from waiting for a person, then the session's and the caller's variables.
 */
import type { EnvironmentMode } from '../base/config/presets.ts';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { MARKER_NAME } from '../base/marker.ts';
import { currentUser } from '../base/user.ts';
import { byName } from './list.ts';
import { isSecretName } from './secrets.ts';

export { MARKER_NAME };

export type Environment = Readonly<Record<string, string>>;

/** What is the server's own business and not the command's: its token and its settings. */
const OWN = /^MCP_SHELL_/;
/** What npm set to start the server; it would make an npm inside believe that it belongs to this package. */
const FROM_NPM =
  /^(?:npm_(?:lifecycle|package|node)_.*|npm_(?:command|execpath)|INIT_CWD|npm_config_(?:local_prefix|global_prefix|prefix|npm_version|user_agent|node_gyp|noproxy|init_module|globalconfig|userconfig|cache))$/;

/** Pagers, editors and prompts that would wait for a person who is not there. The caller may set any of them. */
const NON_INTERACTIVE = byName({
  'PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER BAT_PAGER GH_PAGER': 'cat',
  AWS_PAGER: '',
  'EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS': 'true',
  'SSH_ASKPASS_REQUIRE GCM_INTERACTIVE': 'never',
  'GH_PROMPT_DISABLED PIP_NO_INPUT': '1',
  GIT_TERMINAL_PROMPT: '0',
  DEBIAN_FRONTEND: 'noninteractive',
  TERM: 'dumb',
});

/** What the emulator understands. */
const INTERACTIVE: Readonly<Record<string, string>> = { TERM: 'xterm-256color', COLORTERM: 'truecolor' };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What a command gets of the server's own where only allowed variables are. */
const COMMON = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|USER|LOGNAME|HOME|COLORTERM|NO_COLOR)$/;

/** Where the host keeps temporary files is of no use where /tmp is another. */
const TEMPORARY = ['TMPDIR', 'TMP', 'TEMP', 'TEMPDIR', 'XDG_RUNTIME_DIR'];

export interface EnvironmentParts {
  readonly inherited: Readonly<Record<string, string>>;
  readonly mode: EnvironmentMode;
  /** Names, beside the common ones, where only allowed variables are. */
  readonly allowed: readonly string[];
  /** Another home directory than the user's. */
  readonly home: string | undefined;
  readonly isSandboxed: boolean;
  readonly hasNetwork: boolean;
  readonly path: string;
  readonly shell: string;
  /** What earlier commands of the session exported; undefined where one was unset. */
  readonly session: ReadonlyMap<string, string | undefined>;
  readonly caller: Readonly<Record<string, string>>;
  /** It has an interactive user. */
  readonly isTerminal?: boolean;
  /** The program that asks the operator for a password, where one may. */
  readonly askpass?: string | undefined;
}

/** The environment without what is the server's own business. */
export function withoutOwn(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !OWN.test(name)));
}

/** Those of commands in a row are nearly always the same, and then the same object: what is derived from it holds on. */
export function createEnvironments(): (parts: EnvironmentParts) => Environment {
  let last: { readonly parts: EnvironmentParts; readonly environment: Environment } | undefined;
  return (parts) => {
    if (last === undefined || !isSame(last.parts, parts))
      last = { parts, environment: buildEnvironment(parts) };
    return last.environment;
  };
}

function isSame(one: EnvironmentParts, other: EnvironmentParts): boolean {
  const { caller, session, ...rest } = one;
  // A session goes on changing its own.
  return (
    session.size + other.session.size === 0 &&
    hasAll(other, rest) &&
    hasAll(other.caller, caller) &&
    hasAll(caller, other.caller)
  );
}

function hasAll<Given extends object>(whole: Given, part: Partial<Given>): boolean {
  for (const name in part) if (whole[name] !== part[name]) return false;
  return true;
}

/** Without the marker of an execution. It never changes. */
export function buildEnvironment(parts: EnvironmentParts): Environment {
  const environment: Record<string, string> = Object.create(null);
  const isFromNpm = parts.inherited['npm_lifecycle_event'] !== undefined;
  for (const [name, value] of Object.entries(parts.inherited)) {
    if (OWN.test(name) || WAYS.has(name) || (isFromNpm && FROM_NPM.test(name))) continue;
    if (passes(name, parts)) environment[name] = value;
  }
  if (parts.isSandboxed) for (const name of TEMPORARY) delete environment[name];
  if (parts.home !== undefined) environment['HOME'] = parts.home;
  // Its own retries take half a minute.
  if (!parts.hasNetwork) environment['npm_config_fetch_retries'] ??= '0';
  // A root's tar gives files to the owners in the archive, of whom the sandbox knows none.
  if (parts.isSandboxed && process.getuid?.() === 0) environment['TAR_OPTIONS'] ??= '--no-same-owner';
  Object.assign(environment, parts.isTerminal === true ? INTERACTIVE : NON_INTERACTIVE, {
    PATH: parts.path,
    SHELL: parts.shell,
  });
  if (parts.askpass !== undefined) {
    // One of the operator's own; those for ssh and git never reach a command.
    environment['SUDO_ASKPASS'] ??= parts.askpass;
    environment['GIT_ASKPASS'] = parts.askpass;
    environment['SSH_ASKPASS'] = parts.askpass;
    environment['SSH_ASKPASS_REQUIRE'] = 'force';
  }
  if (environment['LC_ALL'] === undefined && environment['LANG'] === undefined)
    environment['LANG'] = 'C.UTF-8';
  // zsh and fish set these where they are missing, which would look like the work of the command.
  const { username, homedir } = currentUser();
  environment['HOME'] ??= homedir;
  environment['USER'] ??= username;
  environment['LOGNAME'] ??= username;
  for (const [name, value] of parts.session) {
    if (value === undefined) delete environment[name];
    else environment[name] = value;
  }
  Object.assign(environment, parts.caller);
  // A session could have brought another's.
  delete environment[MARKER_NAME];
  // As an object with few names, which is cheaper to copy.
  return Object.freeze(Object.fromEntries(Object.entries(environment)));
}

/** They would make `cd` lead where the server's own shell has been. */
const WAYS = new Set(['OLDPWD', 'CDPATH']);

/** A variable of the server's that a command gets. */
export function inheritedValue(
  name: string,
  inherited: Readonly<Record<string, string>>,
  given: Pick<EnvironmentParts, 'mode' | 'allowed'>,
): string | undefined {
  return WAYS.has(name) || OWN.test(name) || !passes(name, given) ? undefined : inherited[name];
}

function passes(name: string, { mode, allowed }: Pick<EnvironmentParts, 'mode' | 'allowed'>): boolean {
  if (mode === 'inherited') return true;
  if (mode === 'filtered') return !isSecretName(name);
  return COMMON.test(name) || allowed.includes(name);
}

/** Variables that make a program load or run something else than what the command says. */
const ALWAYS_DANGEROUS =
  /^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|INPUTRC|GCONV_PATH|GLIBC_TUNABLES)$/;

/** Refuses those, from a caller or from what a session carries on. */
export function checkDangerous(environment: Readonly<Record<string, string>>): void {
  const name = Object.keys(environment).find((candidate) => ALWAYS_DANGEROUS.test(candidate));
  if (name === undefined) return;
  throw new ShellServerError('SECURITY_003', `environment_variables must not set ${name}.`, {
    hint: `${name} changes what every program runs or loads. Leave it out; if one program needs it, set it in the command, before that program.`,
    details: { parameter: 'environment_variables', variable: name },
  });
}

/** Refuses what could not be a variable, or would not fit; `parameter` is named in the error. */
export function checkEnvironment(
  environment: Readonly<Record<string, string>>,
  parameter = 'environment_variables',
): void {
  const entries = Object.entries(environment);
  const bytes = entries.reduce((total, [name, value]) => total + Buffer.byteLength(name + value) + 2, 0);
  const problem = ((): string | undefined => {
    if (entries.length > LIMITS.environmentEntries)
      return `has more than ${LIMITS.environmentEntries} entries`;
    if (bytes > LIMITS.environmentBytes) return `is larger than ${LIMITS.environmentBytes / 1024} KiB`;
    for (const [name, value] of entries) {
      if (!NAME.test(name)) return `has a name that is not a variable's: ${JSON.stringify(name)}`;
      if (name.startsWith('MCP_SHELL_'))
        return `sets ${name}: names that begin with MCP_SHELL_ are the server's`;
      // Linux takes 128 KiB for one entry; execve would fail with E2BIG and say no more.
      if (Buffer.byteLength(name) + Buffer.byteLength(value) > LIMITS.commandBytes) {
        return `has an entry longer than 120 KiB: ${name.slice(0, 100)}`;
      }
    }
    return undefined;
  })();
  if (problem === undefined) return;
  throw new ShellServerError('PARAM_002', `${parameter} ${problem}.`, {
    hint: 'Names are letters, digits and underscores, and do not begin with a digit.',
    details: { parameter },
  });
}
