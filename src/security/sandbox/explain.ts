/**
 * What the wall stopped, read from what the command said about it, and which setting of the operator's would let it
 * through. The kernel reports nothing, so this looks at the words that programs use.
 */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { EXPOSURES, PRIVATE_IN_HOME, PRIVATE_IN_SYSTEM } from './private-paths.ts';

export interface Failed {
  readonly command: string;
  readonly directory: string;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** False where the wall could not be set up. */
  readonly hasRun: boolean;
  /** The last part of what it printed on stderr, or of all it printed. */
  readonly text: string;
}

export interface Explanation {
  readonly sentence: string;
  readonly code?: 'EXECUTION_004' | 'EXECUTION_005';
}

export function explainDenial(failed: Failed, security: SecuritySettings): Explanation | undefined {
  for (const explain of [setup, fullTmp, largeFile, processes, network, program, writing, hidden]) {
    const found = explain(failed, security);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Explain = (failed: Failed, security: SecuritySettings) => Explanation | undefined;

const setup: Explain = ({ text, directory, hasRun }) => {
  if (hasRun) return undefined;
  const problem = /^bwrap: (.*)$/m.exec(text)?.[1] ?? 'it ended early';
  if (/^Can't chdir to/.test(problem)) {
    return {
      sentence: `Nothing was run: the sandbox does not show ${directory}. Work in the workspace; security.readable_paths shows other directories.`,
    };
  }
  return { sentence: `Nothing was run: the sandbox could not be set up (${problem}). Call again.` };
};

/** Of what a program was asked to write to, in the words of the C library, Node, Python and Rust. */
const READ_ONLY = /Read-only file system|EROFS|\[Errno 30\]|os error 30/i;
const BUSY = /Device or resource busy|EBUSY/i;

const writing: Explain = ({ text, directory }, security) => {
  const line = lastLine(text, READ_ONLY) ?? lastLine(text, BUSY, /\.git|settings|config/);
  if (line === undefined) return undefined;
  const path = pathIn(line, directory);
  const where = path === undefined ? 'a place' : path;
  const protectedFile =
    path !== undefined && security.workspace.some((root) => isInside(path, realPathOf(root)));
  if (protectedFile) {
    return {
      sentence: `The sandbox keeps ${where} read-only: somebody outside executes or obeys it. The operator can open it with security.writable_paths = [${JSON.stringify(path)}].`,
    };
  }
  return {
    sentence: `The sandbox stopped it from writing to ${where}: only ${security.workspace.join(', ')}, /tmp${security.hasToolCaches ? ' and the caches of package managers' : ''} can be written to. Write there, or the operator opens more with security.writable_paths.`,
  };
};

const NO_NETWORK =
  /Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is unreachable|ENETUNREACH|EAI_AGAIN|getaddrinfo|nodename nor servname|No address associated|Failed to connect to|Could not connect to|unable to access 'https?:|Connection refused|dial tcp|NameResolutionError|Network unreachable|ping: .*(?:unknown host|not permitted)/i;

const network: Explain = ({ text }, security) => {
  if (security.network && security.allowedDomains.length === 0) return undefined;
  if (security.network) {
    const host = /security\.allowed_domains/.test(text) ? undefined : NO_NETWORK.exec(text)?.[0];
    if (host === undefined && !/CONNECT tunnel failed, response 403|403 Forbidden|ERR_TUNNEL/.test(text))
      return undefined;
    return {
      code: 'EXECUTION_005',
      sentence: `The sandbox lets commands reach only ${security.allowedDomains.join(', ')}, through the proxy that http_proxy and https_proxy name. The operator opens more with security.allowed_domains.`,
    };
  }
  if (!NO_NETWORK.test(text)) return undefined;
  return {
    code: 'EXECUTION_005',
    sentence:
      'The sandbox has the network off. The operator can open it with security.enable_network = true, or for some domains with security.allowed_domains.',
  };
};

const fullTmp: Explain = ({ text }, security) => {
  if (!/No space left on device|ENOSPC|Disk quota exceeded|EDQUOT|os error 28/i.test(text)) return undefined;
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
    sentence: `A file can have ${security.maxFileBytes / 1024 / 1024} MiB here; the operator changes that with security.max_file_mb.`,
  };
};

const processes: Explain = ({ text }, security) => {
  if (
    security.maxPids === undefined ||
    !/fork: (?:retry: )?Resource temporarily unavailable|can't fork|EAGAIN.*spawn|spawn .*EAGAIN|Cannot fork|pthread_create/i.test(
      text,
    )
  )
    return undefined;
  return {
    sentence: `It may have ${security.maxPids} processes and threads; the operator changes that with security.max_pids.`,
  };
};

