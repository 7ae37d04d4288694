/** Spellings of options, for comparing what was written with what a rule says. */
import { byName, list, phrases } from '../../list.ts';

/** Options before the subcommand that take the next word as their value. */
export const GLOBAL_OPTIONS: Readonly<Record<string, readonly string[]>> = byName({
  git: list(
    '-C -c --exec-path --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --list-cmds',
  ),
  npm: list('--prefix -C --workspace -w --loglevel --registry --userconfig --cache --script-shell'),
  pnpm: list('--dir -C --filter -F --loglevel'),
  yarn: list('--cwd --registry'),
  docker: list('-H --host --config -c --context -l --log-level --tlscacert --tlscert --tlskey'),
  podman: list('--url --connection -c --log-level --root --runroot'),
  kubectl: list('-n --namespace --context --cluster --kubeconfig -s --server --user --token -v --as'),
  helm: list('-n --namespace --kube-context --kubeconfig'),
  cargo: list('--config -C -Z --color --manifest-path'),
  go: ['-C'],
  systemctl: list('-H --host -M --machine -t --type -p --property -n --lines -o --output'),
  'apt apt-get': list('-o --option -c --config-file -t --target-release'),
  pip: list('--proxy --cache-dir --log --timeout --retries'),
  gh: ['-R', '--repo'],
  aws: list('--region --profile --output --endpoint-url'),
  ip: list('-n -netns -f -family -b -batch'),
});

/** Programs of which the table above has every option with a value that may stand before a subcommand. */
export const COMPLETE_GLOBALS: ReadonlySet<string> = new Set(['git', 'docker', 'go', 'gh', 'cargo']);

/** Options before the subcommand that an entry like `git status` lets pass. */
export const HARMLESS_GLOBALS: Readonly<Record<string, readonly string[]>> = {
  git: list(
    '-C --no-pager -P --no-optional-locks --literal-pathspecs --glob-pathspecs --icase-pathspecs --no-replace-objects --bare',
  ),
  npm: list('--silent -s --quiet -q --no-audit --no-fund --loglevel'),
  kubectl: ['-n', '--namespace'],
  cargo: list('-q --quiet -v --verbose --offline --locked --frozen'),
  systemctl: ['--no-pager', '--user', '--system'],
};

const same = (groups: string): readonly (readonly string[])[] => phrases(groups).map(list);

/** Of each program: spellings that mean the same; the last one is the long name, which may be abbreviated. */
export const SYNONYMS: Readonly<Record<string, readonly (readonly string[])[]>> = byName({
  rm: same('-r -R --recursive, -f --force, -i --interactive, -v --verbose, -d --dir, -I --interactive=once'),
  cp: same('-r -R --recursive, -f --force, -i --interactive, -v --verbose, -a --archive, -n --no-clobber'),
  mv: same('-f --force, -n --no-clobber, -i --interactive'),
  'chmod chown chgrp': same('-R --recursive, -v --verbose'),
  ls: same('-a --all, -A --almost-all, -R --recursive, -h --human-readable, -r --reverse'),
  ln: same('-s --symbolic, -f --force'),
  git: same(
    '-f --force, -d --delete, -D --delete-force, -a --all, -m --message, -n --dry-run, -u --set-upstream, -h --help',
  ),
  docker: same('-f --force, -a --all, -v --volumes'),
  npm: same('-g --global, -D --save-dev, -f --force'),
  pip: same('-U --upgrade'),
  'apt apt-get': same('-y --yes'),
  sed: same('-i --in-place, -n --quiet --silent, -e --expression, -E -r --regexp-extended'),
  grep: same('-r --recursive, -i --ignore-case, -n --line-number, -v --invert-match'),
  kill: same('-9 -KILL -SIGKILL -kill, -15 -TERM -SIGTERM'),
  pkill: same('-9 -KILL -SIGKILL, -f --full'),
  killall: same('-9 -KILL -SIGKILL'),
  curl: same('-o --output, -X --request, -k --insecure, -d --data'),
  tar: same('-x --extract --get, -c --create, -t --list, -f --file, -z --gzip'),
});
