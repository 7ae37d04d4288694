import { describe, expect, test } from 'vitest';
import { createPolicy, type JudgeContext } from './policy.ts';

/** `⏎` stands for a line's end. */
const CONTEXT: JudgeContext = {
  directory: '/proj',
  home: '/home/me',
  inherited: (name) => ({ TMPDIR: '/tmp', SRC: 'src', ELSEWHERE: '/etc' })[name],
};

const FENCE = { allowedDirectories: ['/proj'], openPaths: ['/tmp'] } as const;
const permissive = createPolicy({ mode: 'permissive', ...FENCE });
const listed = createPolicy({
  mode: 'custom',
  allowedCommands: ['cat', 'ls', 'echo', 'pushd', 'popd', 'eval', 'xargs', 'printf', 'make', 'bash'],
  ...FENCE,
});

/** Outside, or not to be decided: refused without an allow-list as well. */
const REFUSED = String.raw`
  cat ~root/x
  cat ~daemon/x
  ls ~me
  cat ~me/x
  cat ~-/x
  cat ~+1/x
  cat ~+/../x
  cat ~1
  p=/etc/x; cat $p
  p=/etc/x; cat "$p"
  p=/etc/x; cat "\${p}"
  p=/etc; cat $p/x
  p=etc; cat /$p/x
  d=/etc f=x; cat "$d/$f"
  p=/etc/x⏎cat $p
  if true; then p=/etc/x; fi; cat $p
  export p=/etc/x; cat $p
  declare p=/etc/x; cat $p
  read p <<< /etc/x; cat $p
  read -r a b <<< "1 /etc/x"; cat "$b"
  read <<< /etc/x; cat $REPLY
  read p < <(echo /etc/x); cat $p
  echo /etc/x | { read p; cat $p; }
  echo /etc/x | while read -r p; do cat "$p"; done
  while read p; do cat $p; done <<< /etc/x
  mapfile -t p <<< /etc/x; cat "\${p[0]}"
  printf -v p %s /etc/x; cat $p
  printf -vp /etc/%s x; cat $p
  grep -f /etc/x f
  grep -rf /etc/x .
  sed -nf /etc/x f
  IFS=:; p=x:/etc/x; cat $p
  p=x:/etc/x; IFS=:; cat $p
  IFS=x; p=ax/etc/y; cat $p
  read IFS; p=x:/etc/x; cat $p
  declare -n r=p; p=/etc/x; cat $r
  typeset -n r; r=p; r=/etc/x; cat $p
  f() { local -n r=$1; cat $r; }; p=/etc/x; f p
  p=/etc/x; if false; then p=a; p=b; p=c; p=d; p=e; p=f; p=g; fi; cat $p
  for p in a b c d e f g h /etc/x; do cat $p; done
  for p in $(seq 1 70 | sed s/^/x/) {a..z}{a..z} /etc/x; do cat $p; done
  a=/; if false; then a=/proj/; fi; b=proj/x; if true; then b=etc/x; fi; cat $a$b
  cat \${ELSEWHERE:-src}/x
  cat \${x:-/etc/x}
  p=~root; cat $p/x
  p=..; cat $p/x
  p=$PWD/..; cat $p/x
  a=(src /etc/x); cat "\${a[1]}"
  a=(src /etc/x); cat "\${a[@]}"
  p=/etc/x; q=p; cat "\${!q}"
  p=/etc/xx; cat \${p%x}
  p=a/etc/x; cat \${p#a}
  p=a/etc/x; cat \${p/a/}
  p=a/etc/x; cat \${p:1}
  p=/ETC; cat \${p,,}/x
  cat \${p:-/etc/x}
  cat \${p:=/etc/x}
  set -- /etc/x; cat $1
  f() { cat $1; }; f /etc/x
  p=/etc/x; eval "cat $p"
  bash -c 'cat $1' _ /etc/x
  echo /etc/x | xargs cat
  p=/etc/x; echo y > $p
  echo y > $(echo /etc)/x
  for p in a /etc/x; do cat $p; done
  cat $UNSET/etc/x
  cat "$UNSET"/etc/x
  cat \${UNSET}/etc/x
  cat $ELSEWHERE/x
  cat $(cat f)/x
  cat "$(cat f)"/x
  cat $(dirname f)/../x
  cat \${OLDPWD}/x
  cat $OLDPWD/etc/x
  cd a && cat $OLDPWD/../x
  cat /etc/$x
  cat ../$x
  cat .*/x
  cat */../../x
  cd -
  cd - && cat x
  popd
  pushd +1
  OLDPWD=/etc; cd -
  cd a; OLDPWD=/etc; cd -
  cd $(cat f)
  cd $UNSET
  cd \${OLDPWD}
  cd $UNSET && cat x
  cd -P $UNSET
  e=; cd $e
  cd "$(git rev-parse --show-toplevel)"
  cd $(echo /etc)
  read d; cd $d
  d=$(cat f); cd $d
  p=/etc; cd $p
  cd $ELSEWHERE
  CDPATH=/etc; cd apt
  CDPATH=/etc cd apt
  export CDPATH=/; cd etc && cat x
  CDPATH=$x; cd apt
  HOME=/etc; cd; cat x
  HOME=/etc; cat ~/x
  HOME=/etc; cd ~
  cd
  cd ~
  cd ..
  for i in 1 2 3; do cd ..; done
  env -C /etc cat x
  [ -f /etc/x ]
  test -e "$UNSET"/etc/x
  [ /etc/x -nt y ]
  op=-f; [ $op /etc/x ]
  : /etc/x; cat $_
  echo /etc/x; cat "$_"
  echo /etc/x; cat \${_}
  echo /etc/x; cd $_
  echo /etc/x; cat \${_:-x}
  [[ /etc/x =~ .* ]]; cat $BASH_REMATCH
  [[ /etc/x =~ .* ]]; cat "\${BASH_REMATCH[0]}"
  getopts a: o -a/etc/x; cat $OPTARG
  bash -c 'cat $0' /etc/x
  awk '{print > "/etc/x"}' f
  sed -n 'w /etc/x' f
  grep -e12 /etc/x
  grep -ie12 /etc/x
  grep -Ee12 /etc/x
  egrep -e12 /etc/x
  fgrep -e12 /etc/x
  zgrep -h -e12 /etc/x
  zgrep --file=src/x /etc/x
  grep -f/dev/null -v /etc/x
  grep -vf/dev/null /etc/x
  grep -m1 -e12 /etc/x
  grep --regex=12 /etc/x
  grep --reg 12 /etc/x
  grep --fil=src/x /etc/x
  grep --exclude-dir a 12 /etc/x
  rg -ie12 /etc/x
  sed -ep /etc/x
  sed -nep /etc/x
  sed -n -ep /etc/x
  sed -f/dev/null /etc/x
  sed --expr=p /etc/x
  sed --exp p /etc/x
  sed -l 5 p /etc/x
  sed -ie p /etc/x
  gawk -e1 /etc/x
  gawk --source=1 /etc/x
  awk -f/dev/null /etc/x
  jq -Rr -f/dev/null /etc/x
  fd --search-path /etc x
  fd -C /etc x
  fd x /etc
  perl /etc/x
  perl -ne print /etc/x
  perl -pe 1 /etc/x
  perl -pe1 /etc/x
  perl -lane 'print $F[0]' /etc/x
  perl -e 'print <>' /etc/x
  declare a=(/etc/x); cat $a
  declare -A a=([x]=/etc/x); cat \${a[x]}
  declare -A a=([/etc/x]=1); cat "\${!a[@]}"
  local a=(/etc/x); cat $a
  export a=(/etc/x); cat $a
  readonly a=(/etc/x); cat "\${a[@]}"
  a=([2]=/etc/x); cat \${a[2]}
  a=({src,/etc}/x); cat "\${a[@]}"
  a=(); a+=([1]=/etc/x); cat "\${a[@]}"
  PWD=/etc; cat ~+/x
  read PWD < f; cat ~+/x
  cd a; OLDPWD=/etc; cat ~-/x
  set -- /etc/x; for f; do cat "$f"; done
  set -- a /etc/x; for f in "$@"; do cat "$f"; done
  set -- a /etc/x; cat "$@"
  set -- a /etc/x; shift; cat $1
  set -- a /etc/x; cat "\${!#}"
  f() { shift; cat $1; }; f a /etc/x
  f() { for i; do cat $i; done; }; f /etc/x
  f() { cat "$@"; }; f a /etc/x
  sh -c 'cat "$@"' a /etc/x
  bash -c 'cat $*' a /etc/x
  bash -c 'for f; do cat "$f"; done' a /etc/x
  bash -c 'for f in "$@"; do cat "$f"; done' a b /etc/x
  bash -c 'shift; cat $1' a b /etc/x
  set -- a /etc/x; a=("$@"); cat "\${a[1]}"
  a=(x /etc/x); b=("\${a[@]}"); cat "\${b[1]}"
  a=(x /etc/x); for f in "\${a[@]}"; do cat "$f"; done
  read -ra a <<< "a /etc/x"; cat \${a[1]}
  IFS=: read -r a b <<< a:/etc/x; cat "$b"
  read -ra a <<< "1 2 3 4 5 6 7 8 /etc/x"; cat \${a[8]}
`;

