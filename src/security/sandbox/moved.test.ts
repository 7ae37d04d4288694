import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findPrivatePaths } from './find-private.ts';
import { MOVED_BY } from './moved.ts';
import { openings } from './openings.ts';
import { REDACTED_FILES, redactFiles } from './redact.ts';
import { createHost, UNCOVERED, viewOf } from './sandbox.fixture.ts';

describe('credentials', () => {
  test.for([
    'snap/firefox/common/.mozilla/firefox/x/logins.json',
    'snap/chromium/common/chromium/Default/Cookies',
    '.var/app/com.google.Chrome/config/google-chrome/Default/Cookies',
    '.var/app/org.mozilla.firefox/.mozilla/firefox/x/key4.db',
    '.config/vivaldi/Default/Login Data',
    '.config/VSCodium/User/globalStorage/state.vscdb',
    '.config/Windsurf/User/globalStorage/state.vscdb',
    '.config/Code - Insiders/User/globalStorage/state.vscdb',
    '.vscode-server/data/User/globalStorage/state.vscdb',
    '.config/Positron/User/globalStorage/state.vscdb',
    '.config/Code - OSS/User/globalStorage/state.vscdb',
    '.config/Some Fork Of Tomorrow/User/globalStorage/state.vscdb',
    '.positron-server/data/Machine/token',
    '.vscode-server-insiders/data/User/globalStorage/state.vscdb',
    '.local/share/uv/credentials/credentials.toml',
    '.config/helm/repositories.yaml',
    '.trae/mcp.json',
    '.factory/auth.json',
    '.config/Bitwarden CLI/data.json',
    '.ollama/id_ed25519',
    '.m2/mvnd/registry/1/registry.bin',
    '.config/qutebrowser/data/Cookies',
    '.config/nushell/history.txt',
    '.config/tea/config.yml',
    '.cache/huggingface/stored_tokens',
    '.config/mozilla/firefox/x/logins.json',
    '.config/librewolf/librewolf/x/key4.db',
    '.config/Code/User/mcp.json',
    '.config/VSCodium/User/mcp.json',
    '.config/Code/Cookies',
    '.config/Code/Network/Cookies',
    '.railway/config.json',
    '.vercel/auth.json',
    '.step/secrets/intermediate_ca_key',
    '.jfrog/jfrog-cli.conf.v6',
    '.age/key.txt',
    '.bitcoin/wallet.dat',
    '.electrum/wallets/default_wallet',
    '.nuget/NuGet.Config',
    '.config/JetBrains/IntelliJIdea2026.1/c.kdbx',
    '.config/code-server/config.yaml',
    '.config/Kiro/User/globalStorage/state.vscdb',
    '.config/io.datasette.llm/keys.json',
    '.local/share/gopass/stores/main/mail.age',
    '.android/adbkey',
    '.sbt/1.0/server/1/sock.token',
  ])('in %s are hidden', (name) => {
    const host = createHost(UNCOVERED);
    const path = host.write(`home/${name}`, 'secret');
    expect(viewOf(host.profile(), path)).toMatch(/^(?:nothing|blank|empty)/);
  });

  test.for([
    ['XDG_CONFIG_HOME', 'moved', 'moved/gh/hosts.yml'],
    ['XDG_CONFIG_HOME', 'moved', 'moved/google-chrome/Default/Cookies'],
    ['XDG_CONFIG_HOME', 'moved', 'moved/Bitwarden CLI/data.json'],
    ['XDG_DATA_HOME', 'moved', 'moved/keyrings/login.keyring'],
    ['XDG_DATA_HOME', 'moved', 'moved/opencode/auth.json'],
    ['XDG_STATE_HOME', 'moved', 'moved/bash/history'],
    ['XDG_CONFIG_HOME', 'moved', 'moved/Positron/User/globalStorage/state.vscdb'],
    ['POETRY_CONFIG_DIR', 'moved', 'moved/auth.toml'],
    ['UV_CREDENTIALS_DIR', 'moved', 'moved/credentials.toml'],
    ['CARGO_HOME', 'moved', 'moved/credentials.toml'],
    ['GRADLE_USER_HOME', 'moved', 'moved/daemon/8.10/registry.bin'],
    ['GH_CONFIG_DIR', 'moved', 'moved/hosts.yml'],
    ['CLAUDE_CONFIG_DIR', 'moved', 'moved/.credentials.json'],
    ['CODEX_HOME', 'moved', 'moved/auth.json'],
    ['CLOUDSDK_CONFIG', 'moved', 'moved/credentials.db'],
    ['AZURE_CONFIG_DIR', 'moved', 'moved/msal_token_cache.json'],
    ['PASSWORD_STORE_DIR', 'moved', 'moved/mail.gpg'],
    ['BITWARDENCLI_APPDATA_DIR', 'moved', 'moved/data.json'],
    ['GNUPGHOME', 'moved', 'moved/private-keys-v1.d/x'],
    ['KUBECONFIG', 'one:HOME/moved/config', 'moved/config'],
    ['RCLONE_CONFIG', 'moved/rclone.conf', 'moved/rclone.conf'],
    ['AWS_WEB_IDENTITY_TOKEN_FILE', 'moved/token', 'moved/token'],
    ['PSQL_HISTORY', 'moved/psql', 'moved/psql'],
    ['KRB5CCNAME', 'FILE:HOME/moved/krb5cc', 'moved/krb5cc'],
    ['DOCKER_CERT_PATH', 'moved', 'moved/key.pem'],
    ['SOPS_AGE_KEY_FILE', 'moved/keys.txt', 'moved/keys.txt'],
    ['ANSIBLE_VAULT_PASSWORD_FILE', 'moved/vault', 'moved/vault'],
    ['VAULT_CLIENT_KEY', 'moved/client.pem', 'moved/client.pem'],
    ['CONSUL_HTTP_TOKEN_FILE', 'moved/token', 'moved/token'],
    ['PGSSLKEY', 'moved/pg.key', 'moved/pg.key'],
    ['CURL_HOME', 'moved', 'moved/.netrc'],
    ['ZDOTDIR', 'moved', 'moved/.zsh_history'],
    ['ZDOTDIR', 'moved', 'moved/.zhistory'],
    ['HF_HOME', 'moved', 'moved/stored_tokens'],
    ['CURSOR_CONFIG_DIR', 'moved', 'moved/mcp.json'],
    ['GEMINI_CLI_HOME', 'moved', 'moved/.gemini/oauth_creds.json'],
    ['VSCODE_PORTABLE', 'moved', 'moved/user-data/User/globalStorage/state.vscdb'],
  ] as const)('are hidden where %s leads: %s, %s', ([variable, value, name]) => {
    for (const workspace of ['project', '.']) {
      const host = createHost(UNCOVERED);
      const path = host.write(`home/${name}`, 'secret');
      const to = value.includes('HOME') ? value.replace('HOME', host.home) : join(host.home, value);
      const profile = host.profile({
        environment: { [variable]: to },
        security: { workspace: [join(host.home, workspace)] },
      });
      expect(viewOf(profile, path)).toMatch(/^(?:nothing|blank|empty)/);
    }
  });

  test.for([
    ['XDG_CACHE_HOME', 'bazel/_bazel_me/1/server/request_cookie'],
    ['GRADLE_USER_HOME', 'daemon/8.10/registry.bin'],
  ] as const)(
    'of build servers are hidden outside the home directory, where %s leads',
    ([variable, name]) => {
      const host = createHost(UNCOVERED);
      const path = host.write(`data/${name}`, 'secret');
      const profile = host.profile({ environment: { [variable]: join(host.root, 'data') } });
      expect(viewOf(profile, path)).toMatch(/^(?:nothing|blank|empty)/);
    },
  );

  test('of build servers are hidden behind a link in the home directory', () => {
    const host = createHost(UNCOVERED);
    const path = host.write('data/gradle/daemon/8.10/registry.bin', 'secret');
    symlinkSync(join(host.root, 'data/gradle'), join(host.home, '.gradle'));
    expect(viewOf(host.profile(), path)).toMatch(/^(?:nothing|blank|empty)/);
  });

  test.for(['HISTFILE', 'LESSHISTFILE', 'XDG_CONFIG_HOME', 'GNUPGHOME'])(
    'are not looked for in a device that %s names',
    (variable) => {
      const host = createHost(UNCOVERED);
      expect(findPrivatePaths(host.home, { [variable]: '/dev/null' })).not.toContain('/dev/null');
    },
  );

  test('are shown where a variable leads, if the operator exposes them by name', () => {
    const environment = { GH_CONFIG_DIR: '/data/gh', XDG_CONFIG_HOME: '/data/config' };
    expect(openings(['gh'], { homedir: '/home/me', environment }).paths).toEqual([
      '/home/me/.config/gh',
      '/data/config/gh',
      '/data/gh',
      '/home/me/.config/hub',
      '/data/config/hub',
    ]);
  });

  test.for(
    MOVED_BY.filter(([, place]) =>
      REDACTED_FILES.some((name) => name === place || name.startsWith(`${place}/`)),
    ),
  )('are left out of files that %s moves', ([variable, place, below = '']) => {
    const host = createHost();
    const name = REDACTED_FILES.find((each) => each === place || each.startsWith(`${place}/`)) ?? '';
    const moved = host.write(
      `${join('moved', below)}${name.slice(place.length)}`,
      'keep = 1\npassword = hunter2\n',
    );
    const environment = { [variable]: join(host.root, 'moved') };
    expect([...redactFiles(host.home, host.state, [], { environment }).keys()]).toEqual([moved]);
  });
});
