import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SecuritySettings } from '../../base/settings.ts';
import { createHost, type Host, securityOf } from '../sandbox/sandbox.fixture.ts';
import { type Explanation, explainDenial, type Failed } from './explain-denial.ts';
import { HOST_PROGRAMS } from './patterns.ts';

let host: Host;
beforeEach(() => {
  host = createHost();
  for (const name of [
    '.ssh/id_ed25519',
    '.aws/credentials',
    '.netrc',
    '.config/gh/hosts.yml',
    '.vault-token',
  ])
    host.write(`home/${name}`);
  vi.stubEnv('HOME', host.home);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

type Mode = 'open' | 'shut' | 'domains';

/** `open` is the development preset, `shut` the sandbox preset, `domains` the first with some domains only. */
function settingsOf(mode: Mode): SecuritySettings {
  const common = { workspace: [host.workspace], maxPids: 256 };
  if (mode === 'shut') return securityOf('sandbox', common);
  return securityOf('development', {
    ...common,
    allowedDomains: mode === 'domains' ? ['registry.example.org'] : [],
  });
}

/** HOME and WORK stand for the directories of the test. */
const placed = (text: string): string =>
  text.replaceAll('WORK', host.workspace).replaceAll('HOME', host.home);

function explain(mode: Mode, failed: Partial<Failed>): Explanation | undefined {
  const command = placed(failed.command ?? 'do-it');
  return explainDenial(
    {
      directory: host.workspace,
      exitCode: 1,
      signal: undefined,
      hasRun: true,
      ...failed,
      command,
      text: placed(failed.text ?? ''),
    },
    settingsOf(mode),
  );
}

interface Case {
  readonly command: string;
  readonly text: string;
  readonly mode?: Mode;
  readonly exitCode?: number | undefined;
  readonly signal?: string;
}

function check(cases: readonly Case[], expected: { readonly code?: string; readonly says: RegExp }): void {
  test.for(cases)('$command: $text', ({ command, text, mode = 'open', exitCode = 1, signal }) => {
    const explanation = explain(mode, { command, text, exitCode, signal });
    expect(explanation).toEqual({
      ...(expected.code !== undefined && { code: expected.code }),
      sentence: expect.stringMatching(expected.says),
    });
  });
}

describe('writing where nothing can be written', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['touch /usr/x', "touch: cannot touch '/usr/x': Read-only file system", '/usr/x'],
    ['mkdir /opt/x', 'mkdir: cannot create directory ‘/opt/x’: Read-only file system', '/opt/x'],
    ['echo x > /etc/x', '/bin/bash: line 1: /etc/x: Read-only file system', '/etc/x'],
    ['echo x > /etc/x', 'bash: /etc/x: Read-only file system', '/etc/x'],
    ['echo x > /etc/x', 'zsh:1: read-only file system: /etc/x', '/etc/x'],
    ['echo x > /etc/x', 'sh: 1: cannot create /etc/x: Read-only file system', '/etc/x'],
    ['cp a /usr/lib/a', "cp: cannot create regular file '/usr/lib/a': Read-only file system", '/usr/lib/a'],
    ['mv a /srv/a', "mv: cannot create regular file '/srv/a': Read-only file system", '/srv/a'],
    ['rm /etc/hosts', "rm: cannot remove '/etc/hosts': Read-only file system", '/etc/hosts'],
    ['ln -s a /usr/b', "ln: failed to create symbolic link '/usr/b': Read-only file system", '/usr/b'],
    [
      'node write.js',
      "Error: EROFS: read-only file system, open '/srv/data.json'\n    at Object.openSync (node:fs:601:3)",
      '/srv/data.json',
    ],
    [
      'python3 write.py',
      'Traceback (most recent call last):\n  File "WORK/write.py", line 1, in <module>\nOSError: [Errno 30] Read-only file system: \'/srv/data\'',
      '/srv/data',
    ],
    ['tee /etc/x', 'tee: /etc/x: Read-only file system', '/etc/x'],
    [
      'make install',
      "install: cannot create regular file '/usr/local/bin/x': Read-only file system",
      '/usr/local/bin/x',
    ],
    ['tar -C /opt -xf a.tar', 'tar: /opt/x: Cannot open: Read-only file system', '/opt/x'],
    [
      'sed -i s/a/b/ /etc/hosts',
      "sed: couldn't open temporary file /etc/sedXyZ: Read-only file system",
      '/etc/sedXyZ',
    ],
    ['git init /srv/r', '/srv/r: Read-only file system', '/srv/r'],
    ['go build -o /usr/bin/x', 'open /usr/bin/x: read-only file system', '/usr/bin/x'],
    [
      'npm i -g x',
      "npm ERR! Error: EROFS: read-only file system, mkdir '/usr/lib/node_modules/x'",
      '/usr/lib/node_modules/x',
    ],
  ];
  test.for(cases)('%s: %s', ([command, text, path]) => {
    expect(explain('open', { command, text })).toEqual({
      sentence: `The sandbox stopped it from writing to ${path}: only ${host.workspace}, /tmp and the caches of package managers are writable. To allow it, the operator can add the path to security.writable_paths.`,
    });
  });

  check(
    [
      { command: 'cargo install x', text: 'error: failed to write: Read-only file system (os error 30)' },
      { command: 'x', text: 'OSError: [Errno 30] Read-only file system' },
    ],
    { says: /^The sandbox stopped it from writing there: only \S+\/project, \/tmp and/ },
  );

  test('names no caches where there are none', () => {
    expect(explain('shut', { text: "touch: cannot touch '/usr/x': Read-only file system" })?.sentence).toBe(
      `The sandbox stopped it from writing to /usr/x: only ${host.workspace}, /tmp are writable. To allow it, the operator can add the path to security.writable_paths.`,
    );
  });

  test('is not given for a command that succeeded: it may print anything', () => {
    const text = "touch: cannot touch '/usr/x': Read-only file system";
    expect(explain('open', { text, exitCode: 0 })).toBeUndefined();
  });

  test('is given for a command that went on, where it is about what was named', () => {
    const text = "touch: cannot touch '/usr/x': Read-only file system";
    const failed = { text, exitCode: 0, isStderr: true };
    expect(explain('open', { ...failed, command: 'touch /usr/x; echo done' })).toEqual({
      sentence: expect.stringMatching(/^The sandbox stopped it from writing to \/usr\/x/),
    });
    expect(explain('open', { ...failed, command: 'make; true' })).toBeUndefined();
    expect(explain('open', { ...failed, command: 'touch /usr/x', isStderr: false })).toBeUndefined();
    expect(explain('open', { ...failed, command: `echo "${text}" >&2` })).toBeUndefined();
  });
});

