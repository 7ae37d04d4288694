/** git: an option is enough to run a program, and a subcommand may do so as well. */
import { list } from '../list.ts';
import type { Gadget } from './gadgets.ts';

const programs = ['git'];

export const GIT_GADGETS: readonly Gadget[] = [
  {
    programs,
    does: 'runs a program',
    options: list('-c --config-env --exec-path --git-dir --work-tree --attr-source'),
    subcommands: [''],
    hint: 'Leave the option out; settings belong in the configuration of the repository.',
    match: [
      'git -c core.pager=x log',
      'git -ccore.fsmonitor=x status',
      'git --exec-path=/tmp status',
      'git --git-dir /tmp/x log',
      'git --config-env=a=b log',
      'git --exec=/tmp log',
    ],
    notMatch: ['git log -c', 'git status', 'git --no-pager log', 'git -C sub status', 'git -p log'],
  },
  {
    programs,
    does: 'writes a file',
    options: ['--output', '--output-directory'],
    match: [
      'git log --output=x',
      'git diff --output x',
      'git show --outp=x',
      'git format-patch --output-directory=x',
    ],
    notMatch: ['git log --oneline', 'git diff -O x', 'git log -- --output'],
  },
  {
    programs,
    does: 'runs a program',
    options: list(
      '--ext-diff --upload-pack --receive-pack --exec --open-files-in-pager --extcmd --sendmail-cmd --smtp-server --to-cmd --cc-cmd --web --tool --gpg-program',
    ),
    match: [
      'git ls-remote --upload-pa=x .',
      'git fetch --upload-pack x',
      'git grep --open-files-in-pager=x y',
      'git rebase --exec x',
      'git push --receive-pack=x',
      'git log --ext-diff',
      'git send-email --smtp-server=/x',
    ],
    notMatch: ['git log --all', 'git push origin main', 'git fetch --all'],
  },
  {
    programs,
    does: 'runs a program',
    options: ['-O'],
    subcommands: ['grep'],
    match: ['git grep -O foo', 'git grep -Ovim foo', 'git grep -lO foo'],
    notMatch: ['git grep foo', 'git diff -Oorder'],
  },
  {
    programs,
    does: 'runs a program',
    options: ['-x', '-u'],
    subcommands: ['rebase', 'difftool', 'clone'],
    match: ['git rebase -x make HEAD~3', 'git difftool -x x', 'git clone -u x y'],
    notMatch: ['git rebase main', 'git clone x'],
  },
  {
    programs,
    does: 'runs a program',
    subcommands: ['clone', 'init', 'help', 'interpret-trailers'],
    options: ['-c', '-w', '--config', '--template', '--separate-git-dir', '--in-place'],
    match: ['git clone -c core.x=y z', 'git init --template=x', 'git clone --conf a=b z', 'git help -w x'],
    notMatch: ['git clone x', 'git commit --template=x', 'git init'],
  },
  {
    programs,
    does: 'runs a program',
    words: /^[A-Za-z0-9+-]*::/,
    match: ["git clone 'ext::sh -c x'", 'git ls-remote ext::x'],
    notMatch: ['git clone https://example.org/x', 'git log HEAD'],
  },
  {
    programs,
    does: 'runs a program',
    subcommands: list(
      'filter-branch difftool mergetool daemon instaweb web--browse hook send-email svn p4 credential shell upload-pack receive-pack http-backend cvsserver gui citool',
    ),
    always: true,
    match: ['git difftool', 'git filter-branch --all', 'git -C x credential fill'],
    notMatch: ['git diff', 'git log filter-branch'],
  },
  {
    programs,
    does: 'runs a program',
    subcommands: list('bisect submodule for-each-repo worktree maintenance'),
    words: /^(?:run|foreach|add|start|update|visualize|view)$/,
    match: ['git bisect run x', 'git submodule foreach x', 'git submodule update'],
    notMatch: ['git bisect log', 'git submodule status', 'git worktree list'],
  },
  {
    programs,
    does: 'writes a file',
    subcommands: ['config'],
    words:
      /^(?!(?:--get|--get-all|--get-regexp|--list|-l|--show-origin|--show-scope|--local|--global|--system|--name-only|-z|--null|list|get)$)./,
    hint: 'Settings of git can run programs; read them with "git config --get".',
    match: ['git config core.pager x', 'git config --global alias.x !y', 'git config --edit'],
    notMatch: ['git config --list', 'git config -l --show-origin'],
  },
  {
    programs,
    does: 'writes a file',
    subcommands: list('branch tag stash remote notes reflog symbolic-ref'),
    options: list(
      '-d -D -m -M -C -f -u --delete --move --copy --force --set-upstream-to --unset-upstream --edit-description -s --sign --create-reflog',
    ),
    match: ['git branch -D main', 'git tag --delete v1', 'git branch --move a b'],
    notMatch: ['git branch', 'git branch -a -vv', 'git tag -l', 'git remote -v'],
  },
  {
    programs,
    does: 'writes a file',
    subcommands: ['archive', 'bundle', 'format-patch', 'apply'],
    options: ['-o', '--remote', '--directory'],
    match: ['git archive -o x HEAD', 'git format-patch -o /tmp HEAD~1', 'git archive --remote=x HEAD'],
    notMatch: ['git archive HEAD'],
  },
];
