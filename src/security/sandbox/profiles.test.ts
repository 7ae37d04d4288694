import { execFileSync } from 'node:child_process';
import { linkSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { defaultSettings } from '../../base/config/defaults.fixture.ts';
import type { PresetName } from '../../base/config/presets.ts';
import { silentLog } from '../../base/log.ts';
import { createProfiles, type Resident } from './profiles.ts';
import { createHost, type Host, securityOf, viewOf } from './sandbox.fixture.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

function profilesOf(host: Host, preset: PresetName, workspace = host.workspace) {
  vi.stubEnv('HOME', host.home);
  const security = securityOf(preset, { workspace: [workspace] });
  const settings = { ...defaultSettings(host.root), stateDir: host.state, security, environment: {} };
  const profiles = createProfiles(
    {
      settings,
      runHelper: () => Promise.reject(new Error('nothing is run')),
      installation: [],
      shell: 'bash',
      runDirectory: host.state,
      log: silentLog,
    },
    undefined,
  );
  const resident: Resident = { principal: 'me', security, programs: () => [] };
  return { of: () => profiles.of(resident), dispose: () => profiles.dispose() };
}

describe('a second name that a program outside made since the last command', () => {
  test.for<[preset: PresetName, name: string]>([
    ['development', '.mcp.json'],
    ['sandbox', '.mcp.json'],
    ['sandbox', '.envrc'],
    ['sandbox', '.claude/commands/c.md'],
    ['sandbox', '.git/config'],
    ['sandbox', '.git/hooks/post-checkout'],
    ['sandbox', 'conf/a.inc'],
    ['sandbox', '.git/modules/sub/config'],
  ])('with %s is none of %s when the next one begins', async ([preset, name]) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/.git/modules/sub/HEAD');
    host.write('home/project/.git/config', '[include]\n\tpath = ../conf/a.inc\n');
    const path = host.write(`home/project/${name}`, name === '.git/config' ? '[core]\n' : '');
    const profiles = profilesOf(host, preset);
    const first = await profiles.of();
    expect(await profiles.of()).toBe(first);
    const other = join(host.workspace, 'notes');
    linkSync(path, other);
    const { profile } = await profiles.of();
    writeFileSync(other, 'evil');
    expect({ nlink: statSync(path).nlink, isEvil: readFileSync(path, 'utf8') === 'evil' }).toEqual({
      nlink: 1,
      isEvil: false,
    });
    expect(viewOf(profile, path)).toMatch(/^readable/);
    profiles.dispose();
  });

  test('makes all of the workspace read-only where there are too many files to look at', async () => {
    const host = createHost();
    host.makeRepository('home/project');
    const profiles = profilesOf(host, 'development');
    const notes = join(host.workspace, 'notes');
    expect(viewOf((await profiles.of()).profile, notes)).toMatch(/^writable/);
    const hooks = host.makeDirectory('home/project/.git/hooks/zz');
    execFileSync('bash', ['-c', 'touch {1..20000}'], { cwd: hooks });
    expect(viewOf((await profiles.of()).profile, notes)).toMatch(/^readable/);
    profiles.dispose();
  });

  test.for(['.oh-my-zsh/oh-my-zsh.sh', '.bashrc.d/one.sh', '.bashrc', 'bin/b', '.config/fish/x.fish'])(
    'is none of %s in a home directory that is the workspace',
    async (name) => {
      const host = createHost();
      const path = host.write(`home/${name}`);
      linkSync(path, join(host.home, 'notes'));
      const profiles = profilesOf(host, 'development', host.home);
      await profiles.of();
      expect(statSync(path).nlink).toBe(1);
      profiles.dispose();
    },
  );

  test('is left to a large program in a home directory that is the workspace', async () => {
    const host = createHost();
    const program = host.write('home/.nvm/node', 'x'.repeat(17 << 20));
    linkSync(program, join(host.home, 'node'));
    const profiles = profilesOf(host, 'development', host.home);
    await profiles.of();
    expect(statSync(program).nlink).toBe(2);
    profiles.dispose();
  });

  test('is not looked for among what programs keep in a home directory that is the workspace', async () => {
    const host = createHost();
    const extensions = host.makeDirectory('home/.vscode/extensions');
    execFileSync('bash', ['-c', 'touch {1..20000}'], { cwd: extensions });
    host.write('home/src/emacs/init.el');
    host.link('home/.emacs.d', 'src/emacs');
    const profiles = profilesOf(host, 'development', host.home);
    expect(viewOf((await profiles.of()).profile, join(host.home, 'notes'))).toMatch(/^writable/);
    profiles.dispose();
  });
});