describe('changing a file that programs outside trust', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'touch',
      "touch: cannot touch '.git/hooks/pre-commit': Read-only file system",
      'WORK/.git/hooks/pre-commit',
    ],
    [
      'git config',
      'error: could not lock config file .git/config: Read-only file system',
      'WORK/.git/config',
    ],
    ['rm', "rm: cannot remove '.git/hooks': Device or resource busy", 'WORK/.git/hooks'],
    ['mv', "mv: cannot move '.git/config' to 'x': Device or resource busy", 'WORK/.git/config'],
    ['echo', 'bash: line 1: WORK/.mcp.json: Read-only file system', 'WORK/.mcp.json'],
    ['rm', "rm: cannot remove 'WORK/.vscode': Device or resource busy", 'WORK/.vscode'],
    ['tee', 'tee: ./.envrc: Read-only file system', 'WORK/.envrc'],
    ['node', "Error: EBUSY: resource busy or locked, unlink 'WORK/.mcp.json'", 'WORK/.mcp.json'],
    ['touch', "touch: cannot touch '.vscode/tasks.json': Read-only file system", 'WORK/.vscode/tasks.json'],
    ['touch', "touch: cannot touch 'sub/.git/hooks/x': Read-only file system", 'WORK/sub/.git/hooks/x'],
  ];
  test.for(cases)('%s: %s', ([command, text, path]) => {
    const named = placed(path);
    // A file that is not there yet cannot be opened by its name.
    const opens = named.replace(/(\/hooks|\/\.vscode)\/.*$/, '$1');
    expect(explain('open', { command, text })).toEqual({
      sentence: `The sandbox keeps ${named} read-only because programs outside the sandbox trust it. To allow it, the operator can set security.writable_paths = ["${opens}"].`,
    });
  });

  test('is given for a script that a hook leads to, and not where another may be meant', () => {
    host.write('home/project/s.sh');
    const text = 'bash: line 1: s.sh: Read-only file system';
    expect(explain('open', { command: 'echo x >> s.sh', text })?.sentence).toMatch(
      `The sandbox keeps ${host.workspace}/s.sh read-only`,
    );
    expect(explain('open', { command: 'cd /usr; echo x >> s.sh', text })?.sentence).toMatch(
      /^The sandbox stopped it from writing there/,
    );
  });

  test('is given though git says that it succeeded', () => {
    const text = 'warning: unable to unlink .git/hooks/pre-commit: Read-only file system';
    expect(explain('open', { command: 'git stash', text, exitCode: 0 })?.sentence).toMatch(
      /^The sandbox keeps /,
    );
  });
});