/** A `cd` may fail, and then the shell is where it was. */
const LOST = String.raw`
  cd missing; cat ../x
  cd missing; cd ..; cat x
  cd a; cd ..
  cd a⏎cat ../x
  cd a; cd b; cat ../x
  cd a/b/c; cat ../x
  cd a & cat ../x
  cd a | cat ../x
  (cd a); cat ../x
  (cd a; cat ../x)
  { cd a; cat ../x; }
  { cd a; }; cat ../x
  cd a && true; cat ../x
  true && cd a; cat ../x
  cd a || true; cat ../x
  cd a || cat ../x
  cd a || cd b; cat ../x
  cd a || cd ..
  cd a || { echo no; }; cat ../x
  cd a || (exit 1); cat ../x
  cd a || exit 1 2; cat ../x
  cd a || exit > x; cat ../x
  cd a || exit | cat; cat ../x
  cd a || exit & cat ../x
  exit() { :; }; cd a || exit 1; cat ../x
  cd /proj || cd a/b && cat ../x
  cd a && cd .. || cat ../x
  ! cd a && cat ../x
  ! cd a || cat ../x
  if cd a; then :; fi; cat ../x
  if cd a; then :; else cat ../x; fi
  if ! cd a; then cat ../x; fi
  if cd a; true; then cat ../x; fi
  if cd a & then cat ../x; fi
  if cd a; then cd /proj; fi; cat ../x
  while cd a; do cat ../x; done
  until cd a; do cat ../x; done
  for d in a b; do cd $d; cat ../x; done
  case x in x) cd a;; esac; cat ../x
  pushd a; cat ../x
  pushd a; popd; cat ../x
  pushd a && popd && cat ../x
  cd a; cd -; cat ../x
  cd a && cd - && cat ../x
  cd a; echo x > ../x
  cd a; cat < ../x
  cd a; ../run
  cd a; ls ..
  command cd a; cat ../x
  builtin cd a; cat ../x
  eval cd a; cat ../x
  eval 'cd a; cat ../x'
  bash -c 'cd a; cat ../x'
  bash -c 'cd a'; cat ../x
  env -C a true; cat ../x
  echo $(cd a; cat ../x)
  echo $(cd a); cat ../x
  cd a; f() { cat ../x; }; f
  cd a && f() { cat ../x; } && f
  cd a && f() { cat ../x; } && cd .. && f
  f() { cd /proj; }; cd a && f && cat ../x
  f() { cd a; cat ../x; }; f
  cd a && trap 'cat ../x' EXIT && cd ..
  cd a b
  cd proj etc
  cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; cd i; cat ../x
  cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; cd i; cd ..; cd ..
`;

