/** Commands that the built-in lists hold. */
import { byName, list, phrases, setOf } from '../../list.ts';

/** What `restrictive` allows where no list is given: commands that read, and those that only shape what was read. */
export const READING_COMMANDS: readonly string[] = [
  ...list(`
    ls dir vdir cat tac head tail nl wc grep egrep fgrep rg ag find fd fdfind tree stat file du df
    sort uniq cut paste join comm tr column fold fmt expand unexpand rev od xxd hexdump strings base64 base32
    sed awk gawk mawk jq yq diff cmp diff3 zcat zgrep bzcat xzcat zstdcat
    md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum
    pwd echo printf test [ true false basename dirname realpath readlink seq numfmt factor expr bc
    whoami id groups who w users uname uptime nproc hostname date cal locale tty printenv getconf
    ps pgrep pidof free lscpu lsblk lsmem which whereis type sleep time timeout nice nohup man whatis apropos
    env xargs command
  `),
  ...list(`
    status log show diff blame annotate shortlog describe rev-parse rev-list ls-files ls-tree cat-file grep name-rev
    merge-base whatchanged count-objects for-each-ref show-ref show-branch diff-tree diff-index diff-files check-ignore
    check-attr version --version
  `).map((subcommand) => `git ${subcommand}`),
  ...phrases(`
    git branch --list, git branch --show-current, git tag -l, git tag --list, git stash list, git stash show,
    git worktree list, git reflog show, git config --get, git config --list, git config -l, git submodule status,
    git bisect log
  `),
  // With a name behind them these would make one.
  '/^git branch( -[arv]+)*$/',
  '/^git tag$/',
  '/^git remote( -v)?$/',
  // With a value behind it this would set one.
  '/^git config( --(global|local|system|worktree))? [\\w-]+(\\.[\\w.-]+)+$/',
  'git config --get-all',
  'git config --get-regexp',
  ...list(`
    node npm python python3 ruby perl php java go cargo rustc gcc clang make cmake docker kubectl deno bun pip pip3 tsc
  `).map((program) => `${program} --version`),
  ...phrases(`
    go version, npm ls, npm list, npm view, npm outdated, pip list, pip show, docker ps, docker images, docker logs,
    kubectl get, kubectl describe, kubectl logs
  `),
];

/** The table of `shell/allowed`, which is the `minimal` preset's. */
export const MINIMAL_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  npm: ['install', 'test', 'run', 'build', 'start', 'dev', 'lint'],
  node: ['--version'],
  git: ['status', 'log', '--version'],
  ls: ['-la', '-l'],
  cat: [],
  echo: [],
};

/** Builtins that only steer the shell itself; an allow-list that holds anything at all lets them pass. */
export const NEUTRAL = setOf(
  ': true false cd exit return break continue shift set export local declare typeset readonly unset wait test [ read let',
);

/** In an allow-list these mean arbitrary code; a word behind the name may make it harmless. */
export const INTERPRETERS: Readonly<Record<string, 'always' | 'bare'>> = byName({
  [`
    bash sh dash zsh ksh fish csh tcsh ash rbash python python2 python3 node nodejs deno bun perl ruby php lua
    Rscript java tclsh expect osascript pwsh powershell make gmake cmake npm npx pnpm pnpx yarn bunx tsx
    ts-node cargo go gradle mvn ant rake bundle pip pip3 pipx uv poetry docker podman vim vi nvim emacs ed ex
    gdb lldb ssh eval source exec crontab at batch tmux screen dotnet swift ghc elixir julia irb jshell pytest
    jest vitest mocha sqlite3 psql mysql ansible terraform helm
  `]: 'always',
  'git sudo doas su busybox parallel script': 'bare',
});