describe('the network that is off', () => {
  test('is given for a command that went on, without a code', () => {
    const text = 'curl: (6) Could not resolve host: example.org';
    const failed = { text, exitCode: 0, isStderr: true };
    expect(explain('shut', { ...failed, command: 'curl http://example.org || true' })).toEqual({
      sentence: expect.stringContaining('security.enable_network'),
    });
    expect(explain('shut', { ...failed, command: 'npm test' })).toBeUndefined();
  });

  check(
    [
      ['curl https://example.org', 'curl: (6) Could not resolve host: example.org'],
      [
        'curl http://192.0.2.1',
        'curl: (7) Failed to connect to 192.0.2.1 port 80 after 0 ms: Couldn’t connect to server',
      ],
      ['wget https://example.org', 'wget: unable to resolve host address ‘example.org’'],
      ['ping example.org', 'ping: example.org: Temporary failure in name resolution'],
      ['ping 192.0.2.1', 'ping: connect: Network is unreachable'],
      [
        'git clone https://git.example.org/x',
        "fatal: unable to access 'https://git.example.org/x/': Could not resolve host: git.example.org",
      ],
      ['git fetch', 'ssh: Could not resolve hostname git.example.org: Temporary failure in name resolution'],
      [
        'npm i',
        'npm error code EAI_AGAIN\nnpm error request to https://registry.example.org/x failed, reason: getaddrinfo EAI_AGAIN registry.example.org',
      ],
      ['node a.js', 'Error: connect ENETUNREACH 192.0.2.1:443'],
      ['pip install x', 'WARNING: Retrying (Retry(total=4)) after connection broken by NameResolutionError'],
      ['python3 a.py', 'socket.gaierror: [Errno -3] Temporary failure in name resolution'],
      ['python3 a.py', 'OSError: [Errno 101] Network is unreachable'],
      ['go get x', 'dial tcp: lookup proxy.example.org: Temporary failure in name resolution'],
      [
        'cargo build',
        'warning: spurious network error: [6] Couldn’t resolve host name (Could not resolve host: index.example.org)',
      ],
      [
        'apt-get update',
        "Err:1 http://deb.example.org stable InRelease\n  Temporary failure resolving 'deb.example.org'",
      ],
      ['nc -z host 80', 'nc: getaddrinfo for host "host" port 80: Name or service not known'],
      ['ssh host', 'ssh: Could not resolve hostname host: Name or service not known'],
    ].map(([command = '', text = '']) => ({ command, text, mode: 'shut' as const })),
    { code: 'EXECUTION_005', says: /^The sandbox has no network\. .*security\.enable_network = true/ },
  );
});

describe('the network that reaches some domains', () => {
  check(
    [
      ['curl https://example.org', 'curl: (56) CONNECT tunnel failed, response 403'],
      ['curl http://example.org', 'HTTP/1.1 403 Forbidden'],
      ['nc 192.0.2.1 80', 'nc: connect to 192.0.2.1 port 80: Network is unreachable'],
      ['psql', 'could not translate host name "db" to address: Temporary failure in name resolution'],
    ].map(([command = '', text = '']) => ({ command, text, mode: 'domains' as const })),
    {
      code: 'EXECUTION_005',
      says: /^The sandbox lets commands reach only registry\.example\.org, .*security\.allowed_domains/,
    },
  );
});

