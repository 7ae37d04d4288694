/** The words in which programs, shells and libraries report a failure: the kernel reports nothing itself. */

/** bash, zsh, dash, busybox and fish each name the missing program in their own order; `env` and `xargs` in a fourth. */
export const NOT_FOUND: readonly RegExp[] = [
  /command not found: (\S+)\s*$/m,
  /(?:^|: |line \d+: )([^\s:]+): (?:command )?not found(?:\.\.\.)?\s*$/m,
  /: Unknown command:? ['"‘“]?([^\s'"’”]+)/m,
  /(?:^|[\s/])(?:env|xargs|nohup|timeout|nice): ['"‘“]?([^\s'"’”:]+)['"’”]?: No such file or directory/m,
];

/** In the words of the C library, Node, Python and Rust. */
export const SAYS = {
  denied: /permission denied|operation not permitted|read-only file system|\bEACCES\b|\bEPERM\b/i,
  deniedPath: /(?:^|: |['"‘])([^:\n'"’]+?)['"’]?: Permission denied/im,
  hidden: /No such file or directory|ENOENT|Permission denied|EACCES/i,
  readOnly:
    /Read-only file system|EROFS|\[Errno 30\]|os error 30|ENOENT: no such file or directory, mkdir '\/(?:usr|opt|etc|var)\//i,
  busy: /Device or resource busy|EBUSY/i,
  full: /No space left on device|ENOSPC(?!: System limit)|Disk quota exceeded|EDQUOT|os error 28/i,
  tooLarge: /File too large|EFBIG|File size limit exceeded/i,
  cannotFork:
    /fork: (?:retry: )?Resource temporarily unavailable|can't fork|EAGAIN.*spawn|spawn .*EAGAIN|Cannot fork|pthread_create(?: failed|: Resource)/i,
  /** A shell tries again until it can; where no cgroup counts, nothing else tells that it could not. */
  shellCannotFork: /^\S*sh: (?:line \d+: )?fork: retry: Resource temporarily unavailable$/m,
  noNetwork:
    /Could not resolve host|unable to resolve host|Could not resolve '|Temporary failure resolving|Temporary failure in name resolution|Name or service not known|Network is unreachable|ENETUNREACH|EAI_AGAIN|getaddrinfo|nodename nor servname|No address associated|Failed to connect to|Could not connect to|unable to access 'https?:|Connection refused|dial tcp|NameResolutionError|Network unreachable|ping: .*(?:unknown host|not permitted)/i,
  /** Who speaks of a socket with a path was not kept from it by the lack of a network. */
  unixSocket:
    /\bunix:|\bdial unix\b|unix[- ](?:domain )?socket|\bsocket ["'‘(]?\/|[\w/]\.sock\b|\.s\.PGSQL\.|connect to (?:\w+ )*bus\b|DockerException/i,
  refusedByProxy: /CONNECT tunnel failed, response 403|403 Forbidden|ERR_TUNNEL/,
  /** Of a program whose connection the proxy may have refused. */
  mayBeRefused: /403|proxy|tunnel|forbidden|resolve|connect|allowed_domains/i,
};

/** In the words of the C library, C++, Python, Perl, Rust, Go, Java, Node, gcc and the sanitizers. */
export const REFUSED_MEMORY = new RegExp(
  [
    'Cannot allocate memory',
    '\\bENOMEM\\b',
    '\\[Errno 12\\]',
    'os error 12\\b',
    '^MemoryError\\b',
    '\\b(?:std::)?bad_alloc\\b',
    'memory allocation of \\d+ bytes failed',
    '\\bOut of memory\\b(?! \\(killed)',
    'memory exhausted',
    'cannot allocate \\d+-byte block',
    'insufficient memory for the Java Runtime',
    'Could not (?:reserve|allocate) .*(?:heap|space|metaspace)',
    'ReserveShadowMemoryRange failed',
    'Sanitizer failed to (?:allocate|mmap|reserve)',
  ].join('|'),
  'im',
);
/** A heap that a program limits by itself. */
export const OWN_MEMORY_LIMIT = /Java heap space|Reached heap limit|near heap limit/;

const HIDDEN_SOCKETS =
  'The sandbox hides the sockets of the host’s services. The operator can expose one by its path in security.expose.';

/** Programs that need something of the host which is not let through, and how they say so. */
export const HOST_PROGRAMS: readonly {
  readonly says: RegExp;
  /** Of programs that may have said it: one of them is in the command. */
  readonly names?: RegExp;
  readonly sentence: string;
  readonly exposes?: string;
}[] = [
  {
    says: /sudo: (?:.*no new privileges|effective uid is not 0|.*must be owned by uid 0|unable to|.*setuid)|\bsu: |pkexec must be setuid|doas: not installed setuid|sudo: command not found/im,
    sentence:
      'sudo and su do not work in the sandbox: commands cannot gain privileges there. Ask the user to run it.',
  },
  {
    says: /docker daemon|docker\.sock|Cannot connect to the Docker|DockerException|podman\.sock|unable to connect to Podman/i,
    exposes: 'docker',
    sentence:
      'The sandbox hides the sockets of container engines: they grant root-equivalent control of the host.',
  },
  {
    says: /gh auth login|GH_TOKEN|GitHub CLI/i,
    exposes: 'gh',
    names: /\bgh\b/,
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
    names: /git/,
    sentence: 'The sandbox hides the credentials of git.',
  },
  {
    says: /Unable to locate credentials|aws configure|NoCredentialProviders/i,
    exposes: 'aws',
    names: /\baws\b|terraform|sam|cdk/,
    sentence: 'The sandbox hides the credentials of AWS.',
  },
  {
    says: /gcloud auth login|Application Default Credentials/i,
    exposes: 'gcloud',
    names: /gcloud|gsutil|bq|terraform/,
    sentence: 'The sandbox hides the credentials of gcloud.',
  },
  {
    says: /connection to the server localhost:8080 was refused|kubeconfig/i,
    exposes: 'kubectl',
    names: /kubectl|helm|k9s|kustomize/,
    sentence: 'The sandbox hides ~/.kube.',
  },
  {
    says: /ENEEDAUTH|npm login|E401.*registry|code E401/i,
    exposes: 'npm',
    names: /npm|npx|yarn|pnpm/,
    sentence: 'The sandbox shows .npmrc without its tokens.',
  },
  {
    says: /gpg: (?:signing failed|.*No secret key|can't connect to the agent)|error: gpg failed to sign/i,
    exposes: 'gpg',
    names: /git|gpg/,
    sentence: 'The sandbox hides ~/.gnupg.',
  },
  {
    says: /Error connecting to agent/i,
    exposes: 'ssh-agent',
    sentence: 'The sandbox hides the agent of ssh.',
  },
  {
    says: /\/var\/lib\/(?:dpkg|apt)\b|\/var\/cache\/apt|dpkg: error|\/var\/lib\/rpm|are you root\?/i,
    sentence: 'System packages cannot be installed from inside the sandbox. Ask the user to install them.',
  },
  {
    says: /(?:chown|ownership)\b.*Invalid argument/i,
    sentence: 'The sandbox has only one user, so a file cannot be given to another one.',
  },
  {
    says: /(?:No usable sandbox|SUID sandbox helper|Failed to move to new namespace|unshare: unshare failed|newuidmap)/i,
    sentence:
      'Namespaces cannot be nested in the sandbox: browsers need --no-sandbox, and rootless containers do not run.',
  },
  {
    says: /(?:\/var)?\/run\/[\w./-]*(?:\.sock|\.s\.PGSQL|_socket|bus)\b|Failed to connect to (?:\w+ )*bus\b/i,
    sentence: HIDDEN_SOCKETS,
  },
  {
    says: /^curl: \(7\)/im,
    names: /--unix-socket[ =]["']?(?:\/var)?\/run\//,
    sentence: HIDDEN_SOCKETS,
  },
];
