import { describe, expect, test } from 'vitest';
import { createPolicy, type JudgeContext } from './policy.ts';

/** `EVIL` is a text in quotes that runs a program where bash evaluates it. */
const commandsOf = (text: string): string[] =>
  text
    .replaceAll('\\$', '$')
    .split('\n')
    .map((line) => line.trim().replaceAll('EVIL', "'a[$(touch M)]'").replaceAll('⏎', '\n'))
    .filter((line) => line !== '');

const CONTEXT: JudgeContext = {
  directory: '/proj',
  home: '/home/me',
  inherited: (name) => ({ USER: 'root', COUNT: '5' })[name],
};
const CONTINUED: JudgeContext = { directory: '/proj', home: '/home/me', isContinued: true };

const reading = createPolicy({ mode: 'restrictive' });
const listed = createPolicy({
  mode: 'custom',
  allowedCommands: ['echo', 'cat', 'ls', 'printf', 'mapfile', 'getopts', 'select', 'trap'],
});
const blocking = createPolicy({ mode: 'permissive', blockedCommands: ['touch'] });
const asking = createPolicy({ mode: 'permissive', askCommands: ['touch'] });

/** A value from elsewhere is evaluated: refused by every list, since what it may be stands in the command. */
const SHOWN = String.raw`
  declare -i n; read n <<< EVIL
  declare -i n; read -r x n <<< "1 "EVIL
  declare -i n; read -a n <<< EVIL
  declare -i n; for n in EVIL; do :; done
  declare -i n; for x in EVIL; do n=$x; done
  declare -i n; n=$(echo EVIL)
  declare -i n; n+=EVIL
  declare -i n; n[0]=EVIL
  declare -i n; n=(EVIL)
  declare -i n; printf -v n %s EVIL
  declare -i n; set -- EVIL; n=$1
  declare -i n; set -- EVIL; n="$*"
  declare -i n; export n=EVIL
  declare -i n; : \${n:=EVIL}
  declare -i REPLY; read <<< EVIL
  declare -i REPLY; select x in 1; do break; done <<< EVIL
  declare -i MAPFILE; mapfile <<< EVIL
  declare -ai n; mapfile n <<< EVIL
  typeset -ri n=EVIL
  f() { local -i n; n=$1; }; f EVIL
  f() { local -i n; n+=$1; }; f EVIL
  declare -i n; f() { n=$1; }; f EVIL
  command declare -i n; read n <<< EVIL
  eval declare -i n; read n <<< EVIL
  RANDOM=$(echo EVIL)
  RANDOM=EVIL
  RANDOM+=$(echo EVIL)
  read RANDOM <<< EVIL
  for RANDOM in EVIL; do :; done
  printf -v RANDOM %s EVIL
  SRANDOM=$(echo EVIL)
  OPTIND=$(echo EVIL)
  read -r OPTIND <<< EVIL
  export RANDOM=$(echo EVIL)
  f() { OPTIND=$1; }; f EVIL
  set -- EVIL; echo \${!1}
  set -- EVIL; echo "\${!1}"
  set -- EVIL; echo \${!1:-x}
  set -- EVIL; echo \${!1@Q}
  set -- EVIL; echo \${!@}
  set -- EVIL; echo \${!*}
  set -- EVIL; echo \${x:-\${!1}}
  f() { echo \${!1}; }; f EVIL
  read -r x <<< EVIL; echo \${!x}
  set -- -v EVIL; test "$@"
  set -- -v EVIL; [ "$@" ]
  v=-v; test $v EVIL
  v=-v; test "$v" EVIL
  for v in -v; do test $v EVIL; done
  test {-v,EVIL}
  test ! -v EVIL
  read -r x <<< EVIL; v=-v; test "$v" "$x"
  read -r x <<< EVIL; b=([x]=1)
  read -r x <<< EVIL; b+=([x]=1)
  read -r x <<< EVIL; b=(1 [x]+=1)
  read -r x <<< EVIL; declare b=([x]=1)
  read -r x <<< EVIL; export b=([x]=1)
  read -r x <<< EVIL; readonly b=([x]=1)
  read -r x <<< EVIL; declare b[x]=1
  b=([EVIL]=1)
  read -r x <<< EVIL; : {b[x]}</dev/null
  : {a['$(touch M)']}>/dev/null
  read -r x <<< EVIL; { :; } {b[x]}</dev/null
  select x in 1; do echo $((REPLY)); break; done <<< EVIL
  mapfile <<< EVIL; echo $((MAPFILE))
  read -r x <<< EVIL; echo \${y:x:1}
  read -r x <<< EVIL; [[ $x -eq 1 ]]
  read -r x <<< EVIL; unset 'b[x]'
  read -r x <<< EVIL; [[ -v b[x] ]]
  declare -a 'c=($(touch M))'
  c=(1); declare 'c=($(touch M))'
  v='($(touch M))'; declare -a c="$v"
  v='($(touch M))'; c=(1); declare c=$v
  v='([$(touch M)]=1)'; f() { local -a c=$v; }; f
`;