/** Programs that need something of the host which is not let through, and how they say so. */
const PROGRAMS: readonly { readonly says: RegExp; readonly sentence: string; readonly exposes?: string }[] = [
  {
    says: /sudo: (?:.*no new privileges|effective uid is not 0|.*must be owned by uid 0|unable to|.*setuid)|^su: |pkexec must be setuid|doas: not installed setuid|sudo: command not found/im,
    sentence:
      'sudo and su do not work in the sandbox: nobody gets more rights in there than the server has. Ask the person to run it.',
  },
  {
    says: /docker daemon|docker\.sock|Cannot connect to the Docker|podman\.sock|unable to connect to Podman/i,
    exposes: 'docker',
    sentence: 'The sandbox hides the sockets of container engines: they give command of the host.',
  },
  {
    says: /gh auth login|GH_TOKEN|GitHub CLI/i,
    exposes: 'gh',
    sentence: 'The sandbox hides the credentials of gh.',
  },
  {
    says: /Permission denied \(publickey|Could not open a connection to your authentication agent|Host key verification failed|no such identity/i,
    exposes: 'ssh-agent',
    sentence: 'The sandbox hides ~/.ssh and the agent.',
  },
  {
    says: /could not read (?:Username|Password) for|Authentication failed for 'https?:|terminal prompts disabled/i,
    exposes: 'git',
    sentence: 'The sandbox hides the credentials of git.',
  },
  {
    says: /Unable to locate credentials|aws configure|NoCredentialProviders/i,
    exposes: 'aws',
    sentence: 'The sandbox hides the credentials of AWS.',
  },
  {
    says: /gcloud auth login|Application Default Credentials/i,
    exposes: 'gcloud',
    sentence: 'The sandbox hides the credentials of gcloud.',
  },
  {
    says: /connection to the server localhost:8080 was refused|kubeconfig/i,
    exposes: 'kubectl',
    sentence: 'The sandbox hides ~/.kube.',
  },
  {
    says: /ENEEDAUTH|npm login|E401.*registry|code E401/i,
    exposes: 'npm',
    sentence: 'The sandbox shows .npmrc without its tokens.',
  },
  {
    says: /gpg: (?:signing failed|.*No secret key|can't connect to the agent)|error: gpg failed to sign/i,
    exposes: 'gpg',
    sentence: 'The sandbox hides ~/.gnupg.',
  },
  {
    says: /(?:No usable sandbox|SUID sandbox helper|Failed to move to new namespace|unshare: unshare failed|newuidmap)/i,
    sentence:
      'Namespaces cannot be nested in the sandbox: browsers need --no-sandbox, and rootless containers do not run.',
  },
];

const program: Explain = ({ text, exitCode }, security) => {
  if (exitCode === 0) return undefined;
  const found = PROGRAMS.find(({ says }) => says.test(text));
  if (found === undefined) return undefined;
  if (found.exposes === undefined) return { sentence: found.sentence };
  if (security.expose.includes(found.exposes)) return undefined;
  return {
    sentence: `${found.sentence} The operator can let them through with security.expose = ["${found.exposes}"].`,
  };
};

const hidden: Explain = ({ text, directory, exitCode }, security) => {
  if (exitCode === 0) return undefined;
  const line = lastLine(text, /No such file or directory|ENOENT|Permission denied|EACCES|not found/i);
  const path = line === undefined ? undefined : pathIn(line, directory);
  if (path === undefined) return undefined;
  const home = realPathOf(homedir());
  const isHidden = (candidate: string): boolean => isInside(path, candidate);
  if (PRIVATE_IN_HOME.some((name) => isHidden(join(home, name))) || PRIVATE_IN_SYSTEM.some(isHidden)) {
    const named = Object.entries(EXPOSURES).find(([, { home: paths }]) =>
      paths?.some((name) => isHidden(join(home, name))),
    )?.[0];
    const setting =
      named === undefined
        ? `security.readable_paths = [${JSON.stringify(path)}]`
        : `security.expose = ["${named}"]`;
    return { sentence: `The sandbox hides ${path}. The operator can show it with ${setting}.` };
  }
  if (
    security.root === 'host' ||
    isInside(path, '/tmp') ||
    security.workspace.some((root) => isHidden(realPathOf(root)))
  )
    return undefined;
  return {
    sentence: `In the ${security.preset} preset only the workspace and a minimal system are there, so ${path} may exist outside. The operator can show it with security.readable_paths.`,
  };
};

function lastLine(text: string, says: RegExp, also?: RegExp): string | undefined {
  return text.split('\n').findLast((line) => says.test(line) && (also === undefined || also.test(line)));
}

/** The path that a complaint names: in quotes, or before the reason. */
function pathIn(line: string, directory: string): string | undefined {
  const quoted = /['"‘“`]((?:~|\.{0,2}\/|[\w.-]+\/)[^'"’”`\n]*|[\w.-]+)['"’”`]/.exec(line)?.[1];
  const plain = /(?:^|[\s:])((?:~|\.{0,2})\/[^\s:'"]+|[\w.-]+(?:\/[^\s:'"]+)*)(?=: )[^:]*: [^:]*$/.exec(
    line,
  )?.[1];
  const typed = quoted ?? plain;
  if (typed === undefined || typed.length > 500) return undefined;
  const expanded = typed.startsWith('~/') ? join(homedir(), typed.slice(2)) : typed;
  return isAbsolute(expanded) ? resolve(expanded) : resolve(directory, expanded);
}
