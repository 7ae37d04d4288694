/**
 * What the sandbox or a limit stopped, read from what the command said about it, and which setting of the operator's would let it
 * through. The kernel reports nothing, so this looks at the words that programs use.
 */
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { isThere } from '../sandbox/host-files.ts';
import { isObeyed } from '../sandbox/open-home.ts';
import { PROTECTED_IN_HOME, PROTECTED_IN_WORKSPACE, WRITTEN_AROUND } from '../sandbox/protected-paths.ts';
import { hiddenIn, settingFor } from './explain-hidden.ts';
import { HOST_PROGRAMS, SAYS } from './patterns.ts';

export interface Failed {
  readonly command: string;
  readonly directory: string;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  /** How often the kernel refused it another process; 0 also where nobody counts. */
  readonly refusedForks?: number | undefined;
  /** False where the sandbox could not be set up. */
  readonly hasRun: boolean;
  /** False where there was no sandbox: what stopped it can only be a limit then. */
  readonly isSandboxed?: boolean;
  /** The last part of what it printed on stderr, or of all it printed. */
  readonly text: string;
  readonly isStderr?: boolean;
}

export interface Explanation {
  readonly sentence: string;
  readonly code?: 'EXECUTION_004' | 'EXECUTION_005';
}

export function explainDenial(
  failed: Failed,
  security: SecuritySettings,
  environment: Readonly<Record<string, string>> = {},
): Explanation | undefined {
  if ((failed.refusedForks ?? 0) > 0) return { sentence: tooManyProcesses(security) };
  const all =
    failed.exitCode === 0
      ? [explainSuccess, readAsEmpty]
      : [setup, fullTmp, largeFile, processes, network, program, writing, hidden, readAsEmpty];
  for (const explain of failed.isSandboxed === false ? all.filter((each) => each === largeFile) : all) {
    const sentence = explain(failed, security, environment);
    const code = CODES.get(explain);
    if (sentence !== undefined) return { sentence, ...(code !== undefined && { code }) };
  }
  return undefined;
}

/**
 * A command that succeeded may print anything. But git succeeds though it could not replace a protected file, and of
 * several commands the last decides: on stderr, a complaint about something that the caller has named is one, and so is
 * that of the shell itself about the number of processes.
 */
function explainSuccess(failed: Failed, security: SecuritySettings): string | undefined {
  const { command, text, isStderr } = failed;
  const kept = /\bgit\b/.test(command) ? writing(failed, security, {}) : undefined;
  // Who writes such words themselves is not stopped.
  if (kept !== undefined || isStderr !== true || SAYS.readOnly.test(command) || SAYS.noNetwork.test(command))
    return kept;
  const refused = SAYS.shellCannotFork.test(text) && !/\bfork\b/.test(command);
  if (refused && security.maxPids !== undefined) return tooManyProcesses(security);
  const isNamed = (line: string): boolean =>
    (line.match(/[\w~./-]*[./][\w~./-]*\w/g) ?? []).some((word) => command.includes(word));
  const named = { ...failed, exitCode: 1, text: text.split('\n').filter(isNamed).join('\n') };
  return writing(named, security, {}) ?? network(named, security, {});
}

type Explain = (
  failed: Failed,
  security: SecuritySettings,
  environment: Readonly<Record<string, string>>,
) => string | undefined;

const setup: Explain = ({ text, directory, hasRun }) => {
  if (hasRun) return undefined;
  const problem = /^bwrap: (.*)$/m.exec(text)?.[1] ?? 'it ended early';
  if (problem.startsWith("Can't chdir to")) {
    return `Nothing was run: the sandbox does not show ${directory}. Work in the workspace; security.readable_paths shows other directories.`;
  }
  return `Nothing was run: the sandbox could not be set up (${problem}). Call again.`;
};