describe('limits', () => {
  check(
    [
      { command: 'dd', text: "dd: error writing '/tmp/x': No space left on device", mode: 'shut' },
      { command: 'node', text: 'Error: ENOSPC: no space left on device, write', mode: 'shut' },
      {
        command: 'cargo',
        text: 'error: could not write: No space left on device (os error 28)',
        mode: 'shut',
      },
      { command: 'python3', text: 'OSError: [Errno 28] No space left on device', mode: 'shut' },
      { command: 'cp', text: 'cp: error writing: Disk quota exceeded', mode: 'shut' },
    ],
    {
      code: 'EXECUTION_004',
      says: /^The disk it wrote to is full\. \/tmp holds 256 MiB here; .*security\.max_tmp_mb\.$/,
    },
  );
  check([{ command: 'dd', text: 'dd: error writing: No space left on device' }], {
    code: 'EXECUTION_004',
    says: /^The disk it wrote to is full\.$/,
  });
  check(
    [
      { command: 'dd', text: '', mode: 'shut', exitCode: 153, signal: 'SIGXFSZ' },
      { command: 'dd', text: "dd: error writing 'x': File too large", mode: 'shut' },
      { command: 'node', text: 'Error: EFBIG: file too large, write', mode: 'shut' },
      { command: 'bash', text: 'bash: line 1: 12 File size limit exceeded dd', mode: 'shut', exitCode: 153 },
    ],
    { code: 'EXECUTION_004', says: /^Files are limited to 512 MiB; .*security\.max_file_mb\.$/ },
  );
  check(
    [
      { command: 'bash', text: 'bash: fork: retry: Resource temporarily unavailable' },
      { command: 'bash', text: '/bin/bash: fork: Resource temporarily unavailable' },
      { command: 'sh', text: 'sh: 1: Cannot fork' },
      { command: 'node', text: 'Error: spawn /bin/sh EAGAIN' },
      { command: 'busybox', text: "sh: can't fork: Resource temporarily unavailable" },
      { command: 'java', text: 'OpenJDK 64-Bit Server VM warning: pthread_create failed (EAGAIN)' },
    ],
    { says: /^The command is limited to 256 processes and threads; .*security\.max_pids\.$/ },
  );

  const RETRY = 'fork: retry: Resource temporarily unavailable';
  test.for([
    [`/bin/bash: ${RETRY}\n/bin/bash: ${RETRY}\n`, {}, true],
    [`started\nbash: line 7: ${RETRY}\n`, {}, true],
    [`bash: ${RETRY}\n`, { isStderr: false }, false],
    [`bash: ${RETRY}\n`, { command: `echo 'bash: ${RETRY}' >&2` }, false],
    [`log: worker said "bash: ${RETRY}"\n`, {}, false],
    [`bash: ${RETRY}\n`, { isSandboxed: false }, false],
  ] as const)('a shell that waited until it could fork, and succeeded: %j %j', ([text, how, isTold]) => {
    const found = explain('open', { text, exitCode: 0, isStderr: true, ...how });
    expect(found?.sentence.includes('security.max_pids') ?? false).toBe(isTold);
  });
});

