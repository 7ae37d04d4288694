import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redactFiles, redactText } from './redact.ts';
import { createHost } from './sandbox.fixture.ts';

const SECRET = 'Tr0ub4dor3xyzzy';

describe('a line with a secret', () => {
  test.for([
    [`//registry.example.org/:_authToken=${SECRET}`, '.npmrc'],
    [`_auth = ${SECRET}`, '.npmrc'],
    [`//registry.example.org/:_password="${SECRET}"`, '.npmrc'],
    [`registry=https://me:${SECRET}@registry.example.org/`, '.npmrc'],
    [`https-proxy=http://me:${SECRET}@proxy.example.org:3128`, '.npmrc'],
    [`"//registry.example.org/:_authToken" ${SECRET}`, '.yarnrc'],
    [`npmAuthToken: "${SECRET}"`, '.yarnrc.yml'],
    [`    npmAuthIdent: me:${SECRET}`, '.yarnrc.yml'],
    [`	extraheader = AUTHORIZATION: basic ${SECRET}`, '.gitconfig'],
    [`[url "https://oauth2:${SECRET}@git.example.org/"]`, '.gitconfig'],
    [`	token = ${SECRET}`, '.gitconfig'],
    [`	smtpPass = ${SECRET}`, '.gitconfig'],
    [`index-url = https://me:${SECRET}@pypi.example.org/simple`, 'pip.conf'],
    [`  - https://conda.example.org/t/${SECRET}/channel`, '.condarc'],
    [`token = "${SECRET}"`, '.cargo/config.toml'],
    [`http_password = ${SECRET}`, '.wgetrc'],
    [`ftp_password=${SECRET}`, '.wgetrc'],
    [`header = Authorization: Bearer ${SECRET}`, '.wgetrc'],
    [`user = "me:${SECRET}"`, '.curlrc'],
    [`user me:${SECRET}`, '.curlrc'],
    [`--user me:${SECRET}`, '.curlrc'],
    [`-u me:${SECRET}`, '.curlrc'],
    [`proxy-user: me:${SECRET}`, '.curlrc'],
    [`oauth2-bearer = ${SECRET}`, '.curlrc'],
    [`pass = ${SECRET}`, '.curlrc'],
    [`header = "X-Api-Key: ${SECRET}"`, '.curlrc'],
    [`cookie = "session=${SECRET}"`, '.curlrc'],
    [`signing.password=${SECRET}`, 'gradle.properties'],
    [`ossrhPassword=${SECRET}`, 'gradle.properties'],
    [`artifactory_apiKey = ${SECRET}`, 'gradle.properties'],
    [`BUNDLE_GEMS__EXAMPLE__ORG: "me:${SECRET}"`, '.bundle/config'],
    [`BUNDLE_RUBYGEMS__PKG__EXAMPLE__ORG: "${SECRET}:x-oauth-basic"`, '.bundle/config'],
  ])('%s of %s does not show it', ([line = '']) => {
    expect(redactText(`before\n${line}\nafter\n`)).not.toContain(SECRET);
  });

  test('leaves its neighbours as they are', () => {
    const text = `registry=https://registry.example.org/\n//registry.example.org/:_authToken=${SECRET}\nsave-exact=true\n`;
    expect(redactText(text)).toBe('registry=https://registry.example.org/\nsave-exact=true\n');
  });
});

describe('a line without one', () => {
  test.for([
    'registry=https://registry.example.org/',
    '@scope:registry=https://npm.example.org/',
    'always-auth=true',
    'cafile=/etc/ssl/own.pem',
    '[user]',
    '	name = A. Person',
    '	email = a.person@example.org',
    '	signingkey = 0123ABCD',
    '[credential "https://git.example.org"]',
    '	helper = store',
    '[url "git@git.example.org:"]',
    '	insteadOf = https://git.example.org/',
    '[alias]',
    '	co = checkout',
    'index-url = https://pypi.example.org/simple',
    'trusted-host = pypi.example.org',
    'npmRegistryServer: "https://registry.example.org"',
    'channels:',
    '  - conda-forge',
    'org.gradle.jvmargs=-Xmx4g',
    'user-agent = "curl"',
    'BUNDLE_PATH: "vendor/bundle"',
    'BUNDLE_JOBS: "4"',
    '# a comment',
    '',
  ])('%s stays as it is', (line) => {
    expect(redactText(line)).toBe(line);
  });
});

test('what is too large to be settings is shown as nothing', () => {
  expect(redactText('a=b\n'.repeat(100_000))).toBe('');
});

describe('copies', () => {
  test('are made of files that hold a secret, and of no others', () => {
    const host = createHost();
    const npmrc = host.write('home/.npmrc', `a=b\n//r/:_authToken=${SECRET}\n`);
    host.write('home/.gitconfig', '[user]\n\tname = A. Person\n');
    const config = host.write('home/.config/git/config', `[url "https://x:${SECRET}@h/"]\n`);
    const copies = redactFiles(host.home, host.state, []);
    expect([...copies.keys()]).toEqual([npmrc, config]);
    expect([...copies.values()].map((path) => readFileSync(path, 'utf8'))).toEqual([
      'a=b\n',
      '[url "https://x:***@h/"]\n',
    ]);
  });

  test('can be read by nobody else, and hold no secret in their names', () => {
    const host = createHost();
    host.write('home/.npmrc', `//r/:_authToken=${SECRET}\n`);
    const directory = join(host.state, 'redacted');
    const [copy = ''] = redactFiles(host.home, directory, []).values();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  });

  test('are made anew when the file changes, and found again when it does not', () => {
    const host = createHost();
    const npmrc = host.write('home/.npmrc', `a=1\n_auth=${SECRET}\n`);
    const copyNow = () => redactFiles(host.home, host.state, []).get(npmrc) ?? '';
    const first = copyNow();
    expect(copyNow()).toBe(first);
    host.write('home/.npmrc', `a=2\n_auth=${SECRET}\n`);
    expect(readFileSync(copyNow(), 'utf8')).toBe('a=2\n');
    expect(copyNow()).not.toBe(first);
  });

  test('are not made of what the operator opened', () => {
    const host = createHost();
    const npmrc = host.write('home/.npmrc', `_auth=${SECRET}\n`);
    const directory = join(host.state, 'redacted');
    expect(redactFiles(host.home, directory, [npmrc])).toEqual(new Map());
    expect(existsSync(directory)).toBe(false);
  });

  test('are made of a file behind a link too', () => {
    const host = createHost();
    host.write('home/dotfiles/npmrc', `_auth=${SECRET}\n`);
    host.link('home/.npmrc', 'dotfiles/npmrc');
    const copies = redactFiles(host.home, host.state, []);
    expect([...copies.values()].map((path) => readFileSync(path, 'utf8'))).toEqual(['']);
  });

  test('are not made of directories, or of what is not there', () => {
    const host = createHost();
    host.makeDirectory('home/.npmrc');
    host.link('home/.curlrc', 'gone');
    expect(redactFiles(host.home, host.state, [])).toEqual(new Map());
  });
});