const writing: Explain = ({ command, text, directory, exitCode }, security) => {
  const said = linesSaying(text, SAYS.readOnly);
  const busy = linesSaying(text, SAYS.busy).filter((line) => isProtected(pathIn(line, directory)));
  const lines = said.length > 0 ? said : busy;
  if (lines.length === 0) return undefined;
  if (exitCode === 0 && !lines.some((line) => isProtected(pathIn(line, directory)))) return undefined;
  const path = lines.map((line) => pathIn(line, directory)).findLast((found) => found !== undefined);
  const isInWorkspace =
    path !== undefined && security.workspace.some((root) => isInside(path, realPathOf(root)));
  // Hooks may lead anywhere. A name alone may be meant in a directory that the command went to.
  const isObeyedThere = isInWorkspace && isThere(path) && !/\b(?:cd|pushd)\b/.test(command);
  if (isInWorkspace && (isProtected(path) || isObeyedThere)) {
    return `The sandbox keeps ${path} read-only because programs outside the sandbox trust it. To allow it, the operator can set security.writable_paths = [${JSON.stringify(protectedRoot(path))}].`;
  }
  const where = path === undefined || isInWorkspace ? 'there' : `to ${path}`;
  return `The sandbox stopped it from writing ${where}: only ${security.workspace.join(', ')}, /tmp${security.hasToolCaches ? ' and the caches of package managers' : ''} are writable. To allow it, the operator can add the path to security.writable_paths.`;
};

/** What would have to be named: of a repository its hooks as a whole, of settings the directory for a file that is new. */
function protectedRoot(path: string): string {
  const around = SETTINGS_DIRECTORIES.find((name) => path.includes(`/${name}/`));
  if (around === undefined || isThere(path)) return path.replace(/(\/\.git\/hooks)\/.*$/, '$1');
  return path.slice(0, path.indexOf(`/${around}/`) + around.length + 1);
}

function isProtected(path: string | undefined): boolean {
  if (path === undefined) return false;
  const home = realPathOf(homedir());
  return (
    /\/\.git\/(?:hooks|config|info)(?:\/|$)|\/\.git$/.test(path) ||
    PROTECTED_IN_WORKSPACE.some((name) => path.endsWith(`/${name}`) || path.includes(`/${name}/`)) ||
    SETTINGS_DIRECTORIES.some((name) => path.includes(`/${name}/`) || path.endsWith(`/${name}`)) ||
    PROTECTED_IN_HOME.some((name) => isInside(path, join(home, name))) ||
    (path !== home && isInside(path, home) && isObeyed(relative(home, path).split('/')[0] ?? ''))
  );
}

const SETTINGS_DIRECTORIES = [
  ...new Set(
    PROTECTED_IN_WORKSPACE.flatMap((name) => {
      const [first = '', ...rest] = name.split('/');
      return rest.length === 0 || WRITTEN_AROUND.test(name) ? [] : [first];
    }),
  ),
];

const network: Explain = ({ text, command }, security) => {
  if (security.network && security.allowedDomains.length === 0) return undefined;
  if (/--unix-socket[ =]/.test(command)) return undefined;
  const complaints = linesSaying(text, SAYS.noNetwork).filter((line) => !SAYS.unixSocket.test(line));
  if (security.network) {
    const isComplaint = complaints.length > 0 && !/security\.allowed_domains/.test(text);
    if (!isComplaint && !SAYS.refusedByProxy.test(text)) return undefined;
    return `The sandbox lets commands reach only ${security.allowedDomains.join(', ')}, through the proxy in http_proxy and https_proxy. To allow more, the operator can extend security.allowed_domains.`;
  }
  const said = complaints.filter((line) => !/localhost|127\.0\.0\.1|\[?::1\]?/.test(line));
  if (said.length === 0) return undefined;
  return 'The sandbox has no network. To allow it, the operator can set security.enable_network = true, with security.allowed_domains for some domains only.';
};

const fullTmp: Explain = ({ text }, security) => {
  if (!SAYS.full.test(text)) return undefined;
  const tmp =
    security.maxTmpBytes === undefined
      ? ''
      : ` /tmp holds ${security.maxTmpBytes / 1024 / 1024} MiB here; the operator changes that with security.max_tmp_mb.`;
  return `The disk it wrote to is full.${tmp}`;
};