describe('programs that need something of the host', () => {
  const cases: readonly (readonly [string, string, string | undefined])[] = [
    [
      'sudo apt-get install x',
      'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.',
      undefined,
    ],
    [
      'sudo ls',
      'sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the nosuid option set?',
      undefined,
    ],
    [
      'sudo ls',
      'sudo: /etc/sudo.conf is owned by uid 65534, should be 0\nsudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set',
      undefined,
    ],
    ['su -', 'su: Authentication failure', undefined],
    [
      'docker ps',
      'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
      'docker',
    ],
    [
      'docker ps',
      'permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock',
      'docker',
    ],
    ['gh pr list', 'To get started with GitHub CLI, please run:  gh auth login', 'gh'],
    [
      'git push',
      'git@git.example.org: Permission denied (publickey).\nfatal: Could not read from remote repository.',
      'ssh-agent',
    ],
    ['ssh-add -l', 'Could not open a connection to your authentication agent.', 'ssh-agent'],
    ['ssh host', 'Host key verification failed.', 'ssh-agent'],
    ['ssh-add -l', 'Error connecting to agent: No such file or directory', 'ssh-agent'],
    [
      'git push',
      "fatal: could not read Username for 'https://git.example.org': terminal prompts disabled",
      'git',
    ],
    ['git pull', "fatal: Authentication failed for 'https://git.example.org/x/'", 'git'],
    [
      'aws s3 ls',
      'Unable to locate credentials. You can configure credentials by running "aws configure".',
      'aws',
    ],
    ['gcloud projects list', 'Please run:\n\n  $ gcloud auth login', 'gcloud'],
    [
      'kubectl get pods',
      'The connection to the server localhost:8080 was refused - did you specify the right host or port?',
      'kubectl',
    ],
    [
      'npm publish',
      'npm error code ENEEDAUTH\nnpm error need auth This command requires you to be logged in',
      'npm',
    ],
    ['npm i', 'npm error code E401\nnpm error Incorrect or missing password.', 'npm'],
    ['git commit -S', 'error: gpg failed to sign the data\nfatal: failed to write commit object', 'gpg'],
    ['gpg -d x', 'gpg: decryption failed: No secret key', 'gpg'],
    [
      'apt-get install x',
      'E: Could not open lock file /var/lib/dpkg/lock-frontend - open (30: Read-only file system)',
      undefined,
    ],
    ['dpkg -i x.deb', 'dpkg: error: requested operation requires superuser privilege', undefined],
    ['chown nobody f', "chown: changing ownership of 'f': Invalid argument", undefined],
    ['chromium', 'No usable sandbox! Update your kernel', undefined],
    ['unshare -U true', 'unshare: unshare failed: Operation not permitted', undefined],
    [
      'psql',
      'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: No such file or directory',
      undefined,
    ],
  ];
  test.for(cases)('%s: %s', ([command, text, exposes]) => {
    const row = HOST_PROGRAMS.find(({ says }) => says.test(text));
    expect(row?.exposes).toBe(exposes);
    const setting =
      exposes === undefined ? '' : ` The operator can expose them with security.expose = ["${exposes}"].`;
    expect(explain('open', { command, text })).toEqual({ sentence: `${row?.sentence}${setting}` });
  });

  const DOCKER = /security\.expose = \["docker"\]/;
  const BY_PATH = /by its path in security\.expose/;
  const sockets: readonly (readonly [string, string, RegExp])[] = [
    [
      'docker ps',
      'failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct and if the daemon is running: dial unix /var/run/docker.sock: connect: connection refused',
      DOCKER,
    ],
    [
      'docker ps',
      'Cannot connect to the Docker daemon at unix:///var/run/docker.sock: dial unix /var/run/docker.sock: connect: connection refused',
      DOCKER,
    ],
    [
      'python3 a.py',
      "docker.errors.DockerException: Error while fetching server API version: ('Connection aborted.', ConnectionRefusedError(111, 'Connection refused'))",
      DOCKER,
    ],
    [
      'systemctl status',
      "System has not been booted with systemd as init system (PID 1). Can't operate.\nFailed to connect to bus: Connection refused",
      BY_PATH,
    ],
    [
      'systemctl status',
      'Failed to connect to system scope bus via local transport: Connection refused',
      BY_PATH,
    ],
    [
      'redis-cli -s /run/redis.sock',
      'Could not connect to Redis at /run/redis.sock: Connection refused',
      BY_PATH,
    ],
    [
      'psql',
      'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: Connection refused',
      BY_PATH,
    ],
    [
      'curl --unix-socket /run/app.sock http://app/',
      'curl: (7) Failed to connect to app port 80 after 0 ms: Could not connect to server',
      BY_PATH,
    ],
  ];
  describe.each(['shut', 'domains'] as const)('a hidden socket is not the network (%s)', (mode) => {
    test.for(sockets)('%s: %s', ([command, text, says]) => {
      expect(explain(mode, { command, text })).toEqual({ sentence: expect.stringMatching(says) });
    });

    test('an engine on another machine is', () => {
      const text =
        'failed to connect to the docker API at tcp://192.0.2.1:2375: dial tcp 192.0.2.1:2375: connect: network is unreachable';
      expect(explain(mode, { command: 'docker ps', text })).toMatchObject({ code: 'EXECUTION_005' });
    });
  });

  test('say nothing of the sandbox where the operator let it through', () => {
    const text = 'Unable to locate credentials';
    const failed = {
      command: 'aws s3 ls',
      directory: host.workspace,
      exitCode: 1,
      signal: undefined,
      hasRun: true,
      text,
    };
    const security = { ...settingsOf('open'), expose: ['aws'] };
    expect(explainDenial(failed, security)).toBeUndefined();
  });

  test('have a sentence each, which ends as one', () => {
    for (const { sentence, says } of HOST_PROGRAMS) {
      expect(sentence).toMatch(/^\S.*\.$/);
      expect(says.flags).toContain('i');
      expect(says.flags).not.toContain('g');
    }
  });
});