/** What the shell sets to a text of the command. */
const SET_BY_SHELL = String.raw`
  : EVIL; echo $((_))
  : EVIL; ((_))
  : EVIL; echo \${!_}
  : EVIL; let _
  : EVIL; x[_]=1
  : EVIL; for ((;_;)); do break; done
  : EVIL; [[ $_ -eq 0 ]]
  : EVIL; echo \${x[_]}
  [[ EVIL =~ (.*) ]]; echo $((BASH_REMATCH[1]))
  [[ EVIL =~ .+ ]]; echo \${!BASH_REMATCH}
  getopts a: o -a EVIL; echo $((OPTARG))
`;

/** Nothing is seen of what it may be, so that only an allow-list refuses it. */
const UNSEEN = String.raw`
  declare -i n; n=$(cat f)
  declare -i n; read n
  declare -i n; n=$x
  declare -i PWD; cd .
  { :; } {a['$(touch M)']}>/dev/null
  x=$(cat f); echo $((x))
  x=$(cat f); b=([$x]=1)
  x=$(cat f); [ $x ]
  x=$(cat f); [ $x = y ]
  [ $(cat f) ]
  [ -n $(cat f) ]
  [ * ]
  read a b < f; [ "$a" "$b" ]
  read -r x < f; printf "$x" y
  read -r x < f; printf -v"$x" y
  read -r x < f; printf "-v$x" y
  read -r x < f; w=v; printf "-$w" "$x" y
  read -r x < f; w=v; test "-$w" "$x"
  read -r x < f; w=v; test ! "-$w" "$x"
  read -r x < f; w=v; test 1 -a "-$w" "$x"
  read -r x < f; v=; test $v-v "$x"
  read -r x < f; v=; test "\${v}-v" "$x"
  read -r x < f; v=-; test "$v"v "$x"
  read -r x < f; for w in a v; do [ "-$w" "$x" ]; done
  declare w=v; read -r x < f; test "-$w" "$x"
  read -r a1 < f; y=123; echo \${y:a\⏎1}
  read -r a1 < f; y=123; echo \${y:1:a\⏎1}
  read -r a1 < f; b=(1); echo \${b[a\⏎1]}
  read -r a1 < f; b=([a\⏎1]=2)
  read -r a1 < f; declare b[a\⏎1]=1
  read a1 < f; x=1; echo $((a$x))
  read a1 < f; echo $((a$#))
  read a1 < f; x=0; echo $((a"1"))
  read a1 < f; echo $((a$((1))))
  read hBc < f; echo $(($-))
  read a < f; y=123; echo \${y:$'\x61'}
  read a < f; x=1; echo $((\${x/1/a}))
  read root < f; echo $((USER))
  read x86_64 < f; echo $((HOSTTYPE))
  read dumb < f; echo $((TERM))
  declare -a c=$(cat f)
  declare -a c; declare c=$(cat f)
  read -a c < f; f() { local c; declare c="$1"; }
  x=$(cat f); echo $((x=x+1))
  x=$(cat f); echo $((--x=9))
  unset RANDOM; RANDOM=$(cat f); n=$RANDOM; echo $((n))
`;

