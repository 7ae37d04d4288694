/** Reading what is nobody's business: credentials, other people's files, and what is the server's own. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_PRESETS, type Attempt, python } from './attempt.ts';

/** Files in the home directory that hold a secret; each is planted, and an attempt of its own. */
export const SECRET_FILES: readonly string[] = [
  '.ssh/id_rsa',
  '.ssh/config',
  '.aws/credentials',
  '.azure/accessTokens.json',
  '.kube/config',
  '.docker/config.json',
  '.gnupg/private-keys-v1.d/key',
  '.netrc',
  '.git-credentials',
  '.config/git/credentials',
  '.config/gh/hosts.yml',
  '.config/gcloud/credentials.db',
  '.config/google-chrome/Default/Cookies',
  '.config/mcp-shell-server/mcp-shell-server.toml',
  '.mozilla/firefox/p/logins.json',
  '.password-store/a.gpg',
  '.local/share/keyrings/login.keyring',
  '.pypirc',
  '.cargo/credentials.toml',
  '.m2/settings.xml',
  '.gem/credentials',
  '.terraform.d/credentials.tfrc.json',
  '.vault-token',
  '.pgpass',
  '.claude/.credentials.json',
  '.claude.json',
  '.claude.json.backup',
  '.codex/auth.json',
  '.gemini/oauth_creds.json',
  '.bash_history',
  '.zsh_history',
  '.python_history',
  '.local/share/fish/fish_history',
  '.local/share/atuin/history.db',
  '.Xauthority',
  '.cache/huggingface/token',
  '.pub-cache/credentials.json',
  '.ivy2/.credentials',
];

/** Files that tools need and whose secrets are left out: a line each. */
export const REDACTED_FILES: Readonly<Record<string, (secret: string) => string>> = {
  '.npmrc': (secret) => `registry=https://registry.example/\n//registry.example/:_authToken=${secret}\n`,
  '.gitconfig': (secret) =>
    `[user]\n\tname = Alice\n[http]\n\textraheader = AUTHORIZATION: bearer ${secret}\n[url "https://x:${secret}@example.com/"]\n\tinsteadOf = https://example.com/\n`,
  '.config/pip/pip.conf': (secret) => `[global]\nindex-url = https://me:${secret}@pypi.example/simple\n`,
  '.yarnrc.yml': (secret) => `npmAuthToken: ${secret}\n`,
  '.curlrc': (secret) => `user = "me:${secret}"\n`,
};