describe('files that are hidden', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'cat: HOME/.aws/credentials: No such file or directory',
      'HOME/.aws/credentials',
      'security.expose = ["aws"]',
    ],
    [
      "cat: '~/.aws/credentials': No such file or directory",
      'HOME/.aws/credentials',
      'security.expose = ["aws"]',
    ],
    [
      "Error: ENOENT: no such file or directory, open 'HOME/.config/gh/hosts.yml'",
      'HOME/.config/gh/hosts.yml',
      'security.expose = ["gh"]',
    ],
    [
      "FileNotFoundError: [Errno 2] No such file or directory: 'HOME/.ssh/id_ed25519'",
      'HOME/.ssh/id_ed25519',
      'security.expose = ["ssh"]',
    ],
    [
      'bash: line 1: HOME/.vault-token: Permission denied',
      'HOME/.vault-token',
      'security.readable_paths = ["HOME/.vault-token"]',
    ],
    ['cat: HOME/.netrc: Permission denied', 'HOME/.netrc', 'security.expose = ["git"]'],
  ];
  test.for(cases)('%s', ([text, path, setting]) => {
    expect(explain('open', { command: 'x', text })).toEqual({
      sentence: placed(`The sandbox hides ${path}. The operator can show it with ${setting}.`),
    });
  });

  check(
    [
      {
        command: 'ls /srv/data',
        text: "ls: cannot access '/srv/data': No such file or directory",
        mode: 'shut',
      },
      { command: 'cat /home/me/notes', text: 'cat: /home/me/notes: No such file or directory', mode: 'shut' },
      {
        command: 'cd /opt/tool',
        text: 'bash: line 1: cd: /opt/tool: No such file or directory',
        mode: 'shut',
      },
    ],
    {
      says: /^The sandbox preset shows only the workspace and a minimal system, so \/\S+ may exist outside\./,
    },
  );
});