/** Here it has moved, or nothing depends on it. */
const MOVED = String.raw`
  cd a && cat ../x
  cd a && cat ../x && cd .. && cat x
  cd a && make; cat x
  cd a; make
  cd a; cat x; cat b/../x
  cd /proj; ls
  cd /proj; ls; cat x
  cd /proj/a; make -j4
  cd a; npm test
  cd a && cd b && cat ../../x
  (cd a && cat ../x); cat x
  (cd a && make) && (cd b && make)
  cd a || exit; cat ../x
  cd a || exit 1; cat ../x
  cd a || exit $?⏎cat ../x
  cd a || { echo no >&2; exit 1; }; cat ../x
  cd a && cd b || exit 1; cat ../../x
  cd a || cd b || exit 1; cat ../x
  if cd a; then cat ../x; fi
  if cd a && make; then cat ../x; fi
  if ! cd a; then exit 1; fi
  if [ -d a ]; then cd a && cat ../x; fi
  pushd a && cat ../x && popd
  pushd a && make; popd
  cd a; f() { cat x; }; f
  eval 'cd a && cat ../x'
  bash -c 'cd a && cat ../x'
  time cd a && cat ../x
  cd a; ls; cd /proj/b; ls
  for d in a b; do (cd $d && make); done
  for d in a b; do cd /proj/$d && make; done
  trap 'rm -f x' EXIT; cd a
  echo a | while read d; do cat "$d"; done
`;

