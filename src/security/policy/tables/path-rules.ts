/** Which words of a command are no paths, although they may look like some. */
import { byName, setOf } from '../../list.ts';

/** Nothing that these are given is opened. */
export const TEXT_PROGRAMS = setOf(
  'echo printf : true false exit return break continue shift set export local declare typeset readonly unset wait read let sleep seq expr kill type which whereis basename dirname cal whoami id uname hostname trap eval numfmt factor tr whatis apropos pgrep pkill killall pidof command builtin alias umask ulimit printenv getconf groups users nproc tty locale',
);

/** The first operand is a pattern or a program, unless one of these options gives it. */
export const FIRST_IS_TEXT: Readonly<Record<string, readonly string[]>> = byName({
  'grep egrep fgrep zgrep': ['-e', '-f', '--regexp', '--file'],
  rg: ['-e', '-f', '--regexp', '--file', '--files', '--type-list'],
  'sed gsed': ['-e', '-f', '--expression', '--file'],
  'awk gawk': ['-f', '-e', '-E', '--file', '--source', '--exec'],
  'mawk nawk': ['-f'],
  jq: ['-f', '--from-file'],
  yq: ['--from-file'],
  'ag ack fd fdfind': [],
});

/** Short options that take a value: the rest of their cluster, or else the next word, unless a `?` follows here. */
export const CLUSTER_LETTERS: Readonly<Record<string, string>> = byName({
  'grep egrep fgrep zgrep': 'ABCDdefm',
  rg: 'ABCEMTdefgjmrt',
  'sed gsed': 'efi?l',
  perl: 'eEIC?D?F?M?V?i?m?x?0?',
  'awk gawk mawk nawk': 'FvfeEiW',
  jq: 'fL',
  yq: 'oIp',
  'fd fdfind': 'CdeEScjtxXo',
  ag: 'ABCGgmpW',
  ack: 'ABCGgmx',
});

/** Long options without a value, before which nothing has to be taken for one. */
export const LONG_FLAGS = setOf(`
  --quiet --silent --recursive --dereference-recursive --ignore-case --no-ignore-case --line-number --only-matching --count
  --files-with-matches --files-without-match --extended-regexp --regexp-extended --word-regexp --line-regexp --invert-match
  --fixed-strings --perl-regexp --basic-regexp --color --colour --no-color --no-filename --with-filename --null --null-data
  --no-messages --byte-offset --initial-tab --text --in-place --posix --debug --sandbox --separate --unbuffered
  --zero-terminated --follow-symlinks --raw-output --raw-input --compact-output --slurp --null-input --sort-keys
  --exit-status --tab --join-output --hidden --no-ignore --no-ignore-vcs --unrestricted --follow --absolute-path --full-path
  --smart-case --case-sensitive --multiline --multiline-dotall --pcre2 --json --stats --heading --no-heading --vimgrep
  --column --trim --line-buffered --files-from-stdin --print0 --literal --regex
`);

/** Long options whose value is text, for every program. */
export const LONG_TEXT_OPTIONS = setOf(
  '--regexp --expression --message --format --pretty --grep --author --date --since --until --title --body --header --data-raw --request --user-agent --glob --iglob',
);

/** Short ones mean another thing in each program. */
export const SHORT_TEXT_OPTIONS: Readonly<Record<string, readonly string[]>> = byName({
  'grep egrep fgrep zgrep': ['-e', '-m', '-A', '-B', '-C'],
  rg: ['-e', '-g', '-t', '-T', '-m', '-A', '-B', '-C', '-r'],
  'sed gsed ruby docker': ['-e'],
  'awk gawk mawk nawk': ['-F', '-v', '-e'],
  git: ['-m', '-S', '-G', '-L'],
  gh: ['-t', '-b', '-m', '-q'],
  curl: ['-H', '-X', '-A', '-u', '-e', '-w'],
  cut: ['-d', '-f', '-c', '-b'],
  sort: ['-t', '-k'],
  tree: ['-P', '-I'],
  perl: ['-e', '-E'],
  'python python3': ['-c'],
  node: ['-e', '-p'],
  php: ['-r'],
});

/** Always there for every command, and harmless. */
export const OPEN_DEVICES = /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/;

/** Writing here makes git or a shell run something later. */
export const PROTECTED_FILES =
  /(?:^|\/)\.git(?:\/|$)|(?:^|\/)\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|gitconfig|gitmodules|npmrc|yarnrc(?:\.yml)?|envrc|vimrc|mcp\.json|netrc|inputrc)$|(?:^|\/)\.(?:ssh|gnupg|aws|kube|docker|vscode|idea|cargo)(?:\/|$)/;
