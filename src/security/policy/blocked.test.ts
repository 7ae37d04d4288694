import { describe, expect, test } from 'vitest';
import { createPolicy } from './policy.ts';

const CONTEXT = { directory: '/proj', home: '/home/me' };
const { judge } = createPolicy({
  mode: 'permissive',
  blockedCommands: [
    'npm publish',
    'git push',
    'cargo publish',
    'kubectl delete',
    'docker run',
    'helm uninstall',
    'aws s3 rm',
    'systemctl stop',
    'pip install',
    'touch',
    'docker compose down',
    'gh pr merge',
    'kubectl config delete-context',
    'gcloud compute instances delete',
  ],
});

describe('a blocked subcommand is met behind options', () => {
  test.each([
    'npm publish',
    'docker compose down',
    'docker compose -f x.yml down',
    'docker --context c compose -f x.yml -p name down -v',
    'docker compose --file=x.yml down',
    'gh pr -R a/b merge 1',
    'aws s3 --region r rm x',
    'aws --profile p s3 --region r rm x',
    'kubectl config --kubeconfig k delete-context x',
    'gcloud compute --project p instances --zone z delete x',
    'docker container --x y run z',
    'npm --access public publish',
    'npm --tag next publish',
    'npm --access=public publish',
    'npm --silent publish',
    'npm -s --otp 123 publish --dry-run',
    'npm --registry http://x --access public publish',
    'git push',
    'git -C sub push',
    'git -c a.b=c push',
    'git --git-dir x --no-pager push',
    'git -c alias.p=push p',
    'git -calias.p=push p',
    "git -c 'alias.p=push origin' p",
    "git -c 'alias.p=!git push' p",
    'cargo +nightly publish',
    'cargo --config a publish',
    'cargo --color always publish',
    'kubectl --request-timeout 5 delete pod x',
    'kubectl --as-group a -n b delete pod x',
    'docker --log-level debug run x',
    'docker -H tcp://x run y',
    'helm --registry-config x uninstall y',
    'aws --cli-read-timeout 5 s3 rm x',
    'systemctl --job-mode fail stop x',
    'pip --cert x install y',
    'npm pu',
    'npm publ',
    'npm --silent publis',
    'docker container run x',
    'docker --debug container run x',
    'docker container --x run y',
    'pip3 install y',
    'pip3.12 install y',
    'python3 -m pip install y',
    'python -I -m pip install y',
    'python3.12 -mpip install y',
    'npx npm publish',
    'npx -y npm@latest pu',
    'npx --package npm npm publish',
    'npx -c "npm publish"',
    'npx --call="npm publish"',
    'npm exec npm publish',
    'npm x -- npm publish',
    'pnpm dlx npm publish',
    'corepack npm publish',
    'corepack npm@10 publish',
    'uv run git push',
    'bundle exec git push',
  ])('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each([
    'npm run publish',
    'docker compose up down',
    'docker compose -f x.yml up down',
    'gh pr view merge',
    'gcloud compute instances list delete',
    'npm --silent run publish',
    'npm view publish',
    'npm pack',
    'npm ping',
    'npx prettier --write npm publish',
    'docker image rm run',
    'docker container ls',
    'docker logs container run',
    'pip3 list',
    'python3 -m pip list',
    'python3 -m http.server install',
    'python3 x.py -m pip install y',
    'corepack enable npm',
    'git stash push',
    'git stash push -m wip',
    'git --no-pager stash push',
    'git -C sub stash push',
    'git --no-pager log push',
    'git -c user.name=push commit',
    'git log --author push',
    'git -c alias.p=pull p',
    'cargo +nightly build',
    'docker --debug ps run',
    'gh pr create --title push',
    'echo git push',
  ])('%s is another command', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
  });
});

describe('a blocked subcommand of npm is met by each of its names', () => {
  const blocking = createPolicy({
    mode: 'permissive',
    blockedCommands: ['npm i', 'npm run-script', 'npm uninstall', 'docker rmi', 'docker container rm'],
  });
  test.each([
    'npm install x',
    'npm add x',
    'npm isntall x',
    'npm insta x',
    'npm run x',
    'npm rum x',
    'npm rm x',
    'npm remo x',
    'docker rm x',
    'docker image rm x',
  ])('%s', (command) => {
    expect(blocking.judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each(['npm init', 'npm ci', 'npm install-test', 'npm root', 'npm test', 'docker rename a b'])(
    '%s is another command',
    (command) => {
      expect(blocking.judge(command, CONTEXT).decision).toBe('allow');
    },
  );
});

describe('a word of the grammar that bash takes for a name hides nothing', () => {
  test.each([
    '>f ! touch M',
    '</dev/null ! touch M',
    '2>&1 ! touch M',
    '>f ! ! touch M',
    'x=1 ! touch M',
    '>f if touch M',
    '>f then touch M',
    '>f { touch M',
    '>f [[ touch M',
    '>f ! env touch M',
    '>f ! sh -c "touch M"',
    '! touch M',
    '! >f touch M',
    '! ! touch M',
  ])('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each(['>f ! ls', '! ls', 'x=1 ls touch', '>f echo ! touch'])('%s is harmless', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
  });
});

describe('the grammar of another shell hides nothing', () => {
  test.each([
    'zsh -c "=touch M"',
    'zsh -c "noglob touch M"',
    'zsh -c "repeat 1 touch M"',
    'zsh -c "() { git push }"',
    'zsh -c "echo =(touch M)"',
    "zsh <<< '=touch M'",
    "echo 'nocorrect touch M' | zsh",
    'env zsh -c "=touch M"',
    'fish -c "not touch M"',
    'fish -c "echo (touch M)"',
    'fish -C "not touch M" -c true',
    'fish --command="begin; git push origin; end"',
    "tcsh -c 'repeat 3 touch M'",
    "nu -c '^touch M'",
    "sh -c '((touch M))'",
    "sh -c 'true &>/dev/null touch M'",
    "dash <<< '((touch M))'",
    "elvish -c 'e:touch M'",
    'pwsh -Command touch M',
  ])('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each([
    'zsh -c "ls -la; git status"',
    'fish -c "echo (git log)"',
    'zsh build.zsh all',
    'zsh --version',
  ])('%s is harmless', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
  });
});