describe('a sandbox that could not be set up', () => {
  test.for([
    [
      "bwrap: Can't find source path /x: No such file or directory",
      /could not be set up \(Can't find source path \/x/,
    ],
    ['', /could not be set up \(it ended early\)/],
    ["bwrap: Can't chdir to /x: No such file or directory", /does not show .*security\.readable_paths/],
  ] as const)('%s', ([text, says]) => {
    expect(explain('open', { text, hasRun: false })?.sentence).toMatch(says);
    // The same words of a command of the caller's own are no news of the sandbox.
    expect(explain('open', { text, hasRun: true })).toBeUndefined();
  });
});

describe('what has nothing to do with the sandbox', () => {
  const cases: readonly (readonly [command: string, text: string, mode?: Mode, exitCode?: number])[] = [
    ['ls gone', "ls: cannot access 'gone': No such file or directory"],
    ['ls gone', "ls: cannot access 'gone': No such file or directory", 'shut'],
    ['cat src/x', 'cat: src/x: No such file or directory', 'shut'],
    ['cat /tmp/x', 'cat: /tmp/x: No such file or directory', 'shut'],
    ['cat /etc/gone', 'cat: /etc/gone: No such file or directory', 'shut'],
    ['cat HOME/notes', 'cat: HOME/notes: No such file or directory'],
    ['false', ''],
    ['false', '', 'shut'],
    ['npm test', 'FAIL src/a.test.ts\n  expected 1 to be 2'],
    ['npm test', 'FAIL src/auth.test.ts > shows "gh auth login" to a person'],
    ['npm test', 'FAIL src/aws.test.ts > says Unable to locate credentials'],
    ['npx vitest', "AssertionError: expected 'Read-write file system' to be 'x'"],
    ['make', 'make: *** No rule to make target `x`.  Stop.'],
    ['gcc a.c', 'a.c:1:10: fatal error: gone.h: No such file or directory'],
    ['gcc a.c', "a.c:3:5: error: 'x' undeclared"],
    ['python3 a.py', "ModuleNotFoundError: No module named 'requests'"],
    ['python3 a.py', "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'", 'shut'],
    ['node a.js', "Error: Cannot find module './b'"],
    ['node a.js', "Error: ENOENT: no such file or directory, open 'WORK/config.json'", 'shut'],
    ['x', 'bash: line 1: x: command not found', 'open', 127],
    ['x', 'bash: line 1: x: command not found', 'shut', 127],
    ['./run', 'bash: line 1: ./run: Permission denied', 'shut', 126],
    ['grep x file', '', 'shut'],
    ['git status', 'fatal: not a git repository (or any of the parent directories): .git'],
    ['git merge x', 'CONFLICT (content): Merge conflict in a.txt'],
    [
      'git push',
      'error: failed to push some refs\nhint: Updates were rejected because the remote contains work',
    ],
    ['curl https://example.org', 'curl: (22) The requested URL returned error: 404'],
    ['curl https://example.org', 'curl: (6) Could not resolve host: example.org'],
    ['curl localhost:3000', 'curl: (7) Failed to connect to localhost port 3000: Connection refused'],
    [
      'curl localhost:3000',
      'curl: (7) Failed to connect to localhost port 3000 after 0 ms: Connection refused',
      'shut',
    ],
    ['npm test', 'Error: connect ECONNREFUSED 127.0.0.1:5432', 'shut'],
    ['node a.js', 'connect to [::1]:8080: Connection refused', 'shut'],
    ['cargo test', "thread 'main' panicked at src/main.rs:2:5:\nassertion failed"],
    ['cargo build', 'error[E0425]: cannot find value `x` in this scope'],
    ['tsc', "src/a.ts(1,1): error TS2304: Cannot find name 'x'."],
    ['gcc a.c', "a.c:(.text+0x1b): undefined reference to `pthread_create'"],
    ['npm run dev', "Error: ENOSPC: System limit for number of file watchers reached, watch 'WORK/src'"],
    [
      'psql',
      'psql: error: connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused',
      'shut',
    ],
    ['cat log', 'yesterday: Read-only file system', 'open', 0],
    ['cat log', 'curl failed: Connection refused', 'shut', 0],
    ['cat log', 'No space left on device', 'shut', 0],
    ['cat log', 'File too large', 'shut', 0],
    ['cat notes', 'run aws configure first', 'open', 0],
    ['cat log', 'error: Cannot connect to the Docker daemon', 'open', 0],
    ['umount /mnt/x', 'umount: /mnt/x: target is busy.'],
    ['rm -r build', "rm: cannot remove 'build/.nfs000': Device or resource busy"],
    ['sleep 100', 'Terminated', 'open', 143],
    ['grep -r pthread_create src', 'src/a.c: pthread_create(&thread, 0, run, 0);', 'open', 0],
    ['npx eslint .', 'src/a.js\n  1:1  error  Unexpected use of kubeconfig'],
    ['npx jest', 'Expected: "open"\nReceived: "closed"', 'shut'],
    ['psql -c "select 1"', 'ERROR:  permission denied for table users'],
    ['./configure', 'configure: error: no acceptable C compiler found in $PATH'],
    ['ruby a.rb', "a.rb:1:in `require': cannot load such file -- x (LoadError)"],
  ];
  test.for(cases)('%s: %s (%s)', ([command, text, mode = 'open', exitCode = 1]) => {
    expect(explain(mode, { command, text, exitCode })).toBeUndefined();
  });

  test('is long, and read in no time', () => {
    const text = `${'a'.repeat(4000)}\n${"'".repeat(2000)}\n${'/a'.repeat(1000)}: Read-only file system\n`;
    expect(explain('open', { text })?.sentence).toMatch(/^The sandbox stopped it from writing there/);
  });
});

test('a path too long to be one is not repeated', () => {
  const sentence = explain('open', { text: `/${'x'.repeat(600)}: Read-only file system` })?.sentence;
  expect(sentence).toContain('from writing there');
});

describe('what is hidden and reads as empty', () => {
  const setting = (name: string): string => `security.expose = ["${name}"]`;
  test.for([
    ['cat ~/.netrc', 'HOME/.netrc', setting('git')],
    ['cd ~ && cat .netrc', 'HOME/.netrc', setting('git')],
    ['cd HOME; ls -a .ssh', 'HOME/.ssh', setting('ssh')],
    ['echo first; cat ~/.netrc', 'HOME/.netrc', setting('git')],
    ['printf "%s" "$(cat ~/.netrc)"', 'HOME/.netrc', setting('git')],
    ['echo "$(< ~/.netrc)"', 'HOME/.netrc', setting('git')],
    ['bash -c "cat ~/.netrc; true"', 'HOME/.netrc', setting('git')],
    ["cat HOME/'.net'rc", 'HOME/.netrc', setting('git')],
    ['for each in ~/.netrc; do cat "$each"; done', 'HOME/.netrc', setting('git')],
    ['echo first; echo ~/.netrc', undefined, ''],
    ['cd ~ && cat .aws-that-is-not-there', undefined, ''],
    ['ls -la ~/.ssh', 'HOME/.ssh', setting('ssh')],
    ['tar cf x.tar ~/.config/gh/', 'HOME/.config/gh', setting('gh')],
    ['grep -c . HOME/.vault-token', 'HOME/.vault-token', 'security.readable_paths = ["HOME/.vault-token"]'],
    ['cat ../.netrc', 'HOME/.netrc', setting('git')],
    ['ls -a; cat ../../home/.netrc | head', 'HOME/.netrc', setting('git')],
    ['cat ~/.netr*', 'HOME/.netrc', setting('git')],
    ['cat HOME/.net??', 'HOME/.netrc', setting('git')],
    ['cat ~/.[mn]etrc', 'HOME/.netrc', setting('git')],
    ['cat ~/.s*/id_*', 'HOME/.ssh', setting('ssh')],
    ['cat ../.n*c', 'HOME/.netrc', setting('git')],
    ['cd ~ && cat .netr*', 'HOME/.netrc', setting('git')],
    ['bash -c "cd ~; cat .net*c; true"', 'HOME/.netrc', setting('git')],
    ['for each in ~/.netr*; do cat "$each"; done', 'HOME/.netrc', setting('git')],
    // What the shell would not expand to a name with a dot, or to more than one part of a path.
    ['cat ~/*', undefined, ''],
    ['cat ~/?netrc', undefined, ''],
    ['cat HOM*.netrc', undefined, ''],
    ['ls ~/.confi*', undefined, ''],
    ['cat ~/.netrc-that-*', undefined, ''],
    ['cat ~/.netr*.bak', undefined, ''],
    ['echo ~/.netr*', undefined, ''],
    ['ls WORK/*', undefined, ''],
    ['echo ~/.netrc', undefined, ''],
    ['git commit -m "hide ~/.netrc and others"', undefined, ''],
    ['cat WORK/.netrc', undefined, ''],
    ['cat ~/.netrc-that-is-not-there', undefined, ''],
    ['true', undefined, ''],
  ] as const)('is explained where a command that succeeds names it: %s', ([command, path, shows]) => {
    const expected =
      path === undefined
        ? undefined
        : {
            sentence: placed(
              `The sandbox hides ${path}: inside it is empty or missing. The operator can show it with ${shows}.`,
            ),
          };
    expect(explain('open', { command, exitCode: 0 })).toEqual(expected);
    expect(explain('open', { command, exitCode: 1 })).toEqual(expected);
  });

  test.for(['wc -c < "$HOME/.netrc"', 'wc -c <${HOME}/.netrc', "cat '/etc/../HERE/.netrc'"])(
    'is explained however its path is written: %s',
    (text) => {
      const command = text.replace('/HERE', host.home);
      const failed = { command, directory: '/', exitCode: 0, signal: undefined, hasRun: true, text: '' };
      expect(explainDenial(failed, settingsOf('open'))?.sentence).toContain(`hides ${host.home}/.netrc:`);
    },
  );

  test('is explained of the system, where this user could read it', () => {
    const isRoot = process.getuid?.() === 0;
    for (const command of [
      'cat /etc/shadow',
      'cat /etc/shad*',
      'cd /etc; cat shad?w',
      'head -1 /e*/shado[a-z]',
    ]) {
      const found = explain('open', { command, exitCode: 0 });
      expect([command, found?.sentence.includes('hides /etc/shadow') ?? false]).toEqual([command, isRoot]);
    }
  });

  test.for([
    ['a workspace', (place: string) => ({ workspace: [`${place}/open`] })],
    ['a directory that can be read', (place: string) => ({ readablePaths: [`${place}/open`] })],
    ['one that can be written', (place: string) => ({ writablePaths: [`${place}/open`] })],
  ] as const)('is not what %s in a hidden place has', ([, more]) => {
    const place = `${host.home}/.aws`;
    host.write('home/.aws/open/notes.txt');
    const settings = { ...settingsOf('open'), ...more(place) };
    const say = (file: string): string | undefined => {
      const failed = { directory: '/', exitCode: 1, signal: undefined, hasRun: true };
      const text = `cat: ${file}: No such file or directory`;
      return explainDenial({ ...failed, command: `cat ${file}`, text }, settings)?.sentence;
    };
    for (const shown of ['open/notes.txt', 'open/absent'])
      expect(say(`${place}/${shown}`) ?? '').not.toContain('hides');
    for (const hidden of ['credentials', 'opened', 'open.txt'])
      expect(say(`${place}/${hidden}`)).toContain(`hides ${place}/${hidden}`);
  });

  test('is looked for in no time, however many wildcards there are', () => {
    const command = `cat ${`~/.${'*n'.repeat(200)} `.repeat(10)}${'/etc/*['.repeat(100)}${' /a*'.repeat(1500)}`;
    const began = performance.now();
    expect(explain('open', { command, exitCode: 0 })).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(2000);
  });

  test('says nothing where it is shown, or is not there at all', () => {
    const failed = {
      command: 'cat ~/.netrc',
      directory: '/',
      exitCode: 0,
      signal: undefined,
      hasRun: true,
      text: '',
    };
    expect(explainDenial(failed, { ...settingsOf('open'), expose: ['git'] })).toBeUndefined();
    expect(explainDenial(failed, settingsOf('shut'))).toBeUndefined();
    expect(explainDenial({ ...failed, isSandboxed: false }, settingsOf('open'))).toBeUndefined();
  });
});