/** Inside however it is read; the first of them can be decided even under an allow-list. */
const DECIDED = String.raw`
  cat ~+/x
  cd a && cat ../x
  cd a && cd - && cat x
  cd a && make && cd -
  cd a; make; cd -
  pushd a && make && popd
  pushd a; pushd b; popd; popd; cat x
  CDPATH= cd a
  CDPATH=; cd a
  CDPATH=/etc; cd ./a
  CDPATH=/etc; cd /proj/a
  cat $PWD/x
  cat *.ts
  cat src/*.ts
  cat /tmp/x
`;

const ALLOWED = String.raw`
  IFS=:; p=src/x; cat $p
  IFS=:; p=a:src/x; cat $p
  while IFS= read -r f; do cat "$f"; done < src/list; p=src/x; cat $p
  p=x:src/x; IFS=,; cat "$p"
  for p in a b c d e f g h i j k l m n; do cat $p; done
  for d in a b c d e f g h; do for f in 1 2 3 4 5 6 7 8 9; do cat "$d/$f"; done; done
  cat \${SRC:-lib}/x
  read -r p <<< src/x; cat "$p"
  printf -v p src/%s x; cat $p
  echo src/x | while read -r f; do cat "$f"; done
  git ls-files | while read -r f; do wc -l "$f"; done
  sed -ne '/etc/p' src/x
  grep -rne /etc/x src
  grep -rf src/x .
  p=src/x; cat $p
  p=/proj/x; cat "$p"
  d=src f=x; cat "$d/$f"
  for f in *.ts; do cat "$f"; done
  for f in src/*.ts; do cat "\${f%.ts}.js"; done
  for f in src/*.ts; do cat "\${f##*/}"; done
  for d in a b; do (cd $d && make); done
  while read f; do cat "$f"; done < list
  cat $(ls)
  cat "$(ls | head -1)"
  cat ./$x
  cat src/$x/y
  cat $x
  cat "$@"
  cat $TMPDIR/x
  cat $SRC/x
  cd $SRC && cat x
  cd "$UNSET" && cat x
  cd sub; cat $PWD/x
  cd a; cat $OLDPWD/x
  cd a; cat ~-/x
  ls -d .*
  ls -d .[a-z]*
  echo /etc/x
  echo "$UNSET/etc"
  [ "$x" = /etc ] && echo y
  [ -n /etc ] && test x != /etc/y
  [ -f src/x ]
  grep -rn /etc/x src
  grep -e /etc/x -e /usr src/x
  grep -ie /etc/x src/x
  grep -e/etc/x src/x
  grep -m 1 /etc/x src/x
  grep -A2 -B 2 /etc/x src/x
  grep --color /etc/x src/x
  grep --regexp=/etc/x src/x
  grep --include=*.ts -r /etc/x src
  rg -n -g '*.ts' /etc/x src
  sed -n '/etc/p' src/x
  sed -E '/etc/d' src/x
  sed -i.before '/etc/d' src/x
  sed --quiet '/etc/p' src/x
  sed -e /etc/p -e /usr/p src/x
  awk '/etc/' src/x
  awk -F: '/etc/ {print $1}' src/x
  awk -F / '{print $1}' src/x
  jq -r '.a' src/x
  perl -ne 'print if m{/etc/x}' src/x
  perl -lane '/etc/ && print' src/x
  perl -pi -e s,/etc,/usr, src/x
  perl script.pl src/x
  a=(src/x lib/y); cat "\${a[@]}"
  declare -a a=(src/x); cat "\${a[0]}"
  declare -A m=([a]=src/x); cat "\${m[a]}"
  set -- src/x lib/y; cat "$@"
  set -- src/x lib/y; shift; cat "$1"
  for f; do cat "$f"; done
  f() { shift; cat "$1"; }; f a src/x
  sh -c 'cat "$@"' a src/x
  read -ra a <<< "a src/x"; cat "\${a[1]}"
  echo x > src/x; cat ~+/src/x
  p=$UNSET; cat $p
`;