export const SECRETS: readonly Attempt[] = [
  ...[...SECRET_FILES, ...Object.keys(REDACTED_FILES)].map(
    (path): Attempt => ({
      name: `reading ~/${path}`,
      script: (t) => `cat ${t.home}/${path}; cat /proc/self/root${t.home}/${path}`,
    }),
  ),
  {
    name: 'searching everything for secrets',
    presets: ALL_PRESETS,
    script: (t) =>
      `for f in ${t.home}/.[a-z]*/* ${t.home}/.[a-z]* ${t.bob}/*; do [ -f "$f" ] && while read -r line; do echo "$line"; done < "$f"; done 2>/dev/null; grep -rh SECRET- ${t.home}/.ssh ${t.home}/.aws ${t.bob} ${t.home}/.local 2>/dev/null`,
  },
  {
    name: 'secrets through a symlink in the workspace',
    presets: ALL_PRESETS,
    script: (t) =>
      `cd ${t.work}; ln -sfn ../.ssh keys 2>/dev/null; echo "$(<keys/id_rsa)"; echo "$(<planted-keys/id_rsa)"`,
  },
  {
    name: 'a copy with cp, tar and hard links',
    script: (t) =>
      `cd ${t.work}; cp -r ${t.home}/.ssh stolen; tar cf - -C ${t.home} .aws | tar xOf -; ln ${t.home}/.netrc n; cat stolen/* n`,
  },
  {
    name: 'reading another person’s home',
    presets: ALL_PRESETS,
    script: (t) => `echo "$(<${t.bob}/notes)"; cat ${t.bob}/notes; ls ${t.bob} && echo ESCAPED`,
  },
  { name: 'names of the people in /home', script: (t) => `ls ${t.base} | grep -q bob && echo ESCAPED` },
  {
    name: '/etc/shadow and its like',
    script: () =>
      "for f in /etc/shadow /etc/gshadow /etc/shadow- /etc/sudoers; do grep -q '[^[:space:]]' $f 2>/dev/null && echo ESCAPED $f; done",
  },
  {
    name: 'host keys and private certificates',
    script: () =>
      "grep -rlq 'PRIVATE KEY' /etc/ssh /etc/ssl/private /etc/letsencrypt 2>/dev/null && echo ESCAPED",
  },
  {
    name: 'root’s home',
    users: ['ordinary user', 'root'],
    script: () => 'ls -A /root 2>/dev/null | grep -q . && echo ESCAPED',
  },
  {
    name: 'memory and addresses of the kernel',
    presets: ALL_PRESETS,
    // Without the right to see them, addresses are zero.
    script: () =>
      'for f in /proc/kcore /proc/kmsg /proc/keys /dev/mem /dev/kmem; do read -r -N 64 -t 1 x < $f && [ -n "$x" ] && echo ESCAPED $f; done 2>/dev/null; read -r address _ < /proc/kallsyms; case $address in *[1-9a-f]*) echo ESCAPED $address;; esac; true',
  },
  { name: 'logs of the kernel', script: () => 'dmesg 2>/dev/null | grep -q . && echo ESCAPED' },

  // The server's own.
  {
    name: 'the server’s state directory',
    presets: ALL_PRESETS,
    script: (t) =>
      `for f in ${t.stateDir}/* ${t.stateDir}/*/* ${t.stateDir}/*/*/*; do [ -f "$f" ] && echo ESCAPED "$f" && echo "$(<$f)"; done; ls -RA ${t.stateDir}`,
  },
  {
    name: 'outputs of other executions',
    script: (t) => `cat ${t.stateDir}/executions/*/stdout ${t.stateDir}/executions/journal/*`,
  },
  {
    name: 'the audit log',
    script: (t) =>
      `cat ${t.stateDir}/audit/*; find ${t.home} -name '*.jsonl' 2>/dev/null | grep -q audit && echo ESCAPED`,
  },
  {
    name: 'writing to the audit log',
    presets: ALL_PRESETS,
    script: (t) =>
      `for f in ${t.stateDir}/audit/*.jsonl; do echo FORGED >> $f; done; echo FORGED > ${t.stateDir}/audit/forged.jsonl`,
    isSeen: (t) => auditText(t.stateDir).includes('\nFORGED'),
  },
  {
    name: 'the settings file',
    presets: ALL_PRESETS,
    script: (t) => `echo "$(<${t.settingsFile})"; cat ${t.settingsFile}`,
  },
  {
    name: 'changing the settings file',
    presets: ALL_PRESETS,
    script: (t) =>
      `echo '# EVIL' >> ${t.settingsFile}; mv ${t.settingsFile} ${t.settingsFile}.old; rm -f ${t.settingsFile}; echo x > ${t.settingsFile}`,
  },
  {
    name: 'the server’s program',
    presets: ALL_PRESETS,
    script: (t) =>
      `(echo '//EVIL' >> ${t.installation}/cli.js) 2>/dev/null; mv ${t.installation} ${t.installation}.old; touch ${t.installation}/new.js`,
  },
  {
    name: 'the Node that runs the server',
    script: () => `(: >> ${process.execPath}) 2>/dev/null && echo ESCAPED`,
  },
  {
    name: 'the token in the server’s environment',
    presets: ALL_PRESETS,
    script: (t) =>
      `echo "$MCP_SHELL_TOKEN"; for p in /proc/[0-9]* /proc/${t.serverPid} /proc/$PPID; do echo "$(<$p/environ)"; done 2>/dev/null; env | grep MCP_SHELL_TOKEN`,
  },
  {
    name: 'the server among the processes',
    presets: ALL_PRESETS,
    script: (t) =>
      `[ -d /proc/${t.serverPid} ] && [ "$(</proc/${t.serverPid}/comm)" = node ] && echo ESCAPED; true`,
  },
  {
    name: 'descriptors that the server was started with',
    presets: ALL_PRESETS,
    script: () =>
      'for f in /proc/[0-9]*/fd/*; do case ${f##*/} in 0|1|2|255) ;; *) [ -d "$f/.ssh" ] && echo ESCAPED $f; echo "$(<$f/.ssh/id_rsa)"; esac; done 2>/dev/null',
  },
  {
    name: 'bwrap’s own descriptors',
    script: () =>
      python(
        `for f in range(3, 64):\n    for p in ("self", "1"):\n        try:\n            t = os.readlink(f"/proc/{p}/fd/{f}")\n        except OSError: continue\n        if "socket" in t or ("/" in t and not t.startswith(("/proc", "/dev", "anon")) and "pipe" not in t): escaped(p, f, t)`,
      ),
  },
  {
    name: 'the record of its own execution through stdout',
    presets: ALL_PRESETS,
    script: () => 'for f in 0 1 2; do cd /proc/self/fd/$f/.. 2>/dev/null && echo ESCAPED; done; true',
  },
];

function auditText(stateDir: string): string {
  try {
    return readdirSync(join(stateDir, 'audit'))
      .map((name) => readFileSync(join(stateDir, 'audit', name), 'utf8'))
      .join('\n');
  } catch {
    return '';
  }
}
