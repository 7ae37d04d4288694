/** Spellings of options, for comparing what was written with what a rule says. */

/** Options before the subcommand that take the next word as their value. */
export const GLOBAL_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  git: [
    '-C',
    '-c',
    '--exec-path',
    '--git-dir',
    '--work-tree',
    '--namespace',
    '--super-prefix',
    '--config-env',
    '--attr-source',
    '--list-cmds',
  ],
  npm: [
    '--prefix',
    '-C',
    '--workspace',
    '-w',
    '--loglevel',
    '--registry',
    '--userconfig',
    '--cache',
    '--script-shell',
  ],
  pnpm: ['--dir', '-C', '--filter', '-F', '--loglevel'],
  yarn: ['--cwd', '--registry'],
  docker: [
    '-H',
    '--host',
    '--config',
    '-c',
    '--context',
    '-l',
    '--log-level',
    '--tlscacert',
    '--tlscert',
    '--tlskey',
  ],
  podman: ['--url', '--connection', '-c', '--log-level', '--root', '--runroot'],
  kubectl: [
    '-n',
    '--namespace',
    '--context',
    '--cluster',
    '--kubeconfig',
    '-s',
    '--server',
    '--user',
    '--token',
    '-v',
    '--as',
  ],
  helm: ['-n', '--namespace', '--kube-context', '--kubeconfig'],
  cargo: ['--config', '-C', '-Z', '--color', '--manifest-path'],
  go: ['-C'],
  systemctl: [
    '-H',
    '--host',
    '-M',
    '--machine',
    '-t',
    '--type',
    '-p',
    '--property',
    '-n',
    '--lines',
    '-o',
    '--output',
  ],
  apt: ['-o', '--option', '-c', '--config-file', '-t', '--target-release'],
  'apt-get': ['-o', '--option', '-c', '--config-file', '-t', '--target-release'],
  pip: ['--proxy', '--cache-dir', '--log', '--timeout', '--retries'],
  gh: ['-R', '--repo'],
  aws: ['--region', '--profile', '--output', '--endpoint-url'],
  ip: ['-n', '-netns', '-f', '-family', '-b', '-batch'],
};

/** Programs of which the table above has every option with a value that may stand before a subcommand. */
export const COMPLETE_GLOBALS: ReadonlySet<string> = new Set(['git', 'docker', 'go', 'gh', 'cargo']);

/** Options before the subcommand that an entry like `git status` lets pass. */
export const HARMLESS_GLOBALS: Readonly<Record<string, readonly string[]>> = {
  git: [
    '-C',
    '--no-pager',
    '-P',
    '--no-optional-locks',
    '--literal-pathspecs',
    '--glob-pathspecs',
    '--icase-pathspecs',
    '--no-replace-objects',
    '--bare',
  ],
  npm: ['--silent', '-s', '--quiet', '-q', '--no-audit', '--no-fund', '--loglevel'],
  kubectl: ['-n', '--namespace'],
  cargo: ['-q', '--quiet', '-v', '--verbose', '--offline', '--locked', '--frozen'],
  systemctl: ['--no-pager', '--user', '--system'],
};

/** Of each program: spellings that mean the same; the last one is the long name, which may be abbreviated. */
const COPY = [
  ['-r', '-R', '--recursive'],
  ['-f', '--force'],
  ['-i', '--interactive'],
  ['-v', '--verbose'],
];

export const SYNONYMS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  rm: [...COPY, ['-d', '--dir'], ['-I', '--interactive=once']],
  cp: [...COPY, ['-a', '--archive'], ['-n', '--no-clobber']],
  mv: [
    ['-f', '--force'],
    ['-n', '--no-clobber'],
    ['-i', '--interactive'],
  ],
  chmod: [
    ['-R', '--recursive'],
    ['-v', '--verbose'],
  ],
  chown: [
    ['-R', '--recursive'],
    ['-v', '--verbose'],
  ],
  chgrp: [
    ['-R', '--recursive'],
    ['-v', '--verbose'],
  ],
  ls: [
    ['-a', '--all'],
    ['-A', '--almost-all'],
    ['-R', '--recursive'],
    ['-h', '--human-readable'],
    ['-r', '--reverse'],
  ],
  ln: [
    ['-s', '--symbolic'],
    ['-f', '--force'],
  ],
  git: [
    ['-f', '--force'],
    ['-d', '--delete'],
    ['-D', '--delete-force'],
    ['-a', '--all'],
    ['-m', '--message'],
    ['-n', '--dry-run'],
    ['-u', '--set-upstream'],
    ['-h', '--help'],
  ],
  docker: [
    ['-f', '--force'],
    ['-a', '--all'],
    ['-v', '--volumes'],
  ],
  npm: [
    ['-g', '--global'],
    ['-D', '--save-dev'],
    ['-f', '--force'],
  ],
  pip: [['-U', '--upgrade']],
  apt: [['-y', '--yes']],
  'apt-get': [['-y', '--yes']],
  sed: [
    ['-i', '--in-place'],
    ['-n', '--quiet', '--silent'],
    ['-e', '--expression'],
    ['-E', '-r', '--regexp-extended'],
  ],
  grep: [
    ['-r', '--recursive'],
    ['-i', '--ignore-case'],
    ['-n', '--line-number'],
    ['-v', '--invert-match'],
  ],
  kill: [
    ['-9', '-KILL', '-SIGKILL', '-kill'],
    ['-15', '-TERM', '-SIGTERM'],
  ],
  pkill: [
    ['-9', '-KILL', '-SIGKILL'],
    ['-f', '--full'],
  ],
  killall: [['-9', '-KILL', '-SIGKILL']],
  curl: [
    ['-o', '--output'],
    ['-X', '--request'],
    ['-k', '--insecure'],
    ['-d', '--data'],
  ],
  tar: [
    ['-x', '--extract', '--get'],
    ['-c', '--create'],
    ['-t', '--list'],
    ['-f', '--file'],
    ['-z', '--gzip'],
  ],
};