describe('a command that a shell or a program gets in another form is met', () => {
  test.each([
    "bash -oc pipefail 'touch M'",
    "bash -euoc pipefail 'touch M'",
    "bash -euo pipefail -c 'touch M'",
    "bash -Oc extglob 'touch M'",
    "bash +Oc extglob 'touch M'",
    "bash -oOc pipefail extglob 'touch M'",
    "bash -o errexit -oc pipefail 'touch M'",
    "sh -oc errexit 'touch M'",
    "dash -oc errexit 'touch M'",
    "fish --command='touch M'",
    "fish --command 'touch M'",
    "fish --init-command='touch M' -c true",
    "fish -C'touch M' -c true",
    "fish -c'touch M'",
    'choom -n 0 -- touch M',
    "sg root 'touch M'",
    "sg root -c 'touch M'",
    'ssh-agent touch M',
    'valgrind --tool=none touch M',
    "capsh -- -c 'touch M'",
    "capsh --drop=all -- -c 'touch M'",
    'ld.so /usr/bin/touch M',
    '/lib64/ld-linux-x86-64.so.2 --argv0 x /usr/bin/touch M',
    'bash -c \'"$@"\' x touch M',
    'sh -c \'exec "$@"\' x touch M',
    "sh -c '$1 M' x touch",
    'bash -c \'shift; "$@"\' x y touch M',
    'xargs sh -c \'"$@"\' x <<< "touch M"',
    'a=(touch M); "${a[@]}"',
    'a=(touch); "${a[0]}" M',
    'a=(x touch); "${a[1]}" M',
    'declare -a a=(touch M); ${a[*]}',
    'read -ra a <<< "touch M"; "${a[@]}"',
    'mapfile -t a < <(echo touch); ${a[0]} M',
    'echo touch M | cat | bash',
    'echo touch M | tee f | bash',
    'echo touch M | sort | head -1 | bash',
    'echo touch M | grep touch | sh',
    'cat <<< "touch M" | cat | bash',
  ])('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each([
    "bash -oc pipefail 'ls touch'",
    "bash -euo pipefail -c 'echo touch'",
    'bash -o pipefail build.sh touch',
    "fish --command='echo hi'",
    'choom -p 1',
    "sg root 'ls touch'",
    'ssh-agent -k',
    'valgrind --leak-check=full ./touched touch',
    'capsh --print',
    'ld.so --list /usr/bin/touch',
    'sh -c \'echo "$@"\' x touch M',
    'a=(touch M); echo "${a[@]}"',
    'a=(ls touch); "${a[@]}"',
    'set -- ls touch; "$@"',
    'echo touch M | cat',
    'echo touch M | wc -l | bash',
    `${'{ cat; cat; cat; } | '.repeat(40)}bash`,
  ])('%s is another command', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
  });
});

