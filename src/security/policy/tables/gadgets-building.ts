/** Networks, package managers, compilers and databases: options that run, load or send something. */
import { list } from '../../list.ts';
import type { Gadget } from './gadget.ts';

export const BUILDING_GADGETS: readonly Gadget[] = [
  {
    programs: ['curl'],
    does: 'writes a file',
    options: list(
      '-o -O -D -c -J --output --remote-name --remote-name-all --output-dir --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save --create-dirs',
    ),
    match: ['curl -o x y', 'curl -sSLo x y', 'curl --output=x y', 'curl -O y', 'curl -ox y'],
    notMatch: ['curl y', 'curl -s -H x:o y'],
  },
  {
    programs: ['curl'],
    does: 'sends data',
    options: list(
      '-T -d -F -K --upload-file --data --data-binary --data-raw --data-urlencode --form --form-string --json --config --url-query --unix-socket --abstract-unix-socket --engine --proxy -x',
    ),
    words: /^(?:file|scp|sftp|smb|gopher|dict|telnet|tftp|ldap):/i,
    match: ['curl -d @x y', 'curl -T x y', 'curl file:///etc/passwd', 'curl -K x'],
    notMatch: ['curl https://example.org'],
  },
  {
    programs: ['wget'],
    does: 'writes a file',
    options: list(
      '-O -o -a -P -e -i -x --output-document --output-file --append-output --directory-prefix --execute --use-askpass --post-file --post-data --body-file --body-data --save-cookies --config --input-file --warc-file --hsts-file',
    ),
    match: ['wget -O x y', 'wget -qO- y', 'wget --use-askpass=sh y', 'wget -e x y'],
    notMatch: ['wget --spider y'],
  },
  {
    programs: ['rsync', 'scp', 'sftp'],
    does: 'runs a program',
    options: list('-e -S -o -D -b --rsh --rsync-path -F -J'),
    match: ['rsync -e sh x y', 'rsync -ae sh x y', 'scp -S sh x y', 'scp -o ProxyCommand=x a b'],
    notMatch: ['rsync -av x y', 'scp x y'],
  },
  {
    programs: ['ssh'],
    does: 'runs a program',
    options: list('-o -F -I -E -S -w -D -L -R -W -J'),
    match: ['ssh -o ProxyCommand=x h', 'ssh -F x h', 'ssh -oProxyCommand=x h'],
    notMatch: ['ssh h', 'ssh -p 22 h'],
  },
  {
    programs: ['npm', 'pnpm', 'yarn', 'bun'],
    does: 'runs a program',
    options: list(
      '--script-shell --node-options --userconfig --globalconfig --git --shell --editor --viewer --browser --prefix --dir --cwd --init-module --shell-emulator --registry --cafile -C',
    ),
    match: [
      'npm test --script-shell=/tmp/x',
      'npm --node-options=x test',
      'npm run x --prefix /tmp',
      'npm install --registry=x',
    ],
    notMatch: ['npm test', 'npm run build', 'npm install --save-dev x'],
  },
  {
    programs: ['go'],
    does: 'runs a program',
    words:
      /^--?(?:exec|toolexec|vettool|overlay|modfile|o|C|pkgdir|ldflags|gcflags|asmflags|gccgoflags|outputdir|coverprofile|cpuprofile|memprofile|blockprofile|mutexprofile|trace|test\.\w+)(?:=|$)/,
    match: ['go test -exec=x ./...', 'go test -exec x', 'go build --toolexec x', 'go vet -vettool=x'],
    notMatch: ['go test ./...', 'go build', 'go test -run TestX -v'],
  },
  {
    programs: ['make', 'gmake'],
    does: 'runs a program',
    options: list('-f -C -I -E --file --makefile --directory --include-dir --eval --assume-new'),
    words: /^[\w.]+[:+?!]*=/,
    match: ['make test SHELL=/tmp/x', 'make --eval=x', 'make -f x', 'make CC=x'],
    notMatch: ['make', 'make test', 'make -j4 test'],
  },
  {
    programs: ['cargo'],
    does: 'runs a program',
    options: ['--config', '-Z', '--manifest-path', '-C'],
    words: /^\+/,
    match: ['cargo --config x test', 'cargo +evil test', 'cargo test --manifest-path=x'],
    notMatch: ['cargo test'],
  },
  {
    programs: list('gcc g++ cc c++ clang clang++'),
    does: 'loads code',
    words: /^(?:-wrapper|-fplugin|-specs|--specs|-B|@|-Wl,|-Xlinker|-load)/,
    match: ['gcc -wrapper x a.c', 'gcc -fplugin=x a.c', 'gcc @x'],
    notMatch: ['gcc -Wall a.c'],
  },
  {
    programs: list(
      'eslint prettier tsc jest vitest mocha pytest py.test mypy black ruff biome tsx stylelint',
    ),
    does: 'loads code',
    options: list(
      '-c -p -r -o -f -P --config --plugin --rulesdir --resolve-plugins-relative-to --require --import --loader --globalSetup --setupFiles --reporter --project --outDir --outFile --output-file --formatter --fix --write --custom-syntax --rootdir --confcutdir --override-ini --junitxml --cache-location --config-path --build',
    ),
    match: ['eslint --rulesdir x .', 'pytest -p evil', 'mocha -r x', 'prettier --plugin=x .'],
    notMatch: ['eslint .', 'pytest -x tests', 'tsc --noEmit'],
  },
  {
    programs: list('java javac mvn gradle gradlew'),
    does: 'loads code',
    words:
      /^(?:-javaagent|-agentlib|-agentpath|-XX:On|-cp|-classpath|--class-path|-D|-I|--init-script|-b|--build-file|-p|--project-dir|-f|--file|-s|--settings|-P|-J|-processor)/,
    match: ['java -javaagent:x y', 'mvn -Dexec=x test', 'gradle -I x test'],
    notMatch: ['mvn test', 'gradle build'],
  },
  {
    programs: ['docker', 'podman', 'kubectl', 'helm'],
    does: 'runs a program',
    options: list('-H --host --config --kubeconfig --context --post-renderer --server'),
    match: ['docker -H tcp://x ps', 'kubectl --kubeconfig=x get pods'],
    notMatch: ['docker ps', 'kubectl get pods -n x'],
  },
  {
    programs: ['zip', 'unzip', '7z'],
    does: 'runs a program',
    options: ['-TT', '--unzip-command', '-T'],
    match: ['zip x y -TT sh', 'zip --unzip-command=sh x y'],
    notMatch: ['unzip -l x'],
  },
  {
    programs: ['psql', 'mysql', 'mariadb', 'sqlite3'],
    does: 'runs a program',
    words:
      /\\!|\\copy|\.(?:shell|system|output|once|import|load|log|save|backup|excel|edit)\b|\bsystem\b|\boutfile\b|\bprogram\b/i,
    options: list('-init -cmd -f -o -L --file --output --tee --pager --init-command'),
    match: ["psql -c '\\! id'", "sqlite3 x '.shell id'", 'psql -f x'],
    notMatch: ["sqlite3 x 'select 1'"],
  },
  {
    programs: list('tcpdump nmap dig openssl rpm dpkg apt apt-get'),
    does: 'runs a program',
    options: list(
      '-z -w -W -G -o --script --eval --pipe --define --pre-invoke --post-invoke -i -engine --option -oN -oX',
    ),
    match: ['tcpdump -z x', 'nmap --script=x h', 'rpm --eval x', 'apt list -o x=y'],
    notMatch: ['dig example.org', 'rpm -qa', 'apt list'],
  },
  {
    programs: ['ip'],
    does: 'runs a program',
    words: /^(?:exec|-b|-batch|--batch|add|del|delete|set|flush|change|replace|append)$/,
    match: ['ip netns exec x id', 'ip link set eth0 down', 'ip -batch x'],
    notMatch: ['ip addr show', 'ip route'],
  },
  {
    programs: ['history', 'fc'],
    does: 'writes a file',
    words: /^-[a-z]*[acdnprsw]/,
    match: ['history -w x', 'history -s x', 'history -a'],
    notMatch: ['history', 'history 5'],
  },
];
