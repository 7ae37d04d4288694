import { describe, expect, test } from 'vitest';
import { PRESET_COMMANDS } from '../preset-lists.ts';
import { tighten } from '../tighten.ts';
import { createPolicy, type JudgeContext, type PolicyConfig } from './policy.ts';

/** /proj/out leads to /etc, /proj/dotgit to /proj/.git. */
const CONTEXT: JudgeContext = {
  directory: '/proj',
  home: '/home/me',
  realPath: (path) =>
    path.replace(/^\/proj\/out(?=\/|$)/, '/etc').replace(/^\/proj\/dotgit(?=\/|$)/, '/proj/.git'),
};

const OWN: PolicyConfig = {
  mode: 'custom',
  allowedCommands:
    'echo cat tee cp mv ln mkdir rm touch sed tar sort git curl dd find uniq install chmod yq cd awk'
      .split(' ')
      .concat('git log'),
  workspace: ['/proj', '/data'],
  openPaths: ['/tmp'],
};

const decisionOf = (config: PolicyConfig, command: string): string =>
  createPolicy(config).judge(command, CONTEXT).decision;

const INSIDE = [
  'echo x > f',
  'echo x >> src/f',
  'echo x > /proj/f',
  'echo x > /data/f',
  'echo x > /tmp/f',
  'echo x &> f',
  'echo x 2> f',
  'echo x | tee f',
  'tee -a src/f',
  'cp a b',
  'cp /etc/hosts b',
  'cp -t src a b',
  'mv a b',
  'mkdir -p src/a/b',
  'rm -r dist',
  'touch f',
  'sed -i s/a/b/ f',
  'sed -i.bak -e s/a/b/ src/f',
  'sed --in-place s/a/b/ f',
  'tar xf a.tar',
  'tar xzf a.tgz -C src',
  'tar czf a.tgz src',
  'sort -o f f',
  'uniq a b',
  'git log --output=f',
  'curl -o f https://example.org/x',
  'dd if=a of=b',
  'find . -fprintf list %p',
  'install -m 755 a bin/a',
  'yq -i .a=1 f.yml',
  'd=src; mkdir $d/x',
  'cd src && echo x > f',
  `awk '{print > "f"}' x`,
  `awk '{print $1 >> "src/f"; print $2 > "/tmp/g"}' x`,
  'sed -n "w f" x',
  'sed "s/a/b/w src/f" x',
  'sed -n -e "/a/w f" -e "/b/W g" x',
  'git bundle create f HEAD',
  'git archive -o f HEAD',
  'git format-patch HEAD~1',
  'git checkout -- f',
  'git commit -m x',
  'git stash',
  'git stash push',
  'git stash push -m wip',
  'git -C src add f',
];

describe('with allow_writes, allowed commands write in the workspace', () => {
  test.each(INSIDE)('%s', (command) => {
    expect(decisionOf(OWN, command)).toBe('allow');
  });

  test.each([
    'echo x > /etc/f',
    'echo x > ../f',
    'echo x > ~/f',
    'echo x > out/f',
    'echo x > "$f"',
    'echo x > $(cat f)',
    'tee /etc/f',
    'tee f /etc/f',
    'tee out/f',
    'cp a /etc/f',
    'cp a ../',
    'cp -t /etc a',
    'cp --target-directory=/etc a',
    'cp a "$(cat f)"',
    'mv /etc/f a',
    'ln -s /etc a',
    'mkdir /srv/a',
    'rm -r ../other',
    'touch ~root/f',
    'sed -i s/a/b/ /etc/f',
    'sed -i s/a/b/ $(cat f)',
    'tar xf a.tar -C /etc',
    'tar xf a.tar --directory=/etc',
    'cd /etc && tar xf /proj/a.tar',
    'sort -o /etc/f f',
    'git log --output=/etc/f',
    'curl -o /etc/f https://example.org/x',
    'dd if=a of=/etc/f',
    'p=/etc/f; tee $p',
    'p=/etc/f; sed -i s/a/b/ $p',
    `awk '{print > "/etc/f"}' x`,
    `awk '{print > "f"; print > "../f"}' x`,
    `awk '{print > "/inet/tcp/0/host/80"}' x`,
    `awk '{print > $1}' x`,
    `awk '{print > "f" $1}' x`,
    `awk '{print > "\\057etc/f"}' x`,
    'sed -n "w /etc/f" x',
    'sed -n "w f\nw /etc/f" x',
    'sed "s/a/b/w ../f" x',
    'cd /etc; sed -n "w f" x',
  ])('%s is outside', (command) => {
    expect(decisionOf(OWN, command)).toBe('deny');
  });

  test.each([
    'echo x > .git/config',
    'echo x > .git/hooks/pre-commit',
    'echo x > sub/.git/hooks/pre-commit',
    'echo x > dotgit/config',
    'cd .git && echo x > config',
    'cd .git/hooks && cp /tmp/a pre-commit',
    'tee .git/config',
    'cp a .git/hooks/post-checkout',
    'cp -t .git/hooks a',
    'mv a .git/config',
    'ln .git/config notes.txt',
    'ln -sf a .git/hooks/x',
    'sed -i s/a/b/ .git/config',
    'sed -i s/a/b/ ./.git/config',
    'sort -o .git/config f',
    'tar xf a.tar -C .git/hooks',
    'curl -o .git/hooks/x https://example.org/x',
    'curl -O https://example.org/.bashrc',
    'dd of=.git/config',
    'rm .git/hooks/x',
    'touch .mcp.json',
    'tee .claude/settings.json',
    'tee .claude/settings.local.json',
    'tee .vscode/tasks.json',
    'tee .envrc',
    'tee x.code-workspace',
    'tee .bashrc',
    'tee mcp-shell-server.toml',
    'p=.git; tee $p/config',
    'tee $(echo .git/config)',
    `awk '{print > ".git/config"}' x`,
    'sed -n "w .git/hooks/x" f',
  ])('%s is a file that others run', (command) => {
    expect(decisionOf(OWN, command)).toBe('deny');
  });

  test.each([
    'tee .profile',
    'tee /home/me/.zlogout',
    'cp a ~/.config/systemd/x',
    'cp a ~/.local/bin/x',
    'cp a bin/x',
    'mkdir ~/.new',
  ])('%s is one in a home directory', (command) => {
    const workspace = ['/home/me'];
    const context = { ...CONTEXT, directory: '/home/me' };
    expect(createPolicy({ ...OWN, workspace }).judge(command, context).decision).toBe('deny');
    expect(createPolicy({ ...OWN, workspace }).judge('tee notes .cache/x', context).decision).toBe('allow');
  });

  test.each([
    `awk '{print > "f"; print | "sh"}'`,
    'sed "w f\n1e id" x',
    'find . -delete',
    "sed '1e id' f",
    'tar -I sh -tf f',
    'git config a.b c',
    'git branch -D main',
  ])('%s is more than writing', (command) => {
    expect(decisionOf(OWN, command)).toBe('deny');
  });
});