describe('what would run later, or under another name, is not judged and so denied', () => {
  const asking = createPolicy({ mode: 'permissive', askCommands: ['touch'] });
  const continued = { ...CONTEXT, isContinued: true };
  const UNJUDGED = [
    'fc -s "#="',
    'fc',
    'command fc -s touch',
    'alias t=touch',
    "alias -- t='tou\\ch'",
    'alias "$x"',
    'BASH_ALIASES[t]=touch',
    'declare -A BASH_ALIASES=([t]=touch)',
    'BASH_CMDS[t]=/usr/bin/touch',
    'hash -p /usr/bin/touch t',
    'enable -f ./x.so x',
    `bind -x '"t": touch M'`,
    `bind '"t": "touch M\\n"'`,
    "complete -C 'touch M' ls",
    "compgen -W '$(touch M)'",
    'jobs -x touch M',
    "PROMPT_COMMAND='touch M'",
    "PROMPT_COMMAND+=('touch M')",
    'INPUTRC=keys bash --norc',
    'export INPUTRC=keys; bash',
    "PROMPT_COMMAND[1]='touch M'",
    "export PROMPT_COMMAND='touch M'",
    "read PROMPT_COMMAND <<< 'touch M'",
    "printf -v PROMPT_COMMAND 'touch M'",
    "for PROMPT_COMMAND in 'touch M'; do :; done",
    ': ${PROMPT_COMMAND:=touch M}',
    'declare -n r=PROMPT_COMMAND',
    "PS1='$(touch M)'",
    "PS0='`touch M`'",
    'PS1=$x',
    "PS4='$(touch M)' bash -x f",
    "ENV='$(touch M)' sh -i",
    "MAILPATH='f?$(touch M)'",
    'x=\'$(touch M)\'; echo "${x@P}"',
    ': touch; $_ M',
    ': touch; "${_}" M',
    ': touch; env $_ M',
    "x='a[$(touch M)]'; echo $((x))",
    '/usr/bin/touc? M',
    '/bin/t*uch M',
    '/usr/bin/[t]ouch M',
    't?uch M',
    'env /usr/bin/touc? M',
    'find . -exec /usr/bin/touc? {} +x; /usr/bin/touc? M',
    "[[ -v 'a[$(touch M)]' ]]",
    "[[ -v 'a[`touch M`]' ]]",
    "[[ -R 'a[$(touch M)]' ]]",
    "[[ 'a[$(touch M)]' -eq 1 ]]",
    "[[ 1 -lt 'a[$(touch M)]' ]]",
    "test -v 'a[$(touch M)]'",
    "[ -v 'a[$(touch M)]' ]",
    "printf -v 'a[$(touch M)]' x",
    "printf -v'a[$(touch M)]' x",
    "read 'a[$(touch M)]' <<< x",
    "read -a 'a[$(touch M)]' <<< x",
    "getopts a 'a[$(touch M)]'",
    "mapfile 'a[$(touch M)]'",
    "mapfile -O 'a[$(touch M)]' b",
    "wait -np 'a[$(touch M)]'",
    "unset 'a[$(touch M)]'",
    "let 'a[$(touch M)]=1'",
    "let 'x=1+a[b[0]+$(touch M)]'",
    "declare 'a[$(touch M)]=1'",
    "declare a['$(touch M)']=1",
    "declare -i 'x=a[$(touch M)]'",
    "typeset 'a[$(touch M)]=1'",
    "local 'a[$(touch M)]=1'",
    "export 'a[$(touch M)]=1'",
    "echo ${a['$(touch M)']}",
    "echo ${a['`touch M`']}",
    "echo ${x:'a[$(touch M)]':1}",
    "a['$(touch M)']=1",
    "((a['$(touch M)']))",
    "echo $((a['$(touch M)']))",
    "for ((i = a['$(touch M)']; ; )); do :; done",
    'printf -v \'a[$(to""uch M)]\' x',
  ];
  test.each(UNJUDGED)('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny' });
    expect(judge(command, continued)).toMatchObject({ decision: 'deny' });
    expect(asking.judge(command, CONTEXT).decision).not.toBe('allow');
    expect(createPolicy({ mode: 'permissive' }).judge(command, CONTEXT).decision).toBe('allow');
  });

  test.each([
    '$x M',
    '"$x" M',
    '${x:-ls} M',
    't$x M',
    '"${a[@]}"',
    'false && x=ls; $x M',
    'env $x M',
    'eval "$x"',
    'eval $x M',
    'bash -c "$x"',
    'f() { "$@"; }',
    'f() { eval "$1"; }',
    'f() { env "$@"; }',
    'printf -v "$x" "touch M"',
    'trap "$x" DEBUG',
    'eval "alias t=$x"',
  ])('%s in a shell that has run other commands', (command) => {
    expect(judge(command, continued)).toMatchObject({ decision: 'deny', ruleClass: 'undecidable' });
  });

  test.each([
    'alias',
    'hash -r',
    'compgen -c',
    'jobs',
    'PS1="$ "',
    "PS1='\\w\\$ '",
    'PROMPT_COMMAND=',
    'unset PROMPT_COMMAND',
    'ENV=$x node app.js',
    'x=ls; echo $x',
    '$HOME/bin/x',
    'ls "$x" $_',
    'eval "$(ssh-agent)"',
    'echo alias t=touch',
    'ls /usr/bin/touc?',
    'export PATH=$PATH:x',
    'declare A="$B"',
    "printf '%s' 'a[$(touch M)]'",
    "[[ x == 'a[$(touch M)]' ]]",
    "test x = 'a[$(touch M)]'",
    "export X='$(touch M)'",
    "printf -v 'a[1]' touch",
    "let 'a[1]=2'",
    'echo ${a[1]} ${#a[@]}',
  ])('%s is harmless', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
    expect(judge(command, continued).decision).toBe('allow');
  });

  test.each(['PY=python3; $PY x.py', 'PY=$(command -v python3); $PY x.py', 'f() { "$@"; }; f ls'])(
    '%s is judged as it stands',
    (command) => {
      expect(judge(command, CONTEXT).decision).toBe('allow');
    },
  );
});