const largeFile: Explain = ({ text, signal }, security) => {
  if (security.maxFileBytes === undefined) return undefined;
  if (signal !== 'SIGXFSZ' && !SAYS.tooLarge.test(text)) return undefined;
  return `Files are limited to ${security.maxFileBytes / 1024 / 1024} MiB; the operator can change that with security.max_file_mb.`;
};

const processes: Explain = ({ text }, security) =>
  security.maxPids !== undefined && SAYS.cannotFork.test(text) ? tooManyProcesses(security) : undefined;

const program: Explain = ({ text, command }, security) => {
  // Words alone may be those of a test that failed.
  const found = HOST_PROGRAMS.find(({ says, names }) => says.test(text) && (names?.test(command) ?? true));
  if (found === undefined) return undefined;
  if (found.exposes === undefined) return found.sentence;
  if (security.expose.includes(found.exposes)) return undefined;
  return `${found.sentence} The operator can expose them with security.expose = ["${found.exposes}"].`;
};

const hidden: Explain = ({ text, directory }, security, environment) => {
  const path = linesSaying(text, SAYS.hidden)
    .map((line) => pathIn(line, directory))
    .findLast((found) => found !== undefined);
  if (path === undefined) return undefined;
  const setting = settingFor(path, security, environment);
  if (setting !== undefined) return `The sandbox hides ${path}. The operator can show it with ${setting}.`;
  const isShown = [...security.workspace.map(realPathOf), '/tmp', '/usr', '/etc', '/proc', '/dev'].some(
    (shown) => isInside(path, shown),
  );
  if (security.root === 'host' || isShown) return undefined;
  return `The ${security.preset} preset shows only the workspace and a minimal system, so ${path} may exist outside. The operator can show it with security.readable_paths.`;
};

const readAsEmpty: Explain = (failed, security, environment) => {
  const found = hiddenIn(failed, security, environment);
  if (found === undefined) return undefined;
  return `The sandbox hides ${found.path}: inside it is empty or missing. The operator can show it with ${found.setting}.`;
};

/** Of those that have one. A command that succeeded has none, whatever is said of it. */
const CODES: ReadonlyMap<Explain, NonNullable<Explanation['code']>> = new Map([
  [fullTmp, 'EXECUTION_004'],
  [largeFile, 'EXECUTION_004'],
  [network, 'EXECUTION_005'],
]);

function tooManyProcesses({ maxPids }: SecuritySettings): string {
  return `The command is limited to ${maxPids} processes and threads; the operator can change that with security.max_pids.`;
}

function linesSaying(text: string, says: RegExp): string[] {
  return text.split('\n').filter((line) => says.test(line));
}

/** What a shell says before the complaint itself. */
const SHELL_PREFIX = /^\S*?(?:ba|z|da|k|fi)?sh: (?:line \d+: )?/;

/** The path that a complaint names: the last in quotes, or the one before the reason. */
function pathIn(line: string, directory: string): string | undefined {
  const complaint = line.replace(SHELL_PREFIX, '');
  const all = [...complaint.matchAll(/['"‘“`]([^'"’”`\n]+)['"’”`]/g)]
    .map(([, inner]) => inner ?? '')
    .filter((inner) => /^[~\w./-][^\n]*$/.test(inner) && !/^E[A-Z]+$/.test(inner));
  // Of "move A to B" the first is meant, of "link A -> B" the last.
  const quoted = /['’] to ['‘]/.test(complaint) ? all[0] : all.at(-1);
  const plain = [
    ...complaint.matchAll(/(?:^|[\s:])((?:~|\.{0,2})\/[^\s:'",]+|[\w.-]+(?:\/[^\s:'",]+)+)/g),
  ].at(-1)?.[1];
  const first = /^([^\s:'"]+): /.exec(complaint)?.[1];
  const typed = quoted ?? plain ?? first;
  if (typed === undefined || typed.length > 500) return undefined;
  const expanded = typed.startsWith('~/') ? join(homedir(), typed.slice(2)) : typed;
  return isAbsolute(expanded) ? resolve(expanded) : resolve(directory, expanded);
}