const HARMLESS = String.raw`
  for i in 1 2 3; do echo $((i+1)); done
  for i in {1..3}; do echo $((i * 2)); done
  i=0; ((i++))
  ((i = 0)); ((i += 2)); echo $i
  i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done
  i=0; while ((i < 3)); do ((i++)); done
  for ((i=0; i<3; i++)); do echo $i $((i % 2)); done
  n=$#; echo $((n - 1))
  n=5; n+=1; echo $((n))
  declare -i n=0; n+=1; echo $n
  f() { local -i n=1; n=2; }; f
  let i=0; let i+=1; let 'a[1]=2'
  echo $((n++)) $((COUNT + 1))
  echo $((1 + 2)) $((16#ff)) $((0x1f)) $((RANDOM % 6)) $(($# + $?)) $((SECONDS))
  x=3; echo $(( \${x:-0} + \${#x} + $x ))
  x=abc; echo \${x:1} \${x:0:2} \${x: -1} \${#x} "\${x:\${#x}-1}"
  arr=(a b); echo \${arr[1]} \${#arr[@]} "\${arr[@]}"
  arr=(a b); for i in 0 1; do echo "\${arr[i]} \${arr[$i]}"; done
  arr=([0]=a [2]=b); echo \${arr[2]}
  declare -A m=([one]=1 [two]=2); echo "\${m[one]}" "\${!m[@]}"
  declare -A m; m[one]=1; echo \${m["one"]}
  [ "$x" = y ] && echo same
  [ "$a" = "$b" ]
  [ -n "$a" ] && [ -z "$b" ]
  [ "$x" -gt 1 ]
  [ $# -eq 0 ] || [ $? -ne 0 ]
  [ -f a ] && cat a
  [ -f "$f" ] && cat "$f"
  [ ! -d "$f" ]
  f=a.txt; [ -f $f ] && cat $f
  for f in a b; do [ -f $f ] && cat "$f"; done
  [ -e src/*.ts ]
  [[ -f $f && $x == y ]]
  [[ $# -eq 0 ]]
  x=5; [[ $x -gt 3 ]]
  OPTIND=1; RANDOM=42; SECONDS=0
  x=$(cat f); echo "$x"
  x=$(cat f); declare y=$x; export z="$x"
  f() { local x=$(cat f); echo "$x"; }; f
  read -r x < f; echo "$x"
  : {fd}</dev/null; echo $((fd))
  echo \${x}>/dev/null
  printf '%s\n' "$x"; printf "a $x\n"
  GREEN='\033[32m'; printf "\${GREEN}ok\n"
  GREEN='\033[32m'; NC='\033[0m'; printf "\${GREEN}%s\${NC}\n" ok
  [ "$dir/file" = a/file ]
  test "$x" = EVIL
  echo EVIL
`;

describe('a value that bash evaluates, under an allow-list', () => {
  test.each(commandsOf(SHOWN + SET_BY_SHELL + UNSEEN))('%s', (command) => {
    expect(listed.judge(command, CONTEXT)).toMatchObject({ decision: 'deny' });
    expect(reading.judge(command, CONTEXT)).toMatchObject({ decision: 'deny' });
    expect(listed.judge(command, CONTINUED)).toMatchObject({ decision: 'deny' });
  });

  test.each(commandsOf(HARMLESS))('%s is allowed', (command) => {
    expect(listed.judge(command, CONTEXT)).toMatchObject({ decision: 'allow' });
  });

  test.each([
    ['declare -i n; n=$n', 'n'],
    ['declare -i k; k=$n', 'n'],
    ['echo $((n))', 'n'],
    ['echo ${!n}', 'n'],
    ['b=([n]=1)', 'n'],
    ['[ $n ]', 'n'],
    ['y=n; echo $((y))', 'n'],
  ])('%s with a variable %s of the caller', (command, name) => {
    const environment = { [name]: 'a[$(touch M)]' };
    expect(listed.judge(command, { ...CONTEXT, environment })).toMatchObject({ ruleClass: 'undecidable' });
  });
});

describe('a value that bash evaluates, under a list of what is blocked or asked about', () => {
  test.each(commandsOf(SHOWN + SET_BY_SHELL))('%s', (command) => {
    expect(blocking.judge(command, CONTEXT)).toMatchObject({ decision: 'deny' });
    expect(asking.judge(command, CONTEXT).decision).not.toBe('allow');
    expect(blocking.judge(command, CONTINUED)).toMatchObject({ decision: 'deny' });
  });

  test.each([...commandsOf(HARMLESS), "[[ -v 'a[$i]' ]]", 'echo $((a[1] + 1))', 'x=$(cat f); echo $((x))'])(
    '%s is allowed',
    (command) => {
      expect(blocking.judge(command, CONTEXT)).toMatchObject({ decision: 'allow' });
    },
  );
});

