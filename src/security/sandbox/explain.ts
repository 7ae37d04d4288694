/**
 * What the sandbox or a limit stopped, read from what the command said about it, and which setting of the operator's would let it
 * through. The kernel reports nothing, so this looks at the words that programs use.
 */
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { hiddenIn, settingFor } from './explain-hidden.ts';
import { isThere } from './host-files.ts';
import { HOST_PROGRAMS } from './host-programs.ts';
import { isObeyed } from './open-home.ts';
import { PROTECTED_IN_HOME, PROTECTED_IN_WORKSPACE, WRITTEN_AROUND } from './protected-paths.ts';

export interface Failed {
  readonly command: string;
  readonly directory: string;
  /** Paths that the shell would put together from the command: after a `cd`, in an inner shell, from quotes. */
  namedPaths?(): readonly string[];
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** How often the kernel refused it another process; 0 also where nobody counts. */
  readonly refusedForks?: number;
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
  if ((failed.refusedForks ?? 0) > 0) return tooManyProcesses(security);
  if (failed.isSandboxed === false)
    return failed.exitCode === 0 ? undefined : largeFile(failed, security, environment);
  if (failed.exitCode === 0)
    return explainSuccess(failed, security) ?? readAsEmpty(failed, security, environment);
  for (const explain of [
    setup,
    fullTmp,
    largeFile,
    processes,
    network,
    program,
    writing,
    hidden,
    readAsEmpty,
  ]) {
    const found = explain(failed, security, environment);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * A command that succeeded may print anything. But git succeeds though it could not replace a protected file, and of
 * several commands the last decides: on stderr, a complaint about something that the caller has named is one, and so is
 * that of the shell itself about the number of processes.
 */
function explainSuccess(failed: Failed, security: SecuritySettings): Explanation | undefined {
  const { command, text, isStderr } = failed;
  const kept = /\bgit\b/.test(command) ? writing(failed, security, {}) : undefined;
  // Who writes such words themselves is not stopped.
  if (kept !== undefined || isStderr !== true || READ_ONLY.test(command) || NO_NETWORK.test(command))
    return kept;
  const refused = SHELL_CANNOT_FORK.test(text) && !/\bfork\b/.test(command);
  if (refused && security.maxPids !== undefined) return tooManyProcesses(security);
  const isNamed = (line: string): boolean =>
    (line.match(/[\w~./-]*[./][\w~./-]*\w/g) ?? []).some((word) => command.includes(word));
  const named = { ...failed, exitCode: 1, text: text.split('\n').filter(isNamed).join('\n') };
  const sentence = (writing(named, security, {}) ?? network(named, security, {}))?.sentence;
  // It did succeed, so that it has no code.
  return sentence === undefined ? undefined : { sentence };
}

type Explain = (
  failed: Failed,
  security: SecuritySettings,
  environment: Readonly<Record<string, string>>,
) => Explanation | undefined;

const setup: Explain = ({ text, directory, hasRun }) => {
  if (hasRun) return undefined;
  const problem = /^bwrap: (.*)$/m.exec(text)?.[1] ?? 'it ended early';
  if (problem.startsWith("Can't chdir to")) {
    return {
      sentence: `Nothing was run: the sandbox does not show ${directory}. Work in the workspace; security.readable_paths shows other directories.`,
    };
  }
  return { sentence: `Nothing was run: the sandbox could not be set up (${problem}). Call again.` };
};

/** In the words of the C library, Node, Python and Rust. */
const READ_ONLY =
  /Read-only file system|EROFS|\[Errno 30\]|os error 30|ENOENT: no such file or directory, mkdir '\/(?:usr|opt|etc|var)\//i;
const BUSY = /Device or resource busy|EBUSY/i;

const writing: Explain = ({ text, directory, exitCode }, security) => {
  const said = linesSaying(text, READ_ONLY);
  const busy = linesSaying(text, BUSY).filter((line) => isProtected(pathIn(line, directory)));
  const lines = said.length > 0 ? said : busy;
  if (lines.length === 0) return undefined;
  if (exitCode === 0 && !lines.some((line) => isProtected(pathIn(line, directory)))) return undefined;
  const path = lines.map((line) => pathIn(line, directory)).findLast((found) => found !== undefined);
  const isInWorkspace =
    path !== undefined && security.workspace.some((root) => isInside(path, realPathOf(root)));
  if (isInWorkspace && isProtected(path)) {
    return {
      sentence: `The sandbox keeps ${path} read-only because programs outside the sandbox trust it. To allow it, the operator can set security.writable_paths = [${JSON.stringify(protectedRoot(path))}].`,
    };
  }
  // A name alone may be meant in a directory that the command went to.
  const where = path === undefined || isInWorkspace ? 'there' : `to ${path}`;
  return {
    sentence: `The sandbox stopped it from writing ${where}: only ${security.workspace.join(', ')}, /tmp${security.hasToolCaches ? ' and the caches of package managers' : ''} are writable. To allow it, the operator can add the path to security.writable_paths.`,
  };
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

const NO_NETWORK =
  /Could not resolve host|unable to resolve host|Could not resolve '|Temporary failure resolving|Temporary failure in name resolution|Name or service not known|Network is unreachable|ENETUNREACH|EAI_AGAIN|getaddrinfo|nodename nor servname|No address associated|Failed to connect to|Could not connect to|unable to access 'https?:|Connection refused|dial tcp|NameResolutionError|Network unreachable|ping: .*(?:unknown host|not permitted)/i;

/** Who speaks of a socket with a path was not kept from it by the lack of a network. */
const UNIX_SOCKET =
  /\bunix:|\bdial unix\b|unix[- ](?:domain )?socket|\bsocket ["'‘(]?\/|[\w/]\.sock\b|\.s\.PGSQL\.|connect to (?:\w+ )*bus\b|DockerException/i;

const network: Explain = ({ text, command }, security) => {
  if (security.network && security.allowedDomains.length === 0) return undefined;
  if (/--unix-socket[ =]/.test(command)) return undefined;
  const complaints = linesSaying(text, NO_NETWORK).filter((line) => !UNIX_SOCKET.test(line));
  if (security.network) {
    const isComplaint = complaints.length > 0 && !/security\.allowed_domains/.test(text);
    if (!isComplaint && !/CONNECT tunnel failed, response 403|403 Forbidden|ERR_TUNNEL/.test(text))
      return undefined;
    return {
      code: 'EXECUTION_005',
      sentence: `The sandbox lets commands reach only ${security.allowedDomains.join(', ')}, through the proxy in http_proxy and https_proxy. To allow more, the operator can extend security.allowed_domains.`,
    };
  }
  const said = complaints.filter((line) => !/localhost|127\.0\.0\.1|\[?::1\]?/.test(line));
  if (said.length === 0) return undefined;
  return {
    code: 'EXECUTION_005',
    sentence:
      'The sandbox has no network. To allow it, the operator can set security.enable_network = true, with security.allowed_domains for some domains only.',
  };
};

const fullTmp: Explain = ({ text }, security) => {
  if (!/No space left on device|ENOSPC(?!: System limit)|Disk quota exceeded|EDQUOT|os error 28/i.test(text))
    return undefined;
  const tmp =
    security.maxTmpBytes === undefined
      ? ''
      : ` /tmp holds ${security.maxTmpBytes / 1024 / 1024} MiB here; the operator changes that with security.max_tmp_mb.`;
  return { code: 'EXECUTION_004', sentence: `The disk it wrote to is full.${tmp}` };
};

const largeFile: Explain = ({ text, signal }, security) => {
  if (security.maxFileBytes === undefined) return undefined;
  if (signal !== 'SIGXFSZ' && !/File too large|EFBIG|File size limit exceeded/i.test(text)) return undefined;
  return {
    code: 'EXECUTION_004',
    sentence: `Files are limited to ${security.maxFileBytes / 1024 / 1024} MiB; the operator can change that with security.max_file_mb.`,
  };
};

/** A shell tries again until it can; where no cgroup counts, nothing else tells that it could not. */
const SHELL_CANNOT_FORK = /^\S*sh: (?:line \d+: )?fork: retry: Resource temporarily unavailable$/m;

const processes: Explain = ({ text }, security) => {
  if (
    security.maxPids === undefined ||
    !/fork: (?:retry: )?Resource temporarily unavailable|can't fork|EAGAIN.*spawn|spawn .*EAGAIN|Cannot fork|pthread_create(?: failed|: Resource)/i.test(
      text,
    )
  )
    return undefined;
  return tooManyProcesses(security);
};

const program: Explain = ({ text, command }, security) => {
  // Words alone may be those of a test that failed.
  const found = HOST_PROGRAMS.find(({ says, names }) => says.test(text) && (names?.test(command) ?? true));
  if (found === undefined) return undefined;
  if (found.exposes === undefined) return { sentence: found.sentence };
  if (security.expose.includes(found.exposes)) return undefined;
  return {
    sentence: `${found.sentence} The operator can expose them with security.expose = ["${found.exposes}"].`,
  };
};

const hidden: Explain = ({ text, directory }, security, environment) => {
  const path = linesSaying(text, /No such file or directory|ENOENT|Permission denied|EACCES/i)
    .map((line) => pathIn(line, directory))
    .findLast((found) => found !== undefined);
  if (path === undefined) return undefined;
  const setting = settingFor(path, security, environment);
  if (setting !== undefined)
    return { sentence: `The sandbox hides ${path}. The operator can show it with ${setting}.` };
  const isShown = [...security.workspace.map(realPathOf), '/tmp', '/usr', '/etc', '/proc', '/dev'].some(
    (shown) => isInside(path, shown),
  );
  if (security.root === 'host' || isShown) return undefined;
  return {
    sentence: `The ${security.preset} preset shows only the workspace and a minimal system, so ${path} may exist outside. The operator can show it with security.readable_paths.`,
  };
};

const readAsEmpty: Explain = (failed, security, environment) => {
  const found = hiddenIn(failed, security, environment);
  if (found === undefined) return undefined;
  return {
    sentence: `The sandbox hides ${found.path}: inside it is empty or missing. The operator can show it with ${found.setting}.`,
  };
};

function tooManyProcesses({ maxPids }: SecuritySettings): Explanation {
  return {
    sentence: `The command is limited to ${maxPids} processes and threads; the operator can change that with security.max_pids.`,
  };
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