describe('without it nothing is written', () => {
  test.each(INSIDE)('%s', (command) => {
    expect(decisionOf({ ...OWN, allowWrites: false }, command)).toBe('deny');
  });

  test.each([
    ['production', 'echo x > f'],
    ['production', "sed -i 's/a/b/' f"],
    ['production', 'sort -o f f'],
    ['production', 'tee f'],
    ['production', 'cp a b'],
    ['production', 'mkdir d'],
    ['minimal', 'echo x > f'],
    ['minimal', 'cat a > b'],
    ['minimal', 'git log --output=x'],
  ] as const)('%s: %s', (preset, command) => {
    expect(decisionOf(PRESET_COMMANDS[preset], command)).toBe('deny');
    expect(decisionOf({ ...PRESET_COMMANDS[preset], allowedDirectories: ['/proj'] }, command)).toBe('deny');
  });

  test.each([
    'echo x > /dev/null',
    'ls 2>&1',
    'cat f 2>/dev/null',
    'sed -n p f',
    'sort f',
    'find . -name x',
    'git log --oneline',
    `awk '{print $1 > "/dev/stdout"}' x`,
    `awk '{print $1 > "/dev/stderr"}' x`,
    'sed -n "w /dev/stdout" x',
    'sed "s/a/b/w /dev/stderr" x',
  ])('%s writes nothing', (command) => {
    expect(decisionOf({ mode: 'restrictive' }, command)).toBe('allow');
  });

  test('the built-in list writes where the operator says so', () => {
    const config: PolicyConfig = { mode: 'restrictive', allowWrites: true };
    expect(['echo x > f', 'sed -i p f', 'tee f'].map((command) => decisionOf(config, command))).toEqual([
      'allow',
      'allow',
      'deny',
    ]);
  });

  test('what an entry names in so many words is allowed', () => {
    const config: PolicyConfig = { mode: 'custom', allowedCommands: ['sed -i'], allowWrites: false };
    expect(decisionOf(config, 'sed -i p f')).toBe('allow');
  });

  test.each(['git status', 'git log -1', 'git stash list', 'git bundle verify f', 'git worktree list'])(
    '%s only reads',
    (command) => {
      expect(decisionOf({ ...OWN, allowWrites: false }, command)).toBe('allow');
    },
  );

  test('so is a subcommand of git', () => {
    const config: PolicyConfig = { mode: 'custom', allowedCommands: ['git commit'], allowWrites: false };
    expect(decisionOf(config, 'git commit -m x')).toBe('allow');
  });

  test('a setting that has no effect without a list is not reported', () => {
    expect(createPolicy({ mode: 'permissive', allowWrites: false }).warnings).toEqual([
      'allow_writes has no effect without an allow-list.',
    ]);
  });
});

describe('a caller cannot make a list write that did not', () => {
  test.each([
    ['a list of its own', { mode: 'restrictive' }, { allowedCommands: ['echo'] }],
    ['directories', { mode: 'restrictive' }, { allowedDirectories: ['/proj'] }],
    ['the preset minimal', OWN, { preset: 'minimal' }],
    ['the preset production', OWN, { preset: 'production' }],
    ['less of minimal', PRESET_COMMANDS.minimal, { allowedCommands: ['echo'] }],
    ['no more writing', OWN, { allowWrites: false }],
  ] as const)('%s', (_, current, wish) => {
    const result = tighten(current, wish);
    expect(result.kind).toBe('tightened');
    const next = 'next' in result ? result.next : current;
    expect(decisionOf(next, 'echo x > f')).toBe('deny');
  });

  test('and asking for it is refused', () => {
    expect(tighten({ mode: 'restrictive' }, { allowWrites: true }).kind).toBe('refused');
    expect(tighten(OWN, { workspace: ['/'] }).kind).toBe('refused');
  });
});