const commandsOf = (text: string): string[] =>
  text
    .replaceAll('\\$', '$')
    .split('\n')
    .map((line) => line.trim().replaceAll('⏎', '\n'))
    .filter((line) => line !== '');

describe('paths under allowed_directories', () => {
  test.each(commandsOf(REFUSED))('%s is refused', (command) => {
    expect(permissive.judge(command, CONTEXT)).toMatchObject({ decision: 'deny', code: 'SECURITY_002' });
    expect(listed.judge(command, CONTEXT).decision).toBe('deny');
  });

  test.each(commandsOf(LOST))('%s is refused, since cd may fail', (command) => {
    expect(permissive.judge(command, CONTEXT)).toMatchObject({ decision: 'deny', code: 'SECURITY_002' });
    expect(listed.judge(command, CONTEXT).decision).toBe('deny');
  });

  test.each(commandsOf(MOVED))('%s is allowed, since cd cannot have failed', (command) => {
    expect(permissive.judge(command, CONTEXT)).toMatchObject({ decision: 'allow' });
  });

  test('what to write instead is said where only a cd that fails leads out', () => {
    expect(permissive.judge('cd a; cat ../x', CONTEXT)).toMatchObject({
      reason: '../x is outside the allowed directories if an earlier cd fails.',
      hint: 'Join the commands with &&, or write the path out. Allowed: /proj.',
    });
    expect(permissive.judge('cd a && cat ../../x', CONTEXT)).toMatchObject({
      reason: '../../x is outside the allowed directories.',
    });
  });

  test.each(['cd missing; ./eraser x', 'cd missing || true; ./eraser x', 'cd a && cd .. && ./eraser x'])(
    '%s is what the link behind it is, wherever the shell is',
    (command) => {
      const realPath = (path: string): string => (path === '/proj/eraser' ? '/usr/bin/rm' : path);
      const blocking = createPolicy({ mode: 'permissive', blockedCommands: ['rm'] });
      expect(blocking.judge(command, { ...CONTEXT, realPath })).toMatchObject({ ruleClass: 'blocked' });
    },
  );

  test.each(commandsOf(DECIDED))('%s is decided', (command) => {
    expect(permissive.judge(command, CONTEXT)).toMatchObject({ decision: 'allow' });
  });

  test.each(['cd a && cd - && cat x', 'cd a; make; cd -', 'pushd a && make && popd'])(
    '%s is allowed under an allow-list',
    (command) => {
      expect(listed.judge(command, CONTEXT)).toMatchObject({ decision: 'allow' });
    },
  );

  test.each(commandsOf(ALLOWED))('%s is allowed without an allow-list', (command) => {
    expect(permissive.judge(command, CONTEXT)).toMatchObject({ decision: 'allow' });
  });

  test.each([
    ['cd -', { OLDPWD: '/etc' }],
    ['cd a; cd -', { OLDPWD: '/etc' }],
    ['cd apt', { CDPATH: '/etc' }],
    ['cat $p', { p: '/etc/x' }],
    ['cd', { HOME: '/proj/../etc' }],
    ['cat ~/x', { HOME: '/etc' }],
  ])('%s with variables %o of a caller or a session is refused', (command, environment) => {
    expect(permissive.judge(command, { ...CONTEXT, environment })).toMatchObject({ code: 'SECURITY_002' });
  });

  test.each(['cd a; cd -', 'cat $x/y', 'cd $x', 'popd', 'cat ~-/x', 'cd a; popd'])(
    '%s in a shell that has run other commands is refused',
    (command) => {
      expect(permissive.judge(command, { ...CONTEXT, isContinued: true })).toMatchObject({
        code: 'SECURITY_002',
      });
    },
  );

  const continued = { ...CONTEXT, isContinued: true };
  test.each([
    'cat $p',
    'cat "$p"',
    'cat ./$p',
    'cat a/$p/b',
    'cat ${p%.ts}',
    'cat ./${p%.ts}',
    'cat ${p:-a}',
    'cat ${!p}',
    'q=$p; cat $q',
    'q=a/$p; cat "$q"',
    'declare q=$p; cat $q',
    'a=($p); cat "${a[0]}"',
    'for f in $p; do cat "$f"; done',
    'for f in "$@"; do cat "$f"; done',
    'for f; do cat "$f"; done',
    'cat $1',
    'cat "$@"',
    'cat < $p',
    'echo x > "$p"',
    'ls $OLDPWD',
    'false && p=a; cat $p',
    'if false; then p=a; fi; cat $p',
    'f() { cat "$1"; }',
    'echo() { cat "$@"; }',
  ])('%s in a shell that has run other commands may lead outside', (command) => {
    expect(permissive.judge(command, continued)).toMatchObject({ decision: 'deny', code: 'SECURITY_002' });
  });

  test.each([
    'CDPATH=/etc',
    'export CDPATH=/etc',
    'HOME=/etc',
    'IFS=:',
    'IFS=: :',
    'read PWD',
    'printf -v HOME /etc',
    'alias ls="ls a"',
    'alias echo=cat',
    '$p',
    'env $p',
    'c*t x',
    'x=cat; eval "$y"',
  ])('%s in a shell that has run other commands decides what later ones do', (command) => {
    expect(permissive.judge(command, continued)).toMatchObject({ decision: 'deny' });
  });

  test.each([
    'p=a; cat $p',
    'p=src/a && cat "$p"',
    'for f in src/*.ts; do cat "$f"; done',
    'cd src',
    'cat $HOME/../proj/x',
    'ls $PWD',
    'echo $p',
    'kill $pid $!',
    'exit $?',
    '[ $? -eq 0 ]',
    'grep $p a',
    'IFS=: read -r a b < x',
    'HOME=a npm ci',
    'export NODE_ENV=test',
    'export PATH=$PATH:$PWD/bin',
    'export A="$B"',
  ])('%s in a shell that has run other commands is allowed', (command) => {
    expect(permissive.judge(command, { ...continued, home: '/proj/home' })).toMatchObject({
      decision: 'allow',
    });
  });
});