/** An earlier line may have set what this one evaluates. */
const LEFT = String.raw`
  echo $((x))
  ((x))
  let x
  ((x++))
  ((x=x+1))
  ((x=1, y=x))
  for ((i=0; i<n; i++)); do :; done
  for ((; i<3; i++)); do :; done
  echo \${!x}
  echo \${x:y}
  echo \${a[x]}
  echo $((a[1] + 1))
  a[x]=1
  a=([x]=1)
  [[ x -eq 1 ]]
  [[ $x -gt 1 ]]
  [[ -v $x ]]
  [[ -v 'a[$i]' ]]
  unset 'a[i]'
  [ $x ]
  [ "$x" "$y" ]
  declare -i n
  declare -i n=0; n+=1
  f() { local -i n=1; }
  RANDOM=$x
  readonly x=$y
  declare -r x=$(cat f)
  x=1 true; echo $((x))
  x=1 < f; echo $((x))
  { x=1; } < f; echo $((x))
  false && x=1; echo $((x))
  if false; then x=1; fi; echo $((x))
  if true; then x=1; else echo $((x)); fi
  (x=1); echo $((x))
  x=1 & echo $((x))
  x=1 | cat; echo $((x))
  f() { x=1; }; echo $((x))
  trap 'x=1' EXIT; echo $((x))
  eval 'x=1' < f; echo $((x))
  local x=1; echo $((x))
  : {x}< f; echo $((x))
  for x in; do :; done; echo $((x))
  for x in 1; do :; done; echo $((x))
  x=1; echo $((x[1]))
  x=1; ls; echo $((x))
  x=1; unset x; echo $((x))
  for i in 1 2; do ls; echo $((i)); done
  i=0; while ((i < 3)); do ls; done
  echo $((0 && (x=1))) $((x))
  x=1; f() { echo $((x)); }
  trap 'read x < f' DEBUG
  trap 'x=$(cat f)' ERR RETURN
  echo() { x=1; }
  true() { ls; }
  echo \${nope:?}; x=1⏎echo $((x))
  echo $((1/0)); x=1⏎echo $((x))
  x=1⏎[ $x -eq 1 ]
`;

const SETTLED = String.raw`
  for i in 1 2 3; do echo $((i+1)); done
  for i in 1 2 3; do echo $((i+1)); ls; done
  i=1; echo $((i+1))
  i=0; ((i++)); echo $((i))
  i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done
  for ((i=0; i<3; i++)); do echo $((i * 2)); done
  if true; then x=1; echo $((x)); fi
  f() { x=1; echo $((x)); }
  f=a; [ -f $f ]
  echo $((1 + 2)) $((RANDOM % 6)) $(($# + 1))
  arr=(a b); echo \${arr[1]} \${#arr[@]}
  [ "$x" = y ] && echo same
  [ -f "$x" ]
  [ $? -eq 0 ]
  [[ $x == y ]]
  x=$(cat f); echo "$x" \${#x} \${x:1}
  ((i = 0))
  OPTIND=1
  trap 'echo bye' EXIT
  trap - INT
  f() { ls; }
  rc=$?; echo $((rc))
  rc=$?; [ $rc -eq 0 ] || echo bad
  n=$#; echo $((n-1))
  a=1; b=$((a+1)); echo $((b+1))
  ls⏎x=1; echo $((x))
`;

describe('what bash evaluates in a shell that has run other commands', () => {
  test.each(commandsOf(LEFT))('%s may have been set before', (command) => {
    expect(listed.judge(command, CONTINUED)).toMatchObject({ decision: 'deny' });
    expect(blocking.judge(command, CONTINUED)).toMatchObject({ ruleClass: 'undecidable' });
  });

  test.each(commandsOf(SETTLED))('%s is set by the line itself', (command) => {
    expect(listed.judge(command, CONTINUED)).toMatchObject({ decision: 'allow' });
    expect(blocking.judge(command, CONTINUED)).toMatchObject({ decision: 'allow' });
  });

  test('what people type at the prompt of another language is no definition', () => {
    for (const line of ['exit()', 'echo()'])
      expect(blocking.judge(line, CONTINUED)).toMatchObject({ decision: 'allow' });
  });

  test('a text that is read as an array under an allow-list', () => {
    expect(listed.judge('declare c=$x', CONTINUED)).toMatchObject({ ruleClass: 'undecidable' });
    expect(blocking.judge('declare c=$x', CONTINUED)).toMatchObject({ decision: 'allow' });
  });
});

test.each([`((${'a'.repeat(60_000)}))`, `((${'(a['.repeat(20_000)}))`])(
  'a long text in arithmetic takes no time: %#',
  (command) => {
    const started = performance.now();
    listed.judge(command, CONTEXT);
    expect(performance.now() - started).toBeLessThan(5000);
  },
);
